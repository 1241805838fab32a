"""Count the planned histograms on the private rows and add their noise.

True counts leave this module with noise on them, drawn with exactly the scale that the event recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.arrays import Counts
from sfumato.dp_schema.domains import decade_column, form_column, form_counts, form_expression, number
from sfumato.errors import TableError
from sfumato.privacy.accounting.event import EventPart
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.column_expressions import select_as
from sfumato.table.counting import count_marginals
from sfumato.table.engines.engine import Engine, EngineView
from sfumato.table.persons import kept_rows

PERSON = "person"
SOURCE = "source"


@dataclass(frozen=True)
class NoisyCounter:
    """Private rows, and how many of them one person may bring into each count."""

    engine: Engine
    header: Schema
    randomness: Randomness

    def forms(self, parts: Mapping[str, EventPart]) -> dict[str, Counts]:
        """Return the noisy first count of every column, in one pass over the rows."""
        counts = self._form_tables(list(parts))
        return {name: self._noisy(form_counts(counts[i]), part) for i, (name, part) in enumerate(parts.items())}

    def _form_tables(self, names: Sequence[str]) -> list[Counts]:
        table = self.engine.table
        expressions = {f"form {i}": form_expression(table[name]) for i, name in enumerate(names)}
        expressions |= {f"number {i}": number(table[name]) for i, name in enumerate(names)}
        columns = [form_column(f"form {i}") for i in range(len(names))]
        columns += [decade_column(f"number {i}") for i in range(len(names))]
        sets = [(f"form {i}", f"number {i}") for i in range(len(names))]
        return self._marginals(expressions, columns, sets)

    def rehearse(self, names: Sequence[str]) -> None:
        """Try the first count on no rows: what an engine cannot do is refused before anything is spent."""
        nothing = EngineView(self.engine, self.engine.table.limit(0))
        try:
            replace(self, engine=nothing)._form_tables(names)
        except NotImplementedError as error:
            step = "export the table to Parquet, and buy from that"
            raise TableError(
                f"the engine of table {self.header.name!r} cannot detect the types of columns: {error}", (), step
            ) from error

    def values(self, parts: Mapping[str, EventPart], edges: Mapping[str, Sequence[float]]) -> dict[str, Counts]:
        """Return the noisy counts of numbers, or of the years of dates, between the edges of each column."""
        expressions = {f"value {i}": self._value(name) for i, name in enumerate(edges)}
        columns = [_cells(f"value {i}", cuts) for i, cuts in enumerate(edges.values())]
        counts = self._marginals(expressions, columns, [(column.name,) for column in columns])
        return {name: self._noisy(counts[i][:-1], parts[name]) for i, name in enumerate(edges)}

    def _value(self, name: str) -> Any:
        raw = self.engine.table[name]
        if raw.type().is_date() or raw.type().is_timestamp():
            return raw.cast("date").year().cast("float64")
        return number(raw)

    def years(self, parts: Mapping[str, EventPart], edges: Sequence[float]) -> dict[str, Counts]:
        """Return the noisy counts of the years of dates that are written as texts."""
        table = self.engine.table
        days = {name: table[name].strip().try_cast("date") for name in parts}
        expressions = {f"value {i}": days[name].year().cast("float64") for i, name in enumerate(parts)}
        columns = [_cells(name, edges) for name in expressions]
        counts = self._marginals(expressions, columns, [(column.name,) for column in columns])
        return {name: self._noisy(counts[i][:-1], parts[name]) for i, name in enumerate(parts)}

    def texts(self, name: str, part: EventPart) -> tuple[str, ...]:
        """Return the texts whose noisy count reaches the threshold, in the order of the alphabet."""
        if part.threshold is None:
            raise AssertionError("texts have no public list, so they need a threshold")
        rows = kept_rows(self.engine.table, self.header)
        held = rows.filter(rows[name].notnull() & (rows[name].strip() != "")).select(value=name)
        groups = self.engine.aggregate(held.group_by("value").aggregate(times=held.count()).order_by("value"))
        noisy = self._noisy(groups.column("times").to_numpy(), part)
        shown = groups.column("value").take(np.flatnonzero(noisy >= part.threshold))
        return tuple(sorted(shown.to_pylist()))

    def _noisy(self, counts: Any, part: EventPart) -> Counts:
        return add_gaussian(np.asarray(counts, np.int64), part.scale, self.randomness)

    def _marginals(
        self, expressions: Mapping[str, Any], columns: Sequence[Column], sets: Sequence[tuple[str, ...]]
    ) -> list[Counts]:
        """Count tables of computed columns over at most ``rows_per_person`` rows of each person."""
        if not sets:
            return []
        person, header = self.header.person, self.header
        facts = Schema(SOURCE, tuple(columns))
        chosen = dict(expressions)
        if person is not None:
            chosen[PERSON] = self.engine.table[person].cast("string")
            whose = Column(PERSON, "category", role="identifier")
            facts = Schema(SOURCE, (whose, *columns), person=PERSON, rows_per_person=header.rows_per_person)
        engine = EngineView(self.engine, select_as(self.engine.table, chosen))
        counts = count_marginals(engine, facts, sets)
        return [counts[each] for each in sets]


def _cells(name: str, edges: Sequence[float]) -> Column:
    """Return a column of numbers between edges as the counting sees it; what lies beyond counts with the outermost."""
    return Column(name, "number", bounds=(edges[0], edges[-1]), edges=tuple(edges), missing=True, outside="clamp")
