"""Worst-case neighbouring tables built from a schema.

Three of them. *Alone*: all rows are equal, and the target stands in the far corner of every column, so that it is alone
in its cell of every table. *Balanced*: the columns hang together equally strongly, some by agreeing and some by
disagreeing, so that any of them may be chosen next; the target moves the scores of some up and of others down, and a
choice tells as much as it may. *Few*: hardly anybody is there but the target.

A person who may hold several rows holds all of them, equal. Under add-remove the neighbour lacks the target; under
replace it holds a row of the opposite corner in its place. Rules between columns are left out: they are public and cost
nothing, and a corner may break them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np

from sfumato.metrics.rows_view import CachedCounts
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table import Table, read

MOST_COLUMNS, MOST_LEVELS = 3, 3
"""What is kept of a schema: fewer columns and levels make runs faster and no case easier."""
ALONE_ROWS, FEW_ROWS = 100, 2
BALANCED_ROWS, LEAN = 480, 0.45
"""Rows of the balanced table, and how strongly its columns hang together."""
FACTS = ("name", "kind", "bounds", "edges", "bins", "missing", "role", "decimals", "step")


@dataclass(frozen=True)
class NeighbouringTables:
    """Two tables that differ by one person, in words, and the codes of the target: 0 low and 1 high in each column."""

    words: str
    within: Table = field(repr=False)
    without: Table = field(repr=False)
    target: tuple[int, ...]

    @property
    def schema(self) -> Schema:
        """The public schema of both."""
        return self.within.schema


def audit_schema(schema: Schema, method: Any) -> Schema:
    """Return the part of a schema that an audit needs: the columns that the method names, or three small ones."""
    named = _named(method, set(schema.releasable))
    sizes = {name: schema[name].size for name in schema.releasable if not schema[name].is_open}
    small = sorted(sizes, key=lambda name: (schema[name].is_ordered, sizes[name]))[:MOST_COLUMNS]
    kept = named or set(small)
    columns = [_plain(column, trim=not named) for column in schema.columns if column.name in kept]
    if schema.person is not None:
        columns.insert(0, Column(schema.person, "integer", bounds=(0, 10**6), role="identifier"))
    return Schema(
        name=schema.name,
        columns=tuple(columns),
        adjacency=schema.adjacency,
        rows=schema.rows if schema.adjacency == "replace" else None,
        person=schema.person,
        rows_per_person=schema.rows_per_person,
    )


def _plain(column: Column, trim: bool) -> Column:
    """Return the facts of a column that decide its cells, with a few levels where many are listed."""
    stated = {key: getattr(column, key) for key in FACTS}
    values = column.values if not trim or column.values is None else column.values[:MOST_LEVELS]
    return Column(**stated, values=values)


def _named(thing: Any, names: set[str]) -> set[str]:
    """Return the columns that stand anywhere among the parameters of a method."""
    if isinstance(thing, str):
        return {thing} & names
    if is_dataclass(thing) and not isinstance(thing, type):
        return set[str]().union(*(_named(getattr(thing, item.name), names) for item in fields(thing)))
    if isinstance(thing, Mapping):
        pairs = cast("Mapping[Any, Any]", thing)
        return _named(list(pairs), names) | _named(list(pairs.values()), names)
    if isinstance(thing, list | tuple | set | frozenset):
        return set[str]().union(*(_named(item, names) for item in cast("Sequence[Any]", thing)))
    return set()


def worst_cases(schema: Schema) -> tuple[NeighbouringTables, ...]:
    """Return the neighbouring tables of an audit."""
    wide = sum(column.name in schema.releasable for column in schema)
    low, high = (0,) * wide, (1,) * wide
    balanced, target = _balanced(wide)
    cases = [
        ("a row alone in the far corner of every column", [low] * ALONE_ROWS, high),
        ("a row that tips the choice among columns which hang together alike", balanced, target),
        ("a row among hardly any", [low] * FEW_ROWS, high),
    ]
    return tuple(_neighbours(schema, *case) for case in cases)


def _balanced(wide: int) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Return rows of two levels each in which all pairs hang together alike: the last one disagrees with the others.

    Margins are even, so that noise on them hardly moves what a pair is expected to hold.
    """
    if wide < 2:
        return [(0,) * wide, (1,) * wide] * (BALANCED_ROWS // 2), (1,) * wide
    cells = np.array(list(np.ndindex(*(2,) * min(wide, MOST_COLUMNS))))
    signs = 2 * cells - 1
    score = np.zeros(len(cells))
    for one, two in combinations(range(cells.shape[1]), 2):
        score += signs[:, one] * signs[:, two] * (-1 if (one, two) == (1, 2) else 1)
    weights = 1 + LEAN * score
    counts = np.rint(BALANCED_ROWS * np.maximum(weights, 0) / np.maximum(weights, 0).sum()).astype(int)
    rows = np.repeat(cells, counts, axis=0)
    rest = np.tile(np.arange(len(rows))[:, None] % 2, (1, wide - cells.shape[1]))
    return [tuple(map(int, row)) for row in np.hstack([rows, rest])], (1,) * wide


def _neighbours(
    schema: Schema, words: str, base: Sequence[tuple[int, ...]], target: tuple[int, ...]
) -> NeighbouringTables:
    opposite = tuple(1 - place for place in target)
    times = schema.rows_per_person
    other = [] if schema.adjacency == "add-remove" else [opposite] * times
    size = len(base) + times
    stated = replace(schema, rows=size) if schema.adjacency == "replace" else schema
    said = words if schema.adjacency == "add-remove" else f"{words}, and its opposite in its place"
    made = [_table(stated, base, rows) for rows in ([target] * times, other)]
    return NeighbouringTables(said, made[0], made[1], target)


def _table(schema: Schema, base: Sequence[tuple[int, ...]], person: Sequence[tuple[int, ...]]) -> Table:
    """Return a table of these rows; the last of them belong to one person."""
    import pyarrow as pa

    rows = [*base, *person]
    ends = {name: corner_values(schema[name]) for name in schema.releasable}
    columns: dict[str, list[Any]] = {
        name: [ends[name][row[place]] for row in rows] for place, name in enumerate(schema.releasable)
    }
    if schema.person is not None:
        columns[schema.person] = [*range(len(base)), *[len(base)] * len(person)]
    table = read(pa.table(columns), schema)
    table.require_valid()
    return CachedCounts.of(table)


def corner_values(column: Column) -> tuple[Any, Any]:
    """Return the first and the last value of a column.

    >>> corner_values(Column("age", "integer", bounds=(0, 110)))
    (0, 110)
    """
    if column.is_ordered:
        low, high = cast("tuple[Any, Any]", column.bounds)
        return (float(low), float(high)) if column.kind == "number" else (low, high)
    return column.levels[0], column.levels[-1]
