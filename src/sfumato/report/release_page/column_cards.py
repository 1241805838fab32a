"""Cards of synthetic columns: distribution, main numbers and reach of the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.bundle.description import noise_by_stage
from sfumato.bundle.document import MainNumber, ReleaseDocument
from sfumato.core.plan import StageNoise
from sfumato.evaluate.compare.columns import chart_edges
from sfumato.formatting import format_significant
from sfumato.mechanisms.hierarchical_histogram import LAYER_WORDS
from sfumato.metrics.rows_view import RowsView
from sfumato.report.cards import (
    MISSING,
    Bar,
    ColumnCard,
    TableBlock,
    edges_of,
    largest_indices,
    level_bar,
    level_words,
    needs_table,
    noise_span,
    share,
)
from sfumato.report.charts.axis import bin_labels, format_value, open_bin_labels
from sfumato.report.charts.histogram import HistogramBins, histogram
from sfumato.report.texts import Texts
from sfumato.schema.column import Column


@dataclass(frozen=True)
class NoiseReach:
    """The noise behind the columns of released rows, carried over to the number of rows that were drawn."""

    document: ReleaseDocument
    rows: int

    @cached_property
    def _spreads(self) -> dict[str, StageNoise]:
        return noise_by_stage(self.document)

    @cached_property
    def _cells(self) -> dict[str, int]:
        return {stage.name: stage.cells for stage in self.document.stages}

    @cached_property
    def _scale(self) -> float:
        total = self.document.statistics.get("noisy_total")
        return self.rows / total if isinstance(total, int | float) and total > 0 else 1.0

    def of_levels(self, column: Column) -> float:
        """Return how far 95 % of the noise on the count of one level reaches; 0 where it is not known."""
        spread = self._spreads.get(column.name)
        return 0.0 if spread is None else spread.half_width() * self._scale

    def of_bars(self, column: Column, edges: FloatArray) -> FloatArray | None:
        """Return how far 95 % of the noise on each bar of numbers or dates reaches; none where it is not known."""
        places = edges_of(column)
        flat = self._of_cells(column, column.name, edges, places)
        if flat is not None:
            return flat
        equal = places[[0, -1]]
        layers = [self._of_cells(column, f"{column.name}: {words}", edges, equal) for words in LAYER_WORDS[:2]]
        known = [layer for layer in layers if layer is not None]
        return np.minimum.reduce(known) if known else None

    def _of_cells(self, column: Column, stage: str, edges: FloatArray, places: FloatArray) -> FloatArray | None:
        """Return the noise of bars that are made of measured cells, which lie evenly between ``places``."""
        spread, cells = self._spreads.get(stage), self._cells.get(stage, 0) - int(column.missing)
        if spread is None or cells < 1:
            return None
        within = np.diff(np.interp(edges, places, np.linspace(0, cells, len(places))))
        reach = np.where(within >= 1, np.sqrt(within.clip(0)), within.clip(0))
        return spread.half_width() * self._scale * reach


MOST_VALUES = 60
"""Lines of the table of values under a card."""
MIDDLE = (0.05, 0.95)
SHORT = {"integer": "number", "boolean": "levels", "category": "levels", "ordinal": "levels"}
KINDS = {"ordinal": "ordered levels", "category": "levels", "integer": "whole number", "boolean": "true or false"}

Known = Mapping[str, MainNumber]


def column_cards(document: ReleaseDocument, points: RowsView) -> list[ColumnCard]:
    """Return a card for every released column, in the order of the table."""
    noise = NoiseReach(document, len(points))
    errors = document.expected_errors
    known = {} if errors is None else {each.name: each for each in errors.numbers}
    kept: set[str] = set(document.statistics.get("not_synthesised") or ())
    released_as_is = Texts("release")("data.kept")
    return [
        _card(number, column, values, noise, known, released_as_is if column.name in kept else "")
        for number, (column, values) in enumerate(zip(points.columns, points.points.T, strict=True), 1)
    ]


def card_id(number: int) -> str:
    """Return the id of a column's card."""
    return f"column-{number}"


def kind_text(column: Column) -> str:
    """Return kind and unit of a column in words.

    >>> kind_text(Column("income", "integer", bounds=(0, 9), unit="EUR"))
    'whole number, EUR'
    """
    kind = KINDS.get(column.kind, column.kind)
    if column.kind in ("category", "ordinal"):
        kind = f"{len(column.levels):,} {kind}"
    return f"{kind}, {column.unit}" if column.unit else kind


