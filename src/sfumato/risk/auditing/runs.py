"""Run a method on worst-case neighbouring tables and record privacy losses and observable features.

White box: the privacy loss of each run (:mod:`sfumato.risk.auditing.transcript`). Black box: numbers that anybody can
read off a release, such as the rows in the target's cell, and a score that logistic regression learns from them.

The tables are built from a schema. *Alone*: all rows are equal, and the target stands in the far corner of every
column, so that it is alone in its cell of every table. *Balanced*: the columns hang together equally strongly, some by
agreeing and some by disagreeing, so that any of them may be chosen next; the target moves the scores of some up and of
others down, and a choice tells as much as it may. *Few*: hardly anybody is there but the target.

A person who may hold several rows holds all of them, equal. Under add-remove the neighbour lacks the target; under
replace it holds a row of the opposite corner in its place. Rules between columns are left out: they are public and cost
nothing, and a corner may break them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.core.method import Method, Output
from sfumato.core.plan import Plan
from sfumato.metrics.rows_view import CachedCounts
from sfumato.risk.auditing.transcript import UNKNOWN, Runs, Step, Transcript
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table import Table, read

if TYPE_CHECKING:
    import pyarrow as pa

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


MOST_VALUES = 24
"""Numbers that are looked at of a released table of values."""
COUNT = "count"


@dataclass(frozen=True)
class WorldRuns:
    """Runs on one of two tables: losses against the other one, divergences of their steps, and what is seen outside."""

    losses: FloatArray
    """The log of how much likelier the run's own table makes it."""
    spent: FloatArray
    taped: bool
    features: FloatArray = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False, default=())

    @property
    def impossible(self) -> int:
        """Runs that the other table cannot have made."""
        return int(np.isinf(self.losses).sum())

    def every(self, start: int) -> WorldRuns:
        """Return every second run."""
        return WorldRuns(self.losses[start::2], self.spent[start::2], self.taped, self.features[start::2])


@dataclass(frozen=True)
class PairedRuns:
    """Runs with the target and without it."""

    within: WorldRuns
    without: WorldRuns

    @property
    def taped(self) -> bool:
        """Whether every secret draw of every run was written down."""
        return self.within.taped and self.without.taped

    @property
    def losses(self) -> tuple[FloatArray, FloatArray]:
        """The loss in favour of the target's presence, in both worlds."""
        return self.within.losses, -self.without.losses

    def halves(self) -> tuple[PairedRuns, PairedRuns]:
        """Return the runs in two parts."""
        one, two = (PairedRuns(self.within.every(start), self.without.every(start)) for start in (0, 1))
        return one, two

    def own(self) -> FloatArray:
        """Return all losses, each in favour of the run's own table."""
        return np.concatenate([self.within.losses, self.without.losses])

    def spent(self) -> FloatArray:
        """Return all divergences along the way."""
        return np.concatenate([self.within.spent, self.without.spent])

    @property
    def impossible(self) -> int:
        """Runs that the other table cannot have made."""
        return self.within.impossible + self.without.impossible

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of all runs."""
        return (*self.within.steps, *self.without.steps)

    @property
    def runs(self) -> int:
        """Runs of both worlds."""
        return len(self.within.losses) + len(self.without.losses)


@dataclass(frozen=True)
class AuditCase:
    """A method on two neighbouring tables."""

    method: Method
    plan: Plan
    case: NeighbouringTables

    def runs(self, member: bool) -> Runs:
        """Return the method on one of the tables."""
        table = self.case.within if member else self.case.without
        return lambda randomness: self.method.run(table, self.plan, randomness, None)

    def watched(self, seeds: NDArray[np.int64], told: Callable[[], None] = lambda: None) -> PairedRuns:
        """Return runs of both worlds, as many of each as there are pairs of seeds."""
        return PairedRuns(*(self._world(member, seeds[:, int(member)], told) for member in (True, False)))

    def _world(self, member: bool, seeds: NDArray[np.int64], told: Callable[[], None]) -> WorldRuns:
        here, there = self.runs(member), self.runs(not member)
        losses, features, steps, taped = list[tuple[float, float]](), list[FloatArray](), list[Step](), True
        for seed in seeds:
            made = Transcript.of(here, int(seed))
            taped = taped and made.taped
            losses.append(made.loss(there) if taped else UNKNOWN)
            features.append(self.seen(made.output))
            steps += made.tape.steps
            told()
        both, least = np.array(losses).reshape(-1, 2), min(map(len, features), default=0)
        return WorldRuns(both[:, 0], both[:, 1], taped, np.array([seen[:least] for seen in features]), tuple(steps))

    def seen(self, output: Output) -> FloatArray:
        """Return what an outsider reads off a release."""
        look = {"rows": self._of_rows, "counts": self._of_counts}.get(self.method.makes, _of_values)
        return np.nan_to_num(np.concatenate([look(table) for table in output.tables.values()]))

    def _target(self, names: Sequence[str]) -> dict[str, Any]:
        schema = self.case.schema
        places = dict(zip(schema.releasable, self.case.target, strict=True))
        return {name: corner_values(schema[name])[places[name]] for name in names if name in places}

    def _matches(self, table: pa.Table) -> list[FloatArray]:
        """Return for each column which rows hold the target's value, or its bin."""
        found: list[FloatArray] = []
        for name, value in self._target(table.column_names).items():
            held = table.column(name).to_pylist()
            last = {value, str(value), self.case.schema[name].labels[-1 - self.case.schema[name].missing]}
            found.append(np.array([one in last for one in held], float))
        return found

    def _of_rows(self, table: pa.Table) -> FloatArray:
        matches = self._matches(table)
        means = [float(np.mean(numbers)) for numbers in map(_numbers, table.columns) if len(numbers)]
        together = [float(np.prod(matches, axis=0).sum())] if matches else []
        return np.array([table.num_rows, *together, *(match.sum() for match in matches), *means], float)

    def _of_counts(self, table: pa.Table) -> FloatArray:
        counts = np.array(table.column(COUNT).to_pylist() if COUNT in table.column_names else [], float)
        matches = self._matches(table)
        if not len(counts) or not matches:
            return _of_values(table)
        return np.array([counts.sum(), float((np.prod(matches, axis=0) * counts).sum())])


