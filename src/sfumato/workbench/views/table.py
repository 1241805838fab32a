"""View of the table page: recognised columns, edits, open questions and remedies."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import DraftSchemaError, SchemaError, SfumatoError, TableError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.confirm import confirmation_steps, unconfirmed_facts
from sfumato.schema.dialect import Dialect
from sfumato.schema.provenance import DOMAIN_FACTS, fingerprint
from sfumato.schema.round_bounds import rounder_bounds
from sfumato.table.sources import guess_delimiter, open_source
from sfumato.workbench.project import Project
from sfumato.workbench.texts import words

NOTED = ("left out", "look at", "question", "identifier")
AGAIN = "look at: to read it so, draft again with "
FILTERS = ("all", "open", "typed", "problem", "identifier")
SAMPLE_ROWS = 8
LONGEST_CELL = 80


@dataclass(frozen=True)
class ColumnLine:
    """One column in the list."""

    name: str
    kind: str
    domain: str
    role: str
    origin: str
    problem: str = ""
    note: str = ""
    is_open: bool = False
    is_typed: bool = False


@dataclass(frozen=True)
class Remedy:
    """One thing that a click does about a problem."""

    label: str
    act: Callable[[], None]
    draws_again: bool = False
    """Whether the file must be read again."""


@dataclass(frozen=True)
class TableView:
    """The draft with what was typed about it; a column whose facts make no sense keeps those of the draft."""

    schema: Schema
    problems: Mapping[str, str]


def draft(path: str, dialect: Mapping[str, Any]) -> Schema:
    """Return the draft of a file of this machine."""
    wanted = path.strip()
    if not wanted:
        raise TableError(words("table.no_path"), next_step=words("table.no_path_step"))
    return Schema.draft(str(Path(wanted).expanduser()), **dialect)


def delimiter_remedy(path: str) -> str | None:
    """Return the delimiter that would split a header which reads as one column."""
    try:
        names = list(open_source(str(Path(path.strip()).expanduser())).engine.table.columns)
    except SfumatoError:
        return None
    return guess_delimiter(names[0], ()) if len(names) == 1 else None


def table_view(project: Project) -> TableView | None:
    """Return the table as it is described so far."""
    if project.draft is None:
        return None
    base, problems, columns = project.draft, dict[str, str](), list[Column]()
    for column in base:
        fields = project.state.edits.get(column.name, {})
        try:
            columns.append(dataclasses.replace(column, **_facts(column, fields)) if fields else column)
        except (SchemaError, ValueError) as error:
            problems[column.name] = _short(error)
            columns.append(column)
    rules = tuple(rule for rule in base.rules if rule.check not in project.state.no_rules)
    try:
        return TableView(dataclasses.replace(base, columns=tuple(columns), rules=rules), problems)
    except SchemaError as error:  # a rule that speaks of a column whose kind was changed
        whole = {words("table.together"): "; ".join(error.problems) or error.headline}
        return TableView(base, {**problems, **whole})


def _short(error: Exception) -> str:
    return "; ".join(error.problems) or error.headline if isinstance(error, SchemaError) else str(error)


def _facts(column: Column, fields: Mapping[str, str]) -> dict[str, Any]:
    """Turn what was typed about a column into facts; what belongs to another kind waits until that is chosen again."""
    kind = fields.get("kind", column.kind)
    facts: dict[str, Any] = {}
    if kind != column.kind:
        facts = {"kind": kind, **dict.fromkeys(("bounds", "values", "edges", "bins", "step", "decimals"))}
        facts |= {"true": None, "false": None, "date_format": None, "trailing_zeros": False, "grouped": False}
    if kind in ("category", "ordinal"):
        facts |= _levels(column, fields)
    elif kind != "boolean":
        facts |= _bounds(column, kind, fields)
    if "role" in fields:
        facts["role"] = fields["role"] or None
    if "missing" in fields:
        facts["missing"] = fields["missing"] == "yes"
    if "outside" in fields:
        facts["outside"] = fields["outside"]
    return facts


def _levels(column: Column, fields: Mapping[str, str]) -> dict[str, Any]:
    if "values" not in fields:
        return {}
    listed = [line.strip() for line in fields["values"].splitlines() if line.strip()]
    numbers = all(isinstance(value, int) for value in column.values or ("",))
    if numbers and all(line.lstrip("-").isdigit() for line in listed):
        return {"values": tuple(int(line) for line in listed)}
    return {"values": tuple(listed), **({"value_labels": None} if numbers else {})}


def _bounds(column: Column, kind: str, fields: Mapping[str, str]) -> dict[str, Any]:
    same = column.bounds if column.kind == kind else None
    low, high = (str(end) for end in same) if same else ("", "")
    typed = (fields.get("low", low).strip(), fields.get("high", high).strip())
    if not any(typed):
        raise ValueError(words("table.bounds_missing"))
    bounds = (_end(typed[0], kind), _end(typed[1], kind))
    edges = {} if column.edges is None or same == bounds else {"edges": None}
    return {"bounds": bounds, **edges}


def _end(text: str, kind: str) -> Any:
    """Read one bound."""
    try:
        if kind == "date":
            return dt.date.fromisoformat(text)
        return int(text) if kind == "integer" else float(text)
    except ValueError:
        raise ValueError(words(f"table.no_{kind}", text=text)) from None


def fields_of(project: Project, name: str) -> dict[str, str]:
    """Return what the form of a column shows: what was typed, and the draft where nothing was."""
    column = required_draft(project)[name]
    low, high = (str(end) for end in column.bounds) if column.bounds else ("", "")
    drafted = {
        "kind": column.kind,
        "low": low,
        "high": high,
        "values": "\n".join(str(value) for value in column.values or ()),
        "role": column.role or "",
        "missing": "yes" if column.missing else "",
        "outside": column.outside,
        "source": project.state.sources.get(name, ""),
    }
    return {**drafted, **project.state.edits.get(name, {})}


def required_draft(project: Project) -> Schema:
    """Return the draft, or refuse."""
    if project.draft is None:
        raise SchemaError(words("table.nothing_open"), next_step=words("table.no_path_step"))
    return project.draft


def lines(project: Project, search: str = "", only: str = "all") -> list[ColumnLine]:
    """Return the columns that match what was searched for and the filter."""
    found = table_view(project)
    if found is None:
        return []
    told = notes_by_column(found.schema)
    every = (_line(project, found, column, told.get(column.name, "")) for column in found.schema)
    wanted = search.strip().lower()
    return [line for line in every if wanted in line.name.lower() and _passes(line, only)]


def _passes(line: ColumnLine, only: str) -> bool:
    return {
        "open": line.is_open,
        "typed": line.is_typed,
        "problem": bool(line.problem or line.note),
        "identifier": line.role == "identifier",
    }.get(only, True)


def _line(project: Project, found: TableView, column: Column, note: str) -> ColumnLine:
    state = project.state
    source = state.sources.get(column.name, "") or (state.rest_source if column.role != "identifier" else "")
    is_open = not source and any(fact in column.unchanged for fact in DOMAIN_FACTS)
    of_file = any(fact in column.file_facts for fact in DOMAIN_FACTS)
    standing = words("table.from_file" if of_file else "table.from_rows")
    origin = standing if is_open else source or words("table.stated")
    if column.role == "identifier":
        origin, is_open = words("table.never_released"), False
    return ColumnLine(
        name=column.name,
        kind=column.kind,
        domain=column.domain_words,
        role=column.role or "",
        origin=origin,
        problem=found.problems.get(column.name, ""),
        note=note,
        is_open=is_open and not state.accept,
        is_typed=bool(state.edits.get(column.name)),
    )


def notes_by_column(schema: Schema) -> dict[str, str]:
    """Return what the draft asks a person to look at, by column."""
    found: dict[str, str] = {}
    for note in schema.notes:
        head, _, rest = note.partition(": ")
        if head in NOTED[:2] and not note.startswith(AGAIN):
            name = next((n for n in sorted(schema.names, key=len, reverse=True) if rest.startswith(f"{n} (")), None)
            if name is not None:
                found[name] = rest.removeprefix(f"{name} (").removesuffix(")")
    return found


def left_out(schema: Schema) -> list[str]:
    """Return what the draft could not describe, and why: these columns are in no release."""
    return [note.removeprefix("left out: ") for note in schema.notes if note.startswith("left out: ")]


def questions(schema: Schema) -> list[str]:
    """Return what the draft asks about the whole table."""
    return [note.removeprefix("question: ") for note in schema.notes if note.startswith("question: rows of")]


def remedies(project: Project) -> list[Remedy]:
    """Return what one click can do about the whole draft."""
    found, offered = table_view(project), list[Remedy]()
    if found is None:
        return offered
    options = next((note.removeprefix(AGAIN) for note in found.schema.notes if note.startswith(AGAIN)), "")
    if options:
        more = Dialect.from_options(options).over(Dialect.of(project.state.dialect)).stated()
        label = words("table.read_so", options=options)
        offered.append(Remedy(label, lambda: _keep_dialect(project, more), draws_again=True))
    loose = {column.name: rounder_bounds(column) for column in found.schema if _is_narrow(column)}
    if loose:
        label = words("table.rounder_all", count=len(loose))
        offered.append(Remedy(label, lambda: _round(project, loose)))
    return offered


def _keep_dialect(project: Project, dialect: Mapping[str, Any]) -> None:
    project.change(dialect=dict(dialect))


def column_remedy(column: Column) -> tuple[Any, Any] | None:
    """Return rounder bounds for a column whose bounds are as the rows have them."""
    return rounder_bounds(column) if _is_narrow(column) else None


def _is_narrow(column: Column) -> bool:
    drafted = next((mark for mark in column.drafted if mark.startswith("bounds ")), "")
    if column.bounds is None or column.role == "identifier" or drafted != fingerprint("bounds", column.bounds):
        return False
    return tuple(rounder_bounds(column)) != tuple(column.bounds)


def _round(project: Project, bounds: Mapping[str, tuple[Any, Any]]) -> None:
    for name, (low, high) in bounds.items():
        project.edit(name, low=str(low), high=str(high))


def confirm(project: Project) -> Schema:
    """Confirm the schema: the custodian vouches for its facts, or accepts them as drafted from the rows."""
    found = table_view(project) or TableView(required_draft(project), {})
    if found.problems:
        told = [f"{name}: {problem}" for name, problem in found.problems.items()]
        raise SchemaError(words("table.unsound", count=len(told)), told, words("table.unsound_step"))
    state, known = project.state, {*found.schema.names, *(rule.check for rule in found.schema.rules)}
    sources = {name: said for name, said in state.sources.items() if name in known and said.strip()}
    if state.rest_source.strip():
        sources["*"] = state.rest_source.strip()
    person = False if state.whose == "rows" else (state.person or None) if state.whose == "people" else None
    counted = _whole(state.rows_per_person, person)
    try:
        schema = found.schema.confirm(sources, state.accept, state.by.strip() or None, None, person, counted)
    except DraftSchemaError as error:
        steps = confirmation_steps(type(error), found.schema, words("table.vouch_step"), words("table.answer_step"))
        raise type(error)(error.headline, error.problems, steps) from error
    project.confirm(schema)
    return schema


def _whole(text: str, person: str | bool | None) -> int | None:
    if not person or not text.strip():
        return None
    if not text.strip().isdigit() or int(text) < 1:
        raise SchemaError(words("table.no_count", text=text), next_step=words("table.no_count_step"))
    return int(text)


def confirmation_state(project: Project) -> tuple[str, ...]:
    """Return the facts that stand as drafted from the rows, without a named source."""
    found = table_view(project)
    if found is None or project.state.rest_source.strip():
        return ()
    named = {name for name, said in project.state.sources.items() if said.strip()}
    return tuple(
        fact for fact in unconfirmed_facts(found.schema) if fact.removeprefix("column ").split(":")[0] not in named
    )


def sample(project: Project, rows: int = SAMPLE_ROWS) -> tuple[list[str], list[list[str]]]:
    """Return some rows of the file, cut to short texts: for the custodian's eyes, kept nowhere."""
    opened = open_source(str(Path(project.state.source).expanduser()), Dialect.of(project.state.dialect))
    found = opened.engine.aggregate(opened.engine.table.limit(rows))
    names = [str(name) for name in found.column_names]
    cells = [["" if cell is None else str(cell)[:LONGEST_CELL] for cell in row.values()] for row in found.to_pylist()]
    return names, cells
