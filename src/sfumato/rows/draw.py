"""Synthetic values from codes, with rules kept: all of it post-processing of what was already released."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.frames import value_array

Codes = Mapping[str, NDArray[np.int64]]
DrawCodes = Callable[[int], Codes]
Values = dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]
DrawValues = Callable[[int], Values]
REDRAWS = 50
"""Rounds in which rows that break a rule are drawn again; a fixed number, so that time tells nothing."""
PROBE_ROWS = 2000


def draw_values(
    column: Column,
    codes: NDArray[np.int64],
    generator: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return one value per code (uniform within the bin of an ordered column) and which of them are missing."""
    missing = codes == column.present_size
    present = np.where(missing, 0, codes)
    if not column.is_ordered:
        levels = np.empty(len(column.levels), dtype=object)
        levels[:] = column.levels
        return levels[present], missing
    low, high = column.starts[present], column.ends[present]
    uniform = generator.random(len(codes))
    if column.is_discrete:
        return (low + np.minimum(np.floor(uniform * (high - low + 1)), high - low)).astype(np.int64), missing
    drawn = np.round(low + uniform * (high - low), decimals(float(np.min(column.ends - column.starts))))
    return np.maximum(np.minimum(drawn, np.nextafter(high, low)), low), missing


def decimals(width: float) -> int:
    """Return how many decimals a synthetic number keeps: four digits finer than the narrowest public bin."""
    return max(0, 4 - math.floor(math.log10(width)))


def keeps_rules(schema: Schema, values: Values) -> NDArray[np.bool_]:
    """Return which rows keep all rules that concern the given columns."""
    columns = {column.name: column for column in schema}
    kept = np.ones(_length(values), dtype=bool)
    for rule in schema.rules:
        if set(rule.columns) <= set(values):
            kept &= rule.keeps(values, columns)
    return kept


@dataclass(frozen=True)
class Sampled:
    """Synthetic rows and how many of them had to be drawn again or replaced to keep the rules."""

    values: Values
    redrawn: int
    replaced: int


def sample_rows(schema: Schema, draw_codes: DrawCodes, rows: int, generator: np.random.Generator) -> Sampled:
    """Draw rows that keep every rule, from codes."""
    return sample_values(schema, _valued(schema, draw_codes, generator), rows, generator)


def sample_values(schema: Schema, draw: DrawValues, rows: int, generator: np.random.Generator) -> Sampled:
    """Draw rows that keep every rule: bad rows are drawn again, what stays bad is replaced by rows that keep them.

    Where the fitted model yields no row at all that keeps the rules, the donors are drawn from public facts; the plan
    has made sure beforehand that such rows exist.
    """
    values, first_bad, bad = _redraw(schema, draw, rows)
    if len(bad):
        good = np.setdiff1d(np.arange(rows), bad)
        names = tuple(values)
        donors = _rows_at(values, good) if len(good) else _probed_rows(schema, names)
        _overwrite(values, bad, _rows_at(donors, generator.integers(0, _length(donors), len(bad))))
    return Sampled(values, first_bad, len(bad))


def _valued(schema: Schema, draw_codes: DrawCodes, generator: np.random.Generator) -> DrawValues:
    def draw(count: int) -> Values:
        codes = draw_codes(count)
        return {name: draw_values(schema[name], column, generator) for name, column in codes.items()}

    return draw


def _redraw(schema: Schema, draw: DrawValues, rows: int) -> tuple[Values, int, NDArray[np.int64]]:
    """Draw rows and draw bad ones again; return the rows, how many were bad at first, and which still are."""
    values = draw(rows)
    bad = np.flatnonzero(~keeps_rules(schema, values))
    first_bad = len(bad)
    for _ in range(REDRAWS):
        if not len(bad):
            break
        fresh = draw(len(bad))
        _overwrite(values, bad, fresh)
        bad = bad[~keeps_rules(schema, fresh)]
    return values, first_bad, bad


def _length(values: Values) -> int:
    return len(next(iter(values.values()))[1])


def _rows_at(values: Values, where: NDArray[np.int64]) -> Values:
    return {name: (column[where], missing[where]) for name, (column, missing) in values.items()}


def _overwrite(values: Values, where: NDArray[np.int64], fresh: Values) -> None:
    for name, (column, missing) in fresh.items():
        values[name][0][where] = column
        values[name][1][where] = missing


def public_rows(schema: Schema, names: tuple[str, ...], generator: np.random.Generator) -> Values:
    """Return rows drawn uniformly from the public domain that keep the rules; refuse rules that none keeps."""

    def uniform(count: int) -> Codes:
        return {name: generator.integers(0, schema[name].size, count) for name in sorted(names)}

    values, _, bad = _redraw(schema, _valued(schema, uniform, generator), PROBE_ROWS)
    if len(bad) < PROBE_ROWS:
        return _rows_at(values, np.setdiff1d(np.arange(PROBE_ROWS), bad))
    raise PlanError(
        f"the rules of table {schema.name!r} leave no row that this method can draw",
        [rule.check for rule in schema.rules],
        "relax the rules, or leave the columns that they bind out of the release",
    )


def _probed_rows(schema: Schema, names: tuple[str, ...]) -> Values:
    """Return public rows that keep the rules, the same each time: a run finds what its plan has found."""
    return public_rows(schema, names, np.random.default_rng(0))


def refuse_impossible_rules(schema: Schema, names: tuple[str, ...]) -> None:
    """Refuse rules that no drawn row can keep, before anything is spent: tried on rows drawn from public facts."""
    if any(set(rule.columns) <= set(names) for rule in schema.rules):
        _probed_rows(schema, names)


def rows_table(schema: Schema, values: Values) -> pa.Table:
    """Return synthetic values as an Arrow table in the order of the schema."""
    names = [name for name in schema.names if name in values]
    return pa.table({name: value_array(schema[name], *values[name]) for name in names})
