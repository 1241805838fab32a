"""Cards of columns with the private and the synthetic distribution side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from sfumato.evaluate.compare.result import ColumnComparison, Comparison
from sfumato.report.cards import (
    MISSING,
    Bar,
    ColumnCard,
    TableBlock,
    largest_indices,
    needs_table,
    share,
)
from sfumato.report.charts.axis import bin_labels, format_value, open_bin_labels
from sfumato.report.charts.histogram import HistogramBins, histogram
from sfumato.report.comparison_page.measures import digits, nearness
from sfumato.report.release_page.column_cards import card_id, kind_text
from sfumato.schema.column import Column

STATISTICS = {"mean": "mean", "sd": "standard deviation", "median": "median"}
SIDES = ("true", "synthetic")


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
