"""Propose a schema from data. Everything proposed leaks, so it is marked as a draft until a person confirms it.

What columns look like is asked for many of them at once, a few aggregate queries for hundreds of columns: first, how a
text reads (as a number, a date, true or false, or one of a few levels); then, of each reading, its bounds; last, the
values of whole numbers that take only a few.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.errors import SchemaError, TableError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_checks import LARGEST_WHOLE
from sfumato.schema.dialect import Dialect
from sfumato.schema.provenance import FACTS, fingerprints
from sfumato.table.drafting.forms import with_written_forms
from sfumato.table.drafting.relations import proposed_rules
from sfumato.table.engine import Engine, engine_errors
from sfumato.table.sources import Source, guess_delimiter, open_source
from sfumato.table.values import FALSE_TEXTS, TRUE_TEXTS

WARNING = (
    "DRAFT: proposed from the private rows. Bounds and categories that were learned from data leak (the largest",
    "income, a rare diagnosis). Replace each by what is public knowledge, then: sfumato schema confirm THIS-FILE",
)
COLUMNS_AT_ONCE = 100
"""Columns that one query asks about."""
MOST_COLUMNS = 2000
"""Columns of a draft: each costs about 20 milliseconds, and nobody can vouch for more."""
MOST_LEVELS = 60
"""Texts with more distinct values than this are free text or identifiers, not categories."""
FEW_INTEGERS = 8
"""Whole numbers with at most this many distinct values are proposed as categories."""
MOST_YEARLY_EDGES = 40
FIRST_DAY, LAST_DAY = dt.date.min, dt.date.max
"""Engines know days before and after these; a schema does not."""
ROWS = "rows"

Answers = Mapping[str, Any]
Drafted = tuple[Column | None, str]
Reading = Literal["number", "date", "boolean", "levels", "left out"]


def draft_schema(source: Any, name: str | None = None, delimiter: str | None = None, **dialect: Any) -> Schema:
    """Return a draft schema with one column for every column that can be described."""
    opened = open_source(source, Dialect.of({"delimiter": delimiter, **dialect}))
    _refuse_wrong_delimiter(opened)
    columns: list[Column] = []
    notes = [*WARNING, *opened.notes]
    with engine_errors(repr(opened.name)):
        for column, note in _draft_columns(opened.engine):
            columns += [column] if column else []
            notes += [note] if note else []
    if not columns:
        raise TableError(f"no column of {opened.name!r} can be described", notes[2:], "write the schema by hand")
    with engine_errors(repr(opened.name)):
        described = _labelled(opened, with_written_forms(opened, columns))
        rules = proposed_rules(opened, described)
    return Schema(
        name=name or opened.name,
        columns=tuple(_marked(column) for column in described),
        rules=rules,
        is_draft=True,
        source=opened.dialect,
        notes=tuple(notes),
    )


def _labelled(opened: Source, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns with what the file itself says of them: labels and value lists."""
    return tuple(dataclasses.replace(column, **opened.facts.get(column.name, {})) for column in columns)


def _marked(column: Column) -> Column:
    """Return a column with the fingerprints of what the rows taught."""
    return dataclasses.replace(column, drafted=fingerprints({key: getattr(column, key) for key in FACTS}))


def _refuse_wrong_delimiter(opened: Source) -> None:
    names = list(opened.engine.table.columns)
    delimiter = guess_delimiter(names[0], ()) if opened.is_text and len(names) == 1 else None
    if delimiter:
        raise TableError(
            f"the header of {opened.name!r} reads {names[0]!r} as one column",
            next_step=f"the delimiter seems to be {delimiter!r}: say so with --delimiter '{delimiter}'",
        )


def _draft_columns(engine: Engine) -> Iterator[Drafted]:
    """Yield, for every column of a table, a proposal or a note that says why there is none."""
    names = list(engine.table.columns)
    if len(names) > MOST_COLUMNS:
        raise TableError(
            f"the table has {len(names):,} columns, a draft describes at most {MOST_COLUMNS:,}",
            next_step="draft from a table with the columns that a release may need",
        )
    for start in range(0, len(names), COLUMNS_AT_ONCE):
        yield from _Batch(engine, names[start : start + COLUMNS_AT_ONCE]).drafts()