def _card(number: int, column: Column, values: FloatArray, noise: NoiseReach, known: Known, note: str) -> ColumnCard:
    present = values[~np.isnan(values)]
    absent = 1 - len(present) / max(len(values), 1)
    look = _of_numbers if column.is_ordered else _of_levels
    return ColumnCard(
        place=card_id(number),
        name=column.name,
        kind=kind_text(column),
        label=column.description or "",
        sentence=note,
        short=SHORT.get(column.kind, column.kind),
        orders={"missing": f"{absent:.4f}"},
        **look(column, present, len(values), noise, known),
    )


def _missing(column: Column, absent: float, top: float = 1.0) -> Bar | None:
    """Return the missing values as a bar of their own."""
    return level_bar(MISSING, share(absent), absent, top) if column.missing or absent else None


def _of_numbers(column: Column, present: FloatArray, rows: int, noise: NoiseReach, known: Known) -> dict[str, Any]:
    """Return what a card of numbers or dates shows."""
    edges = chart_edges(column, present)
    places = np.clip(np.searchsorted(edges, present, side="right") - 1, 0, len(edges) - 2)
    shares = np.bincount(places, minlength=len(edges) - 1) / max(rows, 1)
    reach = noise.of_bars(column, edges)
    cells = HistogramBins(edges, shares, noise=None if reach is None else reach / max(rows, 1))
    words = open_bin_labels(bin_labels(edges.tolist(), column.kind), edges.tolist(), column.kind)
    lines = tuple((word, share(amount)) for word, amount in zip(words, shares.tolist(), strict=True))
    return {
        "picture": histogram(cells, column.kind, _described(column, present, words, shares)),
        "missing": _missing(column, 1 - len(present) / max(rows, 1)),
        "numbers": _numbers(column, present, known),
        "values": TableBlock.of_numbers((column.unit or "values", "share of rows"), lines),
    }


def _described(column: Column, present: FloatArray, words: Sequence[str], shares: FloatArray) -> str:
    """Return the picture in a sentence."""
    if not len(present):
        return f"Distribution of {column.name}: no row has a value."
    low, middle, high = (format_value(float(q), column.kind) for q in np.quantile(present, (0.05, 0.5, 0.95)))
    peak = int(np.argmax(shares))
    return (
        f"Distribution of {column.name}: most rows ({share(float(shares[peak]))}) at {words[peak]}; 90 % of the values "
        f"lie from {low} to {high}, half of them below {middle}."
    )


def _numbers(column: Column, present: FloatArray, known: Known) -> TableBlock | None:
    """Return the main numbers, with expected errors where the release tells them."""
    if not len(present):
        return None
    values = {"mean": float(present.mean()), "median": float(np.median(present)), "sd": float(present.std())}
    errors = {name: known.get(f"{name} {column.name}") for name in values}
    rows = [(name, _written(name, value, column), _error(errors[name], column)) for name, value in values.items()]
    low, high = (format_value(float(end), column.kind) for end in np.quantile(present, MIDDLE))
    some = any(errors.values())
    rows.append(("90 % lie in", f"{low} to {high}", ""))
    if some:
        return TableBlock.of_numbers(("", "released", "expected error"), tuple(rows))
    return TableBlock.of_numbers((), tuple(row[:2] for row in rows))


def _written(name: str, value: float, column: Column) -> str:
    """Return a main number; a spread of dates is in days."""
    if name == "sd":
        return f"{format_significant(value, 3)} days" if column.kind == "date" else format_significant(value, 3)
    return format_value(value, column.kind if column.kind == "date" or name != "mean" else "number")


def _error(number: MainNumber | None, column: Column) -> str:
    days = " days" if column.kind == "date" else ""
    return "" if number is None else f"± {format_significant(number.error, 2)}{days}"


def _of_levels(column: Column, present: FloatArray, rows: int, noise: NoiseReach, known: Known) -> dict[str, Any]:
    """Return what a card of levels shows."""
    labels = level_words(column)
    counts = np.bincount(present.astype(np.int64), minlength=len(labels))[: len(labels)]
    shares = (counts / max(rows, 1)).tolist()
    reach = noise.of_levels(column) / max(rows, 1)
    spans = [_span(column, place, each, reach, known) for place, each in enumerate(shares)]
    kept = largest_indices(shares)
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
        "values": TableBlock.of_numbers(("level", "share of rows"), lines, len(labels) - len(lines))
        if needs_table(labels)
        else None,
    }


def _span(column: Column, place: int, value: float, reach: float, known: Known) -> tuple[float, float] | None:
    """Return where the share of a level is expected: by reruns where there are some, else by its noise."""
    number = known.get(f"share of {column.name} = {column.levels[place]}")
    if number is not None:
        return max(number.low, 0.0), number.high
    return noise_span(value, reach)
