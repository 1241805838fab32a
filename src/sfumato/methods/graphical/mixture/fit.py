"""Fit a mixture of products: Adam in blocks of steps, with a rate that halves once a block brings nothing more."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from sfumato.errors import MissingExtra
from sfumato.methods.graphical.mixture.objective import Objective, adam, half_squares, recentred, shares
from sfumato.methods.graphical.mixture.targets import Array, Targets

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
class FitSettings:
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


def descend(targets: Targets, penalty: float, generator: np.random.Generator, settings: FitSettings) -> FitResult:
    """Minimise the penalised error from a random start.

    After each block that brings nothing more the rate is halved; the fit has converged once the rate has been halved
    four times and a block still brings nothing.
    """
    goal = Objective.of(targets, penalty)
    run, most_steps = runner(goal, settings.backend), settings.most_steps
    state, rate, steps, before = _start(goal, settings.components, generator), FIRST_RATE, 0, np.inf
    while steps < most_steps and rate >= LAST_RATE:
        # The second half of the steps slows down in any case: a fit that is cut short must not end in mid-swing.
        state = run(state, min(rate, 2.0 * FIRST_RATE * (1.0 - steps / most_steps)))
        state = (recentred(goal.layout, np.asarray(state[0])), *state[1:])
        steps, value = steps + BLOCK, float(state[4])
        rate = rate / 2 if before - value < settings.tolerance * value else rate
        before = value
    levels, weights, _ = shares(np, goal, goal.arrays, state[0])
    return FitResult(levels, weights, half_squares(targets, levels, weights), steps, rate < LAST_RATE)


def runner(goal: Objective, backend: Backend) -> Runner:
    """Return what takes a block of steps, on the processor with NumPy or on whatever device JAX finds."""
    if backend == "numpy":
        return lambda state, rate: _block(goal, state, rate)
    require_backend(backend)
    return _jax_runner(goal)


def require_backend(backend: Backend) -> None:
    """Refuse a backend whose library is not installed."""
    if backend == "jax" and importlib.util.find_spec("jax") is None:
        raise MissingExtra("backend='jax' needs JAX", next_step="pip install 'sfumato[deep]'")


def _block(goal: Objective, state: State, rate: float) -> State:
    for _ in range(BLOCK):
        state = adam(np, goal, goal.arrays, state, rate)
    return state


def _start(goal: Objective, components: int, generator: np.random.Generator) -> State:
    """Return components scattered about the one-way shares, all of equal weight, and an optimiser with no memory."""
    logits = np.zeros((goal.layout.levels + 1, components), np.float32)
    scatter = generator.standard_normal((goal.layout.levels, components), np.float32)
    logits[:-1] = goal.arrays["log_reference"] + np.float32(SPREAD) * scatter
    empty = np.zeros_like(logits)
    return recentred(goal.layout, logits), empty, empty, 0, np.inf


def _jax_runner(goal: Objective) -> Runner:
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


def _jax_block(goal: Objective, arrays: dict[str, Any], state: State, rate: Any) -> State:
    """Take the same steps as on the processor, compiled once for a block."""
    import jax
    import jax.numpy as jnp

    return jax.lax.fori_loop(0, BLOCK, lambda _, now: adam(jnp, goal, arrays, now, rate), state)
