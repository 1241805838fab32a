"""Counting many column sets: streamed through compiled loops here, or pushed down to where the rows are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.cover import ColumnSet, cover, marginal
from sfumato.table.engine import BATCH_ROWS, Engine, engine_errors
from sfumato.table.parquet import ParquetEngine, Unit
from sfumato.table.values import code_expression, countable, has_many_levels, kept_rows

if TYPE_CHECKING:
    from sfumato.table.encode import ColumnEncoder

Counts = dict[ColumnSet, NDArray[np.int64]]
Progress = Callable[[int], None]
"""Called with the number of rows read so far."""
LOCAL_LIMIT = 16_384
"""Cells of a covering table in this process: small enough for the processor's cache."""
REMOTE_LIMIT = 1_000_000
"""Cells of a covering table on another engine: each costs a pass there, so they may be larger."""
MOST_REMOTE_BINS = 10_000
"""Bins of one column on another engine: each is a branch of the query that is sent there."""
CELL = "cell"
CHANGED = "run the release again; if it persists, the schema and the table disagree: sfumato schema check"


def count_marginals(
    engine: Engine, schema: Schema, wanted: Sequence[ColumnSet], progress: Progress | None = None
) -> Counts:
    """Return the counts of every wanted column set."""
    names = [name for name in schema.names if any(name in columns for columns in wanted)]
    sizes = {name: schema[name].size for name in names}
    chosen = cover(sizes, [c for c in wanted if c], LOCAL_LIMIT if engine.streams else REMOTE_LIMIT)
    count = _count_streaming if engine.streams else _count_remotely
    tables = count(engine, schema, names, chosen, progress) if names else {}
    return {columns: _find(tables, columns) for columns in wanted}


def _find(tables: Counts, wanted: ColumnSet) -> NDArray[np.int64]:
    for names, table in tables.items():
        if set(wanted) <= set(names):
            return marginal(table, names, wanted)
    raise TableError(f"no counts for {', '.join(wanted)}", next_step="name at least one column of the schema")


@dataclass
class _Layout:
    """Where each covering table lies in one flat array of counts."""

    shapes: list[tuple[int, ...]]
    columns: NDArray[np.int64]
    pointers: NDArray[np.int64]
    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: Sequence[int], sets: Sequence[Sequence[int]]) -> _Layout:
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


@dataclass
class _Worker:
    """Encodes and counts batches into tables of its own."""

    encoders: Sequence[ColumnEncoder]
    code_type: Any
    layout: _Layout
    outside: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.codes = np.zeros((len(self.encoders), BATCH_ROWS), self.code_type)
        self.counts = np.zeros(int(self.layout.offsets[-1]), np.int64)
        self.outside = np.zeros(len(self.encoders), np.int64)

    def feed(self, batch: pa.RecordBatch) -> int:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            self._feed_part(batch.slice(start, BATCH_ROWS))
        return batch.num_rows

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
        from sfumato.table import kernel

        plan = self.layout
        if int(np.diff(plan.offsets).max(initial=0)) < 2**31:
            kernel.count_sets(self.codes, rows, plan.columns, plan.pointers, plan.strides, plan.offsets, self.counts)
            return
        for s in range(len(plan.shapes)):
            part = slice(int(plan.pointers[s]), int(plan.pointers[s + 1]))
            cells = self.counts[plan.offsets[s] : plan.offsets[s + 1]]
            kernel.count_large_set(self.codes, rows, plan.columns[part], plan.strides[part], cells)


def _count_streaming(
    engine: Engine, schema: Schema, names: Sequence[str], sets: Sequence[ColumnSet], progress: Progress | None
) -> Counts:
    position = {name: i for i, name in enumerate(names)}
    layout = _Layout.of(schema.shape(names), [[position[name] for name in members] for members in sets])
    workers = _run_side_by_side(schema, names, layout, _units(engine, schema, names), progress)
    _refuse_outside(names, sum(worker.outside for worker in workers))
    counts = workers[0].counts
    for worker in workers[1:]:
        counts += worker.counts
    bounds = layout.offsets
    return {members: counts[bounds[s] : bounds[s + 1]].reshape(layout.shapes[s]) for s, members in enumerate(sets)}


def all_inside(engine: Engine, schema: Schema) -> bool:
    """Whether every value of every column lies in its public domain: one streamed pass, nothing counted."""
    layout = _Layout.of(schema.shape(schema.names), [])
    closed = [column.name for column in schema if not column.is_open]
    workers = _run_side_by_side(schema, closed, layout, _units(engine, schema, closed), None)
    return not any(worker.outside.any() for worker in workers)


def _encoders(schema: Schema, names: Sequence[str]) -> tuple[list[ColumnEncoder], Any]:
    """Return one encoder per column, which all workers share, and the type of their codes."""
    from sfumato.table.encode import ColumnEncoder, code_type

    columns = [schema[name] for name in names]
    dtype, bad = code_type(columns)
    return [ColumnEncoder(column, bad) for column in columns], dtype


