"""Select the columns of a release and list every problem with the selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from sfumato.errors import PlanError, SchemaError
from sfumato.schema.column import Column
from sfumato.schema.schema import Schema

ColumnRequirement = Callable[[Column], Iterable[str]]
"""What a method cannot use in a column that may leave; it is not asked about the others."""


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return column names as a tuple; one name stands for a list of one."""
    return (names,) if isinstance(names, str) else tuple(names)


def complete_numbers(schema: Schema) -> list[str]:
    """Return the columns that hold a number in every row: what an example of many methods can be made of."""
    return [name for name in schema.releasable if schema[name].is_ordered and not schema[name].missing]


def selection_problems(schema: Schema, names: Sequence[str], needs: ColumnRequirement | None = None) -> list[str]:
    """Return the problems of a selection of columns: unknown, identifying, unfit or repeated ones."""
    problems = [problem for name in dict.fromkeys(names) for problem in column_problems(schema, name, needs)]
    twice = [name for name, times in Counter(names).items() if times > 1]
    return problems + ([f"columns repeat: {', '.join(map(str, twice))}"] if twice else [])


def column_problems(schema: Schema, name: str, needs: ColumnRequirement | None = None) -> list[str]:
    """Return why one column cannot be released, or cannot be used by a method with these needs."""
    try:
        column = schema[name]
    except SchemaError as error:
        return [f"{error.headline} ({error.next_step})"]
    if name not in schema.releasable:
        return [f"column {name!r} identifies people and is never released"]
    return list(needs(column)) if needs is not None else []


def select_columns(
    schema: Schema, names: str | Sequence[str] | None = None, needs: ColumnRequirement | None = None
) -> tuple[str, ...]:
    """Return the columns to release as they were named, or refuse with every problem.

    Where none are named: all that may leave and that the method can use, in the order of the schema.
    """
    if names is None:
        return tuple(name for name in schema.releasable if not column_problems(schema, name, needs))
    named = names_of(names)
    if problems := selection_problems(schema, named, needs):
        raise PlanError(f"these columns of table {schema.name!r} cannot be used", problems, "name other columns")
    return named
