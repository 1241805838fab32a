"""Every column of released rows as a card: its distribution, its main numbers, and what noise may have done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.arrays import Array
from sfumato.comparison.columns import chart_edges
from sfumato.report.charts.histogram import Cells, histogram
from sfumato.report.charts.ticks import open_ends, ranges, written
from sfumato.report.column_card import MISSING, Bar, ColumnCard, Grid, largest, share, too_much
from sfumato.report.document import MainNumber, ReleaseDocument
from sfumato.report.released.noise import Noise
from sfumato.report.released.points import Points, level_words
from sfumato.schema.column import Column
from sfumato.shown import in_digits

MOST_VALUES = 60
"""Lines of the table of values under a card."""
MIDDLE = (0.05, 0.95)
KEPT = "Released as it is, not synthetic."
SHORT = {"integer": "number", "boolean": "levels", "category": "levels", "ordinal": "levels"}
KINDS = {"ordinal": "ordered levels", "category": "levels", "integer": "whole number", "boolean": "true or false"}
Known = Mapping[str, MainNumber]


def row_cards(document: ReleaseDocument, points: Points) -> list[ColumnCard]:
    """Return a card for every released column, in the order of the table."""
    noise = Noise(document, points.size)
    errors = document.expected_errors
    known = {} if errors is None else {each.name: each for each in errors.numbers}
    kept: set[str] = set(document.statistics.get("not_synthesised") or ())
    return [
        _card(number, column, values, noise, known, KEPT if column.name in kept else "")
        for number, (column, values) in enumerate(zip(points.columns, points.values, strict=True), 1)
    ]


def place_of(number: int) -> str:
    """Return the id of a column's card."""
    return f"column-{number}"


def kind_words(column: Column) -> str:
    """Return kind and unit of a column in words.

    >>> kind_words(Column("income", "integer", bounds=(0, 9), unit="EUR"))
    'whole number, EUR'
    """
    kind = KINDS.get(column.kind, column.kind)
    if column.kind in ("category", "ordinal"):
        kind = f"{len(column.levels):,} {kind}"
    return f"{kind}, {column.unit}" if column.unit else kind


def _card(number: int, column: Column, values: Array, noise: Noise, known: Known, told: str) -> ColumnCard:
    present = values[~np.isnan(values)]
    absent = 1 - len(present) / max(len(values), 1)
    made = _of_numbers if column.is_ordered else _of_levels
    return ColumnCard(
        place=place_of(number),
        name=column.name,
        kind=kind_words(column),
        label=column.description or "",
        told=told,
        short=SHORT.get(column.kind, column.kind),
        orders={"missing": f"{absent:.4f}"},
        **made(column, present, len(values), noise, known),
    )


def _missing(column: Column, absent: float, top: float = 1.0) -> Bar | None:
    """Return the missing values as a bar of their own."""
    return Bar(MISSING, share(absent), 100 * absent / top) if column.missing or absent else None


def _of_numbers(column: Column, present: Array, rows: int, noise: Noise, known: Known) -> dict[str, Any]:
    """Return what a card of numbers or dates shows."""
    edges = chart_edges(column, present)
    places = np.clip(np.searchsorted(edges, present, side="right") - 1, 0, len(edges) - 2)
    shares = np.bincount(places, minlength=len(edges) - 1) / max(rows, 1)
    reach = noise.of_bars(column, edges)
    cells = Cells(edges, shares, noise=None if reach is None else reach / max(rows, 1))
    words = open_ends(ranges(edges.tolist(), column.kind), edges.tolist(), column.kind)
    lines = tuple((word, share(amount)) for word, amount in zip(words, shares.tolist(), strict=True))
    return {
        "picture": histogram(cells, column.kind, _described(column, present, words, shares)),
        "missing": _missing(column, 1 - len(present) / max(rows, 1)),
        "numbers": _numbers(column, present, known),
        "values": Grid((column.unit or "values", "share of rows"), lines),
    }


