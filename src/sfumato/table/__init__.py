"""The private table behind an engine: read lazily, encoded by the schema, counted where the rows are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.argument_errors import checked_arguments
from sfumato.errors import SchemaError, TableError
from sfumato.lazy import HOOKS, load_object
from sfumato.reprs import ReprMixin
from sfumato.schema import Schema
from sfumato.schema.dialect import Dialect
from sfumato.table.check import (
    UNREAD,
    Violation,
    find_broken_dependences,
    find_violations,
    require_columns,
    row_count,
)
from sfumato.table.counting import count_marginals, dry_run_counting
from sfumato.table.sources import Source, open_source


@dataclass(frozen=True, repr=False)
class Table(ReprMixin):
    """Private rows behind an engine, with their public schema. Made by :func:`read`; nothing is loaded."""

    schema: Schema
    source: Source

    def _line(self) -> str:
        return f"{self.schema.name!r}, {len(self.schema.columns)} columns, {self.frame_kind}; private rows, not counted"

    def _lines(self) -> tuple[tuple[str, str], ...]:
        schema = self.schema
        person = schema.person or "each person has one row"
        return (("columns", ", ".join(schema.names)), ("person", person), ("schema", repr(schema)))

    @property
    def frame_kind(self) -> str:
        """The kind of frame in which releases come back."""
        return self.source.frame_kind

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """Every way in which the rows do not fit the schema, counted in one pass."""
        return find_violations(self.source.engine, self.schema)

    @cached_property
    def contradictions(self) -> tuple[Violation, ...]:
        """Every dependence without a map that the rows contradict; such a table can still be released."""
        return find_broken_dependences(self.source.engine, self.schema)

    def check(self) -> tuple[Violation, ...]:
        """Return all violations of the schema, contradicted dependences too; empty when the table fits."""
        return self.violations + self.contradictions

    def require_valid(self) -> None:
        """Refuse a table that does not fit its schema, listing every violation with its count.

        A dependence without a map says nothing about a single row, so no row is refused for it.
        """
        if not self.violations:
            return
        count = len(self.violations)
        raise TableError(
            f"table {self.schema.name!r} does not fit its schema: {count} problem{'s' if count > 1 else ''}",
            [str(violation) for violation in self.violations],
            self._advice(),
        )

    def _advice(self) -> str:
        """Return what to do about misfits; texts that an option would make readable are told with that option."""
        step = "correct the table, widen the schema by public knowledge, or set outside = 'clamp' for a column"
        unread = [v.column for v in self.violations if UNREAD in v.problem and v.column in self.schema]
        options = load_object(HOOKS["Table.dialect_hints"])(self.source, unread) if unread else ""
        current = self.source.dialect.as_options()
        return f"say how the file is written: {options}; or {step}" if options not in ("", current) else step

    def rehearse(self) -> None:
        """Try, on no rows, everything that a release asks of this table, so that failures come before the spend."""
        dry_run_counting(self.source.engine, self.schema)
        self.schema.to_toml()

    def count_rows(self) -> int:
        """Return how many rows count: a private number, for checks before a release, and nothing of it may leave."""
        return row_count(self.source.engine, self.schema)

    def marginals(self, sets: Iterable[Iterable[str]]) -> dict[tuple[str, ...], NDArray[np.int64]]:
        """Count many column sets in as few passes as possible.

        Returns one array per set, shaped by the columns' numbers of codes, in the order of the schema's labels.
        These are true counts: nothing of them may leave without noise.
        """
        wanted = [tuple([names] if isinstance(names, str) else names) for names in sets]
        return count_marginals(self.source.engine, self.schema, wanted)


def _facts(schema: Any) -> Schema:
    if isinstance(schema, str | Path):
        return Schema.load(schema)
    if isinstance(schema, Schema):
        return schema
    problem = "no schema" if schema is None else f"a {type(schema).__name__} as schema"
    step = (
        "write read(data, schema), where schema is a Schema or the path of one; Schema.draft(data) proposes one, and "
        "sfumato.synthesize(data, epsilon=1, ledger='budget.db') does all of it in one call"
    )
    raise SchemaError(f"read was given {problem}", next_step=step)


@checked_arguments
def read(
    source: Any,
    schema: Schema | str | Path | None = None,
    delimiter: str | None = None,
    **dialect: Any,
) -> Table:
    """Read a table: a file (docs/reading-files.md lists the formats), a glob, a frame, a relation or an Ibis table.

    Nothing is loaded that need not be; the columns of the schema must be there, others are ignored and never released.
    ``dialect`` says how a file is written (decimal, thousands, date_format, missing, encoding, sheet), before what the
    schema's ``[source]`` says.
    """
    if isinstance(source, Schema):
        raise TableError(
            "arguments swapped: expected a table first, then the schema", next_step="write read(data, schema)"
        )
    facts = _facts(schema)
    written = Dialect.of({"delimiter": delimiter, **dialect}).over(facts.source)
    infer = not any(column.bought for column in facts.columns)  # what was bought is read as it was then
    opened = open_source(source, written, facts.columns, infer)
    require_columns(opened.engine, facts, facts.name)
    return Table(facts, opened)
