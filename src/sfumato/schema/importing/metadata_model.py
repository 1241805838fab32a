"""Common model of imported tables and columns, and their conversion to schema columns."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from sfumato.errors import SchemaError
from sfumato.schema.column import KINDS, LEVEL_KINDS, Column, Kind
from sfumato.schema.column_checks import is_text
from sfumato.schema.provenance import FACTS, WORD_FACTS, fingerprints

Type = Literal["text", "whole", "number", "boolean", "date", "other"]
IN_WORDS = {"whole": "a whole number", "number": "a number", "date": "a date", "text": "a text"}
ISO = "%Y-%m-%d"
LITERAL = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s]|\\ )+")
"""A piece of a pattern that stands for itself."""


@dataclass
class MetadataColumn:
    """One column as a metadata file describes it."""

    name: Any
    type: Type
    told_type: str = ""
    """The type in the file's own word."""
    kind: Any = None
    """The kind of a column in our own words, where the file has them."""
    low: Any = None
    high: Any = None
    levels: list[Any] | None = None
    labels: dict[Any, str] = field(default_factory=dict[Any, str])
    ordered: bool = False
    identifier: bool = False
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """Other facts of a column, by their own names: description, unit, missing, date_format, ..."""
    doubts: list[str] = field(default_factory=list[str])
    """What the file says and a schema cannot."""


@dataclass
class MetadataTable:
    """One table as a metadata file describes it."""

    name: Any
    columns: list[MetadataColumn]
    words: dict[str, Any] = field(default_factory=dict[str, Any])
    """What its readers are told: description, licence, custodian."""
    source: dict[str, Any] = field(default_factory=dict[str, Any])
    """How its file is written."""
    doubts: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class ImportedColumn:
    """The result of importing one column: a column, the reason why it is left out, or its problems."""

    column: Column | None = None
    left_out: str | None = None
    problems: tuple[str, ...] = ()


def to_column(metadata: MetadataColumn) -> ImportedColumn:
    """Return the column that a file describes; its facts are marked as the file's, not yet confirmed by a person."""
    kind = metadata.kind if isinstance(metadata.kind, str) and metadata.kind in KINDS else _kind(metadata)
    if kind is None or _lacks_facts(metadata, kind):
        return ImportedColumn(left_out=_why(metadata))
    facts: dict[str, Any] = {key: fact for key, fact in metadata.facts.items() if fact is not None}
    if metadata.identifier and kind not in LEVEL_KINDS:
        facts["role"] = "identifier"
    if kind in ("category", "ordinal"):
        facts |= _level_facts(metadata)
    elif kind != "boolean":
        facts["bounds"] = (_typed(metadata.low, kind), _typed(metadata.high, kind))
    try:
        column = Column(metadata.name, cast("Kind", kind), **facts)
        described = {key: getattr(column, key) for key in (*FACTS, *WORD_FACTS)}
        return ImportedColumn(replace(column, drafted=fingerprints(described, "file")))
    except SchemaError as error:
        return ImportedColumn(problems=tuple(error.problems))


def _kind(column: MetadataColumn) -> str | None:
    if column.type == "boolean":
        return "boolean"
    if column.levels and not (
        column.type in ("number", "date") or any(isinstance(each, float) for each in column.levels)
    ):
        return "ordinal" if column.ordered else "category"
    if column.identifier:
        return "category"
    if column.low is None or column.high is None:
        return None
    return {"whole": "integer", "number": "number", "date": "date"}.get(column.type)


def _lacks_facts(column: MetadataColumn, kind: str) -> bool:
    """Whether the file names a kind and not what it needs: a list that was too long, a limit that nobody knew."""
    if kind in ("category", "ordinal"):
        return not column.levels and not column.identifier
    return kind != "boolean" and (column.low is None or column.high is None)


def _level_facts(column: MetadataColumn) -> dict[str, Any]:
    if not column.levels:
        return {"role": "identifier"} if column.identifier else {}
    labels = {level: words for level, words in column.labels.items() if words != str(level)}
    return {"values": tuple(column.levels), **({"value_labels": labels} if labels else {})}


