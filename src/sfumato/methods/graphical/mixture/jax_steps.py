"""Steps of the mixture's fit on an accelerator: the same function as on the processor, compiled once for a block."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sfumato.methods.graphical.mixture.objective import Problem, adam


def jax_runner(problem: Problem, block: int) -> Any:
    """Return what takes one block of steps with JAX. The tables are moved to the device once."""
    import jax

    arrays = {name: jax.device_put(array) for name, array in problem.arrays.items()}
    steps = jax.jit(partial(_steps, problem, block))

    def run(state: tuple[Any, ...], rate: float) -> tuple[Any, ...]:
        # Devices round the factors of matrix products to fewer bits unless told not to.
        with jax.default_matmul_precision("highest"):
            numbers = (*state[:3], *(np.float32(number) for number in state[3:]))
            return tuple(steps(arrays, numbers, np.float32(rate)))

    return run


def _steps(problem: Problem, block: int, arrays: dict[str, Any], state: tuple[Any, ...], rate: Any) -> tuple[Any, ...]:
    import jax
    import jax.numpy as jnp

    return jax.lax.fori_loop(0, block, lambda _, now: adam(jnp, problem, arrays, now, rate), state)
