"""Main numbers of the released rows with their expected errors, as rows of a table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from sfumato.bundle.document import MainNumber, ReleaseDocument
from sfumato.formatting import counted, format_significant, percent, short_number
from sfumato.report.texts import Texts
from sfumato.schema import Schema
from sfumato.schema.column import EPOCH

HEADER = ("number", "released", "expected error", "{level} interval")
FIRST = 6
"""Numbers on the first screen."""
say = Texts("release")


class MainNumbersTable(NamedTuple):
    """What the page says."""

    sentences: tuple[str, ...]
    header: tuple[str, ...]
    rows: list[tuple[str, str, str, str]]
    first: list[tuple[str, str, str]]
    """Some of them, of different columns, without their intervals."""
    basis: str
    all: str
    """Where the others are."""
    example: str
    """A question that may be asked of this release."""


def main_numbers_table(document: ReleaseDocument, schema: Schema) -> MainNumbersTable | None:
    """Return the main numbers in words; None where the bundle has none."""
    errors = document.expected_errors
    if errors is None or not errors.numbers:
        return None
    header = tuple(each.format(level=percent(errors.level, 6)) for each in HEADER)
    rows = [row(each, schema) for each in errors.numbers]
    meaning, basis = (
        say(f"main_numbers.{name}", reruns=counted(errors.reruns, "time")) for name in ("meaning", "basis")
    )
    first = [rows[place][:3] for place in _different(errors.numbers)]
    more = f"All {counted(len(rows), 'number')}" if len(rows) > 1 else "Its interval"
    sentences = (meaning, say("main_numbers.unseen"))
    return MainNumbersTable(sentences, header, rows, first, basis, more, errors.numbers[0].name)


def _different(numbers: Sequence[MainNumber]) -> list[int]:
    """Return the places of the first number of each column, and of more where there are few columns."""
    first_of = dict[str, int]()
    for place, each in enumerate(numbers):
        first_of.setdefault(_column(each), place)
    leading = list(first_of.values())[:FIRST]
    others = [place for place in range(len(numbers)) if place not in leading]
    return sorted((leading + others)[:FIRST])


def _column(each: MainNumber) -> str:
    """Return which column a number is of: "mean age" and "share of sex = f" say it."""
    if each.kind == "share":
        return each.name.removeprefix("share of ").partition(" = ")[0]
    return each.name.partition(" ")[2]


def row(each: MainNumber, schema: Schema) -> tuple[str, str, str, str]:
    """Return one line: the mean and the median of dates are dates, shares are in per cent."""
    name = _column(each)
    if each.kind in ("mean", "median") and name in schema and schema[name].kind == "date":
        value, low, high = (str(EPOCH + dt.timedelta(days=round(day))) for day in (each.value, each.low, each.high))
        return each.name, value, f"± {counted(round(each.error), 'day')}", f"{low} to {high}"
    if each.kind == "share":
        low, high = (f"{100 * end:.3g}" for end in (each.low, each.high))
        return (
            each.name,
            percent(each.value, 3),
            f"± {short_number(100 * each.error)} points",
            f"{low} to {high} %",
        )
    low, high = (format_significant(end, 4) for end in (each.low, each.high))
    return each.name, format_significant(each.value, 5), f"± {format_significant(each.error, 2)}", f"{low} to {high}"
