"""Fit a mixture of products by Adam, with a penalty chosen by thinning the noise.

Near independence the information of a component is half its squared distance from the one-way shares, in the metric
1 / p. A new direction then lowers the error only if the forces of the tables, taken in that metric, have an eigenvalue
above the penalty. Pure noise has eigenvalues up to the ``noise_threshold``: at that penalty noise teaches nothing.
Strong structure is then drawn too far towards independence, so a share of the threshold is better. Which share depends
on the signal. It is found on the noisy tables alone: each is split in two with independent noise, a quick fit to the
one is judged by the other, and the share moves up or down as long as that helps. All of it is post-processing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import MissingExtra
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement, StructuralZeros
from sfumato.mechanisms.graphical.mixture.objective import (
    MixtureLoss,
    adam,
    centre_logits,
    half_squares,
    products,
    shares,
)
from sfumato.mechanisms.graphical.mixture.targets import Array, Targets, fold_coarse, split_noise, targets_of

Backend = Literal["numpy", "jax"]

State = tuple[Any, ...]

Runner = Callable[[State, float], State]
"""Takes one block of steps at a rate."""

BLOCK = 50

FIRST_RATE = 0.2

LAST_RATE = FIRST_RATE / 16

SPREAD = 1.0
"""Standard deviation of the first logits about those of the one-way shares."""


@dataclass(frozen=True)
class MixtureSettings:
    """How a mixture is fitted; all public."""

    components: int = 200
    most_steps: int = 2000
    tolerance: float = 2e-3
    """A block of steps that lowers the value by less than this share of it brings nothing more."""
    backend: Backend = "numpy"


@dataclass(frozen=True)
class FitResult:
    """Where a fit ended: shares of levels (levels x components), weights, error, number of steps."""

    levels: Array = field(repr=False)
    weights: Array = field(repr=False)
    error: float
    """Half the sum of squared errors of the fitted tables and of the forbidden cells, each in units of its noise."""
    steps: int
    converged: bool


def minimise(targets: Targets, penalty: float, generator: np.random.Generator, settings: MixtureSettings) -> FitResult:
    """Minimise the penalised error from a random start.

    After each block that brings nothing more the rate is halved; the fit has converged once the rate has been halved
    four times and a block still brings nothing.
    """
    goal = MixtureLoss.of(targets, penalty)
    run, most_steps = step_runner(goal, settings.backend), settings.most_steps
    state, rate, steps, before = _start(goal, settings.components, generator), FIRST_RATE, 0, np.inf
    while steps < most_steps and rate >= LAST_RATE:
        # The second half of the steps slows down in any case: a fit that is cut short must not end in mid-swing.
        state = run(state, min(rate, 2.0 * FIRST_RATE * (1.0 - steps / most_steps)))
        state = (centre_logits(goal.layout, np.asarray(state[0])), *state[1:])
        steps, value = steps + BLOCK, float(state[4])
        rate = rate / 2 if before - value < settings.tolerance * value else rate
        before = value
    levels, weights, _ = shares(np, goal, goal.arrays, state[0])
    return FitResult(levels, weights, half_squares(targets, levels, weights), steps, rate < LAST_RATE)


def step_runner(goal: MixtureLoss, backend: Backend) -> Runner:
    """Return what takes a block of steps, on the processor with NumPy or on whatever device JAX finds."""
    if backend == "numpy":
        return lambda state, rate: _block(goal, state, rate)
    require_jax()
    return _jax_runner(goal)


def require_jax() -> None:
    """Refuse the backend "jax" where its library is not installed."""
    if importlib.util.find_spec("jax") is None:
        raise MissingExtra("backend='jax' needs JAX", next_step="pip install 'sfumato[deep]'")


def _block(goal: MixtureLoss, state: State, rate: float) -> State:
    for _ in range(BLOCK):
        state = adam(np, goal, goal.arrays, state, rate)
    return state


def _start(goal: MixtureLoss, components: int, generator: np.random.Generator) -> State:
    """Return components scattered about the one-way shares, all of equal weight, and an optimiser with no memory."""
    logits = np.zeros((goal.layout.levels + 1, components), np.float32)
    scatter = generator.standard_normal((goal.layout.levels, components), np.float32)
    logits[:-1] = goal.arrays["log_reference"] + np.float32(SPREAD) * scatter
    empty = np.zeros_like(logits)
    return centre_logits(goal.layout, logits), empty, empty, 0, np.inf


def _jax_runner(goal: MixtureLoss) -> Runner:
    """Return what takes one block of steps with JAX. The tables are moved to the device once."""
    import jax

    arrays = {name: jax.device_put(array) for name, array in goal.arrays.items()}
    steps = jax.jit(partial(_jax_block, goal))

    def run(state: State, rate: float) -> State:
        # Devices round the factors of matrix products to fewer bits unless told not to.
        with jax.default_matmul_precision("highest"):
            numbers = (*state[:3], *(np.float32(number) for number in state[3:]))
            return tuple(steps(arrays, numbers, np.float32(rate)))

    return run


def _jax_block(goal: MixtureLoss, arrays: dict[str, Any], state: State, rate: Any) -> State:
    """Take the same steps as on the processor, compiled once for a block."""
    import jax
    import jax.numpy as jnp

    return jax.lax.fori_loop(0, BLOCK, lambda _, now: adam(jnp, goal, arrays, now, rate), state)


PLACES = 9
"""Shares of the threshold that may be tried: from all of it to a sixteenth, each a root of a half times the last."""

FIRST_TRIED = 3

DENSE_LEVELS = 600
"""Up to this many levels all eigenvalues are computed; beyond, only the two at the edges."""
RATIO = 0.5
"""Thinning: the fit sees 1.25 times the variance of the noise, the judge 5 times."""


@dataclass(frozen=True)
class PenaltySearch:
    """All that a quick fit needs beside the tables."""

    sizes: tuple[int, ...]
    total: float
    supports: tuple[StructuralZeros, ...] = field(repr=False)
    settings: MixtureSettings


def noise_threshold(targets: Targets, generator: np.random.Generator) -> float:
    """Return the edge of the eigenvalues of the forces that noise alone would exert, for one simulated draw of it."""
    reference, layout, wide_reference = targets.reference, targets.layout, targets.seen_reference
    spread = np.sqrt(_pair_weights(targets) * np.outer(wide_reference, wide_reference))
    draw = np.triu(generator.standard_normal(spread.shape), 1)
    # Noise in a coarse cell pushes all its levels alike: in the metric, each by the root of its share of the cell.
    inside = targets.views.sums * np.sqrt(reference) / np.sqrt(wide_reference[layout.levels :, None])
    forces = fold_coarse(fold_coarse(spread * (draw + draw.T), inside).T, inside).T
    # Shares of a column sum to one: directions along its root shares do not exist.
    fixed = layout.members.T * np.sqrt(reference)[:, None]
    forces = forces - fixed @ (fixed.T @ forces)
    forces = forces - (forces @ fixed) @ fixed.T
    return _spectral_edge((forces + forces.T) / 2)


def _pair_weights(targets: Targets) -> NDArray[np.float64]:
    """Return the precision of each pair of levels; a wide table speaks of pairs through its other columns' shares."""
    layout, own = targets.views.seen, targets.layout.levels
    weights = np.zeros((layout.levels, layout.levels))
    weights[:own, :own] = targets.pairs.weight
    for places, block in targets.wide.items():
        parts = [targets.seen_reference[layout.block(place)] for place in places]
        for i in range(len(places)):
            for j in range(i + 1, len(places)):
                others = tuple(axis for axis in range(len(places)) if axis not in (i, j))
                squares = _outer(
                    [parts[axis] ** 2 if axis in others else np.ones(len(parts[axis])) for axis in range(len(places))]
                )
                pair_weight = (block.weight * squares).sum(axis=others)
                rows, columns = layout.block(places[i]), layout.block(places[j])
                weights[rows, columns] += pair_weight
                weights[columns, rows] += pair_weight.T
    return weights