@dataclass
class _Batch:
    """A few hundred columns that are asked about together."""

    engine: Engine
    names: Sequence[str]
    readings: dict[str, Reading] = field(default_factory=dict[str, Reading])
    notes: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.table = self.engine.table.select(list(self.names))

    def ask(self, measures: Mapping[tuple[str, str], Any]) -> dict[str, dict[str, Any]]:
        """Return the answers by column and question, from one query."""
        found: dict[str, dict[str, Any]] = {name: {} for name in self.names}
        if not measures:
            return found
        keys = list(measures)
        query = self.table.aggregate(**{f"m{i}": measures[key] for i, key in enumerate(keys)})
        row = self.engine.aggregate(query).to_pylist()[0]
        for i, (name, question) in enumerate(keys):
            found[name][question] = row[f"m{i}"]
        return found

    def drafts(self) -> Iterator[Drafted]:
        texts = [name for name in self.names if self.table[name].type().is_string()]
        looks = self.ask(dict(item for name in texts for item in _look(name, self.table[name])))
        for name in self.names:
            self.read(name, looks[name])
        facts = self.ask(dict(item for name in self.names for item in self.questions(name)))
        few = [name for name in self.names if self.readings[name] == "number" and _few_integers(facts[name])]
        listed = self.ask({(name, "values"): self.value(name).collect(distinct=True) for name in few})
        for name in self.names:
            yield self.draft(name, facts[name] | listed[name])

    def read(self, name: str, look: Answers) -> None:
        """Decide how the values of a column are read."""
        kind = self.table[name].type()
        if kind.is_string():
            self.readings[name], self.notes[name] = _text_reading(look)
        elif kind.is_boolean():
            self.readings[name] = "boolean"
        elif kind.is_date() or kind.is_timestamp():
            self.readings[name] = "date"
        elif kind.is_numeric():
            self.readings[name] = "number"
        else:
            self.readings[name], self.notes[name] = "left out", f"values of type {kind} are not supported"

    def value(self, name: str) -> Any:
        """Return a column in the type of its reading, null where it holds none."""
        raw = self.table[name]
        if self.readings[name] == "date":
            return raw.try_cast("date") if raw.type().is_string() else raw.cast("date")
        if self.readings[name] != "number" or raw.type().is_integer():
            return raw
        number = raw.try_cast("float64") if raw.type().is_string() else raw.cast("float64")
        return (number.isnan() | number.isinf()).ifelse(None, number)

    def questions(self, name: str) -> Iterable[tuple[tuple[str, str], Any]]:
        value, reading = self.value(name), self.readings[name]
        if reading == "left out":
            return
        yield (name, "missing"), value.isnull().sum()
        if reading == "levels":
            yield (name, "values"), value.collect(distinct=True)
        if reading == "number":
            # Clipped first, because engines floor into 64-bit integers.
            near = value.clip(-LARGEST_WHOLE, LARGEST_WHOLE)
            whole = near.floor() if value.type().is_floating() else near
            yield (name, "low"), value.min()
            yield (name, "high"), value.max()
            yield (name, "fractions"), (near != whole).sum()
            yield (name, "distinct"), value.nunique()
            yield (name, ROWS), self.table.count()
        if reading == "date":
            inside = (value >= FIRST_DAY) & (value <= LAST_DAY)
            known = inside.ifelse(value, None)
            yield (name, "low"), known.min()
            yield (name, "high"), known.max()
            yield (name, "beyond"), (~inside).sum()

    def draft(self, name: str, facts: Answers) -> Drafted:
        missing = bool(facts.get("missing"))
        match self.readings[name]:
            case "left out":
                return None, f"left out: {name} ({self.notes[name]})"
            case "boolean":
                return _proposed(name, kind="boolean", missing=missing)
            case "levels":
                return _proposed(name, kind="category", values=tuple(sorted(facts["values"])), missing=missing)
            case "date":
                return _draft_dates(name, facts, missing)
            case "number":
                return _draft_numbers(name, facts, missing)


