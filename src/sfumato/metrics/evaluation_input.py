"""Open what a user wants measured: a release, a bundle, a file or a data frame.

Comparisons and attacks open both sides in the same way, so that what one of them accepts the other accepts as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.bounded_reads import is_folder
from sfumato.bundle.read import open_bundle
from sfumato.core.method import Makes, Method
from sfumato.core.release import Release
from sfumato.errors import BundleError, PlanError, SchemaError, TableError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.schema import Schema
from sfumato.table import Table, read
from sfumato.table.sources import open_source

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class EvaluationInput:
    """What was released, and what is known about how it was made; of anybody's rows only the rows are known."""

    makes: Makes
    tables: Mapping[tuple[str, ...], Any]
    """Released tables by their columns; of several copies of rows the first."""
    schema: Schema | None = None
    guarantee: Guarantee | None = None
    method: Method | None = None
    events: tuple[Event, ...] = ()
    document: Any = field(default=None, repr=False)
    """The public document of a bundle, where it is one."""
    release: Release | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    copies: tuple[Any, ...] = ()
    """All copies of released rows."""
    folder: Path | None = None
    """Of a bundle."""

    @property
    def rows(self) -> Any:
        """The first released table."""
        return next(iter(self.tables.values()))

    @property
    def created_at(self) -> str:
        """When it was released; empty for anybody's rows."""
        known = self.release if self.document is None else self.document
        return "" if known is None else known.created_at

    def require_method(self) -> Method:
        """Return the method, or refuse a release by one that this version does not know."""
        if self.method is None:
            raise PlanError(
                "this version knows no method of that name" if self.schema else "nobody says how these rows were made",
                next_step="open it with the version of sfumato that wrote it (release.json names it)",
            )
        return self.method

    def require_schema(self) -> Schema:
        """Return the schema of a release or a bundle, or refuse anybody's rows, which have none."""
        if self.schema is not None:
            return self.schema
        path = isinstance(self.rows, str | Path)
        raise BundleError(
            f"{str(self.rows)!r} is not a bundle"
            if path
            else f"a {type(self.rows).__name__} is neither a release nor a bundle",
            next_step="give what sfumato.release returned, or the folder of a bundle",
        )

    def require_rows(self) -> EvaluationInput:
        """Return it, or refuse counts and values, which cannot be compared row by row."""
        if self.makes == "rows":
            return self
        what = "the release" if self.folder is None else repr(str(self.folder))
        raise BundleError(
            f"{what} holds {self.makes}, not rows: there is nothing to compare row by row",
            next_step="give a release of synthetic rows; 'sfumato calibrate' measures the error of counts, and "
            "'sfumato utility' what else a release can be used for",
        )

    def rows_for(self, schema: Schema) -> Any:
        """Return the released rows as something that is read by the schema of a table."""
        return self.copies_for(schema)[0]

    def copies_for(self, schema: Schema) -> tuple[Any, ...]:
        """Return all copies of the released rows so."""
        return self.copies if self.schema is not None else tuple(open_rows(copy, schema) for copy in self.copies)


def open_evaluation_input(released: Any) -> EvaluationInput:
    """Return what was released: from a release, from the folder of a bundle, or anybody's rows as they are."""
    if isinstance(released, Release):
        makes, notes = released.method.makes, _copies(released.method.makes, len(released.tables))
        tables = _first(makes, released.tables)
        facts = (released.schema, released.guarantee, released.method, released.events)
        copies = tuple(released.tables.values())
        return EvaluationInput(makes, tables, *facts, release=released, notes=notes, copies=copies)
    if isinstance(released, str | Path) and is_folder(released):
        opened = open_bundle(released)
        document, makes = opened.document, opened.document.method.makes
        tables, notes = _first(makes, dict(opened.tables)), _copies(makes, len(opened.tables))
        facts = (opened.schema, document.guarantee, _method(opened), document.events)
        copies = tuple(table for _, table in opened.tables)
        return EvaluationInput(makes, tables, *facts, document, notes=notes, copies=copies, folder=Path(released))
    return EvaluationInput("rows", {("synthetic",): released}, copies=(released,))


def _first(makes: str, tables: Mapping[tuple[str, ...], Any]) -> Mapping[tuple[str, ...], Any]:
    return dict(list(tables.items())[:1]) if makes == "rows" else tables


def _copies(makes: str, count: int) -> tuple[str, ...]:
    return (f"the release has {count} copies of the rows; the first is taken",) if makes == "rows" and count > 1 else ()


def _method(opened: Any) -> Method | None:
    """Return the method of a bundle, or nothing where this version knows none of that name."""
    try:
        return opened.method()
    except PlanError:
        return None


def private_table(table: Any, schema: Schema | str | Path | None, own: Schema | None, how: str) -> Table:
    """Return the confidential table with its schema: its own, the one given, or that of the release."""
    if isinstance(table, Table):
        return table
    if isinstance(table, Release):
        raise TableError("arguments swapped: expected a table, found a release", next_step=f"write {how}")
    facts = schema if schema is not None else own
    if facts is None:
        raise SchemaError(
            "nobody says what the columns are: the released rows are a plain file or frame, and so is the table",
            next_step="read the table first, sfumato.read(data, schema), or say schema=... (--schema SCHEMA)",
        )
    return read(table, facts)


def open_rows(source: Any, schema: Schema) -> Any:
    """Return anybody's rows as something that is read by the schema, whichever of its columns it has."""
    return source if isinstance(source, Table) else Table(schema, open_source(source, schema.source, schema.columns))


def shared_columns(schema: Schema, released: Any) -> tuple[list[str], list[str]]:
    """Return the columns that both sides have, and those that the release lacks."""
    there = set(released.source.engine.table.columns if isinstance(released, Table) else released.column_names)
    fits = [name for name in schema.releasable if not schema[name].is_open]
    names = [name for name in fits if name in there]
    if not names:
        raise PlanError(
            f"the release has no column of table {schema.name!r}",
            [f"the release has: {', '.join(sorted(map(str, there))[:20])}", f"the table has: {', '.join(fits[:20])}"],
            "give the rows that were made from this table",
        )
    return names, [name for name in fits if name not in there]


def unknown_as_missing(source: Any, schema: Schema, names: Sequence[str]) -> tuple[Any, Schema]:
    """Return rows and a schema by which values that nobody announced are read as missing."""
    wide = schema.replace_columns({name: {"outside": "missing", "missing": True} for name in names})
    return (Table(wide, source.source) if isinstance(source, Table) else source), wide


def raw_rows(table: Table) -> pa.Table:
    """Return all rows of a table as they were read, in its order."""
    engine = table.source.engine
    return engine.aggregate(engine.table.select(*table.schema.names))
