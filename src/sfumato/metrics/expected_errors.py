"""Expected values of the metrics for a noise level and a number of rows, for typical shapes.

Every one falls as rows or budget grow.

Let r be the noise of a column's table over the number of rows.

*Levels.* Shares fall off as i^-1.5. A level is off by what the noise leaves, at most by all that it holds: the distance
is half the sum of min(.8 a r, share), where .8 is the mean of a standard normal's absolute value and a < 1 is what the
known total and the tables of pairs take away.

*Curves.* A smooth curve through noisy cells trades noise for bias. For densities with one derivative the best trade
leaves an error of the order r^(2/3), and .65 is what was found for the distance. A mean and a median err alike while r
is small; where the noise hides the end of the tail their error grows as r^2. Narrower public bounds lower the mean's
error in standard deviations by about their square root.

*Pairs.* Four errors are added: both single columns, the chance of drawing rows (.8 sqrt(cells / rows) / 2, as for any
second sample), and dependence between two numbers that is lost. Errors that know nothing of one another add as squares,
errors of the same sign as they are; 1.26 is the power that was found. Dependence is lost where cells are wider than it
needs, and where it lies below the noise of a pair; at most all of it is, .2 for two numbers on average. Between
categories so little is lost that no such part could be found.

*Relations.* What is left of a correlation c in the released rows is about c / (1 + (s / c)^2): the smallest relation
that will be seen is s, of which half is left. It has two parts, the noise of a pair over the rows, and the logarithm of
how many pairs compete for each one that can be measured: with many columns only the strongest are chosen.

*The story of the constants.* They were fitted to two runs of AIM's defaults at epsilon .3, 1 and 3 on each of eight
tables: adult, bank and diamonds (10,000, 10,000 and 12,000 rows drawn), census_casc, cps_85_wages, german_credit,
sdc_testdata and tarragona, with the schemas that ``Schema.draft`` proposes. The steepness of levels, the cells of a
number and the dependence were measured on these tables, the rest is least squares on the logarithms of errors. On ten
other tables, seen when the form of the laws was chosen but not when constants were, ``benchmarks/forecast.py`` reports;
docs/performance.md has the ratios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.metrics.binning import CELLS

EVEN_CELLS = 13.3
"""Cells of a number in effect: values repeat, so they are fewer than those in which it is compared."""
ABSOLUTE = float(np.sqrt(2 / np.pi))
"""Mean of the absolute value of a standard normal."""
STEEPNESS = 1.5
"""Shares of levels fall off as 1 / i to this power."""
DAMPED = 0.55
"""What is left of a level's noise by the known total and by the tables of pairs."""
CURVE, CURVE_MOST = (1.5, 0.65, 0.0), 0.85
MEAN, MEAN_MOST, NARROWER = (0.66, 0.66, 14.4), 3.0, 0.48
MEAN_RANGE, MEDIAN_RANGE, RANGE_MOST = (0.177, 0.824, 1.54), (0.064, 1.035, 1.5), 0.45
"""Factor and power of r, factor of its square; what no error exceeds; the power of the width of public bounds."""
SPREAD = 0.14
"""Standard deviation of a number over its public range."""
ADDED = 1.26
"""Errors of a pair add up as their powers do: between 1 (all of one sign) and 2 (independent)."""
LOST, DEPENDENCE = (1.93, 0.44, 0.0), 0.2
"""Dependence between two numbers that is lost, by the noise of a pair over the rows; and all that there is."""
SEEN, CROWDED = 15.0, 0.08
"""The smallest relation that is seen is this many times the noise of a pair over the rows; and where more pairs ask to
be measured than can be, at least so many times the logarithm of their ratio."""
NO_RELATION_VISIBLE = 1.0
"""The smallest relation of a release that shows none."""
HALVINGS = 50

Tables = Callable[[int], float]


@dataclass(frozen=True)
class ColumnNoise:
    """One column: the cells of its table, its noise, and what it is."""

    name: str
    cells: int
    noise: float
    ordered: bool
    """Whether it has a mean and a median: numbers and dates."""
    layered: bool = False
    """Whether it is measured in layers, and a curve is drawn through them."""


