"""Networks of the deep first stages: plain perceptrons as lists of (weights, bias), in single precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

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


def answer(layers: Layers, values: Any, bend: Callable[[Any], Any]) -> Any:
    """Return what the layers make of the values; ``bend`` stands between layers, not after the last."""
    for weights, bias in layers[:-1]:
        values = bend(values @ weights + bias)
    weights, bias = layers[-1]
    return values @ weights + bias


def moved(optimizer: Any, layers: Layers, slope: Any, memory: Any) -> tuple[Any, Any]:
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
