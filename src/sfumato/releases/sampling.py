"""Synthetic values from codes, with rules kept: all of it post-processing of what was already released."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.columns import Column
from sfumato.errors import PlanError
from sfumato.schema import Schema
from sfumato.table.frames import value_array

Codes = Mapping[str, NDArray[np.int64]]
Values = dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]
REDRAWS = 50
"""Rounds in which rows that break a rule are drawn again; a fixed number, so that time tells nothing."""
PROBE_ROWS = 2000


def draw_values(column: Column, codes: NDArray[np.int64], generator: np.random.Generator,
                ) -> tuple[NDArray[Any], NDArray[np.bool_]]:  # fmt: skip
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
    inside = np.minimum(low + uniform * (high - low), np.nextafter(high, low))
    return np.maximum(inside, low), missing


def keeps_rules(schema: Schema, values: Values) -> NDArray[np.bool_]:
    """Return which rows keep all rules that concern the given columns."""
    columns = {column.name: column for column in schema}
    rows = len(next(iter(values.values()))[1])
    kept = np.ones(rows, dtype=bool)
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


def sample_rows(
    schema: Schema, draw_codes: Callable[[int], Codes], rows: int, generator: np.random.Generator
) -> Sampled:
    """Draw rows that keep every rule: bad rows are drawn again, what stays bad is replaced by kept rows."""

    def draw(count: int) -> Values:
        codes = draw_codes(count)
        return {name: draw_values(schema[name], column, generator) for name, column in codes.items()}

    values = draw(rows)
    bad = np.flatnonzero(~keeps_rules(schema, values)) if rows else np.empty(0, dtype=int)
    redrawn = len(bad)
    for _ in range(REDRAWS):
        if not len(bad):
            break
        fresh = draw(len(bad))
        _overwrite(values, bad, fresh)
        bad = bad[~keeps_rules(schema, fresh)]
    _replace(values, bad, generator)
    return Sampled(values, redrawn, len(bad))


def _overwrite(values: Values, where: NDArray[Any], fresh: Values) -> None:
    for name, (column, missing) in fresh.items():
        values[name][0][where] = column
        values[name][1][where] = missing


def _replace(values: Values, bad: NDArray[Any], generator: np.random.Generator) -> None:
    if not len(bad):
        return
    rows = len(next(iter(values.values()))[1])
    good = np.setdiff1d(np.arange(rows), bad)
    if not len(good):
        raise PlanError(
            "no synthetic row keeps the rules of the schema",
            next_step="relax the rules, or leave the columns that they bind out of the release",
        )
    donors = generator.choice(good, len(bad))
    for column, missing in values.values():
        column[bad] = column[donors]
        missing[bad] = missing[donors]


def refuse_impossible_rules(schema: Schema, names: tuple[str, ...]) -> None:
    """Refuse rules that no drawn row can keep, before anything is spent: tried on rows drawn from public facts."""
    if not any(set(rule.columns) <= set(names) for rule in schema.rules):
        return
    generator = np.random.default_rng(0)

    def uniform(count: int) -> Codes:
        return {name: generator.integers(0, schema[name].size, count) for name in names}

    try:
        sample_rows(schema, uniform, PROBE_ROWS, generator)
    except PlanError as error:
        raise PlanError(
            f"the rules of table {schema.name!r} leave no row that this method can draw",
            [rule.check for rule in schema.rules],
            error.next_step,
        ) from error


def rows_table(schema: Schema, values: Values) -> pa.Table:
    """Return synthetic values as an Arrow table in the order of the schema."""
    names = [name for name in schema.names if name in values]
    return pa.table({name: value_array(schema[name], *values[name]) for name in names})
