"""Detect how values are written: decimals, steps, dates, currency signs, thousands, missing markers.

Plain reading takes all of it away, so these questions go to the rows before it, in a query for many columns at once.

Synthetic values are written alike, so that they drop into the scripts that read the original. A few aggregate
queries ask about many columns at once: what the texts (or, of typed sources, the numbers) look like, and whether a step
that all values keep is more than chance.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect
from sfumato.table.column_expressions import TRUE_TEXTS, cast_to_kind
from sfumato.table.engines.engine import Answers, distinct_values, run_aggregates
from sfumato.table.sources import Source
from sfumato.table.sources.normalise_text import BLANK, PREFIX_PATTERN, SUFFIX_PATTERN

AROUND = {"prefix": rf"^[-+]?{BLANK}({PREFIX_PATTERN})[-+]?[\d.,]", "suffix": f"({SUFFIX_PATTERN})$"}
"""Where the texts before and behind a number stand."""


def with_number_marks(opened: Source, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns with the marks that their texts are written with; plain texts and typed columns have none."""
    if opened.raw is None:
        return tuple(columns)
    table = opened.raw.table
    asked = [column for column in columns if column.role != "identifier" and table[column.name].type().is_string()]
    probes = {column.name: _Written(column, table[column.name], opened.dialect) for column in asked}
    answers = run_aggregates(opened.raw, table, {name: one.questions() for name, one in probes.items()})
    return tuple(probes[c.name].settled(answers[c.name]) if c.name in answers else c for c in columns)


@dataclass(frozen=True)
class _Written:
    """One column, its texts, and the dialect that they were read by."""

    column: Column
    raw: Any
    dialect: Dialect

    def questions(self) -> Iterator[tuple[str, Any]]:
        """Ask which texts stand around the numbers, whether thousands have marks, and which marks mean no value."""
        text = self.raw.strip()
        if self.column.kind in ("integer", "number") or self.column.has_integer_levels:
            there = (text != "") & ~text.isin(self.dialect.missing or ("",))
            yield from ((key, text.re_extract(like, 1).fill_null("").mode(where=there)) for key, like in AROUND.items())
            if mark := self.dialect.thousands:
                yield "marked", text.re_search(rf"^\D*\d{{1,3}}{re.escape(mark)}\d{{3}}").sum()
                yield "bare", text.re_search(r"^\D*\d{4}").sum()
        if self.column.missing and self.dialect.missing:
            yield "empty", (self.raw.isnull() | (text == "")).sum()
            yield from ((f"mark {mark}", (text == mark).sum()) for mark in self.dialect.missing)

    def settled(self, answers: Answers) -> Column:
        """Return the column with the marks that most of its texts have."""
        around = {key: answers[key] for key in AROUND if (answers.get(key) or "").strip()}
        grouped = (answers.get("marked") or 0) > (answers.get("bare") or 0)
        return dataclasses.replace(self.column, grouped=grouped, missing_text=self._missing_text(answers), **around)

    def _missing_text(self, answers: Mapping[str, Any]) -> str | None:
        """Return what most often stands where there is no value, unless it is what the file's first mark says."""
        marks = self.dialect.missing
        counts = {"": answers.get("empty") or 0} | {mark: answers.get(f"mark {mark}") or 0 for mark in marks}
        best = max(counts, key=lambda mark: counts[mark])
        return None if not counts[best] or best == marks[0] else best


MOST_DIGITS = 9
"""Decimals that a column is written with at most. Longer ones are what a division left: no form, and left out."""
STRAY = 0.01
"""Share of the values that may have more digits than the column is said to have: 10 of 5,000 amounts with cents."""
NOISE = 1e-12
"""Share of a number that floating point may add to it: 0.1 + 0.2 has one decimal."""
MAX_CHANCE = 1e-4
"""Chance below which it is no accident that all values are multiples of a step."""
STEPS = (5, 10, 50, 100, 500, 1000, 5000, 10_000, 100_000, 1_000_000)
PART_STEPS = (5, 25, 50)
"""Steps in units of the last decimal: 0.05, 0.25 and 0.5 of values with two."""
DAYS = {"week": 1 / 7, "month": 12 / 365, "quarter": 4 / 365, "year": 1 / 365}
"""Shares of all days that are the first of these."""
ISO = "%Y-%m-%d"
DATE_FORMS = {
    "____-__-__": ISO,
    "____/__/__": "%Y/%m/%d",
    "____-__-__ 00:00:00": "%Y-%m-%d 00:00:00",
    "____-__-__T00:00:00": "%Y-%m-%dT00:00:00",
}
"""Texts that an engine reads as a date, and how they are written."""
LARGEST = 1e15


