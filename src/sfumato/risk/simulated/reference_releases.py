"""Reference releases for testing attacks: the raw table, and noise independent of it.

An attack that fails on the first is broken, and one that succeeds on the second has seen what it should not. They
have the form of methods but are in no registry: the first protects nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.constraints.draw_rows import rows_from_public_domain
from sfumato.core.method import Makes, Output
from sfumato.core.plan import Plan, cells_of, table_memory
from sfumato.mechanisms.noisy_marginals import parse_column_sets
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.values import rows_table
from sfumato.schema import Schema
from sfumato.table.writing.frames import marginal_as_rows

if TYPE_CHECKING:
    from sfumato.table import Table

TYPICAL_COUNT = 20.0
"""Mean of the counts that never saw the table."""


class _Reference:
    """What all have in common: no guarantee, and a plan without a cost."""

    name: ClassVar[str]
    formal: ClassVar[bool | None] = False
    makes: ClassVar[Makes]
    columns: Any

    def _sets(self) -> list[tuple[str, ...]]:
        return list(parse_column_sets(self.columns)) if self.makes == "counts" else []

    def _rows(self, rows: int | None) -> int | None:
        return None

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return an empty plan: there is nothing to pay for."""
        sets, notes = self._sets(), ("a yardstick for attacks: never publish it",)
        cells, memory = sum(cells_of(schema, names) for names in sets), table_memory(schema, sets)
        return Plan.for_(self.name, schema, (), (), memory, cells=cells, rows=self._rows(rows), notes=notes)

    @classmethod
    def example(cls, schema: Schema) -> Any:
        """Return a small instance that fits a schema."""
        return cls(list(schema.releasable[:2])) if cls.makes == "counts" else cls()  # pyright: ignore[reportCallIssue]


def _counts(schema: Schema, counts: Mapping[tuple[str, ...], Any]) -> Output:
    return Output({n: marginal_as_rows([schema[c] for c in n], a) for n, a in counts.items()}, len(counts) == 1)


@dataclass(frozen=True)
class RawCounts(_Reference):
    """True counts of one or several column sets."""

    columns: Sequence[str] | Sequence[Sequence[str]]

    name: ClassVar[str] = "counts as they are"
    summary: ClassVar[str] = "true counts: protects nobody"
    makes: ClassVar[Makes] = "counts"

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Count."""
        return _counts(table.schema, table.marginals(self._sets()))


@dataclass(frozen=True)
class RandomCounts(_Reference):
    """Random counts of one or several column sets; the table is not looked at."""

    columns: Sequence[str] | Sequence[Sequence[str]]

    name: ClassVar[str] = "counts of noise"
    summary: ClassVar[str] = "random counts: useful to nobody"
    makes: ClassVar[Makes] = "counts"

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Draw counts from the schema alone."""
        schema, generator = table.schema, randomness.generator
        return _counts(schema, {n: generator.poisson(TYPICAL_COUNT, schema.shape(n)) for n in self._sets()})


@dataclass(frozen=True)
class RawRows(_Reference):
    """The private rows themselves."""

    columns: Sequence[str] | None = None

    name: ClassVar[str] = "rows as they are"
    summary: ClassVar[str] = "the private rows: protects nobody"
    makes: ClassVar[Makes] = "rows"

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Hand out the rows."""
        raw = table.source.engine.table
        names = list(self.columns or table.schema.releasable)
        return Output({("synthetic",): table.source.engine.aggregate(raw.select(*names))}, True)


@dataclass(frozen=True)
class RandomRows(_Reference):
    """Rows drawn uniformly from the public domain; the table is not looked at."""

    columns: Sequence[str] | None = None
    count: int = 1000

    name: ClassVar[str] = "rows of noise"
    summary: ClassVar[str] = "random rows: useful to nobody"
    makes: ClassVar[Makes] = "rows"

    def _rows(self, rows: int | None) -> int | None:
        return rows or self.count

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Draw rows from the schema alone, as many as are asked for."""
        schema, generator = table.schema, randomness.generator
        values = rows_from_public_domain(schema, tuple(self.columns or schema.releasable), generator)
        drawn = generator.integers(0, len(next(iter(values.values()))[1]), plan.rows or self.count)
        picked = {name: (column[drawn], missing[drawn]) for name, (column, missing) in values.items()}
        return Output({("synthetic",): rows_table(schema, picked)}, True)
