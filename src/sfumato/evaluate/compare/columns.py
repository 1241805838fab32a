"""Columns of private and synthetic rows side by side, binned for charts; strong and worst pairs; worst subgroups."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.evaluate.compare.result import ColumnComparison, PairComparison, SubgroupComparison
from sfumato.metrics.association import STRONG, AssociationRows, evenly_spaced
from sfumato.metrics.binning import Binning, joint_codes
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout
from sfumato.metrics.distances import total_variation
from sfumato.metrics.second_sample import SecondSample, expected_sampling_tvd, harmonic
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


MOST_STRONG = 200
"""Strong relations that are kept, the strongest first."""
MOST_PICTURED = 60
MOST_CELLS = 24
"""Rows and columns of a cross table that is kept for a picture."""
WORST = 10
CLEARLY = 1.5
"""A column or pair is named among the worst where it is further away than this many times a second real sample."""
SMALLEST_GROUP = 0.01
FEWEST_ROWS = 50
MOST_LEVELS = 50
"""Levels of a column whose subgroups are looked at."""
MOST_TARGET_LEVELS = 20_000
"""Levels of a column whose distribution inside subgroups is looked at."""


@dataclass(frozen=True, eq=False)
class Associations:
    """The association of every pair of the layout on both sides."""

    measures: tuple[str, ...]
    true: FloatArray
    synthetic: FloatArray


def measured_associations(layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows) -> Associations:
    """Measure every pair on both sides, as the report of a release measures it on the released rows."""
    sides = [
        AssociationRows.of(layout.columns, side.points[evenly_spaced(len(side), len(layout.pairs))]).measure(
            layout.pairs
        )
        for side in (true, synthetic)
    ]
    values = [np.array([each.value for each in side]) for side in sides]
    return Associations(tuple(each.measure for each in sides[0]), values[0], values[1])


def _joint_counts(
    layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows, places: Sequence[int]
) -> list[FloatArray]:
    """Return the counts of both sides over two columns, with the cells of missing values last."""
    sizes = [layout.sizes[place] for place in places]
    joint = [joint_codes([side.cells[place] for place in places], sizes) for side in (true, synthetic)]
    return [np.bincount(each, minlength=math.prod(sizes)).reshape(sizes).astype(float) for each in joint]


def worst_first(tvds: FloatArray, yardsticks: FloatArray) -> list[int]:
    """Return what lies clearly further away than a second real sample would, the worst first."""
    excess = tvds - yardsticks
    order = np.argsort(-excess, kind="stable")
    return [int(i) for i in order if tvds[i] > CLEARLY * yardsticks[i] + 1e-9]


def strong_and_worst_pairs(
    layout: ComparisonLayout,
    true: BinnedRows,
    synthetic: BinnedRows,
    associations: Associations,
    tvds: FloatArray,
    second: SecondSample,
) -> tuple[tuple[PairComparison, ...], tuple[tuple[str, str], ...]]:
    """Return strong relations and the worst pairs, strongest first, and the names of the worst."""
    strength = np.abs(associations.true)
    strong = [int(i) for i in np.argsort(-strength, kind="stable")[:MOST_STRONG] if strength[i] >= STRONG]
    worst = worst_first(tvds, second.pairs)[:WORST]
    chosen = sorted({*strong, *worst}, key=lambda i: -strength[i])
    pictured = {*strong[:MOST_PICTURED], *worst}
    pairs = tuple(_pair(layout, true, synthetic, associations, i, tvds, second, i in pictured) for i in chosen)
    return pairs, tuple(_names(layout, i) for i in worst)


def _names(layout: ComparisonLayout, number: int) -> tuple[str, str]:
    one, other = layout.pairs[number]
    return layout.names[one], layout.names[other]


def _pair(
    layout: ComparisonLayout,
    true: BinnedRows,
    synthetic: BinnedRows,
    associations: Associations,
    number: int,
    tvds: FloatArray,
    second: SecondSample,
    pictured: bool,
) -> PairComparison:
    places = layout.pairs[number]
    fits = pictured and all(layout.sizes[place] <= MOST_CELLS for place in places)
    tables = _joint_counts(layout, true, synthetic, places) if fits else []
    shares = [tuple(map(tuple, (each / max(each.sum(), 1)).tolist())) for each in tables]
    return PairComparison(
        _names(layout, number),
        associations.measures[number],
        float(associations.true[number]),
        float(associations.synthetic[number]),
        float(tvds[number]),
        float(second.pairs[number]),
        *shares,
        labels=(_axis(layout.binnings[places[0]]), _axis(layout.binnings[places[1]])) if fits else ((), ()),
    )


def _axis(binning: Binning) -> tuple[str, ...]:
    """Return a short label for each cell of a picture's axis."""
    return tuple(label_of(binning, code) for code in range(binning.size))


