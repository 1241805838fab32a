"""Columns of a two-stage release by role: numeric inputs, categorical inputs, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import PlanError
from sfumato.sampling.public_box import axis_of
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import selection_problems


@dataclass(frozen=True)
class ColumnRoles:
    """Numeric inputs, inputs of levels, and targets."""

    inputs: tuple[Column, ...]
    levels: tuple[Column, ...]
    targets: tuple[Column, ...]

    @classmethod
    def of(cls, method: str, schema: Schema, target: Sequence[str], inputs: Sequence[str] | None) -> ColumnRoles:
        """Return the columns by their part, or refuse with every problem; all that fit are inputs unless named."""
        wanted = [name for name in schema.releasable if name not in target and _fits(schema[name])]
        wanted = wanted if inputs is None else list(inputs)
        problems = _problems(schema, target, wanted)
        if problems:
            raise PlanError(f"cannot plan {method} on table {schema.name!r}", problems, "correct the columns")
        targets = tuple(schema[name] for name in target)
        numeric = tuple(schema[name] for name in wanted if schema[name].is_ordered)
        levels = tuple(schema[name] for name in wanted if not schema[name].is_ordered)
        if not numeric:
            raise PlanError("two-stage needs at least one numeric input", next_step="name inputs with numbers")
        if len(targets) > 1 and not all(column.is_ordered for column in targets):
            raise PlanError("several targets must all be numeric", next_step="name one target of levels at a time")
        return cls(numeric, levels, targets)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns: numeric inputs, levels, targets."""
        return (*self.inputs, *self.levels, *self.targets)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(column.name for column in self.columns)

    @property
    def classes(self) -> bool:
        """Whether the one target is a column of levels."""
        return not self.targets[0].is_ordered


def _fits(column: Column) -> bool:
    return not (column.is_ordered and column.missing)


def _problems(schema: Schema, target: Sequence[str], inputs: Sequence[str]) -> list[str]:
    problems = selection_problems(schema, target, _column_problems) + selection_problems(
        schema, inputs, _column_problems
    )
    return problems + [f"column {name!r} is both target and input" for name in sorted(set(target) & set(inputs))]


def _column_problems(column: Column) -> list[str]:
    if not _fits(column):
        return [f"column {column.name!r} may be missing, and numbers must be there"]
    return list(axis_of(column).problems(f"column {column.name!r}")) if column.is_ordered else []
