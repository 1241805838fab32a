"""How sure a measure is, and what a second real sample would have: both by taking the rows apart again and again.

**The interval of a measure** is a delete-a-group jackknife: the rows of both sides fall into 20 groups at random, and
each time one group of both is left out.

**A second real sample** is not a bootstrap of the table: compared with the table that it came from, a bootstrap sample
is nearer than a fresh one, by a factor of the square root of 2 in dense cells and of 2 where cells are rare. Instead
the table is split into two halves that share no row, which are as far apart as two samples of n / 2 rows are.
Distances of cross tables fall with the number of rows as n^-g, with g = 1/2 where cells hold many rows and 0 where
almost every row has a cell of its own; g is read off the quarters of the table against its halves, and the distance is
carried on to n true and m released rows. Other measures fall with g = 1/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.evaluate.compare.distances import DistanceSummary, distances
from sfumato.evaluate.compare.sides import ComparisonLayout, RowsView
from sfumato.metrics.confidence import jackknife_half_width
from sfumato.progress import report_progress

GROUPS = 20
FEWEST_SPLITS, MOST_SPLITS = 12, 40
"""Random splits of the table into halves and quarters: more where they are quick, for a narrow table needs more."""
WORK = 1e8
"""Rows times pairs of columns that all splits together may look at, about; a pair costs as much as 20,000 rows."""
NORMAL = 1.96
HALF = 0.5
MOST_POWER = 0.55
TABLES = ("tvd_1", "tvd_2", "tvd_3")


@dataclass(frozen=True, eq=False)
class SecondSample:
    """What a second real sample of a size has: mean and spread of each measure, and tvd of columns and pairs."""

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


def half_widths(layout: ComparisonLayout, true: RowsView, made: RowsView, seed: int) -> dict[str, float]:
    """Return half the width of the interval of 95 % of each measure."""
    one, other = random_groups(len(true), seed), random_groups(len(made), seed)
    found: list[dict[str, float]] = []
    for group in range(GROUPS):
        report_progress("how sure the measures are", group / GROUPS)
        found.append(distances(layout, true[one != group], made[other != group]).values)
    return {name: jackknife_half_width(np.array([each.get(name, 0.0) for each in found])) for name in found[0]}


def harmonic(one: float, other: float) -> float:
    """Return the number of rows of two samples of one size that are as far apart as samples of these sizes are."""
    return 2 * one * other / (one + other)


def second_sample(layout: ComparisonLayout, true: RowsView, rows: int, seed: int) -> SecondSample:
    """Return what a second real sample of so many rows has, from random splits of the table."""
    generator, size = np.random.default_rng(seed), len(true)
    halves, quarters = list[DistanceSummary](), list[DistanceSummary]()
    splits = int(np.clip(WORK / (max(len(layout.pairs), 1) * (size + 20_000)), FEWEST_SPLITS, MOST_SPLITS))
    for split in range(splits):
        report_progress("a second real sample", split / splits)
        order = generator.permutation(size)
        halves.append(distances(layout, true[order[: size // 2]], true[order[size // 2 :]]))
        quarters += [distances(layout, true[one], true[other]) for one, other in _quarters(order)]
    powers = {name: _power(name, halves, quarters) for name in TABLES if name in halves[0].values}
    factor = {name: _factor(powers.get(name, HALF), size, rows) for name in halves[0].values}
    factor["rule_violations"] = 1.0
    values = {name: np.array([each.values[name] for each in halves]) for name in halves[0].values}
    return SecondSample(
        {name: float(each.mean()) * factor[name] for name, each in values.items()},
        {name: float(each.std(ddof=1)) * factor[name] for name, each in values.items()},
        np.mean([each.columns for each in halves], axis=0) * factor["tvd_1"],
        np.mean([each.pairs for each in halves], axis=0) * factor.get("tvd_2", 1.0),
        powers,
        {name: float(each.mean()) * _factor(powers.get(name, HALF), size, size) for name, each in values.items()},
    )


def _quarters(order: IntArray) -> list[Sequence[IntArray]]:
    parts = np.array_split(order, 4)
    return [parts[:2], parts[2:]]


def _power(name: str, halves: list[DistanceSummary], quarters: list[DistanceSummary]) -> float:
    """Return how fast a distance falls with the number of rows: 0 to 1/2, and a little more by chance."""
    large, small = (float(np.mean([each.values[name] for each in some])) for some in (halves, quarters))
    return float(np.clip(np.log2(small / large), 0, MOST_POWER)) if large > 0 and small > 0 else HALF


def _factor(power: float, size: int, rows: int) -> float:
    return float((harmonic(size, rows) / (size / 2)) ** -power)


def holdout_yardstick(
    second: SecondSample, layout: ComparisonLayout, true: RowsView, holdout: RowsView, rows: int
) -> SecondSample:
    """Return what a holdout has, carried on to the size of the release; its spread is that of random splits."""
    found: Any = distances(layout, true, holdout)
    ratio = harmonic(len(true), rows) / harmonic(len(true), len(holdout))
    factor = {name: ratio ** -second.powers.get(name, HALF) for name in found.values}
    factor["rule_violations"] = 1.0
    return replace(
        second,
        mean={name: value * factor[name] for name, value in found.values.items()},
        columns=found.columns * factor["tvd_1"],
        pairs=found.pairs * factor.get("tvd_2", 1.0),
    )
