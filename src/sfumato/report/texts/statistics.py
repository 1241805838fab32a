"""Statistics of a release in words: their names, values and explanations follow statistics.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import format_number
from sfumato.privacy.exact import at_most
from sfumato.report.texts import text_file

MOST_TABLES = 40
SHOWN_ELSEWHERE = ("noise_of_tables", "groups_of_tables")
"""Statistics whose place is the table under a chart."""


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
