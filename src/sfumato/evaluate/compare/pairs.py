"""Strong pairs, worst pairs and worst subgroups of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.evaluate.compare.columns import MISSING_LABEL, format_value
from sfumato.evaluate.compare.result import PairComparison, SubgroupComparison
from sfumato.metrics.association import STRONG, AssociationRows, evenly_spaced
from sfumato.metrics.binning import Binning, joint_codes
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout
from sfumato.metrics.distances import total_variation
from sfumato.metrics.second_sample import SecondSample, expected_sampling_tvd, harmonic

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