def _outer(parts: list[Array]) -> Array:
    return products([part[:, None] for part in parts]).reshape([len(part) for part in parts])


def _spectral_edge(forces: NDArray[np.float64]) -> float:
    """Return the mean size of the largest and the smallest eigenvalue: for noise both follow the same law."""
    if len(forces) <= DENSE_LEVELS:
        eigenvalues: Any = np.linalg.eigvalsh(forces)
    else:
        from scipy.sparse import linalg

        # The stubs take whole tolerances only.
        eigsh: Any = linalg.eigsh
        eigenvalues = eigsh(forces, k=2, which="BE", tol=1e-2, v0=np.ones(len(forces)), return_eigenvectors=False)
    return float(eigenvalues.max() - eigenvalues.min()) / 2


def choose_penalty(tables: Sequence[LinearMeasurement], search: PenaltySearch, generator: np.random.Generator) -> float:
    """Return the share of the threshold whose quick fit to one half of the split errs least against the other."""
    first, second = split_noise(tables, RATIO, generator)
    targets = targets_of(search.sizes, first, search.supports, search.total)
    judge = targets_of(search.sizes, second, (), search.total)
    threshold = noise_threshold(targets, generator)
    seed = int(generator.integers(2**63))

    def error(place: int) -> float:
        fresh = np.random.default_rng(seed)
        trial = minimise(targets, _share(place) * threshold, fresh, search.settings)
        return half_squares(judge, trial.levels, trial.weights)

    return _share(_lowest(error, PLACES, FIRST_TRIED))


def _share(place: float) -> float:
    return 2.0 ** (-place / 2)


def _lowest(error: Callable[[int], float], count: int, place: int) -> float:
    """Walk downhill from a place, one step at a time, then settle at the lowest point of the parabola there."""
    known = {place: error(place)}
    for move in (1, -1):
        start = place
        while 0 <= place + move < count:
            known[place + move] = error(place + move)
            if known[place + move] >= known[place]:
                break
            place += move
        if place != start:
            break
    return place + _vertex(known.get(place - 1), known[place], known.get(place + 1))


def _vertex(before: float | None, here: float, after: float | None) -> float:
    """Return where the parabola through three errors is lowest, within half a step; 0 at an end of the scale."""
    if before is None or after is None or before + after <= 2 * here:
        return 0.0
    return 0.5 * (before - after) / (before - 2 * here + after)
