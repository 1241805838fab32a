"""Columns of a table as axes of a public box, and rows of the box as values of the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.rows.box import Array, Axis
from sfumato.rows.lattice import as_written
from sfumato.rows.values import Values
from sfumato.schema import Schema
from sfumato.schema.choice import chosen_columns
from sfumato.schema.column import Column
from sfumato.table.rows import stream_values

if TYPE_CHECKING:
    from sfumato.table import Table


def has_axis(column: Column) -> bool:
    """Whether a column has an order that distances can use: numbers, dates and ordinals."""
    return column.is_ordered or column.kind == "ordinal"


def axis_of(column: Column) -> Axis:
    """Return a column's public bounds; an ordinal runs over its codes."""
    if not column.is_ordered:
        return Axis(0.0, float(column.present_size - 1), whole=True)
    low, high = (float(bound) for bound in column.numeric_bounds)
    return Axis(low, high, whole=column.is_discrete)


def chosen(schema: Schema, columns: Sequence[str] | None, only_axes: bool) -> tuple[Column, ...]:
    """Return the columns to synthesise, or refuse with every problem; all that fit unless they are named."""
    if columns is None:
        found = [schema[name] for name in schema.releasable]
        fits = [c for c in found if not (has_axis(c) and c.missing) and (has_axis(c) or not only_axes)]
        return tuple(fits)
    return tuple(schema[name] for name in chosen_columns(schema, columns, lambda c: _problems(c, only_axes)))


def _problems(column: Column, only_axes: bool) -> list[str]:
    if has_axis(column) and column.missing:
        return [f"column {column.name!r} may be missing, and distances need every value"]
    if only_axes and not has_axis(column):
        return [f"column {column.name!r} holds levels without an order"]
    if has_axis(column) and column.size < 2:
        return [f"column {column.name!r} is constant by its public bounds"]
    return []


def batches(table: Table, columns: Sequence[Column]) -> Iterator[Array]:
    """Yield the ordered columns as matrices, batch by batch."""
    for values in stream_values(table, [column.name for column in columns]):
        yield matrix(values, columns)


def matrix(values: dict[str, NDArray[Any]], columns: Sequence[Column]) -> Array:
    """Return whole columns side by side as numbers."""
    return np.column_stack([np.asarray(values[column.name], float) for column in columns])


def released(columns: Sequence[Column], rows: Array) -> Values:
    """Return rows of the box as values of their columns; nothing is missing."""
    found: Values = {}
    for i, column in enumerate(columns):
        present = np.zeros(len(rows), bool)
        if column.kind == "number":
            found[column.name] = (as_written(column, rows[:, i]), present)
            continue
        whole = np.rint(as_written(column, rows[:, i])).astype(np.int64)
        levels: NDArray[Any] = whole if column.is_ordered else np.array(column.levels, dtype=object)[whole]
        found[column.name] = (levels, present)
    return found
