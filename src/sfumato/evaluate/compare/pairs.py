"""Strong pairs, worst pairs and worst subgroups of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.evaluate.compare.cells import Binning, joint_codes, paired_counts
from sfumato.evaluate.compare.columns import MISSING_LABEL, format_value
from sfumato.evaluate.compare.distances import correlations, cramers_v
from sfumato.evaluate.compare.resampling import SecondSample
from sfumato.evaluate.compare.result import PairComparison, SubgroupComparison
from sfumato.evaluate.compare.sides import ComparisonLayout, RowsView

STRONG = 0.3
"""A relation of at least this strength (a correlation, or Cramér's V) is strong."""
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


@dataclass(frozen=True, eq=False)
class Associations:
    """The strength of the relation of every pair of the layout on both sides."""

    measures: tuple[str, ...]
    true: FloatArray
    made: FloatArray


def associations(layout: ComparisonLayout, true: RowsView, made: RowsView) -> Associations:
    """Measure every pair: numbers by the stronger of two correlations, all others by Cramér's V of their cells."""
    where = {place: i for i, place in enumerate(layout.numbers)}
    linear, ranks = (
        (
            [correlations(x) for x in (true.points[:, list(where)], made.points[:, list(where)])],
            [correlations(true.ranks), correlations(made.ranks)],
        )
        if len(where) > 1
        else ([], [])
    )
    names, found = list[str](), np.zeros((2, len(layout.pairs)))
    for number, (one, other) in enumerate(layout.pairs):
        if one in where and other in where:
            at = where[one], where[other]
            straight = abs(linear[0][at]) >= abs(ranks[0][at])
            names.append("pearson" if straight else "spearman")
            found[:, number] = [each[at] for each in (linear if straight else ranks)]
        else:
            names.append("cramer")
            found[:, number] = [cramers_v(each) for each in _contingency_tables(layout, true, made, (one, other))]
    return Associations(tuple(names), found[0], found[1])


def _contingency_tables(
    layout: ComparisonLayout, true: RowsView, made: RowsView, places: Sequence[int]
) -> list[FloatArray]:
    """Return the cross tables of two columns, with the cells of missing values last."""
    sizes = [layout.sizes[place] for place in places]
    joint = [joint_codes([side.codes[place] for place in places], sizes) for side in (true, made)]
    both = paired_counts(joint[0][0], joint[1][0], joint[0][1])
    return [each.reshape(sizes) if len(each) == joint[0][1] else each.reshape(-1, 1) for each in both]


def association_kept(found: Associations) -> float | None:
    """Return how much of the strength of strong relations is kept: 1 for all of it; None where none is strong."""
    strong = np.abs(found.true) >= STRONG
    if not strong.any():
        return None
    lost = np.abs(found.made - found.true)[strong].sum() / np.abs(found.true)[strong].sum()
    return float(max(0.0, 1 - lost))


def worst_first(tvds: FloatArray, yardsticks: FloatArray) -> list[int]:
    """Return what lies clearly further away than a second real sample would, the worst first."""
    excess = tvds - yardsticks
    order = np.argsort(-excess, kind="stable")
    return [int(i) for i in order if tvds[i] > CLEARLY * yardsticks[i] + 1e-9]


def strong_and_worst_pairs(
    layout: ComparisonLayout,
    true: RowsView,
    made: RowsView,
    found: Associations,
    tvds: FloatArray,
    second: SecondSample,
) -> tuple[tuple[PairComparison, ...], tuple[tuple[str, str], ...]]:
    """Return strong relations and the worst pairs, strongest first, and the names of the worst."""
    strength = np.abs(found.true)
    strong = [int(i) for i in np.argsort(-strength, kind="stable")[:MOST_STRONG] if strength[i] >= STRONG]
    worst = worst_first(tvds, second.pairs)[:WORST]
    chosen = sorted({*strong, *worst}, key=lambda i: -strength[i])
    pictured = {*strong[:MOST_PICTURED], *worst}
    pairs = tuple(_pair(layout, true, made, found, i, tvds, second, i in pictured) for i in chosen)
    return pairs, tuple(_names(layout, i) for i in worst)


def _names(layout: ComparisonLayout, number: int) -> tuple[str, str]:
    one, other = layout.pairs[number]
    return layout.names[one], layout.names[other]


def _pair(
    layout: ComparisonLayout,
    true: RowsView,
    made: RowsView,
    found: Associations,
    number: int,
    tvds: FloatArray,
    second: SecondSample,
    pictured: bool,
) -> PairComparison:
    places = layout.pairs[number]
    fits = pictured and all(layout.sizes[place] <= MOST_CELLS for place in places)
    tables = _contingency_tables(layout, true, made, places) if fits else []
    shares = [tuple(map(tuple, (each / max(each.sum(), 1)).tolist())) for each in tables]
    return PairComparison(
        _names(layout, number),
        found.measures[number],
        float(found.true[number]),
        float(found.made[number]),
        float(tvds[number]),
        float(second.pairs[number]),
        *shares,
        labels=(_axis(layout.cells[places[0]]), _axis(layout.cells[places[1]])) if fits else ((), ()),
    )


def _axis(cells: Binning) -> tuple[str, ...]:
    """Return a short label for each cell of a picture's axis: a level, or where a cell of numbers begins."""
    if cells.cuts is None:
        return tuple(label_of(cells, code) for code in range(cells.size))
    starts = tuple(format_value(cells.column, cut) for cut in cells.cuts)
    return (f"< {starts[0]}" if starts else "all", *starts, MISSING_LABEL)


def worst_subgroups(
    layout: ComparisonLayout, true: RowsView, made: RowsView, most: int = WORST
) -> tuple[SubgroupComparison, ...]:
    """Return the subgroups inside which another column differs most, each once, with the column that differs most.

    What a second real sample would have is computed: half the mean absolute value of a normal difference of shares.
    """
    found: dict[tuple[int, int], tuple[float, SubgroupComparison]] = {}
    for pair in layout.pairs:
        for group, target in (pair, pair[::-1]):
            if layout.columns[group].is_ordered or layout.sizes[group] > MOST_LEVELS:
                continue
            tables = _contingency_tables(layout, true, made, (group, target))
            for level in _large_enough(tables[0]):
                each = _subgroup(layout, group, target, level, tables)
                excess = each.tvd - each.yardstick
                if excess > found.get((group, level), (0.0, each))[0] and each.tvd > CLEARLY * each.yardstick:
                    found[group, level] = excess, each
    ordered = sorted(found.values(), key=lambda item: -item[0])
    return tuple(each for _, each in ordered[:most])


def _large_enough(table: FloatArray) -> list[int]:
    sizes = table.sum(1)
    return [int(i) for i in np.flatnonzero(sizes >= max(FEWEST_ROWS, SMALLEST_GROUP * sizes.sum()))]


def _subgroup(
    layout: ComparisonLayout, group: int, target: int, level: int, tables: Sequence[FloatArray]
) -> SubgroupComparison:
    counts = [each[level] for each in tables]
    sizes = [each.sum() for each in counts]
    shares = [each / max(size, 1) for each, size in zip(counts, sizes, strict=True)]
    spread = np.sqrt(shares[0] * (1 - shares[0]) * sum(1 / max(size, 1) for size in sizes))
    return SubgroupComparison(
        layout.names[group],
        label_of(layout.cells[group], level),
        float(sizes[0] / tables[0].sum()),
        layout.names[target],
        1.0 if not sizes[1] else float(np.abs(shares[0] - shares[1]).sum() / 2),
        float(np.sqrt(2 / np.pi) * spread.sum() / 2),
    )


def label_of(cells: Binning, code: int) -> str:
    """Return what a cell is called."""
    if code == cells.size - 1:
        return MISSING_LABEL
    if cells.cuts is None:
        return str(cells.column.levels[code])
    ends = [format_value(cells.column, cut) for cut in cells.cuts[max(code - 1, 0) : code + 1]]
    return f"below {ends[0]}" if code == 0 else " to ".join(ends) if len(ends) > 1 else f"{ends[0]} or more"
