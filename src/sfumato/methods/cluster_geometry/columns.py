"""Which columns a geometry of clusters is made from: what the formal method and the published form share."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import PlanError
from sfumato.rows.axes import chosen, has_axis
from sfumato.schema import Schema
from sfumato.schema.column import Column


def geometry_columns(schema: Schema, columns: Sequence[str] | None, only_axes: bool) -> tuple[Column, ...]:
    """Return the columns to synthesise, at least one of them ordered; ``only_axes`` leaves none of levels."""
    found = chosen(schema, columns, only_axes)
    if not any(has_axis(column) for column in found):
        raise PlanError(
            f"table {schema.name!r} has no ordered column to measure distances in",
            next_step="name columns of numbers, dates or ordinals",
        )
    return found


def in_table_order(schema: Schema, columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of columns in the order of the table."""
    names = {column.name for column in columns}
    return tuple(name for name in schema.names if name in names)


def example_columns(schema: Schema) -> list[str]:
    """Return two columns that both forms can use, where the schema has them."""
    return [name for name in schema.releasable if has_axis(schema[name]) and not schema[name].missing][:2]