@dataclass(frozen=True)
class NoiseFacts:
    """The noise of a whole release."""

    columns: tuple[ColumnNoise, ...]
    pair_noise: float | None
    """Noise of a table of two columns; None where none is measured."""
    tables: Tables
    """How many tables of pairs share the budget, by the number of columns."""
    measured: Tables | None = None
    """How many pairs can be measured, by the number of columns; None: all of them."""
    count: int | None = None
    """Number of columns, where it is not that of the columns here, which then stand for it."""
    laplace: bool = False
    plain: bool = False
    """Whether noisy counts are what is released: no curve, no model, nothing is drawn."""
    pair_cells: float = 1.0
    """Cells of a table of two columns, where that is released plainly."""
    compared_cells: float = 1.0
    """Cells in which such a table is compared: 16 for a number."""
    width: float = 1.0
    """Public ranges as a multiple of those of the schema: advice asks what half of them would bring."""

    @cached_property
    def kinds(self) -> tuple[tuple[ColumnNoise, ...], IntArray, FloatArray]:
        """Columns that differ, which of them each column is like, and how many are: hundreds are often a few kinds."""
        places = dict[ColumnNoise, int]()
        which = [places.setdefault(replace(column, name=""), len(places)) for column in self.columns]
        return tuple(places), np.array(which), np.bincount(which).astype(float)

    @property
    def crowding(self) -> float:
        """How many pairs there are for each one that can be measured."""
        count = self.count or len(self.columns)
        return 1.0 if self.measured is None else max(math.comb(count, 2) / self.measured(count), 1.0)

    def quieter(self, factor: float) -> NoiseFacts:
        """Return the same release with noise of another size everywhere."""
        return self._with_noise(factor, factor)

    def keeping(self, count: int) -> NoiseFacts:
        """Return the release of so many columns like these: what was paid for the others lowers their noise."""
        power, now = 1.0 if self.laplace else 0.5, self.count or len(self.columns)
        fewer = replace(self, count=count)
        return fewer._with_noise((count / now) ** power, (self.tables(count) / self.tables(now)) ** power)

    def _with_noise(self, single: float, pairs: float) -> NoiseFacts:
        columns = tuple(replace(column, noise=column.noise * single) for column in self.columns)
        return replace(self, columns=columns, pair_noise=None if self.pair_noise is None else self.pair_noise * pairs)


@dataclass(frozen=True)
class ExpectedMetrics:
    """Expected errors of a release: arrays hold one number for each column."""

    tvd: FloatArray
    share: FloatArray
    mean: FloatArray
    """NaN where a column has no mean."""
    mean_range: FloatArray
    median_range: FloatArray
    tvd_2_q16: float | None
    smallest_relation: float | None

    @property
    def tvd_1_q16(self) -> float:
        """Mean over the columns."""
        return float(self.tvd.mean())

    @property
    def mean_error_sd(self) -> float | None:
        """Mean over the columns that have a mean, in standard deviations."""
        return over_ordered(self.mean)


def over_ordered(errors: FloatArray) -> float | None:
    """Return the mean over columns that have such an error; None where none has.

    >>> over_ordered(np.array([0.25, np.nan, 0.75]))
    0.5
    """
    known = errors[~np.isnan(errors)]
    return float(known.mean()) if len(known) else None


def expected_metrics(facts: NoiseFacts, rows: float) -> ExpectedMetrics:
    """Return every expected error of a release of so many rows."""
    kinds, which, counts = facts.kinds
    noise = np.array([column.noise for column in kinds]) / rows
    tvd = np.array([_distance(facts, column, rows) for column in kinds])
    cells = np.array([min(column.cells, CELLS) if column.ordered else column.cells for column in kinds])
    ordered = np.where([column.ordered for column in kinds], 1.0, np.nan)
    mean, mean_range, median_range = _plain_means(kinds, noise) if facts.plain else _means(noise, facts.width)
    pairs = _plain_pairs(facts, rows) if facts.plain else _pair_distance(facts, kinds, counts, tvd, rows)
    return ExpectedMetrics(
        tvd[which],
        (2 * tvd / cells)[which],
        (ordered * mean)[which],
        (ordered * mean_range)[which],
        (ordered * median_range)[which],
        pairs,
        _smallest_relation(facts, rows),
    )


