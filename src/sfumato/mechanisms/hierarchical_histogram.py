"""Hierarchical histogram of a column: blocks, equal cells and refined cells, joined by least squares.

A flat table of fine cells carries noise sigma sqrt(m) in a sum over m cells, and wastes its cells on the empty part of
generous bounds. So a column of numbers or dates is measured in three layers, each with a part of its budget: equal
cells, blocks of neighbouring ones, and then the equal cells cut again, each in proportion to its noisy count. All are
histograms, so one row moves one cell of each. Where the first two layers are cut is public; the second cut is computed
from their noisy counts. Least squares over all layers, with the total that all columns know together, gives the
counts of the last layer and their exact precision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts, FloatArray, IntArray
from sfumato.progress import report_progress
from sfumato.sampling.fine_cells import RefinedColumn, fine_column, refined_column
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    from sfumato.table import Table

EQUAL_CELLS, MOST_EQUAL = 68, 96
"""Equal cells that are aimed at: two for each of the 32 bins that a draft proposes, and a few single values. A column
with more public bins than the second number has neighbours joined: a curve costs the third power of its cells."""
BLOCK = 8
"""Neighbouring equal cells in a block."""
SHARES = (Fraction(2, 5), Fraction(1, 5), Fraction(2, 5))
"""Shares of a column's budget: blocks, equal cells, cells of the second cut."""
LAYER_WORDS = ("blocks", "cells", "cells cut again")
PARTS, WHOLE_VALUES = 16, 1700
"""Parts of an equal cell, of which a second cut may be made; and values of a column of whole numbers or dates up to
which each may be cut out, for it may be a spike. More would be too many for engines that count by a query."""
MOST_FURTHER, LEAST_FURTHER = 96, 32
ROWS_PER_CUT = 2.0
"""The second cut adds a cell for every this many standard deviations of noise that the rows amount to."""
LEAST_SIGMAS = 1.5
"""Cells below this many standard deviations are not cut again."""
FLAT_CELLS, FEW_CELLS = 128, 40
"""A column that has no more than a few cells, cut into as many as a flat table may have, is measured once, flat."""
Starts = NDArray[np.float64]


Noisy = Callable[[Counts, Fraction], "tuple[FloatArray, float]"]
"""Pays for one table with a share of its column's budget, and returns it with noise and the noise's sigma."""


@dataclass(frozen=True)
class CellEstimate:
    """Counts of cells by least squares, their sum with its variance, and how their errors go together."""

    counts: FloatArray
    total: tuple[float, float]
    covariances: Callable[[], FloatArray] = field(repr=False)

    @cached_property
    def covariance(self) -> FloatArray:
        """How the errors of the counts go together; worked out when it is asked for, since levels may be thousands."""
        return self.covariances()


@dataclass(frozen=True)
class HistogramLayer:
    """Noisy counts of some partition: which part each cell lies in, and the noise."""

    parts: IntArray
    counts: FloatArray
    sigma: float

    def joined(self, counts: FloatArray, sigma: float) -> HistogramLayer:
        """Return the layer with another measurement of the same parts: both, weighed by their precision."""
        first, second = self.sigma**-2, sigma**-2
        return HistogramLayer(
            self.parts, (first * self.counts + second * counts) / (first + second), (first + second) ** -0.5
        )


@dataclass(frozen=True)
class HierarchicalHistogram:
    """A column cut into cells, and everything that was measured of them."""

    column: Column
    layers: tuple[HistogramLayer, ...]

    def estimate(self, total: float | None = None, variance: float = 1.0) -> CellEstimate:
        """Join the layers, and what is known of the total from elsewhere, by their precision."""
        if len(self.layers) == 1:
            return _flat_estimate(self.layers[0], total, variance)
        size = self.column.size
        precision, pull = np.zeros((size, size)), np.zeros(size)
        for layer in self.layers:
            weight = layer.sigma**-2
            precision += weight * (layer.parts[:, None] == layer.parts)
            pull += weight * layer.counts[layer.parts]
        if total is not None:
            precision += 1.0 / variance
            pull += total / variance
        covariance = np.asarray(np.linalg.inv(precision), np.float64)
        counts = covariance @ pull
        return CellEstimate(counts, (float(counts.sum()), float(covariance.sum())), lambda: covariance)


def _flat_estimate(layer: HistogramLayer, total: float | None, variance: float) -> CellEstimate:
    """Spread what the total says over all cells of one layer alike: the same least squares, in closed form."""
    count, noise = len(layer.counts), layer.sigma**2
    pulled = 0.0 if total is None else 1.0 / (count * noise + variance)
    counts = layer.counts + (0.0 if total is None else noise * pulled * (total - float(layer.counts.sum())))
    spread = count * noise * (1.0 - count * noise * pulled)
    return CellEstimate(counts, (float(counts.sum()), spread), lambda: noise * np.eye(count) - noise**2 * pulled)


