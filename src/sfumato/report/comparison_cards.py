"""Cards and rows of the comparison page: measures, columns, associations and predictions, true beside synthetic."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from sfumato.evaluate.compare.result import ColumnComparison, Comparison, MetricWithYardstick, PairComparison
from sfumato.formatting import capitalize_first, format_number, percent_fixed
from sfumato.metrics.association import RANKS
from sfumato.metrics.catalogue import METRICS
from sfumato.report.blocks import MeasuredRow, PairCard, TableBlock
from sfumato.report.cards import MISSING, Bar, ColumnCard, largest_indices, needs_table, share
from sfumato.report.charts.axis import bin_labels, format_value, open_bin_labels
from sfumato.report.charts.heatmap import HeatmapAxis, heatmap
from sfumato.report.charts.histogram import HistogramBins, histogram
from sfumato.report.charts.interval_plots import axis_ends, dumbbell_plot, interval_plot, scatter
from sfumato.report.release_page.column_cards import card_id, kind_text
from sfumato.schema.column import Column

NEAR, FAR = 2.0, 5.0
"""Up to so many times the distance of a second real sample is called near; above the second, far."""
FAR_FROM_NONE = 0.1
"""A distance that is far where a second real sample has none."""
CHANCE = {"detection_auc": 0.75}
"""Measures whose best value is not 0, so that ratios say nothing: from here on, far."""
MOST_KEPT = 0.75
"""Of what a second real sample reaches: below it, far."""
STATISTICS = {"mean": "mean", "sd": "standard deviation", "median": "median"}
SIDES = ("true", "synthetic")
MOST_MAPS = 150
"""Pairs with heat maps: each costs about 10 kB, and a page is to stay light."""
ROW = 16.0
"""Height of a cell of a heat map."""
KEPT = 0.1
"""A relation is called kept where its strength is no further off."""


def measure_rows(comparison: Comparison) -> list[MeasuredRow]:
    """Return every measure, in the order of the comparison."""
    return [_measure_row(measure) for measure in comparison.measures.values()]


def _measure_row(measure: MetricWithYardstick) -> MeasuredRow:
    synthetic = (measure.low, measure.value, measure.high)
    true = (measure.yardstick_low, measure.yardstick, measure.yardstick_high)
    title = title_of(measure.name)
    words = (
        f"{title}: synthetic {digits(measure.value)}, interval {_span(measure.low, measure.high)}; second real sample "
        f"{digits(measure.yardstick)}, interval {_span(measure.yardstick_low, measure.yardstick_high)}."
    )
    ends = axis_ends((*synthetic, *true), from_zero=not measure.larger_is_better)
    cells = (
        (digits(measure.value), _span(measure.low, measure.high)),
        (digits(measure.yardstick), _span(measure.yardstick_low, measure.yardstick_high)),
    )
    picture = interval_plot(synthetic, true, ends, words)
    return MeasuredRow(title, capitalize_first(measure.words), cells, picture, *_standing(measure), code=measure.name)


def _standing(measure: MetricWithYardstick) -> tuple[str, str]:
    """Say how a measure stands beside its yardstick, and the word for its colour."""
    if measure.as_good:
        return "as good as a second real sample", "near"
    if not math.isfinite(measure.value / (measure.yardstick or 1.0)):
        return "could not be measured", "middling"
    if measure.larger_is_better:
        kept = measure.value / measure.yardstick if measure.yardstick > 0 else 0.0
        return (
            f"{percent_fixed(max(kept, 0), 0)} of a second real sample",
            "middling" if kept >= MOST_KEPT else "far",
        )
    if measure.name in CHANCE:
        return "told apart better than a second real sample", "middling" if measure.value < CHANCE[
            measure.name
        ] else "far"
    word, _ = nearness(measure.value, measure.yardstick)
    return _beside(measure.value, measure.yardstick), "far" if word == "far" else "middling"


def _beside(value: float, yardstick: float) -> str:
    return f"{_times(value, yardstick)} a second real sample" if yardstick > 0 else "worse than a second real sample"


def title_of(name: str) -> str:
    """Return the name of a measure for people.

    >>> title_of("tvd_2_q16"), title_of("new_error")
    ('Pairs of columns', 'New error')
    """
    return capitalize_first(METRICS[name].label if name in METRICS else name.replace("_", " "))


def digits(value: float) -> str:
    """Return a measure in three digits, or "none" where nothing could be measured.

    >>> digits(0.04567), digits(1234.5), digits(float("nan"))
    ('0.0457', '1,234', 'none')
    """
    if not math.isfinite(value):
        return "none" if math.isnan(value) else "unbounded"
    return "0" if abs(value) < 5e-7 else format_number(value) if abs(value) >= 1e-4 else f"{value:.2g}"


def _span(low: float, high: float) -> str:
    return f"{digits(low)} to {digits(high)}"


def _times(value: float, yardstick: float) -> str:
    ratio = value / yardstick
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def nearness(tvd: float, yardstick: float) -> tuple[str, str]:
    """Return a word for the style and a sentence: how far beside a second real sample.

    >>> nearness(0.03, 0.02), nearness(0.3, 0.02)
    (('near', '1.5 times a second real sample'), ('far', '15 times a second real sample'))
    """
    if not yardstick > 0:
        word = "near" if tvd < 1e-9 else "far" if tvd > FAR_FROM_NONE else "middling"
        return word, "none in the cells that are counted" if tvd < 1e-9 else "a second real sample: 0"
    if tvd <= 1.05 * yardstick:
        return "near", "as near as a second real sample"
    word = "near" if tvd <= NEAR * yardstick else "far" if tvd > FAR * yardstick else "middling"
    return word, _beside(tvd, yardstick)


def column_cards(comparison: Comparison) -> list[ColumnCard]:
    """Return a card for every column, in the order of the table."""
    known = {column.name: column for column in comparison.schema.columns}
    return [_column_card(i, column, known.get(column.name)) for i, column in enumerate(comparison.columns, 1)]


def _column_card(number: int, column: ColumnComparison, known: Column | None) -> ColumnCard:
    present = _present(column, known)
    style, _ = nearness(column.tvd, column.yardstick)
    kept = _largest(column, present) if column.edges is None else []
    folded = column.edges is not None or needs_table(column.labels)
    return ColumnCard(
        place=card_id(number),
        name=column.name,
        kind=column.kind if known is None else kind_text(known),
        label="" if known is None else known.description or "",
        sentence=f"Distance {distance_text(column.tvd, column.yardstick)}.",
        standing=style,
        picture=None if column.edges is None else _picture(column, column.edges),
        bars=_bars(column, kept),
        more=present - len(kept) if column.edges is None else 0,
        missing=_missing(column, present),
        numbers=_numbers(column),
        values=TableBlock.of_numbers(("", *SIDES), _values(column, present)) if folded else None,
        short=digits(column.tvd),
        orders={"worst": f"{column.tvd:.6f}"},
    )


def distance_text(tvd: float, yardstick: float) -> str:
    """Return a distance and how it stands beside a second real sample.

    >>> distance_text(0.3, 0.02)
    '0.3; 15 times a second real sample (0.02)'
    """
    beside = f" ({digits(yardstick)})" if digits(yardstick) != "0" else ""
    return f"{digits(tvd)}; {nearness(tvd, yardstick)[1]}{beside}"


def _present(column: ColumnComparison, known: Column | None) -> int:
    """Return how many cells hold values; missing rows stand after them."""
    if column.edges is not None:
        return len(column.edges) - 1
    return len(column.labels) if known is None else min(known.present_size, len(column.labels))


def _largest(column: ColumnComparison, present: int) -> list[int]:
    """Return the levels that are drawn: those with most rows on either side."""
    return largest_indices(np.maximum(column.true[:present], column.synthetic[:present]).tolist())


def _bars(column: ColumnComparison, kept: Sequence[int]) -> tuple[Bar, ...]:
    top = max((max(column.true[i], column.synthetic[i]) for i in kept), default=0.0) or 1.0
    return tuple(_bar(column.labels[i], column.true[i], column.synthetic[i], top) for i in kept)


def _bar(label: str, true: float, synthetic: float, top: float) -> Bar:
    return Bar(label, share(synthetic), 100 * synthetic / top, share(true), 100 * true / top)


def _missing(column: ColumnComparison, present: int) -> Bar | None:
    """Return the missing values as a bar of their own: its full length is all rows."""
    return None if len(column.true) <= present else _bar(MISSING, column.true[present], column.synthetic[present], 1.0)


def _picture(column: ColumnComparison, edges: tuple[float, ...]) -> Markup:
    cells = len(edges) - 1
    true, synthetic = np.asarray(column.true[:cells]), np.asarray(column.synthetic[:cells])
    worst = int(np.argmax(np.abs(synthetic - true))) if cells else 0
    words = (
        f"{column.name}, true as an outline, synthetic as bars. Furthest apart at {_cells(edges, column.kind)[worst]}: "
        f"true {share(column.true[worst])}, synthetic {share(column.synthetic[worst])}. The table holds all shares."
    )
    return histogram(HistogramBins(np.asarray(edges), synthetic, true), column.kind, words)


def _numbers(column: ColumnComparison) -> TableBlock | None:
    """Return the statistics of both sides."""
    rows = [_number_row(name, pair, column.kind) for name, pair in column.numbers.items() if name != MISSING]
    return TableBlock.of_numbers(("", *SIDES), tuple(rows)) if rows else None


def _number_row(name: str, pair: tuple[float, float], kind: str) -> tuple[str, str, str]:
    """Return a statistic true and synthetic; a spread of dates is in days."""
    spread = name == "sd" and kind == "date"
    true, synthetic = (f"{digits(value)} days" if spread else format_value(value, kind) for value in pair)
    return _statistic(name), true, synthetic


def _statistic(name: str) -> str:
    """Return the name of a statistic for people; a quantile is keyed by its level, as 0.05, q05 or q0.05."""
    if name in STATISTICS:
        return STATISTICS[name]
    level = name.removeprefix("q").lstrip("_")
    if not level.replace(".", "", 1).isdigit():
        return name.replace("_", " ")
    return f"{100 * float(level) if '.' in level else float(level):g} % lie below"


def _values(column: ColumnComparison, present: int) -> tuple[tuple[str, str, str], ...]:
    """Return the table of values: every cell or level, and missing."""
    labels = list(column.labels[:present]) if column.edges is None else _cells(column.edges, column.kind)
    labels += [MISSING] * (len(column.true) - present)
    return tuple((label, share(t), share(m)) for label, t, m in zip(labels, column.true, column.synthetic, strict=True))


def _cells(edges: Sequence[float], kind: str) -> list[str]:
    """Return the cells of a number in words; the outermost hold everything beyond them."""
    return open_bin_labels(bin_labels(edges, kind), edges, kind)


def pair_cards(comparison: Comparison) -> list[PairCard]:
    """Return a card for every relation, strongest first; heat maps for the first of those that have tables."""
    columns = {column.name: column for column in comparison.columns}
    left = MOST_MAPS
    cards: list[PairCard] = []
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


def _pair_card(pair: PairComparison, maps: tuple[Markup, Markup] | None) -> PairCard:
    style = _worse(nearness(pair.tvd, pair.yardstick)[0], abs(pair.synthetic - pair.true))
    words = (
        f"{pair.measure} of {pair.names[0]} and {pair.names[1]}: true {pair.true:.2f}, synthetic {pair.synthetic:.2f}."
    )
    ends = (-1.0, 1.0) if pair.measure == RANKS else (0.0, 1.0)
    strengths = _signed(pair.true), _signed(pair.synthetic)
    distance = f"Distance {distance_text(pair.tvd, pair.yardstick)}."
    chart = dumbbell_plot(pair.true, pair.synthetic, ends, words)
    return PairCard(pair.names, pair.measure, strengths, distance, style, chart, maps)


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


def prediction_rows(comparison: Comparison) -> list[MeasuredRow]:
    """Return for each target what was learned from either side, and what guessing reaches."""
    rows: list[MeasuredRow] = []
    for target, scores in comparison.predictions.items():
        synthetic, true, guess = (scores.get(side, math.nan) for side in ("synthetic", "true", "guess"))
        words = (
            f"{target}: {digits(synthetic)} learned from synthetic rows, {digits(true)} from real rows, "
            f"{digits(guess)} by guessing."
        )
        ends = axis_ends((0.0, 1.0, *(value for value in (synthetic, true) if value > -1)), from_zero=True)
        chart = dumbbell_plot(true, synthetic, ends, words, [guess] if math.isfinite(guess) else [])
        rows.append(MeasuredRow(target, "", tuple((digits(each), "") for each in (synthetic, true, guess)), chart))
    return rows