def _look(name: str, raw: Any) -> Iterator[tuple[tuple[str, str], Any]]:
    """Ask how a text could be read: it may hide numbers or dates (a CSV holds nothing else)."""
    yield (name, "distinct"), raw.nunique()
    yield (name, "not flags"), (~raw.lower().isin([*TRUE_TEXTS, *FALSE_TEXTS])).sum()
    yield (name, "not numbers"), (raw.notnull() & raw.try_cast("float64").isnull()).sum()
    yield (name, "not dates"), (raw.notnull() & raw.try_cast("date").isnull()).sum()


def _text_reading(look: Answers) -> tuple[Reading, str]:
    distinct = look["distinct"] or 0
    if distinct == 0:
        return "left out", "no values"
    if distinct == 2 and not look["not flags"]:
        return "boolean", ""
    if not look["not numbers"]:
        return "number", ""
    if not look["not dates"]:
        return "date", ""
    if distinct <= MOST_LEVELS:
        return "levels", ""
    return "left out", f"{distinct:,} distinct texts: an identifier or free text"


def _proposed(name: str, note: str = "", **facts: Any) -> Drafted:
    """Return a column; where its facts cannot stand in a schema, say which."""
    try:
        return Column(name, **facts), note
    except SchemaError as error:
        return None, f"left out: {name} ({'; '.join(problem.split(': ', 1)[-1] for problem in error.problems)})"


def _is_whole(facts: Answers) -> bool:
    """Whether all values are whole and few enough digits long to be told apart."""
    if facts.get("low") is None or facts["fractions"]:
        return False
    return facts["low"] >= -LARGEST_WHOLE and facts["high"] <= LARGEST_WHOLE


def _few_integers(facts: Answers) -> bool:
    """Whether whole numbers take so few values, with gaps, that they look like codes."""
    return _is_whole(facts) and facts["distinct"] <= FEW_INTEGERS and facts["high"] - facts["low"] >= facts["distinct"]


def _draft_numbers(name: str, facts: Answers, missing: bool) -> Drafted:
    if facts["low"] is None:
        return None, f"left out: {name} (no finite values)"
    if not _is_whole(facts):
        bounds = _rounded_out(float(facts["low"]), float(facts["high"]))
        return _proposed(name, kind="number", bounds=bounds, missing=missing)
    low, high, rows = int(facts["low"]), int(facts["high"]), facts[ROWS]
    if facts["distinct"] == rows and rows > 1 and high - low + 1 == rows:
        return None, f"left out: {name} (every row has its own number: an identifier)"
    if "values" in facts:
        values = sorted(int(value) for value in facts["values"])
        return _proposed(name, kind="category", values=tuple(values), missing=missing)
    return _proposed(name, kind="integer", bounds=(low, high), missing=missing)


def _draft_dates(name: str, facts: Answers, missing: bool) -> Drafted:
    if facts["low"] is None:
        return None, f"left out: {name} (no dates of the years 1 to 9999)"
    low, high = (v.date() if isinstance(v, dt.datetime) else v for v in (facts["low"], facts["high"]))
    first, last = dt.date(low.year, 1, 1), dt.date(high.year, 12, 31)
    years = [dt.date(year, 1, 1) for year in range(low.year, high.year + 1)]
    edges = (*years, last) if len(years) <= MOST_YEARLY_EDGES else None
    beyond = facts["beyond"]
    note = f"look at: {name} ({beyond:,} dates before the year 1 or after 9999 do not fit)" if beyond else ""
    return _proposed(name, note, kind="date", bounds=(first, last), edges=edges, missing=missing)


def _rounded_out(low: float, high: float) -> tuple[float, float]:
    """Widen bounds to round numbers: less is learned from the rows, and a person sees at once what to correct."""
    span = min(max(high - low, abs(high), 1e-300), 1e308)
    step = 10.0 ** math.floor(math.log10(span))
    bounds = math.floor(low / step) * step, math.ceil(high / step) * step
    return bounds if bounds[0] < bounds[1] else (bounds[0], bounds[0] + step)
