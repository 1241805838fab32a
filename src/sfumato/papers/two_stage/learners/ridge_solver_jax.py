"""Exact kernel ridge solve in tiles on an accelerator (JAX).

The table is never made as a whole: only the tiles on and below the diagonal, all of one size, so that six small
programs are compiled whatever the number of rows and no array passes 2^31 numbers. 50,000 rows in float64 take 11 GB.
The same code runs on the processor. The file needs JAX and NumPy only and can be copied to another machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray

MOST_TILE = 5120
# Rows that fill the last tile lie this far apart, where every kernel is exactly 0.
FAR = 1e6


def solve_in_tiles(
    scaled: FloatArray,
    targets: FloatArray,
    penalty: float,
    name: str,
    reach: float,
    power: int,
    most_tile: int = MOST_TILE,
) -> FloatArray:
    """Return (K + n lambda I)^-1 y in float64. ``scaled`` holds the inputs, ``power`` is Wendland's."""
    import jax

    rows = len(scaled)
    count = math.ceil(rows / most_tile)
    size = math.ceil(rows / count / 8) * 8
    with jax.enable_x64(True):
        parts, values = _tiles_of(scaled / reach, targets, count, size)
        steps = _programs(name, power)
        answer = _substituted(_factored(parts, steps, rows * penalty), values, steps)
        return np.concatenate([np.asarray(part) for part in answer])[:rows]


def _tiles_of(points: FloatArray, targets: FloatArray, count: int, size: int) -> tuple[list[Any], list[Any]]:
    """Return points and targets in equal parts on the device, filled up with far points whose target is 0."""
    import jax.numpy as jnp

    missing = count * size - len(points)
    far = FAR * (1.0 + np.arange(missing))[:, None] * np.ones((1, points.shape[1]))
    filled = np.concatenate([points, far])
    values = np.concatenate([targets, np.zeros((missing, targets.shape[1]))])
    return [jnp.asarray(part) for part in np.split(filled, count)], [
        jnp.asarray(part) for part in np.split(values, count)
    ]


def _kernel(left: Any, right: Any, shift: Any, name: str, power: int) -> Any:
    """Return the kernel of two parts, with ``shift`` added where a tile lies on the diagonal."""
    import jax.numpy as jnp

    square = jnp.sum(left**2, 1)[:, None] + jnp.sum(right**2, 1) - 2.0 * left @ right.T
    square = jnp.maximum(square, 0.0)
    distance = jnp.sqrt(square)
    if name == "wendland":
        table = jnp.maximum(1.0 - distance, 0.0) ** power * (power * distance + 1.0)
    elif name == "gaussian":
        table = jnp.exp(-0.5 * square)
    else:
        table = (1.0 + math.sqrt(5.0) * distance + 5.0 / 3.0 * square) * jnp.exp(-math.sqrt(5.0) * distance)
    # On the diagonal the distance is 0: rounding of far points must not say otherwise.
    on_diagonal = jnp.eye(len(left), dtype=bool) & (shift > 0)
    return jnp.where(on_diagonal, 1.0 + shift, table)


@dataclass(frozen=True)
class _Programs:
    """The compiled steps; kept, so that a second solve of the same shape compiles nothing."""

    kernel: Any
    factor: Any
    below: Any
    reduce: Any
    forward: Any
    backward: Any


@cache
def _programs(name: str, power: int) -> _Programs:
    """Return the steps for one kernel."""
    import jax
    from jax.lax.linalg import cholesky, triangular_solve

    triangle = partial(triangular_solve, lower=True)
    return _Programs(
        kernel=jax.jit(partial(_kernel, name=name, power=power)),
        factor=jax.jit(partial(cholesky, symmetrize_input=False)),
        below=jax.jit(partial(triangle, left_side=False, transpose_a=True)),
        reduce=jax.jit(lambda tile, left, right: tile - left @ right.T, donate_argnums=0),
        forward=jax.jit(partial(triangle, left_side=True)),
        backward=jax.jit(partial(triangle, left_side=True, transpose_a=True)),
    )


def _factored(parts: list[Any], steps: _Programs, shift: float) -> dict[tuple[int, int], Any]:
    """Return the tiles of the Cholesky factor, column by column from the left."""
    tiles: dict[tuple[int, int], Any] = {}
    for column in range(len(parts)):
        for row in range(column, len(parts)):
            tile = steps.kernel(parts[row], parts[column], shift if row == column else 0.0)
            for before in range(column):
                tile = steps.reduce(tile, tiles[row, before], tiles[column, before])
            own = tiles.get((column, column))
            tiles[row, column] = steps.factor(tile) if own is None else steps.below(own, tile)
    return tiles


def _substituted(tiles: dict[tuple[int, int], Any], values: list[Any], steps: _Programs) -> list[Any]:
    """Solve with the factor and with its transpose."""
    count, answer = len(values), list(values)
    for row in range(count):
        for before in range(row):
            answer[row] = answer[row] - tiles[row, before] @ answer[before]
        answer[row] = steps.forward(tiles[row, row], answer[row])
    for row in reversed(range(count)):
        for after in range(row + 1, count):
            answer[row] = answer[row] - tiles[after, row].T @ answer[after]
        answer[row] = steps.backward(tiles[row, row], answer[row])
    return answer
