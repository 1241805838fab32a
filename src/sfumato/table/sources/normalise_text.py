"""Normalise text values: decimal point, no thousands separators, ISO dates, nulls for missing.

Everything behind the sources sees plain values alone. They are made by a projection of the engine, so nothing is
loaded, and only where something was said: a file without a dialect is read as it stands. A text that does not look as
was said stays what it is, and is found unreadable later, with its count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect

BLANK = "[\\s\u00a0\u202f]?"
PREFIX_PATTERN, SUFFIX_PATTERN = f"(?:[€$£¥]|EUR|USD|CHF|GBP)?{BLANK}", rf"{BLANK}(?:%|€|\$|£|¥|EUR|USD|CHF|GBP)"
FRONT, BACK = rf"^[-+]?{BLANK}{PREFIX_PATTERN}[-+]?", rf"({SUFFIX_PATTERN})?$"
"""What may stand before and behind a number that is written for people."""
SIGN = r"[%€$£¥]|EUR|USD|CHF|GBP"
BLANKS = (" ", "\u00a0", "\u202f")
"""Marks between thousands that look alike, so that any of them means all."""
DROPPED = f"{SIGN}|[ \t\u00a0\u202f]"
GROUPS = r"^\s*[-+]?\d{1,3}(\.\d{3})+\s*$"
DOUBTFUL = " (a point, where the decimal mark is a comma)"
"""What is put behind a text such as 1.234, which would else be read as a little more than one."""
NUMBER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


def normalise_texts(relation: Any, dialect: Dialect, columns: Sequence[Column] | None, infer: bool = True) -> Any:
    """Return a relation whose texts are plain; the same one where there is nothing to do.

    While nobody has said what the columns are, a column is read as was said if all of its texts are written so; without
    ``infer`` every text is, whatever the others are.
    """
    known = None if columns is None else {column.name: column for column in columns}
    if not _says_something(dialect, known):
        return relation
    kinds = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    wanted = kinds if known is None else {name: kind for name, kind in kinds.items() if name in known}
    texts = [name for name, kind in wanted.items() if _is_text(kind)]
    if known is not None:
        needs = _needs_of(texts, dialect, known)
    elif infer:
        needs = _needs_seen(relation, texts, dialect)
    else:
        needs = {name: _Normalisation(dialect.missing, _writes_numbers(dialect), dialect.date_format) for name in texts}
    projections = {name: _text(name, need) for name, need in needs.items()}
    numbers = [name for name, kind in wanted.items() if kind.startswith(NUMBER_TYPES)]
    projections |= {name: _number(name, _numeric_marks(name, dialect, known)) for name in numbers}
    changed = [f"{projection} AS {sql_identifier(name)}" for name, projection in projections.items() if projection]
    return relation.project(f"* REPLACE ({', '.join(changed)})") if changed else relation


@dataclass(frozen=True)
class _Normalisation:
    """What is to be done with the texts of a column."""

    missing: tuple[str, ...] = ()
    numbers: Dialect | None = None
    date_format: str | None = None
    around: tuple[str, str] = ("", "")
    """What the schema says that stands before and behind each number."""
    doubts: bool = False
    """Whether a text that reads as a number only by mistake is marked as doubtful."""


def sql_string(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def sql_identifier(name: str) -> str:
    """Return the name of a column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def number_pattern(decimal: str, thousands: str | None) -> str:
    """Return a pattern of numbers with these marks.

    >>> bool(re.search(number_pattern(",", "."), "1.234,50 €")), bool(re.search(number_pattern(",", "."), "12.5"))
    (True, False)
    """
    point = re.escape(decimal)
    mark = "[ \u00a0\u202f]" if thousands in BLANKS else re.escape(thousands or "")
    groups = rf"\d{{1,3}}({mark}\d{{3}})+|" if thousands else ""
    return rf"{FRONT}(({groups}\d+)({point}\d*)?|{point}\d+)([eE][-+]?\d+)?{BACK}"


def _says_something(dialect: Dialect, columns: Mapping[str, Column] | None) -> bool:
    options = (dialect.decimal, dialect.thousands, dialect.date_format, dialect.missing or None)
    own = any(
        column.date_format or column.prefix or column.suffix or column.missing_text
        for column in (columns or {}).values()
    )
    return own or any(fact is not None for fact in options)


def _is_text(kind: str) -> bool:
    return kind == "VARCHAR" or kind.startswith("ENUM")


def _writes_numbers(dialect: Dialect) -> Dialect | None:
    return dialect if dialect.decimal or dialect.thousands else None


def _needs_of(texts: Iterable[str], dialect: Dialect, columns: Mapping[str, Column]) -> dict[str, _Normalisation]:
    """Return what each text column needs by its kind: the category "1,5" stays what it is."""
    needs: dict[str, _Normalisation] = {}
    for name in texts:
        column = columns[name]
        is_number = column.kind in ("integer", "number") or column.has_integer_levels
        around = (column.prefix or "", column.suffix or "")
        needs[name] = _Normalisation(
            _unlisted(dialect.missing, column),
            dialect if is_number and (_writes_numbers(dialect) or any(around)) else None,
            column.date_format or dialect.date_format if column.kind == "date" else None,
            around,
            doubts=True,
        )
    return needs


