"""Count marginals of many column sets in as few passes as possible, on any engine."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import SlowCountingWarning, TableError
from sfumato.progress import report_progress
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.system import usable_cores
from sfumato.table.column_expressions import code_expression, encodable, has_many_levels, select_as
from sfumato.table.count_buffer import BufferLayout, CountBuffer, MarginalCounts, column_encoders
from sfumato.table.engines.engine import BatchReader, Engine, WorkersUnavailableError, engine_errors
from sfumato.table.engines.spark_worker import CountJob, WorkerCounts
from sfumato.table.marginal_cover import ColumnSet, marginal_cover, sum_to_marginal
from sfumato.table.persons import kept_rows
from sfumato.table.scan_plan import GROUPED_CELLS, LARGEST_SEARCH

LOCAL_LIMIT = 16_384
"""Cells of a covering table in this process: small enough for the processor's cache."""
MOST_REMOTE_BINS = 10_000
"""Bins of one column on another engine: each is a branch of the query that is sent there."""
CELL = "cell"
ONE_BY_ONE = "the tables are counted one after the other, which takes a pass for each"
GROUPED = "the engine groups the rows itself, with the same counts, more slowly"
CHANGED = "run the release again; if it persists, the schema and the table disagree: sfumato schema check"


def count_marginals(engine: Engine, schema: Schema, wanted: Sequence[ColumnSet]) -> MarginalCounts:
    """Return the counts of every wanted column set."""
    report_progress("counting")
    needed = {name for columns in wanted for name in columns}
    names = [name for name in schema.names if name in needed]
    sets = [columns for columns in dict.fromkeys(wanted) if columns]
    tables = _counter(engine)(engine, schema, names, sets) if names else {}
    return {columns: _find(tables, columns) for columns in wanted}


def _find(tables: MarginalCounts, wanted: ColumnSet) -> NDArray[np.int64]:
    if wanted in tables:
        return tables[wanted]
    for names, table in tables.items():
        if set(wanted) <= set(names):
            return sum_to_marginal(table, names, wanted)
    raise TableError(f"no counts for {', '.join(wanted)}", next_step="name at least one column of the schema")


def _counter(engine: Engine) -> Callable[[Engine, Schema, Sequence[str], Sequence[ColumnSet]], MarginalCounts]:
    """Return how an engine counts: its rows stream to us, our loops go to its rows, or it groups them itself."""
    if engine.streams:
        return _count_streaming
    return _count_in_workers if engine.workers else _count_by_group_by


def _covering(schema: Schema, names: Sequence[str], wanted: Sequence[ColumnSet], limit: int) -> list[ColumnSet]:
    """Return the tables to count; where searching for few that hold all would take longer, the wanted ones."""
    if limit == LOCAL_LIMIT and len(wanted) * len(names) > LARGEST_SEARCH:
        return list(wanted)
    return marginal_cover({name: schema[name].size for name in names}, wanted, limit)


def _count_streaming(
    engine: Engine, schema: Schema, names: Sequence[str], wanted: Sequence[ColumnSet]
) -> MarginalCounts:
    sets = _covering(schema, names, wanted, LOCAL_LIMIT)
    layout = BufferLayout.by_name([schema[name] for name in names], sets)
    workers = _count_in_threads(schema, names, layout, _units(engine, schema, names))
    _refuse_outside(names, sum(worker.outside for worker in workers))
    counts = workers[0].counts
    for worker in workers[1:]:
        counts += worker.counts
    return layout.tables(counts, sets)


def _count_in_workers(
    engine: Engine, schema: Schema, names: Sequence[str], wanted: Sequence[ColumnSet]
) -> MarginalCounts:
    """Count all tables in one pass, in the workers of the engine; by GROUP BY, with a warning, where they cannot."""
    sets = _covering(schema, names, wanted, LOCAL_LIMIT)
    sums = _ask_workers(engine, schema, names, sets)
    if sums is None:
        return _count_by_group_by(engine, schema, names, wanted)
    _refuse_outside(names, sums.outside)
    return BufferLayout.by_name([schema[name] for name in names], sets).tables(sums.counts, sets)


def _ask_workers(
    engine: Engine, schema: Schema, names: Sequence[str], sets: Sequence[ColumnSet], rows: int | None = None
) -> WorkerCounts | None:
    """Return what the workers counted, of all rows or of so many; None, after a warning, where they cannot."""
    if engine.workers is None:
        return None
    job = CountJob(tuple(schema[name] for name in names), tuple(sets))
    from_files = engine.count_files(job) if schema.person is None and rows is None else None
    if from_files is not None:
        return from_files
    chosen = _countable_rows(engine, schema, names)
    try:
        return engine.workers.count(chosen if rows is None else chosen.limit(rows), job)
    except WorkersUnavailableError as error:
        warnings.warn(SlowCountingWarning(f"{error}: {GROUPED}; {error.next_step}"), stacklevel=2)
        return None


def all_values_in_domain(engine: Engine, schema: Schema) -> bool:
    """Whether every value of every column lies in its public domain: one quick pass, nothing counted.

    False also where no pass would be quicker than to ask the engine.
    """
    closed = [column.name for column in schema if not column.is_open]
    if not engine.streams:
        sums = engine.count_files(CountJob(tuple(schema[name] for name in closed), ()))
        return sums is not None and not sums.outside.any()
    layout = BufferLayout.of(schema.shape(schema.names), [])
    workers = _count_in_threads(schema, closed, layout, _units(engine, schema, closed))
    return not any(worker.outside.any() for worker in workers)


