"""README: the columns with labels, units, levels or bounds, and missing values."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.bundle.description import PublicRelease
from sfumato.formatting import format_number
from sfumato.report.blocks import Block, BulletList, Paragraphs, Section, TableBlock
from sfumato.report.texts import Texts
from sfumato.schema.column import Column
from sfumato.table.writing.delimited import missing_marker
from sfumato.table.writing.frames import count_name

MOST_MEANINGS = 40
"""Values of one column whose meaning is written down; schema.toml has all of them."""
say = Texts("readme")


def columns_section(subject: PublicRelease) -> Section:
    """Say what the columns are."""
    look = {"rows": _of_rows, "counts": _of_counts, "values": _of_values}[subject.makes]
    return Section("columns", "Columns", tuple(look(subject)))


def _of_rows(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((say("columns.typed"),))
    header = ("column", "what it is", "kind", "unit", "values", "missing in data.csv")
    dialect = set(subject.first.columns) <= set(subject.schema.names)
    yield TableBlock(header, tuple(_row(subject, column, dialect) for column in subject.columns))
    yield from _meanings(subject)


def _row(subject: PublicRelease, column: Column, dialect: bool) -> tuple[str, ...]:
    return *_facts(column), f"{_values(column)}{_form(column)}", _missing(subject, column, dialect)


def _values(column: Column) -> str:
    """Return bounds with marks between thousands, or the first levels."""
    if column.kind != "number" or column.bounds is None:
        return column.domain_words
    return " to ".join(format_number(end) if abs(end) >= 1000 else f"{end:.15g}" for end in column.bounds)


def _facts(column: Column) -> tuple[str, str, str, str]:
    target = ["what readers are to predict"] if column.role == "target" else []
    words = "; ".join([*([column.description] if column.description else []), *target])
    return column.name, words, column.kind, column.unit or ""


def _form(column: Column) -> str:
    """Return what else is known of the values: their steps and decimals."""
    if column.step is not None:
        kind = "first days of a" if column.kind == "date" else "multiples of"
        return f"; {kind} {column.step}"
    return f"; {column.decimals} decimals" if column.decimals else ""


def _missing(subject: PublicRelease, column: Column, dialect: bool) -> str:
    if not column.missing:
        return "never missing"
    return (missing_marker(subject.schema, column.name) if dialect else "") or "empty"


def _of_counts(subject: PublicRelease) -> Iterator[Block]:
    names = sorted({count_name(table.columns) for table in subject.tables}, key=len)
    yield Paragraphs((say("columns.cells", counts=" or ".join(names)),))
    rows = tuple(
        (
            *_facts(column),
            format_number(column.size),
            _values(column),
            "a cell of its own" if column.missing else "never",
        )
        for column in subject.columns
    )
    yield TableBlock(("column", "what it is", "kind", "unit", "cells", "values", "missing"), rows, (4,))
    yield from _meanings(subject)


def _of_values(subject: PublicRelease) -> Iterator[Block]:
    yield Paragraphs((subject.document.method.about or subject.document.method.summary,))
    names = dict.fromkeys(name for table in subject.tables for name in table.columns)
    words = say.table("columns")["values"]
    rows = tuple((name, words.get(name, "a released number")) for name in names)
    yield TableBlock(("column", "what it is"), rows)


def _meanings(subject: PublicRelease) -> Iterator[Block]:
    """Yield what coded values mean."""
    lines = tuple(_meaning(column) for column in subject.columns if column.value_labels)
    if lines:
        yield BulletList(lines)


def _meaning(column: Column) -> str:
    pairs = list(dict(column.value_labels).items())
    more = f"; and {len(pairs) - MOST_MEANINGS} more in schema.toml" if len(pairs) > MOST_MEANINGS else ""
    return f"{column.name}: " + "; ".join(f"{value} = {words}" for value, words in pairs[:MOST_MEANINGS]) + more
