"""One-way tables, which every graphical method measures first: noisy counts of each column, and what follows.

Proof note. The one-way tables of all columns together cost their share of the noise's total: each gets discrete
Gaussian noise with D^2 / 2 sigma^2 = share * total / columns, paid for before it is drawn. The number of rows, the
groups of cells, the shapes within groups and the sizes of the model are computed from these noisy counts. Public:
schema, columns, share, thresholds.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.methods.graphical.cells.fine import fine_schema
from sfumato.methods.graphical.cells.groups import Grouping, coarse, group_column
from sfumato.methods.graphical.choosing.budget import Budget
from sfumato.methods.graphical.tree.model import NoisyTable
from sfumato.privacy.accounting.sensitivity import histogram_l2_squared
from sfumato.privacy.randomness import Randomness
from sfumato.rows.tree import noisy_total
from sfumato.schema import Schema

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

        The noise of a pair of two such columns has an L1 size of about sqrt(2 / pi) sigma groups^2.
        """
        if self.most_groups is None:
            return None
        return int(min(self.most_groups, max(LEAST_GROUPS, (self.crowding * total / (0.8 * later_sigma)) ** 0.5)))


@dataclass(frozen=True)
class OneWayTables:
    """What the noisy one-way tables say."""

    groupings: tuple[Grouping, ...]
    tables: tuple[NoisyTable, ...]
    total: float

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
    schema = fine_schema(table.schema, names, binning.fine_cells)
    sigma = budget.sigma(rho / len(names))
    counts = dataclasses.replace(table, schema=schema).marginals([(name,) for name in names])
    noisy = {(name,): budget.noisy(counts[(name,)], sigma, randomness) for name in names}
    total = float(schema.rows) if schema.rows is not None else max(noisy_total(noisy), 1.0)
    limit = binning.limit(total, budget.sigma(budget.noise.left / later))
    groupings = tuple(
        group_column(schema[name], noisy[(name,)], sigma, total, binning.threshold, limit) for name in names
    )
    tables = tuple(
        _grouped(place, noisy[(name,)], grouping, sigma)
        for place, (name, grouping) in enumerate(zip(names, groupings, strict=True))
    )
    return OneWayTables(groupings, tables, total)


def _grouped(place: int, noisy: np.ndarray, grouping: Grouping, sigma: float) -> NoisyTable:
    """Return a one-way table of groups; a group of m cells carries the noise of m cells."""
    cells = np.bincount(grouping.groups, minlength=grouping.size)
    return NoisyTable((place,), coarse(noisy, [grouping]).astype(float), sigma * float(np.sqrt(cells.mean())))
