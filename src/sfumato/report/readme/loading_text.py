"""README: code that reads data.csv in the source's own dialect, in pandas and base R.

Everything is read as text first. Then nothing is guessed: a postcode keeps its zeros, and what stands around a number
is taken off by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.bundle.description import PublicRelease
from sfumato.report.blocks import Block, CodeBlock, Paragraphs
from sfumato.report.readme.code_literals import lines, python_list, python_literal, r_literal, r_vector
from sfumato.report.texts import Texts
from sfumato.schema.column import Column
from sfumato.table.writing.delimited import ISO, delimiter_of, missing_marker, output_encoding

say = Texts("readme")


def csv_loading_code(subject: PublicRelease) -> Iterator[Block]:
    """Yield how data.csv is read, where it is in the dialect of the schema."""
    if not set(subject.first.columns) <= set(subject.schema.names):
        return
    if _is_ambiguous(subject):
        yield Paragraphs((say("csv.ambiguous"),))
        return
    yield Paragraphs((say("csv.prefer"),))
    yield CodeBlock("data.csv in pandas", "python", _pandas(subject))
    yield CodeBlock("data.csv in R, without packages", "r", _base_r(subject))


def _marks(subject: PublicRelease) -> list[str]:
    """Return what stands for missing values in the file."""
    return sorted({missing_marker(subject.schema, column.name) for column in subject.columns if column.missing})


def _is_ambiguous(subject: PublicRelease) -> bool:
    values = {
        str(level) for column in subject.columns if column.kind in ("category", "ordinal") for level in column.levels
    }
    return bool(values & set(_marks(subject)))


def _numeric(column: Column) -> bool:
    return column.kind in ("integer", "number") or column.has_integer_levels


def _strip_signs(subject: PublicRelease, column: Column) -> tuple[tuple[str, str], ...]:
    """Return what is replaced, in order, before a text is a number."""
    source = subject.schema.source
    pairs = [(column.prefix, ""), (column.suffix, "")]
    pairs += [(source.thousands if column.grouped else None, ""), (source.decimal, ".")]
    return tuple((old, new) for old, new in pairs if old and old != new)


def _groups(subject: PublicRelease) -> dict[tuple[tuple[str, str], ...], list[str]]:
    """Return the columns of numbers by what must be taken off them."""
    by_signs: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for column in filter(_numeric, subject.columns):
        by_signs.setdefault(_strip_signs(subject, column), []).append(column.name)
    return by_signs


def _date_formats(subject: PublicRelease) -> dict[str, list[str]]:
    by_format: dict[str, list[str]] = {}
    for column in subject.columns:
        if column.kind == "date":
            form = column.date_format or subject.schema.source.date_format or ISO
            by_format.setdefault(form, []).append(column.name)
    return by_format


def _booleans(subject: PublicRelease) -> dict[tuple[str, str], list[str]]:
    by_words: dict[tuple[str, str], list[str]] = {}
    for column in subject.columns:
        if column.kind == "boolean":
            by_words.setdefault((column.true or "true", column.false or "false"), []).append(column.name)
    return by_words


def _pandas(subject: PublicRelease) -> str:
    schema = subject.schema
    read = [
        f"rows = pd.read_csv({python_literal(subject.first.csv)}, sep={python_literal(delimiter_of(schema))},",
        f'    encoding={python_literal(output_encoding(schema))}, dtype="string",',
        f"    na_values={python_list(_marks(subject))}, keep_default_na=False)",
    ]
    return lines("import pandas as pd", "", read, list(_pandas_types(subject)))


def _pandas_types(subject: PublicRelease) -> Iterator[str]:
    for off, names in _groups(subject).items():
        replaced = "".join(
            f".str.replace({python_literal(old)}, {python_literal(new)}, regex=False)" for old, new in off
        )
        yield f"for name in {python_list(names)}:"
        yield f"    rows[name] = pd.to_numeric(rows[name]{replaced})"
    for form, names in _date_formats(subject).items():
        yield f"for name in {python_list(names)}:"
        yield f"    rows[name] = pd.to_datetime(rows[name], format={python_literal(form)})"
    for (true, false), names in _booleans(subject).items():
        yield f"for name in {python_list(names)}:"
        pairs = f"{{{python_literal(true)}: True, {python_literal(false)}: False}}"
        yield f'    rows[name] = rows[name].map({pairs}).astype("boolean")'


def _base_r(subject: PublicRelease) -> str:
    schema = subject.schema
    read = [
        f"rows <- read.csv({r_literal(subject.first.csv)}, sep = {r_literal(delimiter_of(schema))},",
        f'    fileEncoding = {r_literal(output_encoding(schema))}, colClasses = "character",',
        f'    na.strings = {r_vector(_marks(subject))}, check.names = FALSE, comment.char = "")',
    ]
    return lines(read, list(_r_types(subject)))


def _r_types(subject: PublicRelease) -> Iterator[str]:
    for off, names in _groups(subject).items():
        text = "rows[[name]]"
        for old, new in off:
            text = f"gsub({r_literal(old)}, {r_literal(new)}, {text}, fixed = TRUE)"
        yield f"for (name in {r_vector(names)}) rows[[name]] <- as.numeric({text})"
    for form, names in _date_formats(subject).items():
        yield f"for (name in {r_vector(names)}) rows[[name]] <- as.Date(rows[[name]], format = {r_literal(form)})"
    for (true, _), names in _booleans(subject).items():
        yield f"for (name in {r_vector(names)}) rows[[name]] <- rows[[name]] == {r_literal(true)}"
