"""Columns of synthetic values with missing masks, and conversion between codes and values.

Where the mask is true a value is missing, and what the array holds there means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.privacy.randomness import UniformSource
from sfumato.sampling.written_forms import written_form_of
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.writing.frames import value_array

Codes = Mapping[str, NDArray[np.int64]]
Masked = tuple[NDArray[Any], NDArray[np.bool_]]
"""The values of one column, and which of them are missing."""
Values = dict[str, Masked]
RowIndices = NDArray[np.int64]


def row_count(values: Values) -> int:
    """Return the number of rows."""
    return len(next(iter(values.values()))[1])


def rows_at(values: Values, places: RowIndices) -> Values:
    """Return the rows at some places, as copies."""
    return {name: (data[places], missing[places]) for name, (data, missing) in values.items()}


def overwrite_rows(values: Values, places: RowIndices, fresh: Values) -> None:
    """Write rows over those at some places; columns that the fresh rows do not have stay."""
    for name, (data, missing) in fresh.items():
        values[name][0][places] = data
        values[name][1][places] = missing


def writable_copy(column: Column, pair: Masked) -> Masked:
    """Return a copy that may be written to; levels as objects, for an array of short texts would cut longer ones."""
    values, missing = pair
    return (values.copy() if column.is_ordered else values.astype(object)), missing.copy()


def distinct_rows(schema: Schema, values: Values) -> int:
    """Return how many different rows there are; missing values are alike."""
    table = rows_table(schema, values)
    return table.group_by(table.column_names).aggregate([]).num_rows


def rows_table(schema: Schema, values: Values) -> pa.Table:
    """Return synthetic values as an Arrow table in the order of the schema."""
    names = [name for name in schema.names if name in values]
    return pa.table({name: value_array(schema[name], *values[name]) for name in names})


def draw_values(column: Column, codes: NDArray[np.int64], generator: np.random.Generator) -> Masked:
    """Return one value per code (uniform within the bin of an ordered column) and which of them are missing.

    Where the schema says how values are written (decimals, steps), every value of the bin that can be written so is as
    likely as any other.
    """
    return values_at(column, codes, generator.random(len(codes)) if column.is_ordered else None)


def values_at(column: Column, codes: NDArray[np.int64], places: NDArray[np.float64] | None = None) -> Masked:
    """Return the value at a place in [0, 1) of the bin of each code, and which are missing; levels have no places."""
    missing = codes == column.present_size
    present = np.where(missing, 0, codes)
    if not column.is_ordered or places is None:
        return levels_of(column)[present], missing
    if (form := written_form_of(column)) is not None:
        drawn = form.draw(column, present, places)
        return (drawn.astype(np.int64) if column.is_discrete else drawn), missing
    low, high = column.starts[present], column.ends[present]
    if column.is_discrete:
        return (low + np.minimum(np.floor(places * (high - low + 1)), high - low)).astype(np.int64), missing
    drawn = np.round(low + places * (high - low), decimals(float(np.min(column.ends - column.starts))))
    return np.maximum(np.minimum(drawn, np.nextafter(high, low)), low), missing


def draw_conditional(table: FloatArray, given: NDArray[np.int64], generator: UniformSource) -> NDArray[np.int64]:
    """Draw a code for each row from the given row of a table of probabilities."""
    return codes_at(table, given, generator.random(len(given)))


def codes_at(table: FloatArray, given: NDArray[np.int64], points: FloatArray) -> NDArray[np.int64]:
    """Return the code at each point of [0, 1) in the given row of a table of weights; never a code without weight.

    Inverse transform for all points at once: row r of the table occupies the interval [r, r + 1).
    """
    ends = np.cumsum(table, axis=1)
    mass = ends[:, -1:]
    np.divide(ends, mass, out=ends, where=mass > 0)
    ends += np.arange(len(table))[:, None]
    # Rounding up to the next whole number would leave the row.
    sought = np.minimum(given + points, np.nextafter(given + 1.0, 0.0))
    return np.searchsorted(ends.ravel(), sought, side="right") - given * table.shape[1]


def evenly_spaced(members: NDArray[np.int64], counts: NDArray[np.int64], generator: np.random.Generator) -> FloatArray:
    """Return points of [0, 1), evenly spaced from a random start in each group; ``members`` are sorted by group."""
    place = np.arange(len(members)) - (np.cumsum(counts) - counts)[members]
    return (place + generator.random(len(counts))[members]) / counts[members]


def decimals(width: float) -> int:
    """Return how many decimals a synthetic number keeps: four digits finer than the narrowest public bin."""
    return max(0, 4 - math.floor(math.log10(width)))


def levels_of(column: Column) -> NDArray[Any]:
    """Return the levels of a column as an array of objects."""
    levels = np.empty(len(column.levels), dtype=object)
    levels[:] = column.levels
    return levels


def values_of_column(column: Column, codes_or_numbers: NDArray[Any]) -> Masked:
    """Return one column as it is released, and which values are missing: NaN of numbers, the last code of levels."""
    if column.is_ordered:
        missing = np.isnan(codes_or_numbers)
        whole = np.where(missing, 0, codes_or_numbers)
        return (whole.astype(np.int64) if column.is_discrete else whole), missing
    missing = codes_or_numbers == column.present_size
    return levels_of(column)[np.where(missing, 0, codes_or_numbers)], missing


def codes_of(column: Column, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the public code of each value."""
    if column.is_ordered:
        codes = bins_of(column, values)
    else:
        numbers = {level: number for number, level in enumerate(column.levels)}
        codes = np.fromiter((numbers.get(value, 0) for value in values), dtype=np.int64, count=len(values))
    return np.where(missing, column.present_size, codes)


def bins_of(column: Column, values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the bin in which each value of an ordered column lies."""
    bins = np.searchsorted(column.starts, np.asarray(values, dtype=float), side="right") - 1
    return np.clip(bins, 0, column.present_size - 1)