def _means(noise: FloatArray, width: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    mean = saturate(_power_law(noise, MEAN), MEAN_MOST) * width**NARROWER
    return (
        mean,
        saturate(_power_law(noise, MEAN_RANGE), RANGE_MOST),
        saturate(_power_law(noise, MEDIAN_RANGE), RANGE_MOST),
    )


def _plain_means(kinds: Sequence[ColumnNoise], noise: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Noise of even cells that are summed up: a mean of n values and a median are off by about as much."""
    cells = np.array([column.cells for column in kinds])
    error = saturate(noise * np.sqrt(cells / 12), RANGE_MOST)
    return saturate(error / SPREAD, MEAN_MOST), error, error


def _power_law(noise: FloatArray, law: tuple[float, float, float]) -> FloatArray:
    factor, power, square = law
    return factor * noise**power + square * noise**2


def saturate(error: FloatArray, most: float) -> FloatArray:
    """Return an error that grows as it is while it is small, and never exceeds a limit."""
    return most * -np.expm1(-error / most)


def _distance(facts: NoiseFacts, column: ColumnNoise, rows: float) -> float:
    noise = column.noise / rows
    if facts.plain:
        cells = np.sqrt(CELLS * column.cells) if column.ordered and column.cells > CELLS else column.cells
        return float(min(ABSOLUTE / 2 * noise * cells, 1.0))
    curve = float(saturate(_power_law(np.array(noise), CURVE), CURVE_MOST))
    if column.layered:
        return curve
    levels = level_distance(column.cells, DAMPED * ABSOLUTE * noise)
    return min(levels, curve) if column.ordered else levels


@lru_cache(maxsize=4096)
def _typical_shares(cells: int) -> tuple[FloatArray, FloatArray]:
    """Return typical shares of so many levels, the heaviest first, and what the levels from each on hold together."""
    shares = np.arange(1, cells + 1) ** -STEEPNESS
    shares /= shares.sum()
    return shares, np.append(shares[::-1].cumsum()[::-1], 0.0)


def level_distance(cells: int, error: float) -> float:
    """Return half the sum of min(error, share) over typical levels.

    >>> level_distance(2, 0.1), level_distance(2, 9.0)
    (0.1, 0.5)
    """
    shares, tails = _typical_shares(cells)
    above = int(np.searchsorted(-shares, -error, side="right"))
    return float(above * error + tails[above]) / 2


def _even_cells(column: ColumnNoise) -> float:
    """Return how many cells of equal share would be as hard to draw as the typical ones."""
    if column.layered:
        return min(float(column.cells), EVEN_CELLS)
    even = float(np.sqrt(_typical_shares(column.cells)[0]).sum() ** 2)
    return min(even, EVEN_CELLS) if column.ordered else even


def _pair_distance(
    facts: NoiseFacts, kinds: Sequence[ColumnNoise], counts: FloatArray, tvd: FloatArray, rows: float
) -> float | None:
    """Return the mean over all pairs; columns of one kind are counted together."""
    if facts.pair_noise is None or counts.sum() < 2:
        return None
    cells = np.array([_even_cells(column) for column in kinds])
    numbers = np.array([column.ordered for column in kinds])
    drawn = ABSOLUTE / 2 * np.sqrt(np.outer(cells, cells) / rows)
    lost = saturate(_power_law(np.array(facts.pair_noise / rows), LOST), DEPENDENCE) * np.outer(numbers, numbers)
    single = tvd**ADDED
    added = (single[:, None] + single + drawn**ADDED + lost**ADDED) ** (1 / ADDED)
    weights = np.outer(counts, counts) - np.diag(counts)
    return float((weights * saturate(added, 1.0)).sum() / weights.sum())


def _plain_pairs(facts: NoiseFacts, rows: float) -> float | None:
    if facts.pair_noise is None:
        return None
    return float(min(ABSOLUTE / 2 * facts.pair_noise / rows * np.sqrt(facts.pair_cells * facts.compared_cells), 1.0))


def _smallest_relation(facts: NoiseFacts, rows: float) -> float | None:
    """Return what AIM's tables show; of a released table, what stands above the noise of its four quarters.

    Two halves by two of a correlation c lie 2 c / (2 pi) from independence.
    """
    if facts.pair_noise is None:
        return None
    noise = facts.pair_noise / rows
    if facts.plain:
        return min(math.pi * ABSOLUTE * noise * math.sqrt(4 * facts.pair_cells), 1.0)
    return min(math.hypot(SEEN * noise, CROWDED * math.log(facts.crowding)), 1.0)


def attenuated(relation: float, smallest: float) -> float:
    """Return what a release leaves of a relation.

    >>> attenuated(0.4, 0.4), round(attenuated(0.8, 0.2), 2)
    (0.2, 0.75)
    """
    return relation / (1 + (smallest / relation) ** 2) if relation > 0 else 0.0


def undo_attenuation(seen: float, smallest: float) -> float:
    """Return the relation of which so much is left, at most 1.

    >>> round(undo_attenuation(0.2, 0.4), 6), undo_attenuation(0.99, 0.4)
    (0.4, 1.0)
    """
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if attenuated(middle, smallest) < seen else (low, middle)
    return high