def with_written_formats(opened: Source, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return drafted columns with the facts that say how their values are written."""
    table = opened.engine.table
    forms = {column.name: _FormatProbe(column, table[column.name]) for column in columns}
    for questions in (_FormatProbe.looks, _FormatProbe.counts, _FormatProbe.parts):
        asked = {name: questions(form) for name, form in forms.items()}
        for name, answers in run_aggregates(opened.engine, table, asked).items():
            plain = {question: a if isinstance(a, list) else int(a or 0) for question, a in answers.items()}
            forms[name].answers.update(plain)
    return with_number_marks(opened, [form.settled() for form in forms.values()])


@dataclass(frozen=True)
class _FormatProbe:
    """One column, its raw values, and what has been answered about them."""

    column: Column
    raw: Any
    answers: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_text(self) -> bool:
        """Whether the written form can be seen, and not the values alone."""
        return bool(self.raw.type().is_string())

    @property
    def has_digits(self) -> bool:
        """Whether there may be decimals to see: of numbers, and of levels that are numbers and stand as texts."""
        return self.column.kind == "number" or (
            self.is_text and (self.column.kind == "integer" or self.column.has_integer_levels)
        )

    @property
    def value(self) -> Any:
        """The values in the column's type."""
        return cast_to_kind(self.raw, self.column)

    @property
    def digits(self) -> Any:
        """How many decimals each text has; null where there is none, and where it has an exponent."""
        behind = self.raw.contains(".").ifelse(self.raw.length() - self.raw.find(".") - 1, 0)
        return (self.raw.isnull() | self.raw.lower().contains("e")).ifelse(None, behind)

    def looks(self) -> Iterator[tuple[str, Any]]:
        """First questions about a column, enough for most columns."""
        kind = self.column.kind
        if self.has_digits and self.is_text:
            yield "least", self.digits.min()
            yield "most", self.digits.max()
        if kind == "integer":
            yield f"off {STEPS[0]}", ((self.value % STEPS[0]) != 0).sum()
        if kind == "date":
            yield from ((f"off {step}", (~_is_first_day(self.value, step)).sum()) for step in ("week", "month"))
            if self.is_text:
                yield from ((form, (~self.raw.like(form)).sum()) for form in DATE_FORMS)
        if kind == "boolean" and self.is_text:
            yield "words", self.raw.collect(distinct=True)

    def counts(self) -> Iterator[tuple[str, Any]]:
        """Ask about the columns that may have decimals or steps."""
        if self.has_digits and self.answers.get("most") != 0:
            yield "present", self.value.notnull().sum()
            yield from ((f"within {d}", self._is_within(d).sum()) for d in range(MOST_DIGITS + 1))
        first = [name for name in self.answers if name.startswith("off ") and self.answers[name] == 0]
        if first:
            yield "distinct", distinct_values(self.value)
        if first and self.column.kind == "integer":
            yield from ((f"off {step}", ((self.value % step) != 0).sum()) for step in STEPS[1:])
        if "off month" in first:
            yield from ((f"off {step}", (~_is_first_day(self.value, step)).sum()) for step in ("quarter", "year"))

    def _is_within(self, decimals: int) -> Any:
        """Return which values have at most so many decimals: as they are written, or else but for rounding."""
        if self.is_text:
            return (self.digits <= decimals).fill_null(False)
        number = self.value.clip(-LARGEST, LARGEST).cast("float64")
        return ((number - number.round(decimals)).abs() <= number.abs() * NOISE).fill_null(False)

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Ask whether numbers with decimals are multiples of more than the last of them."""
        decimals = self.decimals
        if self.column.kind != "number" or not decimals:
            return
        yield "distinct", distinct_values(self.value)
        units = self.value.clip(-LARGEST, LARGEST) * 10.0**decimals
        yield from ((f"off {step}", _is_no_multiple(units, step).sum()) for step in PART_STEPS)

    @property
    def within(self) -> list[int]:
        """The numbers of values with at most 0, 1, 2, ... decimals."""
        return [self.answers[f"within {d}"] for d in range(MOST_DIGITS + 1)]

    @property
    def decimals(self) -> int | None:
        """How many decimals nearly all values have at most; None where there is no such number, or nothing to say.

        Where no value may be missing, numbers of which few have decimals keep them: whole numbers alone would be read
        as another type than the original.
        """
        if not self.answers.get("present"):
            return None
        present, number = self.answers["present"], self.column.kind == "number"
        digits = next((d for d, count in enumerate(self.within) if count >= (1 - STRAY) * present), None)
        if digits == 0 and number and not self.column.missing and self.within[0] < present:
            digits = next((d for d, count in enumerate(self.within) if count == present), None)
        return digits if digits or number else None

    def settled(self) -> Column:
        """Return the column with its facts."""
        facts = {"decimals": self.decimals, "step": self._step()} | _words(self.answers.get("words") or ())
        if facts["decimals"] and (least := self.answers.get("least", 0)):
            facts["trailing_zeros"] = True if least >= facts["decimals"] else least
        form = next((form for like, form in DATE_FORMS.items() if self.answers.get(like) == 0), None)
        facts["date_format"] = None if form == ISO else form
        return dataclasses.replace(self.column, **{key: fact for key, fact in facts.items() if fact is not None})

    def _step(self) -> Any:
        distinct = self.answers.get("distinct", 0)
        kept = [name.removeprefix("off ") for name, n in self.answers.items() if name.startswith("off ") and not n]
        if self.column.kind == "date":
            return _likely_days(kept, distinct)
        step = _likely_step([int(step) for step in kept], distinct)
        decimals = self.decimals or 0
        return round(step / 10**decimals, decimals) if step and self.column.kind == "number" else step


def _is_no_multiple(units: Any, step: int) -> Any:
    """Return whether a number of units is no multiple of a step, but for what floating point adds."""
    parts = units / step
    return ((parts - parts.round(0)).abs() > 1e-6).fill_null(False)


def _likely_step(kept: Sequence[int], distinct: int) -> int | None:
    """Return the largest step that so many different values do not keep by chance, each step judged by the last one.

    >>> _likely_step([5, 10, 50], 20), _likely_step([5, 10], 7), _likely_step([5], 3)
    (50, 5, None)
    """
    best = 1
    for step in kept:
        if step % best == 0 and (best / step) ** distinct < MAX_CHANCE:
            best = step
    return best if best > 1 else None


def _is_first_day(day: Any, step: str) -> Any:
    """Return whether a day is the first of a week, month, quarter or year."""
    if step == "week":
        return day.day_of_week.index() == 0
    months = {"month": range(1, 13), "quarter": (1, 4, 7, 10), "year": (1,)}
    return (day.day() == 1) & day.month().isin(list(months[step]))


def _likely_days(kept: Sequence[str], distinct: int) -> str | None:
    """Return the longest step of dates that so many different days do not keep by chance."""
    best, share = None, 1.0
    for step in kept:
        if (DAYS[step] / share) ** distinct < MAX_CHANCE:
            best, share = step, DAYS[step]
    return best


def _words(texts: Sequence[str | None]) -> dict[str, str]:
    """Return how true and false are written, where each is written in one way and not as by default."""
    sides: dict[bool, set[str]] = {True: set(), False: set()}
    for text in texts:
        if text is not None:
            sides[text.lower() in TRUE_TEXTS].add(text)
    if any(len(side) != 1 for side in sides.values()):
        return {}
    true, false = (next(iter(sides[side])) for side in (True, False))
    return {} if (true, false) == ("true", "false") else {"true": true, "false": false}
