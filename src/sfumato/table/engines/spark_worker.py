"""Count marginals inside a Spark worker, one task at a time.

A task reads its rows once, for all tables, and hands back one batch: the cells that hold rows, with their counts. So
only counts travel. A task that is run again, because its machine was lost or slow, makes the same batch again, and the
engine takes one batch of each task: nothing is counted twice. Sums that tasks add to from within (Spark's
accumulators) give no such promise, so none are used. What is imported here must be importable on every worker; it
needs no engine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.schema.column import Column
from sfumato.table.marginal_cover import ColumnSet
from sfumato.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.table.count_buffer import BufferLayout, CountBuffer

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
VERSIONS_DIFFER = "sfumato-workers-differ"
"""What a worker says when it must not count; the driver looks for it in the engine's error."""
FILES_DIFFER = "sfumato-files-differ"
"""What a worker says of a file that it cannot read as the engine does."""
COUNTED = "cell long, times long"
FACTS = "python string, version string"


class WorkerCounts(NamedTuple):
    """The sum over all tasks: one flat array of counts, and the values outside the domain of each column."""

    counts: NDArray[np.int64]
    outside: NDArray[np.int64]


class FileSplit(NamedTuple):
    """Some row groups of a Parquet file: every ``parts``-th, from ``part`` on."""

    path: str
    part: int
    parts: int

    def read(self, kinds: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read the columns of ``kinds``; a file that is not here, or has other types, is left to the engine."""
        import pyarrow.parquet as pq

        from sfumato.table.encode import is_text_type
        from sfumato.table.engines.duckdb import read_row_groups

        try:
            metadata = pq.read_metadata(self.path)
        except OSError as error:
            raise RuntimeError(f"{FILES_DIFFER}: {self.path}") from error
        if not same_kinds(metadata.schema.to_arrow_schema(), kinds):
            raise RuntimeError(f"{FILES_DIFFER}: {self.path}")
        text = [field.name for field in kinds if is_text_type(field.type)]
        for group in range(self.part, metadata.num_row_groups, self.parts):
            yield from read_row_groups(self.path, metadata, [group], kinds.names, text)


def same_kinds(columns: pa.Schema, wanted: pa.Schema) -> bool:
    """Whether a file has columns of these names, each once and of the wanted type; a text is one however it is kept."""
    from sfumato.table.encode import is_text_type

    def fits(field: pa.Field) -> bool:
        places = columns.get_all_field_indices(field.name)
        kinds = [columns.field(place).type for place in places]
        return len(kinds) == 1 and (kinds[0] == field.type or (is_text_type(kinds[0]) and is_text_type(field.type)))

    return all(fits(field) for field in wanted)


@dataclass(frozen=True)
class CountJob:
    """The public facts that every task gets. Columns come in this order in every batch."""

    columns: tuple[Column, ...]
    sets: tuple[ColumnSet, ...]
    version: str = __version__

    def layout(self) -> BufferLayout:
        """Return where each table lies; the same on every machine."""
        from sfumato.table.count_buffer import BufferLayout

        return BufferLayout.by_name(self.columns, self.sets)

    def task(self) -> Task:
        """Return the function that a worker runs on the batches of its rows."""

        def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield self.count(batches)

        return count

    def count(self, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
        """Count the batches of one task; values outside a domain come as cells below zero, by column."""
        from sfumato.table.count_buffer import CountBuffer, column_encoders

        require_same_version(self.version)
        encoders, code_type = column_encoders(self.columns)
        tally = CountBuffer(encoders, code_type, self.layout())
        for batch in batches:
            tally.feed(batch)
        return nonempty_cells(tally)

    def file_task(self, splits: Sequence[FileSplit], kinds: pa.Schema) -> Task:
        """Return the function of a worker that reads the files itself; its rows are the numbers of its splits."""

        def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            own = (splits[place] for batch in batches for place in batch.column(0).to_pylist())
            yield self.count(batch for split in own for batch in split.read(kinds))

        return count

    def sum(self, cells: NDArray[np.int64], times: NDArray[np.int64]) -> WorkerCounts:
        """Sum the counts of all tasks."""
        sums, inside = (
            WorkerCounts(np.zeros(self.layout().cells, np.int64), np.zeros(len(self.columns), np.int64)),
            cells >= 0,
        )
        np.add.at(sums.counts, cells[inside], times[inside])
        np.add.at(sums.outside, -1 - cells[~inside], times[~inside])
        return sums


def nonempty_cells(tally: CountBuffer) -> pa.RecordBatch:
    """Return the cells that hold rows, with their counts, as one batch."""
    cells, strays = np.flatnonzero(tally.counts), np.flatnonzero(tally.outside)
    return pa.record_batch(
        {
            "cell": np.concatenate([cells, -1 - strays]),
            "times": np.concatenate([tally.counts[cells], tally.outside[strays]]),
        }
    )


def require_same_version(version: str) -> None:
    """Refuse to count for a driver of another version: its codes may mean something else."""
    if version != __version__:
        raise RuntimeError(f"{VERSIONS_DIFFER}: sfumato {__version__} on a worker, {version} on the driver")


def worker_versions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Report the versions of this worker: the smallest job that shows whether it can count at all."""
    from sfumato.table import numba_loops

    for _ in batches:
        numba_loops.count_code(np.zeros(1, np.uint8), 1)
    yield pa.record_batch({"python": [sys.version.split()[0]], "version": [__version__]})