def worst_subgroups(
    layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows, most: int = WORST
) -> tuple[SubgroupComparison, ...]:
    """Return the subgroups inside which another column differs most, each once, with the column that differs most.

    What a second real sample would have is computed, not drawn.
    """
    worst: dict[tuple[int, int], tuple[float, SubgroupComparison]] = {}
    for pair in layout.pairs:
        for group, target in (pair, pair[::-1]):
            if layout.columns[group].is_ordered or layout.sizes[group] > MOST_LEVELS:
                continue
            if layout.sizes[target] > MOST_TARGET_LEVELS:
                continue
            tables = _joint_counts(layout, true, synthetic, (group, target))
            for level in _large_enough(tables[0]):
                each = _subgroup(layout, group, target, level, tables)
                excess = each.tvd - each.yardstick
                if excess > worst.get((group, level), (0.0, each))[0] and each.tvd > CLEARLY * each.yardstick:
                    worst[group, level] = excess, each
    ordered = sorted(worst.values(), key=lambda item: -item[0])
    return tuple(each for _, each in ordered[:most])


def _large_enough(table: FloatArray) -> list[int]:
    sizes = table.sum(1)
    return [int(i) for i in np.flatnonzero(sizes >= max(FEWEST_ROWS, SMALLEST_GROUP * sizes.sum()))]


def _subgroup(
    layout: ComparisonLayout, group: int, target: int, level: int, tables: Sequence[FloatArray]
) -> SubgroupComparison:
    counts = [each[level] for each in tables]
    sizes = [each.sum() for each in counts]
    apart = harmonic(*(max(size, 1) for size in sizes)) / 2  # as one sample of so many rows is from its law
    return SubgroupComparison(
        layout.names[group],
        label_of(layout.binnings[group], level),
        float(sizes[0] / tables[0].sum()),
        layout.names[target],
        1.0 if not sizes[1] else total_variation(*counts),
        expected_sampling_tvd(counts[:1], apart),
    )


def label_of(binning: Binning, code: int) -> str:
    """Return what a cell is called: a level, a value or a range of values.

    >>> from sfumato.schema.column import Column
    >>> ages = Binning(Column("age", "integer", bounds=(0, 99)), np.array([18.0, 40, 41, 65]))
    >>> [label_of(ages, code) for code in range(6)]
    ['below 18', '18 to 40', '40', '41 to 65', '65 or more', 'missing']
    """
    column, edges = binning.column, binning.edges
    if code == binning.size - 1:
        return MISSING_LABEL
    if edges is None:
        return str(column.levels[code])
    if not len(edges):
        return "all"
    if code in (0, len(edges)):
        return f"below {format_value(column, edges[0])}" if code == 0 else f"{format_value(column, edges[-1])} or more"
    low, high = edges[code - 1], edges[code]
    same = format_value(column, low) == format_value(column, high) or (column.is_discrete and high - low == 1)
    return format_value(column, low) if same else f"{format_value(column, low)} to {format_value(column, high)}"
