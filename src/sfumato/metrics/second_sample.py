"""Yardsticks of a comparison: a second real sample, equivalent rows, and intervals by the jackknife.

**The interval of a metric** is a delete-a-group jackknife: the rows of both sides fall into 20 groups at random, and
each time one group of both is left out.

**A second real sample** is not a bootstrap of the table: compared with the table that it came from, a bootstrap sample
is nearer than a fresh one, by a factor of the square root of 2 in dense cells and of 2 where cells are rare. Instead
the table is split into two halves that share no row, which are as far apart as two samples of n / 2 rows are.
Distances of cross tables fall with the number of rows as n^-g, with g = 1/2 where cells hold many rows and 0 where
almost every row has a cell of its own; g is read off the quarters of the table against its halves, and the distance is
carried on to n true and m released rows. Other metrics fall with g = 1/2.

**Equivalent rows.** A random sample of how many real rows would be as near: samples of many sizes are drawn from the
table and compared with the rows that were not drawn, as a fresh sample would be compared with the table; the size whose
distance is that of the release is read off, on the logarithm of the size. A release that is nearer than a second sample
of all rows would be has infinity: more rows than there are.

All of it is counted in the cells of the metric, q16 of the released rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray, IntArray
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout, Places
from sfumato.metrics.confidence import jackknife_half_width
from sfumato.metrics.distances import DistanceSummary, distances, marginal_tvds
from sfumato.progress import report_progress

GROUPS = 20
FEWEST_SPLITS, MOST_SPLITS = 12, 40
"""Random splits of the table into halves and quarters: more where they are quick, for a narrow table needs more."""
WORK = 1e8
"""Rows times pairs of columns that all splits together may look at, about; a pair costs as much as 20,000 rows."""
NORMAL = 1.96
HALF = 0.5
MOST_POWER = 0.55
TVDS = ("tvd_1_q16", "tvd_2_q16", "tvd_3_q16")
SIZES, DRAWS, SMALLEST = 9, 3, 2
"""Sizes of samples on the curve of equivalent rows, samples of each, and the smallest size."""


@dataclass(frozen=True, eq=False)
class SecondSample:
    """What a second real sample of a size has: mean and spread of each metric, and tvd of columns and pairs."""

    mean: dict[str, float]
    spread: dict[str, float]
    columns: FloatArray
    pairs: FloatArray
    powers: dict[str, float]
    """How fast the tvd of one, two and three columns falls with the number of rows."""
    own: dict[str, float]
    """Mean of the measures for a second real sample of as many rows as the table has."""


def random_groups(rows: int, seed: int, groups: int = GROUPS) -> IntArray:
    """Return a random group for each row; the same for two sides of the same length, so that equal rows stay equal."""
    return np.random.default_rng(seed).permutation(rows) % groups


def half_widths(layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows, seed: int) -> dict[str, float]:
    """Return half the width of the interval of 95 % of each measure."""
    one, other = random_groups(len(true), seed), random_groups(len(synthetic), seed)
    left_out: list[dict[str, float]] = []
    for group in range(GROUPS):
        report_progress("how sure the measures are", group / GROUPS)
        left_out.append(distances(layout, true[one != group], synthetic[other != group]).values)
    return {name: jackknife_half_width(np.array([each.get(name, 0.0) for each in left_out])) for name in left_out[0]}


def harmonic(one: float, other: float) -> float:
    """Return the number of rows of two samples of one size that are as far apart as samples of these sizes are."""
    return 2 * one * other / (one + other)


def second_sample(
    layout: ComparisonLayout, true: BinnedRows, rows: int, seed: int, table_rows: int | None = None
) -> SecondSample:
    """Return what a second real sample of so many rows has, from random splits of the table, or of a sample of it.

    ``table_rows`` is the number of rows of the table that the release is compared with, where ``true`` is a sample.
    """
    generator, size = np.random.default_rng(seed), len(true)
    whole = size if table_rows is None else table_rows
    halves, quarters = list[DistanceSummary](), list[DistanceSummary]()
    splits = int(np.clip(WORK / (max(len(layout.pairs), 1) * (size + 20_000)), FEWEST_SPLITS, MOST_SPLITS))
    for split in range(splits):
        report_progress("a second real sample", split / splits)
        order = generator.permutation(size)
        halves.append(distances(layout, true[order[: size // 2]], true[order[size // 2 :]]))
        quarters += [distances(layout, true[one], true[other]) for one, other in _quarters(order)]
    powers = {name: _power(name, halves, quarters) for name in TVDS if name in halves[0].values}
    factor = {name: _factor(powers.get(name, HALF), size, whole, rows) for name in halves[0].values}
    factor["rule_violations"] = 1.0
    values = {name: np.array([each.values[name] for each in halves]) for name in halves[0].values}
    return SecondSample(
        {name: float(each.mean()) * factor[name] for name, each in values.items()},
        {name: float(each.std(ddof=1)) * factor[name] for name, each in values.items()},
        np.mean([each.columns for each in halves], axis=0) * factor["tvd_1_q16"],
        np.mean([each.pairs for each in halves], axis=0) * factor.get("tvd_2_q16", 1.0),
        powers,
        {
            name: float(each.mean()) * _factor(powers.get(name, HALF), size, whole, whole)
            for name, each in values.items()
        },
    )


def _quarters(order: IntArray) -> list[Sequence[IntArray]]:
    parts = np.array_split(order, 4)
    return [parts[:2], parts[2:]]


def _power(name: str, halves: list[DistanceSummary], quarters: list[DistanceSummary]) -> float:
    """Return how fast a distance falls with the number of rows: 0 to 1/2, and a little more by chance."""
    large, small = (float(np.mean([each.values[name] for each in some])) for some in (halves, quarters))
    return float(np.clip(np.log2(small / large), 0, MOST_POWER)) if large > 0 and small > 0 else HALF


def _factor(power: float, size: int, table_rows: int, rows: int) -> float:
    """Return by how much two samples of these sizes are nearer than two halves of ``size`` rows."""
    return float((harmonic(table_rows, rows) / (size / 2)) ** -power)


def holdout_yardstick(
    second: SecondSample, layout: ComparisonLayout, true: BinnedRows, holdout: BinnedRows, rows: int
) -> SecondSample:
    """Return what a holdout has, carried on to the size of the release; its spread is that of random splits."""
    measured: Any = distances(layout, true, holdout)
    ratio = harmonic(len(true), rows) / harmonic(len(true), len(holdout))
    factor = {name: ratio ** -second.powers.get(name, HALF) for name in measured.values}
    factor["rule_violations"] = 1.0
    return replace(
        second,
        mean={name: value * factor[name] for name, value in measured.values.items()},
        columns=measured.columns * factor["tvd_1_q16"],
        pairs=measured.pairs * factor.get("tvd_2_q16", 1.0),
    )


def equivalent_rows(
    layout: ComparisonLayout,
    true: BinnedRows,
    second: SecondSample,
    values: dict[str, float],
    seed: int,
    table_rows: int | None = None,
) -> dict[str, float]:
    """Return for single columns and for pairs how many real rows are as near; ``second`` is of random splits."""
    generator, rows = np.random.default_rng(seed), len(true)
    whole = rows if table_rows is None else table_rows
    sizes = np.unique(np.geomspace(SMALLEST, rows // 2, SIZES).round().astype(int))
    wanted = {"single": ("tvd_1_q16", layout.singles), "pairs": ("tvd_2_q16", layout.pairs)}
    equivalent: dict[str, float] = {}
    for key, (name, sets) in wanted.items():
        if name not in values:
            continue
        report_progress(f"how many real rows are as near, {key}")
        power, curve = second.powers.get(name, HALF), list[float]()
        for size in sizes:
            drawn = [_distance_of_sample(layout, true, sets, int(size), generator) for _ in range(DRAWS)]
            curve.append(float(np.mean(drawn)) * (harmonic(size, rows) / harmonic(size, rows - size)) ** -power)
        equivalent[key] = size_at_distance(values[name], np.append(sizes, whole), np.array([*curve, second.own[name]]))
    return equivalent


def _distance_of_sample(
    layout: ComparisonLayout,
    true: BinnedRows,
    sets: tuple[Places, ...],
    size: int,
    generator: np.random.Generator,
) -> float:
    order = generator.permutation(len(true))
    return float(marginal_tvds(layout, true[order[size:]], true[order[:size]], sets).mean())


def size_at_distance(value: float, sizes: FloatArray, curve: FloatArray) -> float:
    """Return the size at which a falling curve reaches a value, on the logarithm of the size; infinity beyond its end.

    >>> size_at_distance(0.2, np.array([10.0, 1000.0]), np.array([0.3, 0.1]))
    100.0
    >>> size_at_distance(0.05, np.array([10.0, 1000.0]), np.array([0.3, 0.1]))
    inf
    """
    falling = np.minimum.accumulate(curve)
    if value <= falling[-1]:
        return float("inf")
    return float(np.exp(np.interp(-value, -falling, np.log(sizes))).round(6))


def expected_sampling_tvd(counts: Sequence[NDArray[Any]], rows: float) -> float:
    """Return the mean tvd that a sample of so many rows would have which follow the released shares.

    A cell of share q has a count of mean nq and variance nq(1 - q), and E|count / n - q| is about
    sqrt(2 q (1 - q) / (pi n)): the yardstick below which no release of so small a table can be told apart.
    """
    expected = [_sampling_spread(each) for each in counts]
    return min(float(np.mean(expected)) / math.sqrt(max(rows, 1.0)), 1.0)


def _sampling_spread(counts: NDArray[Any]) -> float:
    shares = counts / counts.sum()
    return float(0.5 * np.sqrt(2 * shares * (1 - shares) / math.pi).sum())
