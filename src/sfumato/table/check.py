"""Check a table against its schema and count every violation in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from sfumato.errors import TableError
from sfumato.formatting import counted
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule
from sfumato.table.column_expressions import (
    cast_to_kind,
    has_many_levels,
    is_outside_domain,
    is_unreadable,
    lacks_person,
)
from sfumato.table.counting import all_values_in_domain
from sfumato.table.engines.engine import Engine, has_only_text_columns
from sfumato.table.persons import kept_rows
from sfumato.table.sources import guess_delimiter

EXAMPLES = 3
ROWS = "rows"
NOBODY = "nobody"
UNREAD = "cannot be read as"
"""How a violation begins that is about how a value is written."""


@dataclass(frozen=True)
class Violation:
    """One way in which the table does not fit the schema."""

    column: str
    problem: str
    count: int

    def __str__(self) -> str:
        return f"{self.column}: {self.problem}"


def require_columns(engine: Engine, schema: Schema, name: str) -> None:
    """Refuse a table that lacks columns of the schema, naming them and the likely reason."""
    columns = list(engine.table.columns)
    there = set(columns)
    absent = [column for column in schema.names if column not in there]
    if not absent:
        _require_plain_values(engine, schema)
        return
    step = f"the table has: {', '.join(columns[:20])}; correct the schema or the table"
    delimiter = guess_delimiter(columns[0], schema.names) if len(columns) == 1 else None
    if delimiter:
        step = f"the header reads {columns[0]!r}: the delimiter is {delimiter!r}; say so with --delimiter '{delimiter}'"
    raise TableError(
        f"table {name!r} lacks {len(absent)} of the {len(schema.names)} columns of the schema",
        [f"column {column!r} is not in the table" for column in absent],
        step,
    )


def _require_plain_values(engine: Engine, schema: Schema) -> None:
    """Refuse columns that hold lists, records, bytes or durations: no fact of a schema speaks of them."""
    kinds = engine.table.schema()
    odd = [
        f"column {name!r} holds values of type {kinds[name]}"
        for name in schema.names
        if not is_scalar_type(kinds[name])
    ]
    if odd:
        step = "turn them into texts, numbers or dates, or leave them out of the schema"
        raise TableError(f"table {schema.name!r} has columns that no schema can describe", odd, step)


def is_scalar_type(kind: Any) -> bool:
    """Whether an engine's type holds single values that read as texts, numbers or dates."""
    return not (kind.is_nested() or kind.is_binary() or kind.is_interval() or kind.is_unknown())


def find_violations(engine: Engine, schema: Schema) -> tuple[Violation, ...]:
    """Return every violation of the schema, counted by the engine.

    Files are first run through the encoders, several times faster than SQL; only when a value does not fit are the
    columns looked at one by one.
    """
    quick = _has_quick_readers(engine, schema) and all_values_in_domain(engine, schema)
    columns = [c for c in schema if c.is_open or not quick]
    counts = _count(engine, schema, columns)
    strays = {c.name: _strays(engine, c) for c in columns if has_many_levels(c)}
    violations = [v for i, column in enumerate(schema) for v in _column_violations(engine, column, i, counts, strays)]
    violations += _person_violations(schema, counts)
    violations += [
        Violation("rule", f"{rule.check!r} is broken by {counted(n, 'row')}", n)
        for index, rule in enumerate(schema.rules)
        if (n := counts[f"rule_{index}"])
    ]
    if schema.rows is not None and counts[ROWS] != schema.rows:
        problem = f"the schema says {schema.rows:,} rows (adjacency replace), the table has {counts[ROWS]:,}"
        violations.append(Violation("table", problem, abs(counts[ROWS] - schema.rows)))
    return tuple(violations)


def _has_quick_readers(engine: Engine, schema: Schema) -> bool:
    """Whether encoders read the rows faster than SQL: from Parquet, and texts, of which SQL makes values many times."""
    if schema.person is not None:
        return False
    return has_only_text_columns(engine, schema) or engine.has_typed_files


def _count(engine: Engine, schema: Schema, columns: Sequence[Column]) -> Counter[str]:
    """Count rows, broken rules, and the misfits of the given columns in one aggregate query."""
    raw = engine.table
    values = {column.name: cast_to_kind(raw[column.name], column) for column in schema}
    measures: dict[str, Any] = {ROWS: raw.count()} if columns or schema.rules or schema.rows is not None else {}
    position = {name: place for place, name in enumerate(schema.names)}
    for column in columns:
        place, bad = position[column.name], is_unreadable(raw[column.name], column)
        measures[f"unreadable_{place}"] = bad.sum()
        if column.name == schema.person:
            measures[NOBODY] = (lacks_person(raw[column.name], column) & ~bad).sum()
        else:
            measures[f"missing_{place}"] = (values[column.name].isnull() & ~bad).sum()
        if not has_many_levels(column):
            measures[f"outside_{place}"] = is_outside_domain(values[column.name], column).sum()
    by_name = {column.name: column for column in schema}
    for index, rule in enumerate(schema.rules):
        measures[f"rule_{index}"] = rule.breaks(values, by_name).sum()
    row = engine.aggregate(raw.aggregate(**measures)).to_pylist()[0] if measures else {}
    return Counter({key: int(value or 0) for key, value in row.items()})


