"""One-way tables, which every graphical method measures first: noisy counts of each column, and what follows.

Proof note. The one-way tables of all columns together cost their share of the noise's total. A column gets
share * total / columns: at once for one flat table of its cells, or in three parts for its layers
(:mod:`sfumato.rows.smooth.layers`). Each table is a histogram, so one row moves one cell of it; it gets discrete
Gaussian noise with D^2 / 2 sigma^2 of its part, paid for before it is drawn. The second cut, the number of rows, the
curve, the groups of cells, the shapes within groups and the sizes of the model are computed from these noisy counts.
Public: schema, columns, shares, thresholds.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.arrays import Array, Counts
from sfumato.methods.graphical.cells.groups import Grouping, group_column, shares_of
from sfumato.methods.graphical.cells.nested import Groups, nested_groups
from sfumato.methods.graphical.choosing.budget import Budget
from sfumato.methods.graphical.tree.model import NoisyTable
from sfumato.privacy.accounting.sensitivity import histogram_l2_squared
from sfumato.privacy.randomness import Randomness
from sfumato.rows.smooth.density import shares_within, smooth_counts
from sfumato.rows.smooth.fine import fine_column
from sfumato.rows.smooth.layers import (
    Estimate,
    Measured,
    finest_cells,
    is_layered,
    measure_flat,
    measure_layers,
    shared_totals,
)
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    from sfumato.table import Table


LEAST_GROUPS = 4


@dataclass(frozen=True)
class Binning:
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

        The noise of a pair of two such columns has an L1 size of about sqrt(2 / pi) sigma groups^2. The next power of
        two is taken, because tables may be measured at fewer groups (:mod:`.nested`).
        """
        if self.most_groups is None:
            return None
        wanted = max(LEAST_GROUPS, (self.crowding * total / (0.8 * later_sigma)) ** 0.5)
        import os
        return min(self.most_groups, int(wanted) if os.environ.get('NOUP') else 2 ** math.ceil(math.log2(wanted)))

    def layers(self, column: Column) -> bool:
        """Say whether a column is measured in layers."""
        return self.most_groups is not None and is_layered(column)

    def counted(self, column: Column) -> Column:
        """Return a column in the cells in which it is counted."""
        return finest_cells(column) if self.layers(column) else fine_column(column, self.fine_cells)


@dataclass(frozen=True)
class OneWayTables:
    """What the noisy one-way tables say."""

    groupings: tuple[Grouping, ...]
    tables: tuple[NoisyTable, ...]
    total: float
    coarser: tuple[Mapping[int, Groups], ...] = field(default=(), repr=False)
    """For each column, by number of groups, which of these each of its groups lies in."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(grouping.size for grouping in self.groupings)


def squared_sensitivity(schema: Schema) -> int:
    """Return the square of the L2 distance by which one person moves the counts of one table."""
    return histogram_l2_squared(schema.adjacency, schema.rows_per_person)


def measure_one_way(
    table: Table,
    names: tuple[str, ...],
    binning: Binning,
    rho: Fraction,
    later: int,
    budget: Budget,
    randomness: Randomness,
) -> OneWayTables:
    """Pay for, count and noise the one-way tables; then group their cells, for ``later`` tables to come."""
    counted = counted_schema(table.schema, names, binning)
    counts = dataclasses.replace(table, schema=counted).marginals([(name,) for name in names])

    def noisy(true: Counts, share: Fraction) -> tuple[Array, float]:
        sigma = budget.sigma(rho * share / len(names))
        return budget.noisy(true, sigma, randomness), sigma

    measured = [
        (measure_layers if binning.layers(table.schema[name]) else measure_flat)(
            table.schema[name] if binning.layers(table.schema[name]) else counted[name], counts[(name,)], noisy
        )
        for name in names
    ]
    total, estimates = _with_total(measured, table.schema.rows)
    limit = binning.limit(total, budget.sigma(budget.noise.left / later))
    return _grouped(measured, estimates, total, binning, limit)


def counted_schema(schema: Schema, names: Sequence[str], binning: Binning) -> Schema:
    """Return the schema in the cells that are counted: the finest ones of columns in layers, fine ones of others."""
    chosen = {schema[name].name for name in names}
    columns = (binning.counted(column) if column.name in chosen else column for column in schema)
    return dataclasses.replace(schema, columns=tuple(columns))


def _with_total(measured: Sequence[Measured], rows: int | None) -> tuple[float, list[Estimate]]:
    """Return the number of rows and the estimates of all columns that know it: public, or pooled over the columns."""
    if rows is not None:
        return float(rows), [each.estimate(float(rows)) for each in measured]
    total, others = shared_totals([each.estimate() for each in measured])
    return max(total, 1.0), [each.estimate(*known) for each, known in zip(measured, others, strict=True)]


def _grouped(
    measured: Sequence[Measured], estimates: Sequence[Estimate], total: float, binning: Binning, limit: int | None
) -> OneWayTables:
    groupings, tables, coarser = list[Grouping](), list[NoisyTable](), list[Mapping[int, Groups]]()
    for place, (each, estimate) in enumerate(zip(measured, estimates, strict=True)):
        grouping, levels = _grouping(each, estimate, total, binning, limit)
        groupings.append(grouping)
        coarser.append(levels)
        tables.append(_one_way(place, estimate, grouping))
    return OneWayTables(tuple(groupings), tuple(tables), total, tuple(coarser))


def _grouping(
    measured: Measured, estimate: Estimate, total: float, binning: Binning, limit: int | None
) -> tuple[Grouping, Mapping[int, Groups]]:
    """Return the groups of a column, and the coarser ones where it has an order that tables may use."""
    column, sigma = measured.column, measured.layers[-1].sigma
    if limit is None or not column.is_ordered:
        return group_column(column, estimate.counts, sigma, total, binning.threshold), {}
    present = column.present_size
    counts, covariance = estimate.counts[:present], estimate.covariance[:present, :present]
    masses = smooth_counts(column, counts, covariance) if len(measured.layers) > 1 else np.maximum(counts, 0.0)
    nested = nested_groups(masses, covariance, limit, binning.threshold)
    shares = (
        shares_within(masses, column, nested.groups)
        if len(measured.layers) > 1
        else shares_of(column, counts, nested.groups, sigma)
    )
    if column.missing:
        nested, shares = nested.with_missing(), np.append(shares, 1.0)
    return Grouping(column, nested.groups, shares, nested.size), nested.coarser


def _one_way(place: int, estimate: Estimate, grouping: Grouping) -> NoisyTable:
    """Return a one-way table of groups; its noise is the mean one of the groups, from the covariance of their cells."""
    member = grouping.groups == np.arange(grouping.size)[:, None]
    variances = np.einsum("gi,ij,gj->g", member, estimate.covariance, member, optimize=True)
    return NoisyTable((place,), member @ estimate.counts, float(np.sqrt(variances.mean())))