def _worker_count(layout: _Layout) -> int:
    """Each worker holds all tables; when they are large, one worker saves the memory."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(cores, 8) if layout.offsets[-1] < 10_000_000 else 1


def _units(engine: Engine, schema: Schema, names: Sequence[str]) -> Iterator[Unit]:
    """Return pieces of work: row groups that workers read themselves, or batches of one stream."""
    if isinstance(engine, ParquetEngine) and schema.person is None:
        groups = engine.row_groups([schema[name] for name in names])
        if groups is not None:
            return groups
    return _batch_units(engine.batches(_countable_rows(engine, schema, names)))


def _countable_rows(engine: Engine, schema: Schema, names: Sequence[str]) -> Any:
    table = kept_rows(engine.table, schema)
    return table.select(**{name: countable(table[name], schema[name]) for name in names})


def _batch_units(batches: Iterator[pa.RecordBatch]) -> Iterator[Unit]:
    for batch in batches:
        yield lambda batch=batch: iter([batch])


def _run_side_by_side(
    schema: Schema, names: Sequence[str], layout: _Layout, units: Iterator[Unit], progress: Progress | None
) -> list[_Worker]:
    """Let workers take units until none is left; each keeps its own tables, so that only the queue is shared."""
    encoders, code_type = _encoders(schema, names)
    workers = [_Worker(encoders, code_type, layout) for _ in range(_worker_count(layout))]
    lock, failures, done = threading.Lock(), list[BaseException](), [0]

    def take() -> Unit | None:
        with lock:
            return None if failures else next(units, None)

    def report(rows: int) -> None:
        with lock:
            done[0] += rows
            if progress is not None:
                progress(done[0])

    def work(worker: _Worker) -> None:
        try:
            while (unit := take()) is not None:
                for batch in unit():
                    report(worker.feed(batch))
        except BaseException as error:  # noqa: BLE001  handed to the caller's thread, which raises it
            failures.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers[1:]]
    for thread in threads:
        thread.start()
    work(workers[0])
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return workers


def _refuse_outside(names: Sequence[str], outside: Any) -> None:
    bad = [f"{name}: {count:,} values outside the schema" for name, count in zip(names, outside, strict=True) if count]
    if bad:
        raise TableError("the table does not fit its schema (it may have changed while it was read)", bad, CHANGED)


def _count_remotely(
    engine: Engine, schema: Schema, names: Sequence[str], sets: Sequence[ColumnSet], progress: Progress | None
) -> Counts:
    counts: Counts = {}
    for members in sets:
        counts[members] = _dense(*count_occupied(engine, schema, members), schema.shape(members))
        if progress is not None:
            progress(int(counts[members].sum()))
    return counts


def count_occupied(engine: Engine, schema: Schema, names: ColumnSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the codes and the counts of the cells that hold a row: any number of columns, on any engine.

    GROUP BY is pushed down; the codes are computed first, because nested group keys are not portable. Columns with very
    many levels are grouped by their values, and coded here: a query with a branch for each would be too long.
    """
    coded = _coded_rows(engine, schema, names)
    answer = engine.aggregate(coded.group_by(list(names)).aggregate(**{CELL: coded.count()}))
    codes = np.array([_codes_of(answer.column(name), schema[name]) for name in names], np.int64)
    codes = codes.reshape(len(names), -1).T
    counts = answer.column(CELL).to_numpy().astype(np.int64)
    _refuse_outside(names, [int(counts[column < 0].sum()) for column in codes.T])
    return codes, counts


def _coded_rows(engine: Engine, schema: Schema, names: Sequence[str]) -> Any:
    raw = kept_rows(engine.table, schema)
    columns = [schema[name] for name in names]
    return raw.select(
        **{
            c.name: countable(raw[c.name], c) if has_many_levels(c) else code_expression(raw[c.name], c)
            for c in columns
        }
    )


def _codes_of(answered: pa.ChunkedArray, column: Column) -> NDArray[np.int64]:
    from sfumato.table.rows import encode_column

    if not has_many_levels(column):
        return answered.to_numpy()
    return encode_column(answered.combine_chunks(), column)


def _dense(codes: NDArray[np.int64], counts: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    table = np.zeros(shape, np.int64)
    np.add.at(table, tuple(codes.T), counts)
    return table


def rehearse_counting(engine: Engine, schema: Schema) -> None:
    """Compile and run, on no rows, everything that counts the columns of a release: what fails, fails here."""
    names = [name for name in schema.releasable if not schema[name].is_open]
    if not names:
        return
    with engine_errors("the table"):
        rows = engine.aggregate(_countable_rows(engine, schema, names).limit(0))
        for encoder, kind in zip(_encoders(schema, names)[0], rows.schema.types, strict=True):
            encoder(pa.array([], kind), np.zeros(0, np.int32))
    if not engine.streams:
        _refuse_many_bins(schema, names)
        with engine_errors("the table"):
            coded = _coded_rows(engine, schema, names).limit(0)
            engine.aggregate(coded.group_by(names).aggregate(**{CELL: coded.count()}))


def _refuse_many_bins(schema: Schema, names: Sequence[str]) -> None:
    large = [name for name in names if schema[name].is_ordered and schema[name].size > MOST_REMOTE_BINS]
    if large:
        raise TableError(
            "this engine counts where its rows are, with a query that names every bin",
            [f"{name}: {schema[name].size:,} bins, at most {MOST_REMOTE_BINS:,}" for name in large],
            "state fewer bins or edges, or export the table to Parquet",
        )
