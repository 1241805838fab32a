"""Measure all one-way marginals, and compress the domain by them.

Proof note. The one-way tables of all columns together cost their share of the noise's total. A column gets share *
total / columns: at once for one flat table of its cells, or in three parts for its layers
(:mod:`sfumato.mechanisms.hierarchical_histogram`). Where rows are few beside the noise, by the noisy number of rows,
all columns are measured once more out of what is left for the rounds. Each table is a histogram, so one row moves one
cell of it; it gets discrete Gaussian noise with D^2 / 2 sigma^2 of its part, paid for before it is drawn. The second
cut, the number of rows, the curve, the groups of cells, the shapes within groups and the sizes of the model are
computed from these noisy counts. Public: schema, columns, shares, thresholds.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sfumato.arrays import Counts, FloatArray
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.domain_compression import Grouping, Groups, compress_column, nested_groups, shares_of
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement
from sfumato.mechanisms.graphical.named_cuts import named_cuts, schema_with_named_cuts
from sfumato.mechanisms.hierarchical_histogram import (
    LAYER_WORDS,
    SHARES,
    CellEstimate,
    HierarchicalHistogram,
    count_columns,
    finest_cells,
    layer_cells,
    pooled_total,
    uses_layers,
)
from sfumato.privacy.accounting.sensitivity import histogram_l2_squared
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.fine_cells import cell_widths, fine_column
from sfumato.sampling.smooth_density import fit_density, shares_within
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    from sfumato.table import Table


LEAST_GROUPS = 4
MOST_MATRIX = 1000
"""Cells up to which the covariance of a column's counts is written out."""
SMOOTH_FROM = 8
"""Cells from which a column has a curve: fewer are seen well enough one by one."""


@dataclass(frozen=True)
class Discretisation:
    """How columns are cut: all public."""

    fine_cells: int
    """Cells of an ordered column's one-way table, where its own bins are wider than one value."""
    most_groups: int | None
    """Groups into which numbers and dates are merged at most; None merges only what the noise hides."""
    crowding: float = 0.2
    """Share of the rows that the noise of one pair of such columns may amount to: fewer rows or less budget make for
    fewer groups, since a pair that is all noise would never be worth measuring."""
    threshold: float = 1.5
    """Groups of fewer rows than this many standard deviations of their noise are merged."""

    def limit(self, total: float, later_sigma: float) -> int | None:
        """Return the most groups of a column, for a noisy number of rows and the noise of the tables to come.

        The noise of a pair of two such columns has an L1 size of about sqrt(2 / pi) sigma groups^2.
        """
        if self.most_groups is None:
            return None
        wanted = max(LEAST_GROUPS, (self.crowding * total / (0.8 * later_sigma)) ** 0.5)
        return min(self.most_groups, int(wanted))

    def groups_beside(self, named: int) -> int:
        """Return how many groups a column may have at most where so many named cuts are among their starts."""
        return max(self.most_groups or 0, named + LEAST_GROUPS)

    def named(self, schema: Schema, names: Sequence[str]) -> Schema:
        """Return the schema whose bins begin at the constants of rules too; the schema's own bins stay as they are."""
        return schema if self.most_groups is None else schema_with_named_cuts(schema, names)

    def layers(self, column: Column) -> bool:
        """Say whether a column is measured in layers."""
        return self.most_groups is not None and uses_layers(column)

    def tables(self, column: Column) -> list[tuple[str, int, Fraction]]:
        """Return what is measured of a column: words, cells (at most) and the share of the column's budget."""
        if not self.layers(column):
            return [("", fine_column(column, self.fine_cells).size, Fraction(1))]
        return list(zip(LAYER_WORDS, layer_cells(column), SHARES, strict=True))

    def counted(self, column: Column) -> Column:
        """Return a column in the cells in which it is counted."""
        return finest_cells(column) if self.layers(column) else fine_column(column, self.fine_cells)


@dataclass(frozen=True)
class OneWayShare:
    """Share of the budget that one-way marginals get: ``least`` where rows are many beside the noise, up to ``most``.

    What decides is the ratio of the number of rows to the noise of a one-way marginal that had an equal part of the
    whole budget. Pairs have 16 times the cells at 4 x 4 groups, so below some 200 nearly all of them drown, and better
    columns are worth more than pairs that nobody can see.
    """

    least: Fraction
    most: Fraction
    low: float = 200.0
    """Ratio up to which one-way marginals get ``most``; from ``high`` on they get ``least``, between by its logarithm.
    """
    high: float = 800.0

    def of(self, ratio: float) -> Fraction:
        """Return the share for a ratio of rows to noise, in thousandths.

        >>> [str(OneWayShare(Fraction(1, 4), Fraction(3, 5)).of(ratio)) for ratio in (50, 400, 1000)]
        ['3/5', '17/40', '1/4']
        """
        place = math.log(max(ratio, self.low) / self.low) / math.log(self.high / self.low)
        return self.most - Fraction(round(1000 * min(place, 1.0)), 1000) * (self.most - self.least)


@dataclass(frozen=True)
class OneWayMarginals:
    """What the noisy one-way tables say."""

    groupings: tuple[Grouping, ...]
    measurements: tuple[LinearMeasurement, ...]
    total: float
    coarser: tuple[Mapping[int, Groups], ...] = field(default=(), repr=False)
    """For each column, by number of groups, which of these each of its groups lies in."""
    estimates: tuple[tuple[CellEstimate, float], ...] = field(default=(), repr=False)
    """For each column the estimated counts of its cells, and the noise of its last layer."""

    def measurement(self, place: int, grouping: Grouping) -> LinearMeasurement:
        """Return the same noisy counts of a column, summed to other groups."""
        return _one_way(place, self.estimates[place][0], grouping, self.estimates[place][1])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(grouping.size for grouping in self.groupings)


