"""How to read data.csv, which is written as the table's own files are: in pandas and in R without packages.

Everything is read as text first. Then nothing is guessed: a postcode keeps its zeros, and what stands around a number
is taken off by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.report.users.parts import Block, Listing, Prose
from sfumato.report.users.quoting import in_r, lines, python, python_list, r_vector
from sfumato.report.users.subject import Subject
from sfumato.schema.column import Column
from sfumato.table.writing.delimited import delimiter_of, encoding_of, mark_of
from sfumato.table.writing.texts import ISO

AMBIGUOUS = (
    "data.csv writes a missing value with a text that is also a value; the value then stands in quotes, which most "
    "readers do not tell apart. Take the Parquet file."
)
PREFER = (
    "Take the Parquet file where you can: it has the types. data.csv is written as the table's own files are, for the "
    "scripts that read those."
)


def text_blocks(subject: Subject) -> Iterator[Block]:
    """Yield how data.csv is read, where it is in the dialect of the schema."""
    if not set(subject.first.columns) <= set(subject.schema.names):
        return
    if _is_ambiguous(subject):
        yield Prose((AMBIGUOUS,))
        return
    yield Prose((PREFER,))
    yield Listing("data.csv in pandas", "python", _pandas(subject))
    yield Listing("data.csv in R, without packages", "r", _base_r(subject))


def _marks(subject: Subject) -> list[str]:
    """Return what stands for missing values in the file."""
    return sorted({mark_of(subject.schema, column.name) for column in subject.columns if column.missing})


def _is_ambiguous(subject: Subject) -> bool:
    values = {
        str(level) for column in subject.columns if column.kind in ("category", "ordinal") for level in column.levels
    }
    return bool(values & set(_marks(subject)))


def _numeric(column: Column) -> bool:
    return column.kind in ("integer", "number") or column.has_integer_levels


def _taken_off(subject: Subject, column: Column) -> tuple[tuple[str, str], ...]:
    """Return what is replaced, in order, before a text is a number."""
    source = subject.schema.source
    pairs = [(column.prefix, ""), (column.suffix, "")]
    pairs += [(source.thousands if column.grouped else None, ""), (source.decimal, ".")]
    return tuple((old, new) for old, new in pairs if old and old != new)


def _groups(subject: Subject) -> dict[tuple[tuple[str, str], ...], list[str]]:
    """Return the columns of numbers by what must be taken off them."""
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for column in filter(_numeric, subject.columns):
        found.setdefault(_taken_off(subject, column), []).append(column.name)
    return found


def _date_formats(subject: Subject) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for column in subject.columns:
        if column.kind == "date":
            form = column.date_format or subject.schema.source.date_format or ISO
            found.setdefault(form, []).append(column.name)
    return found


def _booleans(subject: Subject) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for column in subject.columns:
        if column.kind == "boolean":
            found.setdefault((column.true or "true", column.false or "false"), []).append(column.name)
    return found


def _pandas(subject: Subject) -> str:
    schema = subject.schema
    read = [
        f"rows = pd.read_csv({python(subject.first.csv)}, sep={python(delimiter_of(schema))},",
        f'    encoding={python(encoding_of(schema))}, dtype="string",',
        f"    na_values={python_list(_marks(subject))}, keep_default_na=False)",
    ]
    return lines("import pandas as pd", "", read, list(_pandas_types(subject)))


def _pandas_types(subject: Subject) -> Iterator[str]:
    for off, names in _groups(subject).items():
        replaced = "".join(f".str.replace({python(old)}, {python(new)}, regex=False)" for old, new in off)
        yield f"for name in {python_list(names)}:"
        yield f"    rows[name] = pd.to_numeric(rows[name]{replaced})"
    for form, names in _date_formats(subject).items():
        yield f"for name in {python_list(names)}:"
        yield f"    rows[name] = pd.to_datetime(rows[name], format={python(form)})"
    for (true, false), names in _booleans(subject).items():
        yield f"for name in {python_list(names)}:"
        pairs = f"{{{python(true)}: True, {python(false)}: False}}"
        yield f'    rows[name] = rows[name].map({pairs}).astype("boolean")'


def _base_r(subject: Subject) -> str:
    schema = subject.schema
    read = [
        f"rows <- read.csv({in_r(subject.first.csv)}, sep = {in_r(delimiter_of(schema))},",
        f'    fileEncoding = {in_r(encoding_of(schema))}, colClasses = "character",',
        f'    na.strings = {r_vector(_marks(subject))}, check.names = FALSE, comment.char = "")',
    ]
    return lines(read, list(_r_types(subject)))


def _r_types(subject: Subject) -> Iterator[str]:
    for off, names in _groups(subject).items():
        text = "rows[[name]]"
        for old, new in off:
            text = f"gsub({in_r(old)}, {in_r(new)}, {text}, fixed = TRUE)"
        yield f"for (name in {r_vector(names)}) rows[[name]] <- as.numeric({text})"
    for form, names in _date_formats(subject).items():
        yield f"for (name in {r_vector(names)}) rows[[name]] <- as.Date(rows[[name]], format = {in_r(form)})"
    for (true, _), names in _booleans(subject).items():
        yield f"for (name in {r_vector(names)}) rows[[name]] <- rows[[name]] == {in_r(true)}"