def row_count(engine: Engine, schema: Schema) -> int:
    """Return how many rows a release would count, no more of one person than the schema allows."""
    kept = kept_rows(engine.table, schema)
    return int(engine.aggregate(kept.aggregate(**{ROWS: kept.count()})).to_pylist()[0][ROWS])


def find_broken_dependences(engine: Engine, schema: Schema) -> tuple[Violation, ...]:
    """Return the dependences without a map that the rows contradict, each with the fewest rows that would have to go.

    These are counts of private rows, and no reason to refuse a release: its rows find a map of their own.
    """
    open_rules = [rule for rule in schema.rules if rule.lacks_map]
    counts = {rule: _contradicting(engine, schema, *rule.columns) for rule in open_rules}
    return tuple(
        Violation("rule", f"{rule.check!r} is contradicted by {counted(rows, 'row')}: {_several(rule, values)}", rows)
        for rule, (rows, values) in counts.items()
        if rows
    )


def _several(rule: Rule, values: int) -> str:
    source, target = rule.columns
    return f"{counted(values, 'value')} of {source} {'has' if values == 1 else 'have'} more than one {target}"


def _contradicting(engine: Engine, schema: Schema, source: str, target: str) -> tuple[int, int]:
    """Return how many rows do not have the commonest target of their source, and how many sources have several."""
    raw = engine.table
    both = raw.select(a=cast_to_kind(raw[source], schema[source]), b=cast_to_kind(raw[target], schema[target]))
    pairs = both.group_by("a", "b").aggregate(times=both.count())
    sources = pairs.group_by("a").aggregate(rows=pairs.times.sum(), most=pairs.times.max())
    over = (sources.rows - sources.most).sum()
    counts = engine.aggregate(sources.aggregate(rows=over, values=(sources.rows > sources.most).sum())).to_pylist()[0]
    return int(counts["rows"] or 0), int(counts["values"] or 0)


def _person_violations(schema: Schema, counts: Mapping[str, int]) -> list[Violation]:
    if schema.person is None or not (n := counts[NOBODY]):
        return []
    what = f"{counted(n, 'row')} without a person (missing, NaN or a word for it): they would share one person's bound"
    return [Violation(schema.person, what, n)]


@dataclass(frozen=True)
class _UnlistedValues:
    """How many values are not listed, and the first of them."""

    count: int
    examples: tuple[str, ...]


def _strays(engine: Engine, column: Column) -> _UnlistedValues:
    """Look up every distinct value here: a query that names a million levels would not come back."""
    known, count, examples = frozenset(column.levels), 0, list[str]()
    for value, times in _distinct(engine, column):
        if value is not None and value not in known:
            count += times
            examples = nsmallest(EXAMPLES, [*examples, str(value)])
    return _UnlistedValues(count, tuple(examples))


def _distinct(engine: Engine, column: Column) -> Iterator[tuple[Any, int]]:
    values = engine.table.select(value=cast_to_kind(engine.table[column.name], column))
    for batch in engine.batches(values.group_by("value").aggregate(times=values.count())):
        yield from zip(batch.column("value").to_pylist(), batch.column("times").to_pylist(), strict=True)


def _column_violations(
    engine: Engine, column: Column, position: int, counts: Mapping[str, int], strays: Mapping[str, _UnlistedValues]
) -> list[Violation]:
    violations: list[Violation] = []
    name = column.name
    if (n := counts[f"unreadable_{position}"]) and not column.unreadable_is_missing:
        what = f"{counted(n, 'value')} {UNREAD} {column.kind}{_examples(engine, column, readable=False)}"
        violations.append(Violation(name, what, n))
    stray = strays.get(name)
    if (n := stray.count if stray else counts[f"outside_{position}"]) and column.outside == "refuse":
        examples = _such_as(stray.examples) if stray else _examples(engine, column, readable=True)
        what = f"{counted(n, 'value')} outside {_domain(column)}{examples}"
        violations.append(Violation(name, what, n))
    if (n := counts[f"missing_{position}"]) and not column.missing:
        violations.append(Violation(name, f"{counted(n, 'value')} missing, but missing = true is not in the schema", n))
    return violations


def _domain(column: Column) -> str:
    if column.is_ordered and column.bounds:
        return f"the bounds {column.bounds[0]} to {column.bounds[1]}"
    listed = [repr(level) for level in column.levels]
    return f"the values {', '.join(listed[:5])}{', ...' if len(listed) > 5 else ''}"


def _examples(engine: Engine, column: Column, readable: bool) -> str:
    """Return a few offending values: the custodian needs them, and this message never leaves with a release."""
    raw = engine.table[column.name]
    bad = is_outside_domain(cast_to_kind(raw, column), column) if readable else is_unreadable(raw, column)
    rows = engine.table.filter(bad).select(value=raw.cast("string")).distinct().order_by("value").limit(EXAMPLES)
    return _such_as([row["value"] for row in engine.aggregate(rows).to_pylist()])


def _such_as(values: Sequence[str]) -> str:
    return f" (such as {', '.join(map(repr, values))})" if values else ""
