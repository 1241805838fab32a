"""The public schema of a table: what may be said about its columns before anyone looks at the rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, cast

from sfumato.columns import Column
from sfumato.errors import DraftSchemaError, SchemaError
from sfumato.rules import Rule

Adjacency = Literal["add-remove", "replace"]
ADJACENCIES = ("add-remove", "replace")


@dataclass(frozen=True)
class Schema:
    """Public facts about a table. Load one from TOML, or draft one from data and confirm it.

    ``adjacency`` says what the guarantee hides: "add-remove" (the presence of one row, or of one person where
    ``person`` names a column) or "replace" (the content of one row; the number of rows is public).

    >>> schema = Schema.parse('''
    ... [table]
    ... name = "people"
    ... [columns.sex]
    ... kind = "category"
    ... values = ["f", "m"]
    ... ''')
    >>> schema.adjacency, schema["sex"].size
    ('add-remove', 2)
    """

    name: str
    columns: tuple[Column, ...]
    adjacency: Adjacency = "add-remove"
    rows: int | None = None
    person: str | None = None
    rows_per_person: int = 1
    is_draft: bool = False
    rules: tuple[Rule, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a schema from a TOML file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaError(
                f"cannot read the schema {str(path)!r}: {_reason(error)}",
                next_step="give the path of a TOML schema, or make one with 'sfumato schema draft DATA'",
            ) from error
        return cls.parse(text, origin=str(path))

    @classmethod
    def parse(cls, text: str, origin: str = "schema") -> Self:
        """Read a schema from TOML text; every problem is reported at once."""
        from sfumato.schema_toml import parse_schema

        return cast("Self", parse_schema(text, origin))

    @classmethod
    def draft(cls, source: Any, name: str | None = None, delimiter: str | None = None) -> Self:
        """Propose a schema from data. The proposal leaks: it is a draft until :meth:`confirm`."""
        from sfumato.table.draft import draft_schema

        return cast("Self", draft_schema(source, name=name, delimiter=delimiter))

    def confirm(self) -> Self:
        """Return the schema as confirmed: the custodian vouches that every fact in it is public knowledge."""
        return dataclasses.replace(self, is_draft=False, notes=())

    def save(self, path: str | Path) -> Path:
        """Write the schema as TOML and return the path."""
        target = Path(path)
        target.write_text(self.to_toml(), encoding="utf-8")
        return target

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        from sfumato.schema_format import format_schema

        return format_schema(self)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(
            f"table {self.name!r} has no column {name!r}",
            next_step=f"use one of: {', '.join(self.names)}",
        )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in the order of the schema."""
        return tuple(column.name for column in self.columns)

    @property
    def releasable(self) -> tuple[str, ...]:
        """Columns that a release may carry: all but identifiers and the person column."""
        return tuple(c.name for c in self.columns if c.role != "identifier" and c.name != self.person)

    def with_role(self, role: str) -> tuple[str, ...]:
        """Return the names of the columns that play a role."""
        return tuple(column.name for column in self.columns if column.role == role)

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the number of codes of each named column: the shape of their contingency table."""
        return tuple(self[name].size for name in names)

    def replace_columns(self, changes: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return a copy in which the named columns have new facts (how a custodian corrects a draft)."""
        columns = tuple(dataclasses.replace(c, **changes.get(c.name, {})) for c in self.columns)
        return dataclasses.replace(self, columns=columns)

    def require_confirmed(self) -> None:
        """Refuse a draft: bounds and categories that were learned from the rows give those rows away."""
        if not self.is_draft:
            problems = _adjacency_problems(self)
            if problems:
                raise SchemaError(f"the facts about table {self.name!r} do not go together", problems, "correct them")
            return
        raise DraftSchemaError(
            f"the schema of table {self.name!r} is a draft: its bounds and categories were learned from the private "
            "rows, and publishing anything shaped by them would leak (the largest income, a rare diagnosis)",
            next_step="replace what is not public knowledge, then run 'sfumato schema confirm SCHEMA'",
        )


def _adjacency_problems(schema: Schema) -> list[str]:
    """Return what does not go together: a schema built in Python has passed no reader."""
    replaced = schema.adjacency == "replace"
    problems = ["adjacency 'replace' needs the public row count"] if replaced and schema.rows is None else []
    if not replaced and schema.rows is not None:
        problems.append("under 'add-remove' the row count is private: leave rows out")
    if replaced and schema.person is not None:
        problems.append("rows per person need adjacency 'add-remove'")
    if schema.rows_per_person != 1 and schema.person is None:
        problems.append("rows_per_person needs the column that tells people apart")
    return problems


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