def _numbers(column: Any) -> FloatArray:
    import pyarrow as pa

    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return np.zeros(0)
    return np.nan_to_num(column.to_numpy().astype(float))


def _of_values(table: pa.Table) -> FloatArray:
    """Return the numbers of a table, evenly thinned out."""
    values = np.concatenate([np.zeros(0), *(_numbers(column) for column in table.columns)])
    if len(values) <= MOST_VALUES:
        return values
    return values[np.linspace(0, len(values) - 1, MOST_VALUES).astype(int)]


Score = Callable[[PairedRuns], tuple[FloatArray, FloatArray]]


def candidate_scores(pilot: PairedRuns) -> dict[str, Score]:
    """Return the scores to try: the loss, single numbers of a release, and one that these runs teach."""
    found: dict[str, Score] = {}
    if pilot.taped:
        found["everything that was drawn"] = lambda runs: runs.losses
    for place in range(min(world.features.shape[1] for world in (pilot.within, pilot.without))):
        found[f"number {place + 1} of the release"] = lambda runs, at=place: (
            runs.within.features[:, at],
            runs.without.features[:, at],
        )
    learnt = _learned_score(pilot)
    return found if learnt is None else {**found, "a score learnt from the release": learnt}


def _learned_score(pilot: PairedRuns) -> Score | None:
    """Return logistic regression on the numbers of a release, taught by these runs."""
    worlds = (pilot.within.features, pilot.without.features)
    both = np.vstack(worlds)
    if not both.std(axis=0).any() or len(both) < 4 or not math.isfinite(float(np.abs(both).max())):
        return None
    from sfumato.risk.attacks.membership import logistic_regression

    decide = logistic_regression(both, np.repeat([1, 0], [len(world) for world in worlds]), strength=0.1)
    return lambda runs: (decide(runs.within.features), decide(runs.without.features))


def fresh_seeds(runs: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return seeds for so many runs of both worlds."""
    return generator.integers(0, 1 << 62, (runs, 2))
