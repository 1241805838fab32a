"""The public schema of a table: columns, rules, adjacency, person column and dialect."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, cast

from sfumato.argument_errors import checked_arguments, checked_parameters
from sfumato.bounded_reads import bounded_text
from sfumato.errors import DraftSchemaError, RuleError, SchemaError
from sfumato.formatting import list_names
from sfumato.lazy import HOOKS, load_object
from sfumato.reprs import ReprMixin
from sfumato.schema.column import Column
from sfumato.schema.column_checks import is_positive, is_text
from sfumato.schema.dialect import DEFAULT_DIALECT, Dialect
from sfumato.schema.functional_dependence import conflicting_maps
from sfumato.schema.provenance import OF_FILE, TABLE_FACTS, Confirmation, unchanged
from sfumato.schema.purchase import Purchase, purchase_problems
from sfumato.schema.rules import Rule
from sfumato.system import restrict_to_owner

Adjacency = Literal["add-remove", "replace"]
ADJACENCIES = ("add-remove", "replace")
PUBLIC_TEXTS = ("description", "contact", "licence", "custodian", "use", "region")
"""What may be said about a table for those who get a release of it."""
MOST_NAMED = 50
"""Columns that a message lists."""
MOST_MARKED = 8
"""Columns that a refused draft names."""


@checked_parameters
@dataclass(frozen=True, repr=False)
class Schema(ReprMixin):
    """Public facts about a table. Load one from TOML, or draft one from data and confirm it.

    ``adjacency`` says what the guarantee hides: "add-remove" (the presence of one row, or of one person where
    ``person`` names a column) or "replace" (the content of one row; the number of rows is public). Facts that do not go
    together are refused, all of them at once.

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
    source: Dialect = DEFAULT_DIALECT
    """How the file is written that the rows come from."""
    confirmation: Confirmation | None = None
    """Who vouched for the facts, and when."""
    person_candidates: tuple[str, ...] = ()
    """Columns that repeat as those of people do, while nobody has said whose rows these are."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    description: str | None = None
    """What the table is, for the readers of a release."""
    contact: str | None = None
    """Whom these readers may ask: it is published with every release."""
    licence: str | None = None
    """Under which terms they may use it."""
    custodian: str | None = None
    """Who publishes the release: the name under which a registry of deployments lists it."""
    use: str | None = None
    """What the release is meant for."""
    region: str | None = None
    """Which region the table describes, or whose law applies."""
    purchases: tuple[Purchase, ...] = ()
    """What paid for bought facts: every guarantee from this schema counts it. One that is listed twice counts once."""
    from_rows: tuple[str, ...] = ()
    """Facts about the whole table that were taken from the rows."""
    drafted: tuple[str, ...] = ()
    """Their fingerprints, while this is a draft."""

    def __post_init__(self) -> None:
        problems = self._shape_problems()
        if not problems:
            for key in ("columns", "rules", "notes", "person_candidates", "from_rows", "drafted"):
                object.__setattr__(self, key, tuple(getattr(self, key)))
            object.__setattr__(self, "purchases", tuple(dict.fromkeys(self.purchases)))
            facts = {item.name: getattr(self, item.name) for item in dataclasses.fields(Schema)}
            problems = table_problems(facts) + name_problems(self.names)
            problems += person_problems(self.person, self._by_name) + rule_problems(self.rules, self._by_name)
            problems += purchase_problems(self.purchases)
        if problems:
            headline = f"the facts about table {self.name!r} do not go together: {len(problems)} of them"
            raise SchemaError(headline, problems, "correct them; docs/schema.md lists every fact")
        if self.person is not None:  # whose rows these are has been answered
            object.__setattr__(self, "person_candidates", ())
        object.__setattr__(self, "rules", tuple(rule.settled(self._by_name) for rule in self.rules))

    def _shape_problems(self) -> list[str]:
        """Return what is not even a list of the right things."""
        wanted = {
            "columns": (Column, "columns"),
            "rules": (Rule, "rules: Rule('start <= end')"),
            "notes": (str, "texts"),
            "person_candidates": (str, "columns"),
            "purchases": (Purchase, "purchases"),
            "from_rows": (str, "facts"),
            "drafted": (str, "fingerprints"),
        }
        return [
            f"{key} needs a list of {words}"
            for key, (kind, words) in wanted.items()
            if not isinstance(value := getattr(self, key), list | tuple)
            or not all(isinstance(item, kind) for item in cast("Iterable[Any]", value))
        ]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a schema from a TOML file."""
        try:
            text = bounded_text(path)
        except (OSError, ValueError, TypeError) as error:
            raise SchemaError(
                f"cannot read the schema {str(path)!r}: {_reason(error)}",
                next_step="give the path of a TOML schema, or make one with 'sfumato schema draft DATA'",
            ) from error
        return cls.parse(text, origin=str(path))

    @classmethod
    def parse(cls, text: str, origin: str = "schema") -> Self:
        """Read a schema from TOML text; every problem is reported at once."""
        from sfumato.schema.toml import parse_schema

        return cast("Self", parse_schema(text, origin))

    @classmethod
    @checked_arguments
    def draft(cls, source: Any, name: str | None = None, delimiter: str | None = None, **dialect: Any) -> Self:
        """Propose a schema from data. The proposal leaks: it is a draft until :meth:`confirm`.

        ``dialect`` says how a file is written: decimal, thousands, date_format, missing, encoding, sheet
        (:class:`~sfumato.schema.dialect.Dialect`).
        """
        return cast("Self", load_object(HOOKS["Schema.draft"])(source, name=name, delimiter=delimiter, **dialect))

    @classmethod
    @checked_arguments
    def from_metadata(cls, path: str | Path, table: str | None = None, name: str | None = None) -> Self:
        """Propose a schema from a file that describes the table: Croissant, Frictionless or CSVW, as JSON.

        Every fact is told by the file, and asked about by :meth:`confirm`, until which it is a draft; what cannot be
        carried over stands in ``notes``. ``table`` chooses one of several, ``name`` names it.
        """
        return cast("Self", load_object(HOOKS["Schema.from_metadata"])(path, table, name))

    def confirm(
        self,
        sources: Mapping[str, str] | None = None,
        accept_unchanged: bool = False,
        by: str | None = None,
        on: dt.date | None = None,
        person: str | Literal[False] | None = None,
        rows_per_person: int | None = None,
    ) -> Self:
        """Return the confirmed schema: the custodian states where its facts come from.

        ``sources`` names, by column or by a rule's check, where facts are published; "*" stands for all the rest. What
        still stands exactly as it was drafted needs a source, or ``accept_unchanged``, which every guarantee then
        states. ``person`` answers whose rows these are: a column, of which ``rows_per_person`` rows count at most, or
        False where each person has one row. ``by`` is who says so, the account's name unless given.
        """
        from sfumato.schema.confirm import PersonDeclaration, confirm_schema

        answer = PersonDeclaration(person, rows_per_person)
        return cast("Self", confirm_schema(self, sources or {}, accept_unchanged, by, on, answer))

    @property
    def is_confirmed(self) -> bool:
        """Whether no mark of a draft is left: neither on the table, nor on a fact, nor an open question."""
        return not (self.is_draft or self.person_candidates or self._marked)

    @property
    def data_derived_facts(self) -> tuple[str, ...]:
        """Facts about the whole table that were taken from the rows: its columns and its encoding."""
        facts = {"columns": True, "encoding": self.source.encoding}
        marked = (*self.from_rows, *unchanged(facts, self.drafted))
        return tuple(fact for fact in TABLE_FACTS if fact in marked)

    @property
    def _marked(self) -> list[str]:
        """Columns and rules that carry the mark of a draft."""
        columns = [column.name for column in self.columns if column.drafted]
        return columns + [repr(rule.check) for rule in self.rules if rule.drafted]

    def save(self, path: str | Path) -> Path:
        """Write the schema as TOML and return the path; a draft holds true values, so only its owner may read it."""
        target, text = Path(path), self.to_toml()
        try:
            if not self.is_confirmed:
                _hide(target)
            target.write_text(text, encoding="utf-8")
        except (OSError, ValueError) as error:
            raise SchemaError(
                f"cannot write the schema to {str(path)!r}: {_reason(error)}", next_step="choose another place"
            ) from error
        return target

    def to_toml(self) -> str:
        """Return the schema as TOML text."""
        from sfumato.schema.toml import format_schema

        return format_schema(self)

    def __getitem__(self, name: str) -> Column:
        column = self._by_name.get(name)
        if column is not None:
            return column
        raise SchemaError(
            f"table {self.name!r} has no column {name!r}",
            next_step=f"use one of: {', '.join(self.names[:MOST_NAMED])}",
        )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in the order of the schema."""
        return tuple(column.name for column in self.columns)

    def _line(self) -> str:
        rules = f", {len(self.rules)} rules" if self.rules else ""
        person = f", person = {self.person!r}" if self.person else ""
        return f"{self.name!r}, {len(self.columns)} columns{rules}{person}{'' if self.is_confirmed else '; a draft'}"

    _headers = ("column", "kind", "bounds or values", "role")

    def _lines(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield a line per column; what a draft took from the rows stays out of notebooks."""
        for column in self.columns:
            domain = column.domain_words if self.is_confirmed else "in the draft: see .to_toml()"
            yield column.name, column.kind, domain, column.role or ""

    def in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns among some names, in the order of the table."""
        wanted = set(names)
        return tuple(name for name in self.names if name in wanted)

    @property
    def releasable(self) -> tuple[str, ...]:
        """Columns that a release may carry: all but identifiers and the person column."""
        return tuple(c.name for c in self.columns if c.role != "identifier" and c.name != self.person)

    @property
    def targets(self) -> tuple[str, ...]:
        """Columns that readers will predict from the others: those with the role ``target``, none, one or several."""
        return self.with_role("target")

    def with_role(self, role: str) -> tuple[str, ...]:
        """Return the names of the columns that play a role."""
        return tuple(column.name for column in self.columns if column.role == role)

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the number of codes of each named column: the shape of their contingency table."""
        return tuple(self[name].size for name in names)

    def with_words(self, words: Mapping[str, str | None]) -> Self:
        """Return a copy with texts for the readers of a release, by the names of PUBLIC_TEXTS; None is left out."""
        if problems := text_problems(words):
            raise SchemaError(f"table {self.name!r} has invalid texts", problems, "docs/schema.md lists the names")
        texts: dict[str, Any] = {key: text for key, text in words.items() if text is not None}
        return dataclasses.replace(self, **texts) if texts else self

    def replace_columns(self, changes: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return a copy in which the named columns have new facts (how a custodian corrects a draft)."""
        problems = [f"column {name!r} is not in the schema" for name in changes if name not in self]
        columns: list[Column] = []
        for column in self.columns:
            try:
                columns.append(dataclasses.replace(column, **changes.get(column.name, {})))
            except SchemaError as error:
                problems += error.problems
            except TypeError:
                known = ", ".join(item.name for item in dataclasses.fields(Column))
                problems.append(
                    f"column {column.name}: unknown fact among {', '.join(changes[column.name])}; use {known}"
                )
        if problems:
            raise SchemaError(f"invalid changes to the columns of table {self.name!r}", problems, "correct the changes")
        return dataclasses.replace(self, columns=tuple(columns))

    def require_confirmed(self) -> None:
        """Refuse a draft: bounds and categories that were learned from the rows give those rows away."""
        if self.is_confirmed:
            return
        marks = (
            []
            if self.is_draft or not self._marked
            else [f"marks of the draft stand in {list_names(self._marked, MOST_MARKED)}"]
        )
        asked = f"whose rows these are ({list_names(self.person_candidates, MOST_MARKED)}?) is not answered"
        by_rows = any(not mark.endswith(OF_FILE) for column in self.columns for mark in column.drafted)
        origin = f"{'were' if by_rows else 'may have been'} learned from the private rows"
        raise DraftSchemaError(
            f"the schema of table {self.name!r} is a draft: its bounds and categories {origin}, and publishing "
            "anything shaped by them would leak (the largest income, a rare diagnosis)",
            marks + ([asked] if self.person_candidates else []),
            "replace what is not public knowledge, then run 'sfumato schema confirm SCHEMA'",
        )


def _hide(path: Path) -> None:
    """Make an empty file that only its owner may read, before anything stands in it."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            restrict_to_owner(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, ValueError):  # NUL or half characters
        return "that is no path"
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def table_problems(facts: Mapping[str, Any]) -> list[str]:
    """Return the problems of the facts about the table itself."""
    name, rows, per_person = facts["name"], facts["rows"], facts["rows_per_person"]
    draft = facts["is_draft"]
    return [
        *_unless(is_text(name) and name.strip() != "", "[table] name: needs a text"),
        *_unless(isinstance(draft, bool), "[table] draft: needs true or false"),
        *_unless(is_positive(per_person), "[table] rows_per_person: needs a whole number of at least 1"),
        *_unless(
            facts["person"] is not None or not is_positive(per_person) or per_person == 1,
            "[table] rows_per_person needs person = the column that tells people apart",
        ),
        *_adjacency_problems(facts["adjacency"], rows, facts["person"]),
        *(problem for key in PUBLIC_TEXTS for problem in _words_problems(key, facts[key])),
    ]


def text_problems(words: Mapping[str, Any]) -> list[str]:
    """Return the problems of the texts for readers of a release."""
    unknown = [f"{key!r} is none of {', '.join(PUBLIC_TEXTS)}" for key in words if key not in PUBLIC_TEXTS]
    return unknown + [problem for key in PUBLIC_TEXTS for problem in _words_problems(key, words.get(key))]


def _words_problems(key: str, words: Any) -> list[str]:
    """Return what is wrong with a sentence for readers: none is as good as an empty one, and means more."""
    return _unless(words is None or (is_text(words) and words.strip() != ""), f"[table] {key}: needs a text")


def _adjacency_problems(adjacency: Any, rows: Any, person: Any) -> list[str]:
    if not isinstance(adjacency, str) or adjacency not in ADJACENCIES:
        return [f"[table] adjacency: {adjacency!r} is unknown; use 'add-remove' or 'replace'"]
    if adjacency == "add-remove":
        return _unless(rows is None, "[table] rows: under 'add-remove' the row count is private; remove it")
    return [
        *_unless(is_positive(rows), "[table] adjacency 'replace' needs the public row count, e.g. rows = 20000"),
        *_unless(person is None, "[table] person: rows per person need adjacency 'add-remove'"),
    ]


def name_problems(names: Sequence[str]) -> list[str]:
    """Return the problems of the column names."""
    problems = _unless(bool(names), "no [columns.NAME] section: name at least one column")
    return problems + [f"column {name}: stands {n} times" for name, n in Counter(names).items() if n > 1]


def person_problems(person: Any, columns: Mapping[str, Column | None]) -> list[str]:
    """Return the problems of the person column; a column that could not be read is None."""
    if person is None:
        return []
    if not isinstance(person, str) or person not in columns:
        return [f"[table] person: {person!r} is not among the columns"]
    column = columns[person]
    # Rows without a person would share one allowance, and one more such row could displace another's.
    shared = f"column {person}: the person column cannot be missing, or people share a bound"
    hidden = f"column {person}: the person column is never released, so it cannot be a target"
    return [
        *_unless(column is None or not column.missing, shared),
        *_unless(column is None or column.role != "target", hidden),
    ]


def rule_problems(rules: Sequence[Rule], columns: Mapping[str, Column | None]) -> list[str]:
    """Return the problems of the rules: syntax, unknown columns, types, contradictions."""
    problems: list[str] = []
    for rule in rules:
        try:
            rule.require_meaning(columns)
        except RuleError as error:
            problems += [f"{error.headline}: {problem}" for problem in error.problems] or [error.headline]
    return problems or conflicting_maps((rule.dependence, rule.map) for rule in rules)


def _unless(holds: bool, problem: str) -> list[str]:
    return [] if holds else [problem]
