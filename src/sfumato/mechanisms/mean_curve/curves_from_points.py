"""Curves from long tables, other grids and gaps: carry points to the public grid.

Proof note. A curve is a function of its own points alone: they are sorted by place and value, points at one place are
averaged in that order, and a public rule carries them to the public grid. *linear*: straight lines between points, and
level before the first and after the last. *step*: the last value so far, and the public default before the first. A
curve without points is the public default. Then it is clipped and becomes an integer vector q of length at most U, as
every path does (:mod:`sfumato.mechanisms.mean_curve.integer_sums`): whatever the points of a curve, |q| <= U, so
that curves that
change by any number of points move the sum by at most 2 U each. What one unit of privacy can change, with w the weight
of the count:

- *wide* (a row is a curve): as without gaps. k (U, w) under add-remove for k rows a person, 2 U under replace.
- *long, add-remove, the curve is the person's*: one curve comes or goes, (q, w), of length at most sqrt(U^2 + w^2),
  however many points a person may hold.
- *long, add-remove, curves are told apart by another column*: k rows of one person, or the one row, touch at most k
  curves. Each of them changes (at most 2 U, the count stays) or comes or goes (at most sqrt(U^2 + w^2)).
- *long, replace*: one row leaves one curve and joins another: two curves change by at most 2 U each, where a curve
  without rows is the default. The public number of people divides, so that none is counted: 4 U.

Public: grid, rule, default, the bounds of time and value, the number of people under replace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.jit import jit
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import column_problems
from sfumato.table.column_expressions import cast_to_kind, encodable
from sfumato.table.persons import kept_rows
from sfumato.table.rows import batch_arrays

if TYPE_CHECKING:
    from sfumato.table import Table

Rule = Literal["linear", "step"]
RULES: tuple[Rule, ...] = ("linear", "step")


class LongTable(NamedTuple):
    """The columns of a table whose rows are points."""

    curve: str
    time: str
    value: str


@jit
def _interpolate(starts: Any, places: Any, values: Any, grid: Any, default: Any, step: bool, out: Any) -> None:
    xs, ys = np.empty(len(places)), np.empty(len(places))
    for curve in range(len(starts) - 1):
        known, i = 0, starts[curve]
        while i < starts[curve + 1]:  # points at one place become their mean
            total, times, place = 0.0, 0, places[i]
            while i < starts[curve + 1] and places[i] == place:
                total, times, i = total + values[i], times + 1, i + 1
            xs[known], ys[known], known = place, total / times, known + 1
        j = 0
        for g in range(len(grid)):
            while j < known and xs[j] <= grid[g]:
                j += 1  # xs[j - 1] is the last place up to here
            if known == 0 or (step and j == 0):
                out[curve, g] = default[g]
            elif step or j == known:
                out[curve, g] = ys[j - 1]
            elif j == 0:
                out[curve, g] = ys[0]
            else:
                share = (grid[g] - xs[j - 1]) / (xs[j] - xs[j - 1])
                out[curve, g] = ys[j - 1] + share * (ys[j] - ys[j - 1])


def onto_grid(
    starts: NDArray[np.int64], places: FloatArray, values: FloatArray, grid: FloatArray, default: FloatArray, rule: Rule
) -> FloatArray:
    """Return curves on the grid from their points: curve i has the points from ``starts[i]`` to ``starts[i + 1]``.

    Points of one curve stand in the order of their places; one whose place or value is missing is none.

    >>> grid, starts = np.array([0.25, 0.5, 1.0]), np.array([0, 2, 2])
    >>> onto_grid(starts, np.array([0.0, 0.5]), np.array([0.0, 4.0]), grid, np.full(3, 9.0), "linear").tolist()
    [[2.0, 4.0, 4.0], [9.0, 9.0, 9.0]]
    """
    there = np.isfinite(places) & np.isfinite(values)
    before = np.concatenate([[0], np.cumsum(there)])
    out = np.empty((len(starts) - 1, len(grid)))
    _interpolate(before[starts], places[there], values[there], grid, default, rule == "step", out)
    return out


def fill_gaps(paths: FloatArray, grid: FloatArray, default: FloatArray, rule: Rule) -> FloatArray:
    """Return paths on the grid without their gaps: what is there is kept, what is missing follows from it."""
    starts = np.arange(len(paths) + 1, dtype=np.int64) * len(grid)
    return onto_grid(starts, np.tile(grid, len(paths)), paths.ravel(), grid, default, rule)


class _WholeCurves(NamedTuple):
    """Points of whole curves: where each curve begins, places in [0, 1] and values."""

    starts: NDArray[np.int64]
    places: FloatArray
    values: FloatArray


def stream_long(
    table: Table, long: LongTable, grid: FloatArray, default: FloatArray, rule: Rule
) -> Iterator[FloatArray]:
    """Yield the curves of a long table on the grid, batch by batch; the engine sorts the points."""
    for whole in _curves(table, long):
        yield onto_grid(*whole, grid, default, rule)


def _curves(table: Table, long: LongTable) -> Iterator[_WholeCurves]:
    """Yield points of whole curves: the last curve of a batch waits for the rest of its points."""
    low, high = table.schema[long.time].numeric_bounds
    held = (np.zeros(0), np.zeros(0))
    last: Any = None
    for ids, times, values in _batches(table, long):
        if not len(ids):
            continue
        opens = np.flatnonzero(_changes(ids, last)) + len(held[0])
        places = np.concatenate([held[0], (times - low) / (high - low)])
        values = np.concatenate([held[1], values])
        if len(opens):
            first = [] if last is None else [0]
            starts = np.array([*first, *opens], np.int64)
            cut = starts[-1]
            if len(starts) > 1:
                yield _WholeCurves(starts, places[:cut], values[:cut])
            places, values = places[cut:], values[cut:]
        held, last = (places, values), ids[-1]
    if last is not None:
        yield _WholeCurves(np.array([0, len(held[0])], np.int64), *held)


def _batches(table: Table, long: LongTable) -> Iterator[tuple[Any, FloatArray, FloatArray]]:
    schema, engine = table.schema, table.source.engine
    kept = kept_rows(engine.table, schema)
    columns = [schema[long.time], schema[long.value]]
    chosen = kept.select(
        _curve=cast_to_kind(kept[long.curve], schema[long.curve]),
        _time=encodable(kept[long.time], columns[0]),
        _value=encodable(kept[long.value], columns[1]),
    )
    for batch in engine.batches(chosen.order_by("_curve", "_time", "_value")):
        points = batch_arrays(batch, columns, first=1)
        yield batch.column(0), points[long.time], points[long.value]


def _changes(ids: Any, last: Any) -> NDArray[np.bool_]:
    """Return at which rows another curve begins."""
    import pyarrow.compute

    pc: Any = pyarrow.compute
    first = last is None or ids[0] != last
    others = pc.fill_null(pc.not_equal(ids[1:], ids[:-1]), True).to_numpy(zero_copy_only=False)
    return np.concatenate([[first], others.astype(bool)])


def long_problems(schema: Schema, long: LongTable) -> list[str]:
    """Return what is wrong with the columns of a long table."""
    problems = [p for name in (long.time, long.value) for p in column_problems(schema, name, _point_problems)]
    if len(set(long)) < 3:
        problems.append(f"curve, time and value must be three columns, found {', '.join(long)}")
    if long.curve not in schema.names:
        problems.append(f"there is no column {long.curve!r} that tells curves apart")
    elif schema[long.curve].missing:
        problems.append(f"column {long.curve!r} may be missing; every point belongs to a curve")
    if not problems and len(set(schema[long.time].numeric_bounds)) == 1:
        problems.append(f"column {long.time!r} has bounds without room between them")
    return problems


def _point_problems(column: Column) -> list[str]:
    if column.kind not in ("integer", "number", "date"):
        return [f"column {column.name!r} is of kind {column.kind}; times and values are integers, numbers or dates"]
    return [] if column.bounds is not None else [f"column {column.name!r} has no bounds in the schema"]
