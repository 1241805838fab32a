"""Every numeric column of a release, in all its copies, against the confidential table. For the custodian's eyes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError, TableError
from sfumato.evaluate.utility.ecdf import QUANTILES, ColumnCopies, compare_column_copies
from sfumato.metrics.rows_view import read_rows_view
from sfumato.schema import Schema


def compare_copies(
    original: Any,
    copies: Sequence[Any],
    schema: Schema,
    columns: Sequence[str] | None = None,
    quantiles: Sequence[float] = QUANTILES,
) -> dict[str, ColumnCopies]:
    """Compare numbers and dates column by column; all that the table and every copy have, unless named.

    ``original`` and ``copies`` are tables, frames or paths. Missing values are left out of both sides.
    """
    names = _compared(schema, copies, columns)
    true = _values(original, schema, names, "the table")
    made = [_values(copy, schema, names, f"copy {i}") for i, copy in enumerate(copies, 1)]
    return {name: compare_column_copies(true[name], [each[name] for each in made], quantiles) for name in names}


def _compared(schema: Schema, copies: Sequence[Any], columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns to compare, or refuse with every problem."""
    fits = [name for name in schema.releasable if schema[name].is_ordered]
    if columns is None:
        there = [set(getattr(copy, "column_names", fits)) for copy in copies]
        names = [name for name in fits if all(name in each for each in there)]
        problems = [] if names else ["the release has no column of numbers or dates"]
    else:
        names = list(columns)
        problems = [
            f"{name!r} is no column of numbers or dates that may be released" for name in names if name not in fits
        ]
    if problems:
        raise PlanError("these columns cannot be compared", problems, f"name some of: {', '.join(fits) or 'none'}")
    return tuple(names)


def _values(source: Any, schema: Schema, names: tuple[str, ...], what: str) -> dict[str, FloatArray]:
    """Return the values of each column that are there."""
    points = read_rows_view(source, schema, names).points
    found = {name: points[~np.isnan(points[:, i]), i] for i, name in enumerate(names)}
    if empty := [name for name, values in found.items() if not len(values)]:
        raise TableError(f"{what} has no value of {', '.join(empty)}", next_step="leave the column out")
    return found
