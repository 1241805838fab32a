"""Open a metadata file, recognise its format and draft a schema from it.

A file cannot vouch: its limits and lists may have been computed from the private rows. So what is made here is a draft,
until a person confirms it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from sfumato.bounded_reads import bounded_text
from sfumato.errors import SchemaError
from sfumato.schema.dialect import Dialect
from sfumato.schema.importing import croissant, csvw, frictionless
from sfumato.schema.importing.metadata_model import ImportedColumn, MetadataTable, to_column
from sfumato.schema.schema import Schema, text_problems

DRAFT_NOTICE = (
    "DRAFT: taken from {file} ({format}). A file cannot say whether its limits and lists are public or were computed "
    "from the rows: look at each, then: sfumato schema confirm THIS-FILE"
)
MOST_BYTES = 50_000_000
METADATA_FORMATS = "Croissant, a Frictionless data package or table schema, or CSVW"


def import_schema(path: str | Path, table: str | None = None, name: str | None = None) -> Schema:
    """Return a draft of the table that a metadata file describes.

    ``table`` chooses one where the file describes several; ``name`` is the name of the table, that of the file unless
    said.
    """
    document, file = _document(path), Path(path).name
    format_, tables, one = _read(document)
    chosen = _chosen(tables, table, one, file)
    imported = [(column, to_column(column)) for column in chosen.columns]
    problems = [*chosen.problems, *_names(chosen), *(each for _, became in imported for each in became.problems)]
    words, dialect = _words(chosen, problems), _dialect(chosen, problems)
    if problems:
        _refuse(f"{file} has {len(problems)} problem{'s' if len(problems) > 1 else ''}", problems, "correct the file")
    columns = tuple(became.column for _, became in imported if became.column)
    notes = (DRAFT_NOTICE.format(file=file, format=format_), *_left(chosen, [became for _, became in imported]))
    if not any(column.role != "identifier" for column in columns):
        _refuse(f"{file} describes no column that could be released", notes[1:], "write the schema by hand")
    draft = Schema(name or one or _name(chosen, file), columns, is_draft=True, source=dialect, notes=notes)
    return dataclasses.replace(draft, **words)


def _document(path: str | Path) -> Mapping[str, Any]:
    try:
        document: Any = json.loads(bounded_text(path, MOST_BYTES, "utf-8-sig"))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else f"it is no JSON ({error})"
        raise SchemaError(
            f"cannot read {str(path)!r}: {reason}", next_step=f"give {METADATA_FORMATS}, as JSON"
        ) from error
    if not isinstance(document, Mapping):
        _refuse(f"{str(path)!r} is no description of a table", (), f"give {METADATA_FORMATS}, as JSON")
    return cast("Mapping[str, Any]", document)


def _read(document: Mapping[str, Any]) -> tuple[str, list[MetadataTable], str | None]:
    """Return the format, the tables, and the name of the one table that they are parts of, where the file says so."""
    if croissant.is_croissant(document):
        return "Croissant", croissant.croissant_tables(document), croissant.one_table(document)
    if csvw.is_csvw(document):
        return "CSVW", csvw.csvw_tables(document), None
    if frictionless.is_frictionless(document):
        return "Frictionless", frictionless.frictionless_tables(document), frictionless.one_table(document)
    raise SchemaError("the file is in none of the known formats", next_step=f"give {METADATA_FORMATS}, as JSON")


def _chosen(tables: Sequence[MetadataTable], wanted: str | None, one: str | None, file: str) -> MetadataTable:
    described = [table for table in tables if table.columns or table.problems]
    if not described:
        _refuse(
            f"{file} describes no table",
            [each for table in tables for each in table.doubts],
            f"give {METADATA_FORMATS}",
        )
    if wanted is not None:
        named = [table for table in described if table.name == wanted]
        if len(named) != 1:
            known = ", ".join(str(table.name) for table in described)
            _refuse(f"{file} describes no table {wanted!r}", (), f"choose one of: {known}")
        return named[0]
    if len(described) > 1 and one is None:
        known = [f"{table.name}: {len(table.columns)} columns" for table in described]
        _refuse(f"{file} describes {len(described)} tables", known, "choose one: table='NAME' (--table NAME)")
    return described[0] if len(described) == 1 else _merged(described)


def _merged(parts: Sequence[MetadataTable]) -> MetadataTable:
    """Return the one table of which a release shows several parts, or the same columns several times."""
    columns = {str(column.name): column for part in reversed(parts) for column in reversed(part.columns)}
    order = dict.fromkeys(str(column.name) for part in parts for column in part.columns)
    merged = [columns[each] for each in order]
    problems = [each for part in parts for each in part.problems]
    return dataclasses.replace(parts[0], columns=merged, problems=problems)


def _names(table: MetadataTable) -> list[str]:
    """Return columns that stand twice: which of them is meant cannot be known."""
    names = [column.name for column in table.columns]
    return [
        f"column {name} stands {names.count(name)} times" for name in {str(n) for n in names} if names.count(name) > 1
    ]


def _words(table: MetadataTable, problems: list[str]) -> dict[str, Any]:
    words = {key: text for key, text in table.words.items() if text is not None}
    problems += text_problems(words)
    return words


def _dialect(table: MetadataTable, problems: list[str]) -> Dialect:
    try:
        return Dialect.of(table.source)
    except SchemaError as error:
        problems += error.problems
        return Dialect()


def _left(table: MetadataTable, columns: Sequence[ImportedColumn]) -> list[str]:
    """Return in words what was not carried over."""
    lost = [f"left out: {each.left_out}" for each in columns if each.left_out]
    doubts = [each for column in table.columns for each in column.doubts]
    return [*lost, *(f"look at: not carried over: {each}" for each in (*table.doubts, *doubts))]


def _name(table: MetadataTable, file: str) -> str:
    return str(table.name) if table.name else file.partition(".")[0]


def _refuse(headline: str, problems: Sequence[str], next_step: str) -> NoReturn:
    raise SchemaError(headline, problems, next_step)
