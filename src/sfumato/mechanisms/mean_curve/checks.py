"""Check parameters, grid columns and paths of a mean curve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError
from sfumato.mechanisms.mean_curve.curve_kernels import KERNELS
from sfumato.mechanisms.mean_curve.integer_sums import LARGEST_GRID
from sfumato.privacy.exact import Number, to_fraction
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import selection_problems
from sfumato.schema.schema import ADJACENCIES


def positive_problems(**values: Any) -> list[str]:
    """Return a problem for each named value that is not a finite number above 0."""
    problems: list[str] = []
    for what, value in values.items():
        try:
            if to_fraction(value, what) <= 0 or float(to_fraction(value, what)) == 0:
                problems.append(f"{what} must be above 0, found {value}")
        except PlanError as error:
            problems.append(error.headline)
        except OverflowError:
            problems.append(f"{what} must be a finite number, found {value}")
    return problems


def delta_problems(delta: Any) -> list[str]:
    """Return a problem unless delta lies between 0 and 1."""
    problems = positive_problems(delta=delta)
    if problems or to_fraction(delta, "delta") < 1:
        return problems
    return [f"delta must lie between 0 and 1 (such as 1e-6), found {delta}"]


def adjacency_problems(adjacency: Any) -> list[str]:
    """Return a problem unless the adjacency is known."""
    if adjacency in ADJACENCIES:
        return []
    return [f"adjacency {adjacency!r} is unknown; use {' or '.join(ADJACENCIES)}"]


def kernel_problems(kernel: Any, length_scale: Number | None) -> list[str]:
    """Return what is wrong with a kernel's name and length scale."""
    if kernel not in KERNELS:
        return [f"kernel {kernel!r} is unknown; use one of {', '.join(KERNELS)}"]
    if length_scale is None:
        return []
    if kernel == "wiener":
        return ["the Wiener kernel has no length_scale; leave it out"]
    return positive_problems(length_scale=length_scale)


def position_problems(positions: Sequence[Any] | None, points: int) -> list[str]:
    """Return what is wrong with the positions of a grid of so many points."""
    if positions is None:
        return []
    try:
        read = [float(to_fraction(position, "position")) for position in positions]
    except (PlanError, TypeError, OverflowError):
        return [f"positions must be a list of finite numbers, found {positions!r}"]
    problems = [] if len(read) == points else [f"{points} grid points need {points} positions, found {len(read)}"]
    if any(later <= earlier for earlier, later in pairwise(read)):
        problems.append("positions must increase")
    if read and (min(read) <= 0 or max(read) > 1):
        problems.append("positions must lie above 0 and at most at 1: at 0 every Wiener path is 0")
    return problems


def default_problems(default: Sequence[Any] | None, points: int) -> list[str]:
    """Return what is wrong with the public curve of somebody without points."""
    if default is None:
        return []
    try:
        read = [float(to_fraction(number, "default")) for number in default]
    except (PlanError, TypeError, OverflowError):
        return [f"default must be a list of finite numbers, found {default!r}"]
    return [] if len(read) in (1, points) else [f"default needs 1 or {points} numbers, found {len(read)}"]


def grid_problems(schema: Schema, names: Sequence[str], gaps: bool = False) -> list[str]:
    """Return what is wrong with the grid columns of a table; with ``gaps`` values may be missing."""
    problems = selection_problems(schema, names, _gap_problems if gaps else path_problems)
    problems += [] if names else ["a curve needs at least one numeric grid column, found none"]
    if schema.adjacency == "replace" and not schema.rows:
        problems.append("adjacency 'replace' needs the public number of rows in the schema (rows = ...)")
    problems += [f"a grid has at most {LARGEST_GRID:,} points"] if len(names) > LARGEST_GRID else []
    return problems


def _gap_problems(column: Column) -> list[str]:
    return [problem for problem in path_problems(column) if "may be missing" not in problem]


def path_problems(column: Column) -> list[str]:
    """Return what is wrong with one grid column."""
    if column.kind not in ("integer", "number"):
        return [f"column {column.name!r} is of kind {column.kind}; grid columns are integer or number"]
    if column.missing or column.outside == "missing":
        return [f"column {column.name!r} may be missing; a path has a value at every point: say interpolation='linear'"]
    return [] if column.bounds is not None else [f"column {column.name!r} has no bounds in the schema"]


def path_matrix(paths: ArrayLike) -> FloatArray:
    """Return paths as a matrix of one row each; refuse NaN, infinities and paths of different grids."""
    try:
        matrix = np.asarray(paths, dtype=float)
    except (ValueError, TypeError) as error:
        raise PlanError("these paths cannot be averaged", [_unlike(paths)], "bring all paths to one grid") from error
    problems: list[str] = []
    if matrix.ndim != 2 or 0 in matrix.shape:
        problems.append(f"paths need one row each and one column for each grid point, found the shape {matrix.shape}")
    elif bad := int((~np.isfinite(matrix)).any(axis=1).sum()):
        problems.append(f"{bad} path{'s' if bad > 1 else ''} with values that are missing or not finite")
    if problems:
        raise PlanError("these paths cannot be averaged", problems, "bring all paths to one grid, without gaps")
    return matrix


def _unlike(paths: Any) -> str:
    try:
        lengths = sorted({len(path) for path in paths})
    except TypeError:
        lengths = []
    if len(lengths) < 2:
        return "found values that are not numbers"
    return f"found paths on grids of {', '.join(str(length) for length in lengths)} points"


def refuse(problems: Sequence[str], where: str) -> None:
    """Refuse parameters with every problem at once."""
    if problems:
        raise PlanError(
            f"cannot plan mean-curve{where}",
            tuple(dict.fromkeys(problems)),
            "correct the method's parameters; 'sfumato methods' explains them",
        )
