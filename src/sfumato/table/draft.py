"""Propose a schema from data. Everything proposed leaks, so it is marked as a draft until a person confirms it."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from sfumato.columns import Column
from sfumato.errors import TableError
from sfumato.schema import Schema
from sfumato.table.engine import Engine
from sfumato.table.sources import Source, guess_delimiter, open_source
from sfumato.table.values import FALSE_TEXTS, TRUE_TEXTS

MOST_LEVELS = 60
"""Texts with more distinct values than this are free text or identifiers, not categories."""
FEW_INTEGERS = 8
"""Whole numbers with at most this many distinct values are proposed as categories."""
MOST_YEARLY_EDGES = 40
WARNING = (
    "DRAFT: proposed from the private rows. Bounds and categories that were learned from data leak (the largest",
    "income, a rare diagnosis). Replace each by what is public knowledge, then: sfumato schema confirm THIS-FILE",
)


def draft_schema(source: Any, name: str | None = None, delimiter: str | None = None) -> Schema:
    """Return a draft schema with one column for every column that can be described."""
    opened = open_source(source, delimiter)
    _refuse_wrong_delimiter(opened)
    columns: list[Column] = []
    notes = list(WARNING)
    for column_name in opened.engine.table.columns:
        column, note = _draft_column(opened.engine, column_name)
        columns += [column] if column else []
        notes += [note] if note else []
    if not columns:
        raise TableError(f"no column of {opened.name!r} can be described", notes[2:], "write the schema by hand")
    return Schema(name=name or opened.name, columns=tuple(columns), is_draft=True, notes=tuple(notes))


def _refuse_wrong_delimiter(opened: Source) -> None:
    names = list(opened.engine.table.columns)
    delimiter = guess_delimiter(names[0], ()) if opened.is_text and len(names) == 1 else None
    if delimiter:
        raise TableError(
            f"the header of {opened.name!r} reads {names[0]!r} as one column",
            next_step=f"the delimiter seems to be {delimiter!r}: say so with --delimiter '{delimiter}'",
        )


def _draft_column(engine: Engine, name: str) -> tuple[Column | None, str]:
    raw = engine.table[name]
    kind = raw.type()
    if kind.is_boolean():
        return Column(name, "boolean", missing=_facts(engine, name)["missing"] > 0), ""
    if kind.is_date() or kind.is_timestamp():
        return _draft_dates(engine, name, raw.cast("date"))
    if kind.is_numeric():
        return _draft_numbers(engine, name, raw)
    if kind.is_string():
        return _draft_text(engine, name)
    return None, f"left out: {name} (values of type {kind} are not supported)"


def _facts(engine: Engine, name: str) -> dict[str, Any]:
    raw = engine.table[name]
    measures = {"rows": raw.count(), "missing": raw.isnull().sum(), "distinct": raw.nunique()}
    row = engine.aggregate(engine.table.aggregate(**measures)).to_pylist()[0]
    return {key: int(value or 0) for key, value in row.items()}


def _draft_text(engine: Engine, name: str) -> tuple[Column | None, str]:
    """Text may hide numbers or dates (a CSV holds nothing else): try those readings first."""
    facts, raw = _facts(engine, name), engine.table[name]
    if facts["distinct"] == 0:
        return None, f"left out: {name} (no values)"
    levels = _levels(engine, name) if facts["distinct"] <= MOST_LEVELS else []
    if levels and {level.lower() for level in levels} <= {*TRUE_TEXTS, *FALSE_TEXTS} and len(levels) == 2:
        return Column(name, "boolean", missing=facts["missing"] > 0), ""
    for reading, draft in (("float64", _draft_numbers), ("date", _draft_dates)):
        value = raw.try_cast(reading)
        unreadable = engine.aggregate(engine.table.aggregate(bad=(raw.notnull() & value.isnull()).sum()))
        if not unreadable.to_pylist()[0]["bad"]:
            return draft(engine, name, value)
    if not levels:
        return None, f"left out: {name} ({facts['distinct']:,} distinct texts: an identifier or free text)"
    return Column(name, "category", values=tuple(levels), missing=facts["missing"] > 0), ""


def _levels(engine: Engine, name: str) -> list[str]:
    raw = engine.table[name]
    rows = engine.table.filter(raw.notnull()).select(value=raw).distinct().order_by("value")
    return [row["value"] for row in engine.aggregate(rows).to_pylist()]


def _draft_numbers(engine: Engine, name: str, value: Any) -> tuple[Column | None, str]:
    if value.type().is_floating():
        value = (value.isnan() | value.isinf()).ifelse(None, value)
    floored = value.floor() if value.type().is_floating() else value
    measures = {
        "low": value.min(), "high": value.max(), "missing": value.isnull().sum(), "rows": engine.table.count(),
        "fractions": (value != floored).sum(), "distinct": value.nunique(),
    }  # fmt: skip
    row = engine.aggregate(engine.table.aggregate(**measures)).to_pylist()[0]
    if row["low"] is None:
        return None, f"left out: {name} (no finite values)"
    missing = bool(row["missing"])
    if row["fractions"]:
        low, high = _rounded_out(float(row["low"]), float(row["high"]))
        return Column(name, "number", bounds=(low, high), missing=missing), ""
    return _draft_integers(engine, name, value, row, missing)


def _draft_integers(
    engine: Engine, name: str, value: Any, row: dict[str, Any], missing: bool
) -> tuple[Column | None, str]:
    low, high = int(row["low"]), int(row["high"])
    if row["distinct"] == row["rows"] and row["rows"] > 1 and high - low + 1 == row["rows"]:
        return None, f"left out: {name} (every row has its own number: an identifier)"
    if row["distinct"] <= FEW_INTEGERS and high - low >= row["distinct"]:
        rows = engine.table.select(value=value).distinct().order_by("value")
        levels = [int(r["value"]) for r in engine.aggregate(rows).to_pylist() if r["value"] is not None]
        return Column(name, "category", values=tuple(levels), missing=missing), ""
    return Column(name, "integer", bounds=(low, high), missing=missing), ""


def _draft_dates(engine: Engine, name: str, value: Any) -> tuple[Column | None, str]:
    row = engine.aggregate(engine.table.aggregate(low=value.min(), high=value.max(), missing=value.isnull().sum()))
    facts = row.to_pylist()[0]
    if facts["low"] is None:
        return None, f"left out: {name} (no dates)"
    low, high = (v.date() if isinstance(v, dt.datetime) else v for v in (facts["low"], facts["high"]))
    first, last = dt.date(low.year, 1, 1), dt.date(high.year, 12, 31)
    years = [dt.date(year, 1, 1) for year in range(low.year, high.year + 1)]
    edges = (*years, last) if len(years) <= MOST_YEARLY_EDGES else None
    return Column(name, "date", bounds=(first, last), edges=edges, missing=bool(facts["missing"])), ""


def _rounded_out(low: float, high: float) -> tuple[float, float]:
    """Widen bounds to round numbers: less is learned from the rows, and a person sees at once what to correct."""
    span = max(high - low, abs(high), 1e-12)
    step = 10.0 ** math.floor(math.log10(span))
    bounds = math.floor(low / step) * step, math.ceil(high / step) * step
    return bounds if bounds[0] < bounds[1] else (bounds[0], bounds[0] + step)