def _why(column: MetadataColumn) -> str:
    """Return why a column cannot be described: which public fact is missing."""
    if column.type == "text" or column.kind in ("category", "ordinal"):
        lacking = "texts or codes without a list of values: give kind = 'category' and values, or it stays out"
        return f"{column.name} ({lacking})"
    if column.type in IN_WORDS:
        lacking = [word for word, end in (("least", column.low), ("largest", column.high)) if end is None]
        return f"{column.name} ({IN_WORDS[column.type]} without a {' and a '.join(lacking)} value: give bounds)"
    return f"{column.name} (a schema has no kind for {column.told_type!r})"


def _typed(value: Any, kind: str) -> Any:
    """Return a limit in the type of its column, where that loses nothing; what is wrong is refused by the column."""
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return day(value, ISO) if kind == "date" and isinstance(value, str) else value


def stated_dialect(delimiter: Any, encoding: Any, missing: Sequence[str] = ()) -> dict[str, Any]:
    """Return the dialect that a file states, without what is plain anyway."""
    plain = str(encoding).lower().replace("-", "") in ("utf8", "none")
    facts = {"delimiter": None if delimiter == "," else delimiter, "encoding": None if plain else encoding}
    return {key: fact for key, fact in (facts | {"missing": list(missing)}).items() if fact}


def set_number_marks(form: Mapping[str, Any], column: MetadataColumn, table: MetadataTable) -> None:
    """Take the marks of decimals and thousands, which belong to the file as a whole."""
    decimal, group = form.get("decimalChar"), form.get("groupChar")
    for key, mark in (("decimal", decimal if decimal != "." else None), ("thousands", group)):
        if mark and table.source.setdefault(key, mark) != mark:
            table.problems.append(f"column {column.name}: {key} {mark!r}, and other columns have {table.source[key]!r}")
    column.facts["grouped"] = True if group else None


def set_bounds(limits: Mapping[str, Any], column: MetadataColumn, names: Sequence[tuple[str, ...]]) -> None:
    """Take both ends of a range; ``names`` are the properties of each end, the last of which excludes it."""
    form = column.facts.get("date_format")
    for end, step, (*closed, opened) in zip(("low", "high"), (1, -1), names, strict=True):
        value = next((limits[key] for key in closed if limits.get(key) is not None), None)
        over = limits.get(opened)
        if value is None and over is not None:
            value = number(over) + step if column.type == "whole" and isinstance(number(over), int) else over
            if column.type != "whole":
                column.doubts.append(f"{column.name}: {over!r} itself is excluded, and bounds include it")
        if value is not None:
            setattr(column, end, day(value, form) if column.type == "date" else number(value))


def day(text: Any, form: str | None) -> Any:
    """Return a day that a text names, or the text itself where it names none."""
    try:
        return dt.datetime.strptime(text, form or ISO).date()
    except (ValueError, TypeError):
        return text


def number(text: Any) -> Any:
    """Return the number that a text names, or the value itself."""
    if not isinstance(text, str):
        return text
    try:
        return int(text) if re.fullmatch(r"[+-]?\d{1,300}", text.strip()) else float(text)
    except ValueError:
        return text


def alternatives_of_pattern(pattern: Any) -> list[str] | None:
    """Return the texts that a pattern lists, where it does nothing else.

    >>> alternatives_of_pattern("^(yes|no|don't know)$"), alternatives_of_pattern("[A-Z]+")
    (['yes', 'no', "don't know"], None)
    """
    if not isinstance(pattern, str):
        return None
    inner = pattern.removeprefix("^").removesuffix("$")
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].removeprefix("?:")
    parts = inner.split("|")
    if len(parts) < 2 or not all(LITERAL.fullmatch(part) for part in parts):
        return None
    return [re.sub(r"\\(.)", r"\1", part) for part in parts]


def localised_text(value: Any) -> str | None:
    """Return a text that may stand alone, in a list, or by language."""
    if isinstance(value, Mapping):
        by_language: Mapping[Any, Any] = value
        value = by_language.get("en") or by_language.get("@value") or next(iter(by_language.values()), None)
    if isinstance(value, list):
        value = next((each for each in value if isinstance(each, str | Mapping)), None)
        return localised_text(value)
    return value.strip() or None if is_text(value) else None


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list, or the one that stands alone."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping):
            yield item


def texts(value: Any) -> list[str]:
    """Return the texts of a list, or the one that stands alone."""
    return [each for each in (value if isinstance(value, list) else [value]) if is_text(each)]
