"""Perceptrons and the training loop with early stopping by energy distance.

Every ``check_every`` epochs the network draws 500 rows, from the same noise each time, and the energy distance between
them and the rows held out is taken: ``2 E|X - Y| - E|X - X'| - E|Y - Y'|``, 0 only for equal laws. The rule: keep
the network with the lowest distance, and stop when the average of the last ``window`` distances has not fallen for
``patience`` checks. With ``held_out=0`` nothing is held out and the last network counts, as published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import MissingExtra, PlanError

Layers = list[tuple[Any, Any]]


def perceptron(key: Any, sizes: Sequence[int]) -> Layers:
    """Return random layers between those sizes: He's normal weights, half as large in the last, and no bias."""
    import jax
    import jax.numpy as jnp

    layers: Layers = []
    for place, (wide, narrow) in enumerate(pairwise(sizes)):
        key, own = jax.random.split(key)
        spread = math.sqrt((2.0 if place < len(sizes) - 2 else 0.5) / wide)
        weights = spread * jax.random.normal(own, (wide, narrow), jnp.float32)
        layers.append((weights, jnp.zeros(narrow, jnp.float32)))
    return layers


def forward(layers: Layers, values: Any, bend: Callable[[Any], Any]) -> Any:
    """Return what the layers make of the values; ``bend`` stands between layers, not after the last."""
    for weights, bias in layers[:-1]:
        values = bend(values @ weights + bias)
    weights, bias = layers[-1]
    return values @ weights + bias


def gradient_step(optimizer: Any, layers: Layers, slope: Any, memory: Any) -> tuple[Any, Any]:
    """Return layers and the optimizer's memory after one step down the slope."""
    import optax

    changes, memory = optimizer.update(slope, memory)
    return optax.apply_updates(layers, changes), memory


def time_features(times: Any, steps: int, count: int) -> Any:
    """Return sines and cosines of the share of the way that each time has gone, from slow to fast."""
    import jax.numpy as jnp

    rates = jnp.exp(jnp.linspace(0.0, math.log(steps), count // 2, dtype=jnp.float32))
    angles = (times.astype(jnp.float32) / steps)[:, None] * rates
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)


Progress = Callable[[int, int], None]
"""Called after each epoch with its number and the most epochs there can be."""
MOST_CHECKED = 500
"""So many rows are drawn for a check, and no more held-out rows compared: the distance costs their square."""


@dataclass(frozen=True)
class Training:
    """Settings that both networks share; each has its own defaults, those of the paper's Table 6 where it has them."""

    hidden: int
    layers: int
    batch: int
    rate: float
    epochs: int
    check_every: int
    patience: int
    window: int = 3
    held_out: float = 0.2

    def __post_init__(self) -> None:
        problems = self.problems()
        if problems:
            raise PlanError("the network cannot be trained so", problems, "leave the settings at their defaults")

    def problems(self) -> list[str]:
        """Return all that is wrong with the settings."""
        whole = ("hidden", "layers", "batch", "check_every", "patience", "window")
        problems = [f"{name} must be at least 1" for name in whole if getattr(self, name) < 1]
        if self.epochs < 0:
            problems.append("epochs must be at least 0")
        if not 0 < self.rate < 1:
            problems.append("rate, the learning rate, must lie between 0 and 1")
        if not 0 <= self.held_out <= 0.5:
            problems.append("held_out, the share of rows kept for checks, must lie between 0 and 0.5")
        return problems


class Network(Hashable, Protocol):
    """What the loop needs of a network; states hold ``params`` first, then what the optimizer remembers."""

    @property
    def settings(self) -> Training:
        """How to train it."""
        ...

    def start(self, key: Any) -> tuple[Any, ...]:
        """Return a state before training."""
        ...

    def epoch(self, state: tuple[Any, ...], key: Any, rows: Any) -> tuple[Any, ...]:
        """Return the state after all rows were seen once."""
        ...

    def draw(self, params: Any, key: Any, rows: int) -> Any:
        """Return rows in the units of training."""
        ...


@dataclass(frozen=True)
class Trained:
    """Parameters that were kept, and how they came about."""

    params: Any
    epochs: int
    best_epoch: int
    stopped_early: bool
    distances: tuple[float, ...]


def require_deep(name: str) -> None:
    """Refuse a deep first stage where JAX or Optax is not installed."""
    try:
        import jax  # noqa: F401 # pyright: ignore[reportUnusedImport]
        import optax  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise MissingExtra(
            f"the first stage {name!r} is trained with JAX and Optax, which are not installed",
            next_step="pip install 'sfumato[deep]', or use first='lhs'",
        ) from error


@lru_cache(maxsize=8)
def compiled(network: Network) -> tuple[Any, Any]:
    """Return the network's ``epoch`` and ``draw``, compiled once for equal networks on as many rows."""
    import jax

    return jax.jit(network.epoch), jax.jit(network.draw, static_argnums=2)


def train(network: Network, rows: FloatArray, held: FloatArray, key: Any, progress: Progress | None = None) -> Trained:
    """Train by the rule above; ``held`` may be empty."""
    import jax
    import jax.numpy as jnp

    how = network.settings
    start, steps, same = jax.random.split(key, 3)
    state, on_device = network.start(start), jnp.asarray(rows, jnp.float32)
    epoch_of, drawn_by = compiled(network)
    watch = EarlyStopping(how)
    for epoch in range(how.epochs + 1):
        if epoch:
            state = epoch_of(state, jax.random.fold_in(steps, epoch), on_device)
        if len(held) and (epoch % how.check_every == 0 or epoch == how.epochs):
            watch.see(
                epoch, state[0], energy_distance(np.asarray(drawn_by(state[0], same, MOST_CHECKED), np.float64), held)
            )
        if progress and epoch:
            progress(epoch, how.epochs)
        if watch.waited >= how.patience:
            return watch.trained(epoch, state[0])
    return watch.trained(how.epochs, state[0])


class EarlyStopping:
    """The rule: which network is kept, and for how many checks there was no better one."""

    def __init__(self, settings: Training) -> None:
        self.settings = settings
        self.distances: list[float] = []
        self.average = float("nan")
        self.lowest = float("inf")
        self.best: tuple[int, Any] | None = None
        self.waited = 0

    def see(self, epoch: int, params: Any, distance: float) -> None:
        """Note one check. An infinite distance, after a training that ran away, never counts as better."""
        if distance < min(self.distances, default=float("inf")):
            self.best = (epoch, params)
        self.distances.append(distance)
        self.average = float(np.mean(self.distances[-self.settings.window :]))
        self.waited = 0 if self.average < self.lowest else self.waited + 1
        self.lowest = min(self.lowest, self.average)

    def trained(self, epochs: int, last: Any) -> Trained:
        """Return what is kept after that many epochs."""
        epoch, params = self.best or (epochs, last)
        return Trained(params, epochs, epoch, epochs < self.settings.epochs, tuple(self.distances))


def energy_distance(left: FloatArray, right: FloatArray) -> float:
    """Return the energy distance of two samples; infinite where a value is no number.

    >>> x = np.random.default_rng(1).normal(size=(300, 2))
    >>> energy_distance(x, x), round(energy_distance(x, x + 3.0), 1)
    (0.0, 5.6)
    """
    from scipy.spatial.distance import cdist

    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return float("inf")
    return float(2 * cdist(left, right).mean() - cdist(left, left).mean() - cdist(right, right).mean())