def squared_sensitivity(schema: Schema) -> int:
    """Return the square of the L2 distance by which one person moves the counts of one table."""
    return histogram_l2_squared(schema.adjacency, schema.rows_per_person)


def measure_one_way_marginals(
    table: Table,
    names: tuple[str, ...],
    binning: Discretisation,
    share: OneWayShare,
    later: int,
    budget: Budget,
    randomness: Randomness,
) -> OneWayMarginals:
    """Pay for, count and noise the one-way tables; then group their cells, for ``later`` tables to come."""

    def noisy(rho: Fraction, true: Counts, part: Fraction) -> tuple[FloatArray, float]:
        sigma = budget.sigma(rho * part / len(names))
        return budget.measure(true, sigma, randomness), sigma

    schema = binning.named(table.schema, names)
    layered = {name for name in names if binning.layers(schema[name])}
    counted = count_columns(
        dataclasses.replace(table, schema=schema), names, measured_schema(schema, names, binning), layered
    )
    measured = counted.measure(partial(noisy, budget.rho * share.least))
    total, estimates = pooled_total(measured, table.schema.rows)
    further = share.of(total / budget.sigma(budget.rho / len(names))) - share.least
    if further > 0:
        measured = counted.measure_again(measured, partial(noisy, budget.rho * further))
        total, estimates = pooled_total(measured, table.schema.rows)
    total = max(total, 1.0)
    limit = binning.limit(total, budget.sigma(budget.noise.left / later))
    return _grouped(measured, estimates, total, binning, limit, [named_cuts(schema, schema[name]) for name in names])


def measured_schema(schema: Schema, names: Sequence[str], binning: Discretisation) -> Schema:
    """Return the schema in the cells that are counted: the finest ones of columns in layers, fine ones of others."""
    chosen = {schema[name].name for name in names}
    columns = (binning.counted(column) if column.name in chosen else column for column in schema)
    return dataclasses.replace(schema, columns=tuple(columns))


def _grouped(
    measured: Sequence[HierarchicalHistogram],
    estimates: Sequence[CellEstimate],
    total: float,
    binning: Discretisation,
    limit: int | None,
    named: Sequence[FloatArray],
) -> OneWayMarginals:
    groupings, measurements, coarser = list[Grouping](), list[LinearMeasurement](), list[Mapping[int, Groups]]()
    for place, (each, estimate) in enumerate(zip(measured, estimates, strict=True)):
        grouping, levels = _grouping(each, estimate, total, binning, limit, named[place])
        groupings.append(grouping)
        coarser.append(levels)
        measurements.append(_one_way(place, estimate, grouping, each.layers[-1].sigma))
    cells = tuple((estimate, each.layers[-1].sigma) for each, estimate in zip(measured, estimates, strict=True))
    return OneWayMarginals(tuple(groupings), tuple(measurements), total, tuple(coarser), cells)


def _grouping(
    measured: HierarchicalHistogram,
    estimate: CellEstimate,
    total: float,
    binning: Discretisation,
    limit: int | None,
    named: FloatArray,
) -> tuple[Grouping, Mapping[int, Groups]]:
    """Return the groups of a column, and the coarser ones where it has an order that tables may use."""
    column, sigma = measured.column, measured.layers[-1].sigma
    if limit is None or not column.is_ordered:
        return compress_column(column, estimate.counts, sigma, total, binning.threshold), {}
    present = column.present_size
    counts, covariance = estimate.counts[:present], estimate.covariance[:present, :present]
    masses = _masses(column, counts, covariance, in_layers=len(measured.layers) > 1)
    weights = np.maximum(counts, 0.0) if masses is None else masses
    begins = np.flatnonzero(np.isin(column.starts, named)).tolist()
    most = min(limit, binning.groups_beside(len(begins)) - len(begins))
    nested = nested_groups(weights, covariance, most, binning.threshold, begins)
    shares = (
        shares_of(column, counts, nested.groups, sigma)
        if masses is None
        else shares_within(masses, column, nested.groups)
    )
    if column.missing:
        nested, shares = nested.with_missing(), np.append(shares, 1.0)
    return Grouping(column, nested.groups, shares, nested.size), nested.coarser


def _masses(column: Column, counts: FloatArray, covariance: FloatArray, in_layers: bool) -> FloatArray | None:
    """Return the curve of a column; none where its cells are few, or speak for themselves better than a curve does."""
    if len(counts) < SMOOTH_FROM:
        return None
    curve = fit_density(counts, covariance, cell_widths(column))
    return curve.counts if in_layers or curve.explains else None


def _one_way(place: int, estimate: CellEstimate, grouping: Grouping, sigma: float) -> LinearMeasurement:
    """Return a one-way table of groups; its noise is the mean one of the groups, from the covariance of their cells."""
    counts = np.bincount(grouping.groups, estimate.counts, grouping.size).astype(float)
    if not grouping.column.is_ordered or grouping.column.size > MOST_MATRIX:
        cells = np.bincount(grouping.groups, minlength=grouping.size)
        return LinearMeasurement((place,), counts, sigma * float(np.sqrt(cells.mean())))
    member = (grouping.groups == np.arange(grouping.size)[:, None]).astype(float)
    variances = np.einsum("gi,gi->g", member @ estimate.covariance, member)
    return LinearMeasurement((place,), counts, float(np.sqrt(variances.mean())))