@dataclass(frozen=True)
class CountedColumns:
    """Columns with the true counts of their cells: nothing of them leaves but through noise."""

    columns: tuple[Column, ...]
    """Each in the cells in which it is counted: the finest ones, where it is measured in layers."""
    schema: Schema
    layered: Collection[str]
    counts: tuple[Counts, ...] = field(repr=False)

    def measure(self, noisy: Noisy) -> list[HierarchicalHistogram]:
        """Measure each column: those of ``layered`` in layers, others flat."""
        return [
            measure_layers(self.schema[column.name], counts, noisy)
            if column.name in self.layered
            else measure_flat(column, counts, noisy)
            for column, counts in zip(self.columns, self.counts, strict=True)
        ]

    def measure_again(self, measured: Sequence[HierarchicalHistogram], noisy: Noisy) -> list[HierarchicalHistogram]:
        """Measure blocks and last cells of each column once more, and join both answers by their precision."""
        return [
            _measure_again(before, _summed(column, before.column, counts), noisy)
            for before, column, counts in zip(measured, self.columns, self.counts, strict=True)
        ]


def count_columns(table: Table, names: Sequence[str], counted: Schema, layered: Collection[str]) -> CountedColumns:
    """Count columns in the cells of ``counted``, in one pass."""
    counts = dataclasses.replace(table, schema=counted).marginals([(name,) for name in names])
    report_progress("measuring single columns")
    columns = tuple(counted[name] for name in names)
    return CountedColumns(columns, table.schema, layered, tuple(counts[(name,)] for name in names))


def measure_flat(column: Column, counts: Counts, noisy: Noisy) -> HierarchicalHistogram:
    """Measure all cells of a column once, with all of its budget."""
    return HierarchicalHistogram(column, (HistogramLayer(np.arange(column.size), *noisy(counts, Fraction(1))),))


def measure_layers(column: Column, counts: Counts, noisy: Noisy) -> HierarchicalHistogram:
    """Measure a column in layers; the counts are those of its finest cells."""
    finest, equal = finest_cells(column), equal_cells(column)
    by_cell = _summed(finest, equal, counts)
    blocks = blocks_of(equal)
    by_block = np.bincount(blocks, by_cell).astype(np.int64)
    above = HistogramLayer(blocks, *noisy(by_block, SHARES[0]))
    first = HierarchicalHistogram(equal, (above, HistogramLayer(np.arange(equal.size), *noisy(by_cell, SHARES[1]))))
    cut = _refine_by_mass(column, first)
    by_cut = _summed(finest, cut, counts)
    inside = parts_of(cut, equal)
    wider = [HistogramLayer(layer.parts[inside], layer.counts, layer.sigma) for layer in first.layers]
    return HierarchicalHistogram(cut, (*wider, HistogramLayer(np.arange(cut.size), *noisy(by_cut, SHARES[2]))))


def _summed(finer: Column, coarser: Column, counts: Counts) -> Counts:
    """Return the counts of a column's coarser cells."""
    if finer.size == coarser.size:
        return counts
    return np.bincount(parts_of(finer, coarser), counts, coarser.size).astype(np.int64)


def _measure_again(before: HierarchicalHistogram, counts: Counts, noisy: Noisy) -> HierarchicalHistogram:
    """Measure the first and the last layer of a column again; the counts are those of its cells."""
    places = {0: Fraction(1, 2), len(before.layers) - 1: Fraction(1, 2)} if len(before.layers) > 1 else {0: Fraction(1)}
    layers = list(before.layers)
    for place, share in places.items():
        layer = layers[place]
        layers[place] = layer.joined(*noisy(np.bincount(layer.parts, counts).astype(np.int64), share))
    return HierarchicalHistogram(before.column, tuple(layers))


def shared_totals(estimates: Sequence[CellEstimate]) -> tuple[float, list[tuple[float, float]]]:
    """Return the number of rows that all columns know together, and for each what the others know, with variance."""
    totals, variances = (np.array(numbers) for numbers in zip(*(each.total for each in estimates), strict=True))
    weights = 1.0 / variances
    others = [(float(weights @ totals) - w * t, float(weights.sum() - w)) for t, w in zip(totals, weights, strict=True)]
    known = [(above / below, 1.0 / below) if below > 0 else (float(totals[0]), np.inf) for above, below in others]
    return float(weights @ totals / weights.sum()), known


