"""Single columns of the baseline: numbers and dates measured in layers, a smooth curve through them, and its shape.

Proof note. A column's one-way table has its share of the budget, as in :mod:`sfumato.release.measurement`. For a
column in layers (:mod:`sfumato.rows.smooth.layers`) the share is split in three; each layer is a histogram of all
rows, so one row moves one cell of it, and its noise is what the plan's event holds for it. Where the third layer is
cut depends on the noisy counts of the first two: adaptive composition, which both laws allow since the noise does not
depend on the cut; its cells are at most those of the plan. The number of rows, the curve, the counts of the schema's
bins and the shape within them are computed from these noisy counts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array, Counts
from sfumato.release.measurement import Counted, Measurement, PlannedNoise
from sfumato.rows.smooth.density import shares_within, smooth_counts
from sfumato.rows.smooth.layers import (
    LAYER_WORDS,
    MOST_EQUAL,
    SHARES,
    Estimate,
    Measured,
    finest_cells,
    is_layered,
    known_total,
    layer_cells,
    measure_flat,
    measure_layers,
    parts_of,
)
from sfumato.rows.smooth.values import fine_values
from sfumato.rows.tree import draw_given
from sfumato.rows.values import Masked, draw_values
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    from sfumato.table import Table

MOST_BINS = 200
"""Columns with more public bins get no curve: it costs the third power of its cells, and so many are fine enough."""


def in_layers(column: Column) -> bool:
    """Say whether a column is measured in layers, from public facts: their cells must lie within its public bins."""
    return is_layered(column) and column.present_size <= MOST_EQUAL


def has_curve(column: Column) -> bool:
    """Say whether a curve is drawn through the counts of a column, layers or not."""
    return is_layered(column) and column.present_size <= MOST_BINS


@dataclass(frozen=True)
class LayeredMeasurement(Measurement):
    """One-way tables, of numbers and dates in layers, and then pairs: all of them share one budget."""

    def counted(self, schema: Schema) -> tuple[Counted, ...]:
        """Return every table that gets noise: three for a column in layers, which split its share."""
        whole = zip(self.sets, super().counted(schema), strict=True)
        return tuple(table for names, once in whole for table in _layers(schema, names, once))


def _layers(schema: Schema, names: tuple[str, ...], once: Counted) -> tuple[Counted, ...]:
    column = schema[names[0]]
    if len(names) > 1 or not in_layers(column):
        return (once,)
    layers = zip(LAYER_WORDS, layer_cells(column), SHARES, strict=True)
    return tuple(Counted(f"{once.stage}: {words}", cells, once.share * share) for words, cells, share in layers)


@dataclass(frozen=True)
class Shape:
    """How the rows of a column lie within its public bins: cells of a curve, and each cell's share of its bin."""

    column: Column
    shares: Array
    """A row for each bin, a column for each cell."""

    def draw(self, codes: NDArray[np.int64], generator: np.random.Generator) -> Masked:
        """Return one value for each code of a bin, and which of them are missing."""
        missing = codes == len(self.shares)
        cells = draw_given(self.shares, np.where(missing, 0, codes), generator)
        return fine_values(
            self.column, np.where(missing, self.column.present_size, cells), generator.random(len(codes))
        )


@dataclass(frozen=True)
class SingleColumns:
    """What the one-way tables say: the number of rows, counts of the public bins, and shapes within them."""

    total: float
    counts: Mapping[str, Array]
    shapes: Mapping[str, Shape]

    def draw(self, column: Column, codes: NDArray[np.int64], generator: np.random.Generator) -> Masked:
        """Return one value for each code: by the shape of a column that has one, else uniform within its bin."""
        shape = self.shapes.get(column.name)
        return draw_values(column, codes, generator) if shape is None else shape.draw(codes, generator)


def measure_columns(table: Table, names: Sequence[str], noise: PlannedNoise) -> SingleColumns:
    """Count the columns, add the noise of the plan, and draw curves through those in layers."""
    schema = table.schema
    layered = {name for name in names if in_layers(schema[name])}
    columns = tuple(finest_cells(column) if column.name in layered else column for column in schema)
    fine = dataclasses.replace(table, schema=dataclasses.replace(schema, columns=columns))
    counts = fine.marginals([(name,) for name in names])

    def noisy(true: Counts, _: Fraction) -> tuple[Array, float]:
        found, variance = noise.add(true)
        return found.astype(float), math.sqrt(variance)

    measured = [
        (measure_layers if name in layered else measure_flat)(schema[name], counts[(name,)], noisy) for name in names
    ]
    return _understood(schema, measured)


def _understood(schema: Schema, measured: Sequence[Measured]) -> SingleColumns:
    total, estimates = known_total(measured, schema.rows)
    total = max(total, 0.0)
    counts, shapes = dict[str, Array](), dict[str, Shape]()
    for each, estimate in zip(measured, estimates, strict=True):
        column = schema[each.column.name]
        if not has_curve(column):
            counts[column.name] = estimate.counts
            continue
        masses = _masses(each.column, estimate, max(layer.sigma for layer in each.layers))
        counts[column.name], shapes[column.name] = _bins(column, each.column, masses, estimate, total)
    return SingleColumns(total, counts, shapes)


def _masses(cut: Column, estimate: Estimate, sigma: float) -> Array:
    """Return the curve over a column's present cells; noise below one row leaves nothing to smooth."""
    present = cut.present_size
    counts = estimate.counts[:present]
    return smooth_counts(cut, counts, estimate.covariance[:present, :present]) if sigma > 1 else np.maximum(counts, 0.0)


def _bins(column: Column, cut: Column, masses: Array, estimate: Estimate, total: float) -> tuple[Array, Shape]:
    """Return the counts of a column's public bins, and the shape within them, that the masses of its cells give."""
    present = cut.present_size
    bins = parts_of(cut, column)[:present]
    missing = np.maximum(estimate.counts[present:], 0.0)
    counts: Array = np.append(np.bincount(bins, masses, column.present_size), missing)
    shares = np.zeros((column.present_size, present))
    shares[bins, np.arange(present)] = shares_within(masses, cut, bins)
    return counts * (total / max(float(counts.sum()), 1e-300)), Shape(cut, shares)
