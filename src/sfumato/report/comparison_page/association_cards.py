"""Cards of strong associations in both tables, and prediction scores."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from sfumato.evaluate.compare.result import ColumnComparison, Comparison, PairComparison
from sfumato.metrics.association import RANKS
from sfumato.report.charts.heatmap import HeatmapAxis, heatmap
from sfumato.report.charts.interval_plots import dumbbell_plot, scatter
from sfumato.report.comparison_page.column_cards import distance_text
from sfumato.report.comparison_page.measures import axis_ends, digits, nearness

MOST_MAPS = 150
"""Pairs with heat maps: each costs about 10 kB, and a page is to stay light."""
ROW = 16.0
"""Height of a cell of a heat map."""
KEPT = 0.1
"""A relation is called kept where its strength is no further off."""


class AssociationCard(NamedTuple):
    """One relation on both sides."""

    names: tuple[str, str]
    measure: str
    true: str
    synthetic: str
    distance: str
    nearness: str
    chart: Markup
    maps: tuple[Markup, Markup] | None


class PredictionRow(NamedTuple):
    """What models that learned from either side reach on real rows."""

    target: str
    synthetic: str
    true: str
    guess: str
    chart: Markup


def pair_cards(comparison: Comparison) -> list[AssociationCard]:
    """Return a card for every relation, strongest first; heat maps for the first of those that have tables."""
    columns = {column.name: column for column in comparison.columns}
    left = MOST_MAPS
    cards: list[AssociationCard] = []
    for pair in comparison.pairs:
        maps = _maps(pair, columns) if left and pair.true_table and pair.synthetic_table else None
        left -= maps is not None
        cards.append(_pair_card(pair, maps))
    return cards


def overview(comparison: Comparison) -> Markup:
    """Return all relations in one picture."""
    known = [pair for pair in comparison.pairs if math.isfinite(pair.true) and math.isfinite(pair.synthetic)]
    kept = sum(abs(pair.synthetic - pair.true) <= KEPT for pair in known)
    words = f"{len(known)} relations, synthetic against true strength: {kept} of them within {KEPT:g} of the true one."
    return scatter([(" and ".join(pair.names), pair.true, pair.synthetic) for pair in known], words)


def _pair_card(pair: PairComparison, maps: tuple[Markup, Markup] | None) -> AssociationCard:
    style = _worse(nearness(pair.tvd, pair.yardstick)[0], abs(pair.synthetic - pair.true))
    words = (
        f"{pair.measure} of {pair.names[0]} and {pair.names[1]}: true {pair.true:.2f}, synthetic {pair.synthetic:.2f}."
    )
    ends = (-1.0, 1.0) if pair.measure == RANKS else (0.0, 1.0)
    return AssociationCard(
        names=pair.names,
        measure=pair.measure,
        true=_signed(pair.true),
        synthetic=_signed(pair.synthetic),
        distance=distance_text(pair.tvd, pair.yardstick),
        nearness=style,
        chart=dumbbell_plot(pair.true, pair.synthetic, ends, words),
        maps=maps,
    )


def _worse(style: str, off: float) -> str:
    """Return the word for the colour: a relation that lost its strength is not near, whatever its table's distance."""
    return "far" if off > 2 * KEPT else "middling" if off > KEPT and style == "near" else style


def _signed(value: float) -> str:
    return f"{value + 0.0:.2f}" if math.isfinite(value) else "none"


def _maps(pair: PairComparison, columns: dict[str, ColumnComparison]) -> tuple[Markup, Markup] | None:
    """Return the pair table of both sides over the range that either occupies, in the same shades."""
    true, synthetic = np.asarray(pair.true_table, dtype=float), np.asarray(pair.synthetic_table, dtype=float)
    if true.ndim != 2 or true.shape != synthetic.shape:
        return None
    both = np.maximum(true, synthetic)
    kept = [_occupied(both.max(axis=axis)) for axis in (1, 0)]
    sides = [_side(pair, which, columns, both.shape[which], kept[which]) for which in (0, 1)]
    upward = _rises(pair.names[0], columns)
    said = f"{pair.names[0]} down the side, {pair.names[1]} across; the stronger the colour, the more rows."
    drawn = [
        heatmap(
            _turned(side[kept[0], kept[1]], upward), sides[0], sides[1], f"{word} rows: {said}", top=float(both.max())
        )
        for word, side in (("True", true), ("Synthetic", synthetic))
    ]
    return drawn[0], drawn[1]


def _occupied(most: np.ndarray) -> slice:
    """Return the range from the first cell with rows to the last."""
    places = np.flatnonzero(most > 0)
    return slice(0, len(most)) if not len(places) else slice(int(places[0]), int(places[-1]) + 1)


def _side(
    pair: PairComparison, which: int, columns: dict[str, ColumnComparison], size: int, kept: slice
) -> HeatmapAxis:
    """Return one axis of a pair's map; its cells hold equally many rows, so they have labels and no real axis."""
    name = pair.names[which]
    labels = pair.labels[which] if len(pair.labels[which]) == size else ("",) * size
    upward = which == 0 and _rises(name, columns)
    return HeatmapAxis(name, labels[kept][::-1] if upward else labels[kept], row=ROW)


def _rises(name: str, columns: dict[str, ColumnComparison]) -> bool:
    """Whether a column is drawn upward: numbers and dates are."""
    column = columns.get(name)
    return column is not None and column.edges is not None


def _turned(table: np.ndarray, upward: bool) -> np.ndarray:
    return table[::-1] if upward else table


def prediction_rows(comparison: Comparison) -> list[PredictionRow]:
    """Return for each target what was learned from either side, and what guessing reaches."""
    rows: list[PredictionRow] = []
    for target, scores in comparison.predictions.items():
        synthetic, true, guess = (scores.get(side, math.nan) for side in ("synthetic", "true", "guess"))
        words = (
            f"{target}: {digits(synthetic)} learned from synthetic rows, {digits(true)} from real rows, "
            f"{digits(guess)} by guessing."
        )
        ends = axis_ends((0.0, 1.0, *(value for value in (synthetic, true) if value > -1)), from_zero=True)
        chart = dumbbell_plot(true, synthetic, ends, words, [guess] if math.isfinite(guess) else [])
        rows.append(PredictionRow(target, digits(synthetic), digits(true), digits(guess), chart))
    return rows
