"""Columns of numbers and codes as a released table, in an order that says nothing.

A row cannot be drawn again where it belongs to predictors that are released as they are; its target can, as long as the
predictors stay in their place. Rows that keep no rule even then are left out. The rows are shuffled as a whole: the
order of the table may tell what no column says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.rows.draw import REDRAWS, Values, keeps_rules, rows_table
from sfumato.schema import Schema
from sfumato.schema.column import Column

Places = NDArray[np.int64]


def as_they_are(names: Sequence[str]) -> tuple[str, ...]:
    """Name the columns whose true values leave, in the words that plan, event and report share; none, no words.

    >>> as_they_are(["x", "g"])
    ('x, g: released as they are',)
    """
    return (f"{', '.join(names)}: released as they are",) if names else ()


def kept_rows_of(schema: Schema, values: Mapping[str, NDArray[Any]]) -> tuple[pa.Table, int]:
    """Return whole columns as a table, without the rows that break a rule of the schema, and how many those were."""
    released = {name: released_values(schema[name], found) for name, found in values.items()}
    kept = keeps_rules(schema, released)
    return _rows_at(schema, released, np.flatnonzero(kept)), int((~kept).sum())


def shuffled_rows_of(
    schema: Schema,
    values: Mapping[str, NDArray[Any]],
    generator: np.random.Generator,
) -> tuple[pa.Table, int]:
    """Return the same in a random order."""
    table, broken = kept_rows_of(schema, values)
    return table.take(generator.permutation(table.num_rows)), broken


def redrawn_in_place(
    schema: Schema,
    make: Callable[[Places], Values],
    rows: int,
    generator: np.random.Generator,
) -> tuple[pa.Table, int, int]:
    """Return rows that keep the rules, how many were drawn again, and how many had to be left out.

    ``make`` returns the rows at given places of predictors that stay as they are, with fresh targets.
    """
    values = make(np.arange(rows))
    kept = keeps_rules(schema, values)
    broken = int((~kept).sum())
    for _ in range(REDRAWS):
        bad = np.flatnonzero(~kept)
        if not len(bad):
            break
        fresh = make(bad)
        for name, (column, missing) in fresh.items():
            values[name][0][bad], values[name][1][bad] = column, missing
        kept[bad] = keeps_rules(schema, fresh)
    order = generator.permutation(np.flatnonzero(kept))
    return _rows_at(schema, values, order), broken, int((~kept).sum())


def _rows_at(schema: Schema, values: Values, places: Places) -> pa.Table:
    return rows_table(schema, {name: (found[places], missing[places]) for name, (found, missing) in values.items()})


def released_values(column: Column, found: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return one column as it is released, and which values are missing: NaN of numbers, the last code of levels."""
    if column.is_ordered:
        missing = np.isnan(found)
        whole = np.where(missing, 0, found)
        return (whole.astype(np.int64) if column.is_discrete else whole), missing
    missing = found == column.present_size
    levels = np.empty(len(column.levels), dtype=object)
    levels[:] = column.levels
    return levels[np.where(missing, 0, found)], missing
