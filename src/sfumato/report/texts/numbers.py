"""Numbers in words: the main numbers of released rows with their errors, and the statistics of a method."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sfumato.bundle.document import MainNumber, ReleaseDocument
from sfumato.formatting import counted, format_number, format_significant, percent, short_number
from sfumato.privacy.exact import at_most
from sfumato.report.texts import Texts, text_file
from sfumato.schema import Schema
from sfumato.schema.column import EPOCH

HEADER = ("number", "released", "expected error", "{level} interval")
FIRST = 6
"""Numbers on the first screen."""
say = Texts("release")
MOST_TABLES = 40
SHOWN_ELSEWHERE = ("noise_of_tables", "groups_of_tables")
"""Statistics whose place is the table under a chart."""


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


class StatisticText(NamedTuple):
    """One named statistic, and the sentence without which it would mislead."""

    name: str
    value: str
    sentence: str


def _short(value: Any) -> str:
    """Return a number with four digits, and anything else as it is written."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _tables(tables: list[list[str]]) -> str:
    """Return the first of many tables by their columns, and how many more there are."""
    listed = "; ".join(" x ".join(names) for names in tables[:MOST_TABLES])
    return f"{listed}; and {len(tables) - MOST_TABLES} more" if len(tables) > MOST_TABLES else listed


def _range(values: list[float]) -> str:
    return " down to ".join(dict.fromkeys(map(_short, (max(values), min(values))))) if values else ""


def _by_name(amounts: dict[str, int]) -> str:
    """Return named amounts in the order of their names, which is the one that release.json keeps."""
    return "; ".join(f"{name}: {format_number(amount)}" for name, amount in sorted(amounts.items()))


def _points(points: list[list[float]]) -> str:
    return "; ".join(f"({', '.join(f'{x:.4g}' for x in point)})" for point in points)


FORMS: dict[str, Callable[[Any], str]] = {
    "short": _short,
    "number": format_number,
    "whole": lambda value: format_number(round(value)),
    "yes": lambda value: "yes" if value else "no",
    "at_most": at_most,
    "tables": _tables,
    "edges": lambda edges: "; ".join(" – ".join(edge) for edge in edges),
    "range": _range,
    "by_name": _by_name,
    "points": _points,
}
"""How a value is written where a format is not enough; what is empty is written as "none"."""


def _written(value: Any, fact: Mapping[str, str]) -> str:
    form = fact.get("form", "short")
    write = FORMS.get(form, form.format)
    return (fact["join"].join(map(write, value)) if "join" in fact else write(value)) or "none"


def statistics(document: ReleaseDocument) -> list[StatisticText]:
    """Return the public statistics, those that need a sentence first."""
    return statistic_texts(document.statistics)


def statistic_texts(numbers: Mapping[str, Any]) -> list[StatisticText]:
    """Return named numbers in words, those that need a sentence first."""
    known = text_file("statistics")
    present = {key: value for key, value in numbers.items() if key not in SHOWN_ELSEWHERE}
    ordered = (*(key for key in known if key in present), *sorted(set(present) - set(known)))
    facts = [(key, known.get(key, {"name": key.replace("_", " ")})) for key in ordered]
    return [StatisticText(fact["name"], _written(present[key], fact), fact.get("sentence", "")) for key, fact in facts]


def statistic_text(key: str, value: Any) -> str:
    """Return a statistic for one line of a terminal: lists and answers in words, numbers as they are.

    >>> statistic_text("measured_tables", [["age", "sex"], ["age", "region", "sex"]])
    'age x sex; age x region x sex'
    """
    known = text_file("statistics")
    return _written(value, known[key]) if key in known and isinstance(value, list | tuple | dict | bool) else str(value)