def _worker_count(layout: BufferLayout) -> int:
    """Each worker holds all tables; when they are large, one worker saves the memory."""
    return min(usable_cores(), 8) if layout.offsets[-1] < 10_000_000 else 1


def _units(engine: Engine, schema: Schema, names: Sequence[str]) -> Iterator[BatchReader]:
    """Return pieces of work: row groups that workers read themselves, or batches of one stream."""
    groups = engine.row_groups([schema[name] for name in names]) if schema.person is None else None
    if groups is not None:
        return groups
    return _batch_units(engine.batches(_countable_rows(engine, schema, names)))


def _countable_rows(engine: Engine, schema: Schema, names: Sequence[str]) -> Any:
    table = kept_rows(engine.table, schema)
    return select_as(table, {name: encodable(table[name], schema[name], by_encoders=True) for name in names})


def _batch_units(batches: Iterator[pa.RecordBatch]) -> Iterator[BatchReader]:
    for batch in batches:
        yield lambda batch=batch: iter([batch])


def _count_in_threads(
    schema: Schema, names: Sequence[str], layout: BufferLayout, units: Iterator[BatchReader]
) -> list[CountBuffer]:
    """Let workers take units until none is left; each keeps its own tables, so that only the queue is shared."""
    encoders, code_type = column_encoders([schema[name] for name in names])
    workers = [CountBuffer(encoders, code_type, layout) for _ in range(_worker_count(layout))]
    lock, failures = threading.Lock(), list[BaseException]()

    def take() -> BatchReader | None:
        with lock:
            return None if failures else next(units, None)

    def work(worker: CountBuffer) -> None:
        try:
            while (unit := take()) is not None:
                for batch in unit():
                    worker.feed(batch)
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


def _count_by_group_by(
    engine: Engine, schema: Schema, names: Sequence[str], wanted: Sequence[ColumnSet]
) -> MarginalCounts:
    """Count where the rows are: all tables in one pass where the engine's SQL can, else by a GROUP BY for each."""
    sets = _covering(schema, names, wanted, GROUPED_CELLS)
    _refuse_many_bins(schema, names)
    try:
        answer = engine.count_in_one_query(schema, sets)
    except TableError as error:  # SQL that is not what its dialect says; if the engine is lost, the next query tells
        warnings.warn(SlowCountingWarning(f"{error.headline}: {ONE_BY_ONE}"), stacklevel=2)
        answer = None
    if answer is None:
        return _count_one_by_one(engine, schema, sets)
    counts, outside = answer
    _refuse_outside(names, [outside[name] for name in names])
    return counts


def _count_one_by_one(engine: Engine, schema: Schema, sets: Sequence[ColumnSet]) -> MarginalCounts:
    counts: MarginalCounts = {}
    for done, members in enumerate(sets):
        report_progress("counting where the rows are", done / len(sets))
        counts[members] = _dense(*count_nonempty_cells(engine, schema, members), schema.shape(members))
    return counts


def count_nonempty_cells(
    engine: Engine, schema: Schema, names: ColumnSet
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the codes and the counts of the cells that hold a row: any number of columns, on any engine.

    GROUP BY is pushed down; the codes are computed first, because nested group keys are not portable. Columns with very
    many levels are grouped by their values, and coded here: a query with a branch for each would be too long.
    """
    if not engine.streams:
        _refuse_many_bins(schema, names)
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
    return select_as(
        raw,
        {c.name: encodable(raw[c.name], c) if has_many_levels(c) else code_expression(raw[c.name], c) for c in columns},
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


def dry_run_counting(engine: Engine, schema: Schema) -> None:
    """Compile and run the counting of a release on no rows, so that failures come before the spend."""
    names = [name for name in schema.releasable if not schema[name].is_open]
    if not names:
        return
    with engine_errors("the table"):
        rows = engine.aggregate(_countable_rows(engine, schema, names).limit(0))
        for encoder, kind in zip(column_encoders([schema[n] for n in names])[0], rows.schema.types, strict=True):
            encoder(pa.array([], kind), np.zeros(0, np.int32))
    if not engine.streams:
        _ask_workers(engine, schema, names, [(name,) for name in names], rows=0)
        _rehearse_grouping(engine, schema, names)


def _rehearse_grouping(engine: Engine, schema: Schema, names: Sequence[str]) -> None:
    """Group no rows by columns: some methods want occupied cells, which the engine groups even where workers count."""
    _refuse_many_bins(schema, names)
    with engine_errors("the table"):
        coded = _coded_rows(engine, schema, names).limit(0)
        engine.aggregate(coded.group_by(list(names)).aggregate(**{CELL: coded.count()}))


def _refuse_many_bins(schema: Schema, names: Sequence[str]) -> None:
    large = [name for name in names if schema[name].is_ordered and schema[name].size > MOST_REMOTE_BINS]
    if large:
        raise TableError(
            "this engine counts where its rows are, with a query that names every bin",
            [f"{name}: {schema[name].size:,} bins, at most {MOST_REMOTE_BINS:,}" for name in large],
            "state fewer bins or edges, or export the table to Parquet",
        )