def _described(column: Column, present: Array, words: Sequence[str], shares: Array) -> str:
    """Return the picture in a sentence."""
    if not len(present):
        return f"Distribution of {column.name}: no row has a value."
    low, middle, high = (written(float(q), column.kind) for q in np.quantile(present, (0.05, 0.5, 0.95)))
    peak = int(np.argmax(shares))
    return (
        f"Distribution of {column.name}: most rows ({share(float(shares[peak]))}) at {words[peak]}; 90 % of the values "
        f"lie from {low} to {high}, half of them below {middle}."
    )


def _numbers(column: Column, present: Array, known: Known) -> Grid | None:
    """Return the main numbers, with expected errors where the release tells them."""
    if not len(present):
        return None
    found = {"mean": float(present.mean()), "median": float(np.median(present)), "sd": float(present.std())}
    errors = {name: known.get(f"{name} {column.name}") for name in found}
    rows = [(name, _written(name, value, column), _error(errors[name], column)) for name, value in found.items()]
    low, high = (written(float(end), column.kind) for end in np.quantile(present, MIDDLE))
    some = any(errors.values())
    rows.append(("90 % lie in", f"{low} to {high}", ""))
    return Grid(("", "released", "expected error"), tuple(rows)) if some else Grid((), tuple(row[:2] for row in rows))


def _written(name: str, value: float, column: Column) -> str:
    """Return a main number; a spread of dates is in days."""
    if name == "sd":
        return f"{in_digits(value, 3)} days" if column.kind == "date" else in_digits(value, 3)
    return written(value, column.kind if column.kind == "date" or name != "mean" else "number")


def _error(number: MainNumber | None, column: Column) -> str:
    days = " days" if column.kind == "date" else ""
    return "" if number is None else f"± {in_digits(number.error, 2)}{days}"


def _of_levels(column: Column, present: Array, rows: int, noise: Noise, known: Known) -> dict[str, Any]:
    """Return what a card of levels shows."""
    labels = level_words(column)
    counts = np.bincount(present.astype(np.int64), minlength=len(labels))[: len(labels)]
    shares = (counts / max(rows, 1)).tolist()
    reach = noise.of_levels(column) / max(rows, 1)
    spans = [_span(column, place, each, reach, known) for place, each in enumerate(shares)]
    kept = largest(shares)
    absent = 1 - len(present) / max(rows, 1)
    top = max([*shares, absent, *(span[1] for place in kept if (span := spans[place]))]) or 1.0
    order = (
        sorted(range(len(labels)), key=lambda place: -shares[place]) if len(labels) > len(kept) else range(len(labels))
    )
    lines = tuple((labels[place], share(shares[place])) for place in list(order)[:MOST_VALUES])
    return {
        "bars": tuple(
            level_bar(labels[place], share(shares[place]), shares[place], top, spans[place]) for place in kept
        ),
        "more": len(labels) - len(kept),
        "missing": _missing(column, absent, top),
        "values": Grid(("level", "share of rows"), lines, len(labels) - len(lines)) if too_much(labels) else None,
    }


def _span(column: Column, place: int, value: float, reach: float, known: Known) -> tuple[float, float] | None:
    """Return where the share of a level is expected: by reruns where there are some, else by its noise."""
    number = known.get(f"share of {column.name} = {column.levels[place]}")
    if number is not None:
        return max(number.low, 0.0), number.high
    return (value - reach, value + reach) if value > reach > 0 else None


def level_bar(label: str, words: str, value: float, top: float, span: tuple[float, float] | None = None) -> Bar:
    """Return the bar of a level; its whisker stays on the card."""
    ends = None if span is None else (100 * max(span[0], 0.0) / top, min(100.0, 100 * span[1] / top))
    return Bar(label, words, 100 * max(value, 0.0) / top, noise=ends)
