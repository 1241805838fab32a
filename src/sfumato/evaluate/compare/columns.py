"""Distribution of each column in private and synthetic rows, binned for charts."""

from __future__ import annotations

import datetime as dt

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.evaluate.compare.result import ColumnComparison
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout
from sfumato.metrics.second_sample import SecondSample
from sfumato.schema.column import EPOCH, Column

BARS = 24
"""Cells of equal width of a number; the outermost ones hold everything beyond."""
MOST_VALUES = 32
"""Values of a whole number that have a cell each."""
TRIMMED = (0.005, 0.995)
MISSING_LABEL = "missing"
STATISTICS = {"q05": 0.05, "median": 0.5, "q95": 0.95}


def column_comparisons(
    layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows, tvds: FloatArray, second: SecondSample
) -> tuple[ColumnComparison, ...]:
    """Return all columns in the order of the schema."""
    return tuple(
        _column(column, true.points[:, i], synthetic.points[:, i], float(tvds[i]), float(second.columns[i]))
        for i, column in enumerate(layout.columns)
    )


def _column(column: Column, true: FloatArray, synthetic: FloatArray, tvd: float, yardstick: float) -> ColumnComparison:
    edges = chart_edges(column, true) if column.is_ordered else None
    known = len(edges) - 1 if edges is not None else column.present_size
    shares = [_shares(each, edges, known) for each in (true, synthetic)]
    absent = bool(shares[0][-1] or shares[1][-1] or column.missing)
    kept = known + int(absent)
    labels = [format_value(column, middle) for middle in (edges[:-1] + edges[1:]) / 2] if edges is not None else None
    words = labels if labels is not None else [str(level) for level in column.levels]
    return ColumnComparison(
        column.name,
        column.kind,
        (*words, *((MISSING_LABEL,) if absent else ())),
        None if edges is None else tuple(edges.tolist()),
        tuple(shares[0][:kept].tolist()),
        tuple(shares[1][:kept].tolist()),
        tvd,
        yardstick,
        _numbers(column, true, synthetic),
    )


def chart_edges(column: Column, true: FloatArray) -> FloatArray:
    """Return the edges of cells for a chart: a cell for each of few whole values, else cells of equal width.

    >>> chart_edges(Column("n", "integer", bounds=(0, 9)), np.array([1.0, 2.0, 3.0])).tolist()
    [0.5, 1.5, 2.5, 3.5]
    """
    present = true[~np.isnan(true)]
    low, high = np.quantile(present, TRIMMED) if len(present) else column.numeric_bounds
    if column.is_discrete:
        low, high = np.floor(low) - 0.5, np.ceil(high) + 0.5
        width = max(1.0, np.ceil((high - low) / (MOST_VALUES if high - low <= MOST_VALUES else BARS)))
        return low + width * np.arange(np.ceil((high - low) / width) + 1)
    high = high if high > low else low + max(abs(low), 1.0) * 1e-6
    return np.linspace(low, high, BARS + 1)


def _shares(points: FloatArray, edges: FloatArray | None, known: int) -> FloatArray:
    """Return the shares of rows in each cell, missing last."""
    absent = np.isnan(points)
    present = points[~absent]
    places = present if edges is None else np.clip(np.searchsorted(edges, present, side="right") - 1, 0, known - 1)
    counts = np.bincount(places.astype(np.int64), minlength=known)
    return np.append(counts, absent.sum()) / max(len(points), 1)


def format_value(column: Column, number: float) -> str:
    """Return a number of a column for people: a date as such, a number in few digits."""
    if column.kind == "date":
        return (EPOCH + dt.timedelta(days=round(number))).isoformat()
    return f"{number:.4g}" if abs(number) < 1e4 else f"{number:,.0f}"


def _numbers(column: Column, true: FloatArray, synthetic: FloatArray) -> dict[str, tuple[float, float]]:
    sides = [each[~np.isnan(each)] for each in (true, synthetic)]
    missing = {MISSING_LABEL: (float(np.isnan(true).mean()), float(np.isnan(synthetic).mean()))}
    if not column.is_ordered or not all(len(each) for each in sides):
        return missing
    named = {name: [float(np.quantile(each, share)) for each in sides] for name, share in STATISTICS.items()}
    named = {"mean": [float(each.mean()) for each in sides], "sd": [float(each.std()) for each in sides]} | named
    return {name: (one, other) for name, (one, other) in named.items()} | missing