def pooled_total(measured: Sequence[HierarchicalHistogram], rows: int | None) -> tuple[float, list[CellEstimate]]:
    """Return the number of rows, public or pooled over the columns, and the estimates of columns that all know it."""
    if rows is not None:
        return float(rows), [each.estimate(float(rows)) for each in measured]
    total, others = shared_totals([each.estimate() for each in measured])
    return total, [each.estimate(*known) for each, known in zip(measured, others, strict=True)]


def uses_layers(column: Column) -> bool:
    """Say whether a column is measured in layers: numbers and dates with more than a few values."""
    return column.is_ordered and fine_column(column, FLAT_CELLS).present_size > FEW_CELLS


def equal_cells(column: Column) -> Column:
    """Return the column in the cells of the first look: its public bins cut into equal parts, or joined where many."""
    fine = fine_column(column, EQUAL_CELLS)
    if fine.present_size <= MOST_EQUAL:
        return fine
    starts = fine.starts[(np.arange(EQUAL_CELLS) * fine.present_size) // EQUAL_CELLS]
    return refined_column(column, np.union1d(starts, column.kept) if isinstance(column, RefinedColumn) else starts)


def finest_cells(column: Column) -> RefinedColumn:
    """Return the column with every equal cell cut into parts: what is counted, and where a second cut may be made."""
    equal = equal_cells(column)
    starts = [_cut(equal, cell) for cell in range(equal.present_size)]
    return refined_column(column, np.concatenate(starts))


def layer_cells(column: Column) -> tuple[int, int, int]:
    """Return how many cells the three layers of a column have, the last at most: public, as a plan needs it.

    Every equal cell keeps one cell; the shares of the further ones are rounded, which adds less than half a cell each.
    """
    equal = equal_cells(column)
    most = equal.size + MOST_FURTHER + equal.present_size // 2
    return int(blocks_of(equal)[-1]) + 1, equal.size, min(finest_cells(column).size, most)


def _cut(column: Column, cell: int) -> Starts:
    """Return where the parts of a cell start; whole numbers are not cut, nor numbers that are too near to tell."""
    start, end = float(column.starts[cell]), float(column.ends[cell])
    low, high = (float(bound) for bound in column.numeric_bounds)
    if column.is_discrete:
        count = int(end - start + 1) if high - low < WHOLE_VALUES else int(min(PARTS, end - start + 1))
        return (start + (np.arange(count) * int(end - start + 1)) // count).astype(np.float64)
    narrowest = max(1e-6 * (high - low), 16 * float(np.spacing(max(abs(low), abs(high)))))
    count = int(min(PARTS, max(1, (end - start) // narrowest)))
    return np.linspace(start, end, count + 1, dtype=np.float64)[:-1]


def _refine_by_mass(column: Column, first: HierarchicalHistogram) -> RefinedColumn:
    """Return the column with its equal cells cut again, each into parts in proportion to its noisy count."""
    estimate, equal = first.estimate(), first.column
    counts, sigmas = (every[: equal.present_size] for every in (estimate.counts, np.sqrt(np.diag(estimate.covariance))))
    above_noise = np.where(counts > LEAST_SIGMAS * sigmas, counts, 0.0)
    further = _further_cells(estimate.total[0], first.layers[1].sigma)
    extra = np.floor(further * above_noise / max(above_noise.sum(), 1e-300) + 0.5).astype(int)
    finest = [_cut(equal, cell) for cell in range(equal.present_size)]
    return refined_column(column, np.concatenate([_every(f, 1 + e) for f, e in zip(finest, extra, strict=True)]))


def _further_cells(total: float, sigma: float) -> int:
    """Return how many cells the second cut adds: more rows or less noise are worth more of them."""
    return int(min(max(total / (ROWS_PER_CUT * sigma), LEAST_FURTHER), MOST_FURTHER))


def _every(starts: Starts, parts: int) -> Starts:
    """Return at most so many of the starts, evenly chosen, the first among them."""
    parts = min(parts, len(starts))
    return starts[(np.arange(parts) * len(starts)) // parts]


def parts_of(finer: Column, coarser: Column) -> IntArray:
    """Return the cell of the coarser cut that each cell of the finer one lies in; missing stays the last."""
    parts = np.searchsorted(coarser.starts, finer.starts, side="right") - 1
    return np.append(parts, coarser.present_size) if finer.missing else parts


def blocks_of(column: Column) -> IntArray:
    """Return the block of each cell; missing is a block of its own."""
    blocks = np.arange(column.present_size) // BLOCK
    return np.append(blocks, blocks[-1] + 1) if column.missing else blocks