def _unlisted(marks: Iterable[str], column: Column | None) -> tuple[str, ...]:
    """Return the marks that are no values of a column, its own among them: where N is a listed value, it is one."""
    listed = {str(value) for value in (column.values or ())} if column else set[str]()
    own = (column.missing_text,) if column and column.missing_text else ()
    return tuple(dict.fromkeys(mark for mark in (*marks, *own) if mark not in listed))


def _needs_seen(relation: Any, texts: Sequence[str], dialect: Dialect) -> dict[str, _Normalisation]:
    """Return what text columns need while nobody has said what they are: a column is read so if all its texts are."""
    numbers, form = _writes_numbers(dialect), dialect.date_format
    if not texts or (numbers is None and form is None):
        return {name: _Normalisation(dialect.missing) for name in texts}
    row = relation.aggregate(", ".join(_share(name, dialect) for name in texts)).fetchone()
    needs: dict[str, _Normalisation] = {}
    for i, name in enumerate(texts):
        are_numbers, are_dates = row[2 * i], row[2 * i + 1]
        needs[name] = _Normalisation(
            dialect.missing, numbers if are_numbers else None, form if are_dates and not are_numbers else None
        )
    return needs


def _share(name: str, dialect: Dialect) -> str:
    """Return two aggregates: do all texts read as numbers, do all read as dates?"""
    text = f"trim({_raw(name)})"
    left = f"{text} <> ''" + (f" AND {text} NOT IN ({_list(dialect.missing)})" if dialect.missing else "")
    pattern = number_pattern(dialect.decimal or ".", dialect.thousands)
    numbers = f"regexp_matches({text}, {sql_string(pattern)})" if _writes_numbers(dialect) else "false"
    form = dialect.date_format
    dates = f"try_strptime({text}, {sql_string(form)}) IS NOT NULL" if form else "false"
    return f"bool_and({numbers}) FILTER ({left}), bool_and({dates}) FILTER ({left})"


def _raw(name: str) -> str:
    return f"CAST({sql_identifier(name)} AS VARCHAR)"


def _list(texts: Iterable[str]) -> str:
    return ", ".join(sql_string(text) for text in texts)


def _text(name: str, need: _Normalisation) -> str:
    """Return the plain form of a text column, or nothing where it stands plainly already."""
    raw = _raw(name)
    query = raw
    if need.numbers is not None:
        query = _plain_number(_without(raw, *need.around), need.numbers, need.doubts)
    if need.date_format:
        parsed = f"try_strptime(trim({raw}), {sql_string(need.date_format)})"
        query = f"coalesce(strftime({parsed}, '%Y-%m-%d'), {query})"
    if need.missing:
        return f"CASE WHEN trim({raw}) IN ({_list(need.missing)}) THEN NULL ELSE {query} END"
    return "" if query == raw else query


def _without(raw: str, prefix: str, suffix: str) -> str:
    """Return a text without what stands around each number of its column; blanks do not count."""
    query = raw
    if prefix.strip():
        front = sql_string(rf"^\s*([-+]?){BLANK}{re.escape(prefix.strip())}{BLANK}")
        query = f"regexp_replace({query}, {front}, '\\1')"
    if suffix.strip():
        query = f"regexp_replace({query}, {sql_string(f'{BLANK}{re.escape(suffix.strip())}{BLANK}$')}, '')"
    return query


def _plain_number(raw: str, dialect: Dialect, doubts: bool) -> str:
    """Return a number without signs and marks; a text that is none stays as it is."""
    decimal, thousands = dialect.decimal or ".", dialect.thousands
    bare = f"regexp_replace({raw}, {sql_string(DROPPED)}, '', 'g')"
    bare = f"replace({bare}, {sql_string(thousands)}, '')" if thousands else bare
    bare = f"replace({bare}, ',', '.')" if decimal == "," else bare
    other = raw
    if doubts and decimal == "," and not thousands:
        other = (
            f"CASE WHEN regexp_matches({raw}, {sql_string(GROUPS)}) THEN {raw} || {sql_string(DOUBTFUL)} ELSE {raw} END"
        )
    pattern = sql_string(number_pattern(decimal, thousands))
    return f"CASE WHEN regexp_matches(trim({raw}), {pattern}) THEN {bare} ELSE {other} END"


def _numeric_marks(name: str, dialect: Dialect, columns: Mapping[str, Column] | None) -> list[str]:
    """Return the marks of no value that are numbers: 999 in a column of numbers."""
    marks = _unlisted(dialect.missing, columns[name] if columns else None)
    return [mark for mark in marks if re.fullmatch(r"-?\d{1,15}(\.\d+)?", mark)]


def _number(name: str, marks: Sequence[str]) -> str:
    column = sql_identifier(name)
    return f"CASE WHEN {column} IN ({', '.join(marks)}) THEN NULL ELSE {column} END" if marks else ""
