"""Flat buffer that holds the counts of many marginals, filled from Arrow batches.

Nothing here knows an engine, so that the same loops run in a thread of this process and in a worker of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.schema.column import Column
from sfumato.table.encode import loops_for
from sfumato.table.engines.engine import BATCH_ROWS
from sfumato.table.marginal_cover import ColumnSet

if TYPE_CHECKING:
    from sfumato.table.encode import ColumnEncoder

MarginalCounts = dict[ColumnSet, NDArray[np.int64]]


@dataclass
class BufferLayout:
    """Where each covering table lies in one flat array of counts."""

    shapes: list[tuple[int, ...]]
    columns: NDArray[np.int64]
    pointers: NDArray[np.int64]
    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: Sequence[int], sets: Sequence[Sequence[int]]) -> BufferLayout:
        """Lay tables out one after the other; a set names its columns by their places in ``sizes``.

        >>> BufferLayout.of([2, 3], [[0, 1], [1]]).offsets.tolist()
        [0, 6, 9]
        """
        shapes = [tuple(sizes[i] for i in members) for members in sets]
        strides = [int(np.prod(shape[k + 1 :], dtype=np.int64)) for shape in shapes for k in range(len(shape))]
        cells = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]
        return cls(
            shapes,
            np.array([i for members in sets for i in members], np.int64),
            np.cumsum([0, *(len(members) for members in sets)]),
            np.array(strides, np.int64),
            np.cumsum([0, *cells]),
        )

    @classmethod
    def by_name(cls, columns: Sequence[Column], sets: Sequence[ColumnSet]) -> BufferLayout:
        """Lay out the tables of sets of names."""
        position = {column.name: i for i, column in enumerate(columns)}
        return cls.of([column.size for column in columns], [[position[name] for name in members] for members in sets])

    @property
    def cells(self) -> int:
        """How many counts there are in all tables together."""
        return int(self.offsets[-1])

    def tables(self, counts: NDArray[np.int64], sets: Sequence[ColumnSet]) -> MarginalCounts:
        """Cut the flat array into the tables of the sets that were laid out."""
        bounds = self.offsets
        return {members: counts[bounds[s] : bounds[s + 1]].reshape(self.shapes[s]) for s, members in enumerate(sets)}


def column_encoders(columns: Sequence[Column]) -> tuple[list[ColumnEncoder], Any]:
    """Return one encoder per column, which many tallies may share, and the type of their codes."""
    from sfumato.table.encode import ColumnEncoder, narrowest_code_type

    dtype, bad = narrowest_code_type(list(columns))
    return [ColumnEncoder(column, bad) for column in columns], dtype


@dataclass
class CountBuffer:
    """Encodes and counts batches into tables of its own."""

    encoders: Sequence[ColumnEncoder]
    code_type: Any
    layout: BufferLayout
    outside: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing counted."""
        self.codes = np.zeros((len(self.encoders), BATCH_ROWS), self.code_type)
        self.counts = np.zeros(self.layout.cells, np.int64)
        self.outside = np.zeros(len(self.encoders), np.int64)
        self.steps = 0

    def feed(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch, whose columns are in the order of the encoders."""
        for start in range(0, batch.num_rows, BATCH_ROWS):
            self._feed_part(batch.slice(start, BATCH_ROWS))

    def _feed_part(self, batch: pa.RecordBatch) -> None:
        rows = batch.num_rows
        for position, encoder in enumerate(self.encoders):
            codes = self.codes[position, :rows]
            outside = encoder(batch.column(position), codes)
            if outside:
                # Counted and refused at the end; until then the cell number must stay inside the table.
                self.outside[position] += outside
                codes[codes == encoder.bad] = 0
        self._count(rows)

    def _count(self, rows: int) -> None:
        plan = self.layout
        self.steps += rows * len(plan.shapes)
        loops = loops_for(self.steps)
        if int(np.diff(plan.offsets).max(initial=0)) < 2**31:
            loops.fill_marginals(self.codes, rows, plan.columns, plan.pointers, plan.strides, plan.offsets, self.counts)
            return
        for s in range(len(plan.shapes)):
            part = slice(int(plan.pointers[s]), int(plan.pointers[s + 1]))
            cells = self.counts[plan.offsets[s] : plan.offsets[s + 1]]
            loops.fill_large_marginal(self.codes, rows, plan.columns[part], plan.strides[part], cells)
