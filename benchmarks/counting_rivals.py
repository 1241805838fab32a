"""The hand-written rivals: all two-way tables of one known Parquet file with DuckDB, polars and NumPy.

Each is the fastest formulation of its kind that we found, and each may take what a general engine may not: the values
are known to be clean (no check of domains), bins that are regular are computed by arithmetic, and every code fits
into one byte. ``by covering`` means: count fewer, larger tables that contain all pairs, then sum axes out.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from counting_cover import ColumnSet, Counts, Tables, cells, covering, pairs_of
from counting_data import FIELDS, NAMES, PAIRS, SIZES, Field

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa

WORKERS = os.cpu_count() or 1
BATCH_ROWS = 131_072
CHUNK_ROWS = 65_536
"""Rows whose fused codes NumPy counts at once; smaller chunks (8,192 to 32,768) were slower in fresh processes."""


# --- DuckDB


def _sql_code(field: Field) -> str:
    """Return the code of a column in SQL. A missing value stays NULL: a group of its own."""
    name, low = field.name, field.bounds[0] if field.bounds else 0
    if field.is_text:
        return f"list_position({list(field.levels)}, {name}) - 1"  # evaluated once per dictionary entry
    if field.levels:
        return f"CASE {name} {' '.join(f'WHEN {level} THEN {i}' for i, level in enumerate(field.levels))} END"
    if field.name == "score":
        return f"least(floor({name} * 0.32), {field.present - 1})"
    if field.kind == "number":
        steps = (f"WHEN {name} < {edge!r}::DOUBLE THEN {i}" for i, edge in enumerate(field.edges[1:-1]))
        return f"CASE WHEN {name} IS NULL THEN NULL {' '.join(steps)} ELSE {field.present - 1} END"
    return {"boolean": name, "integer": f"{name} - {low}", "date": f"year({name}) - 2000"}[field.kind]


def _duckdb_codes(path: str, threshold: int = 16) -> duckdb.DuckDBPyConnection:
    """Return a connection with the coded table; perfect hash tables may take ``threshold`` bits of keys."""
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": False})
    connection.execute(f"SET perfect_ht_threshold = {threshold}")
    codes = ", ".join(f"CAST({_sql_code(field)} AS UTINYINT) AS {field.name}" for field in FIELDS)
    connection.execute(f"CREATE TEMP TABLE codes AS SELECT {codes} FROM '{path}'")
    return connection


def _scatter(members: ColumnSet, codes: Sequence[Any], counts: Any) -> Counts:
    table = np.zeros([SIZES[c] for c in members], np.int64)
    places = [np.ma.filled(column, FIELDS[c].present) for c, column in zip(members, codes, strict=True)]
    table[tuple(place.astype(np.intp) for place in places)] = counts
    return table


def duckdb_union(path: str) -> Tables:
    """Code once into a temporary table, then one query: UNION ALL of 105 GROUP BYs."""
    query = " UNION ALL ".join(
        f"SELECT {k}::SMALLINT k, {NAMES[i]} a, {NAMES[j]} b, count(*) n FROM codes GROUP BY a, b"
        for k, (i, j) in enumerate(PAIRS)
    )
    rows = _duckdb_codes(path).execute(query).fetchnumpy()
    tables: Tables = {}
    for k, pair in enumerate(PAIRS):
        mine = rows["k"] == k
        tables[pair] = _scatter(pair, (rows["a"][mine], rows["b"][mine]), rows["n"][mine])
    return tables


def duckdb_grouping_sets(path: str) -> Tables:
    """One query with GROUPING SETS over the coded table."""
    sets = ", ".join(f"({NAMES[i]}, {NAMES[j]})" for i, j in PAIRS)
    columns = ", ".join(NAMES)
    query = f"SELECT grouping({columns}) g, {columns}, count(*) n FROM codes GROUP BY GROUPING SETS ({sets})"
    rows = _duckdb_codes(path).execute(query).fetchnumpy()
    tables: Tables = {}
    for pair in PAIRS:
        mine = rows["g"] == sum(1 << (len(NAMES) - 1 - c) for c in range(len(NAMES)) if c not in pair)
        tables[pair] = _scatter(pair, [rows[NAMES[c]][mine] for c in pair], rows["n"][mine])
    return tables


def duckdb_covering(path: str) -> Tables:
    """Code once, then one GROUP BY per covering set."""
    connection, sets = _duckdb_codes(path, threshold=24), covering()
    counts: list[Counts] = []
    for members in sets:
        columns = ", ".join(NAMES[c] for c in members)
        rows = connection.execute(f"SELECT {columns}, count(*) n FROM codes GROUP BY ALL").fetchnumpy()
        counts.append(_scatter(members, [rows[NAMES[c]] for c in members], rows["n"]))
    return pairs_of(sets, counts)


# --- polars


def _polars_code(field: Field) -> pl.Expr:
    import polars as pl

    column = pl.col(field.name)
    if field.is_text:
        code = column.cast(pl.Enum(field.levels)).to_physical()
    elif field.levels:
        code = column.replace_strict(list(field.levels), list(range(len(field.levels))), return_dtype=pl.UInt8)
    elif field.name == "score":
        code = (column * 0.32).cast(pl.UInt8).clip(0, field.present - 1)
    elif field.kind == "number":
        code = pl.sum_horizontal(*((column >= edge).cast(pl.UInt8) for edge in field.edges[1:-1]), ignore_nulls=False)
    elif field.kind == "date":
        code = column.dt.year() - 2000
    else:
        code = column - field.bounds[0] if field.bounds else column
    return code.cast(pl.UInt8).fill_null(field.present).alias(field.name)


def _polars_codes(path: str) -> pl.DataFrame:
    import polars as pl

    return pl.scan_parquet(path).select(map(_polars_code, FIELDS)).collect(engine="streaming")


def _fused(members: ColumnSet) -> pl.Expr:
    import polars as pl

    cell = pl.col(NAMES[members[0]]).cast(pl.UInt16)
    for c in members[1:]:
        cell = cell * SIZES[c] + pl.col(NAMES[c])
    return cell.alias("cell")


def polars_group_by(path: str, sets: Sequence[ColumnSet] = PAIRS) -> Tables:
    """Code once, fuse the codes of each set into one key, group all of them in one ``collect_all``."""
    import polars as pl

    codes = _polars_codes(path).lazy()
    answers = pl.collect_all([codes.select(_fused(members)).group_by("cell").len() for members in sets])
    counts = [np.zeros(cells(members), np.int64) for members in sets]
    for table, answer in zip(counts, answers, strict=True):
        table[answer["cell"].to_numpy()] = answer["len"].to_numpy()
    return pairs_of(sets, counts)


def polars_bincount(path: str, sets: Sequence[ColumnSet] = PAIRS) -> Tables:
    """Read and code with polars, count with ``np.bincount`` in threads."""
    codes = _polars_codes(path)
    columns = [codes[name].to_numpy() for name in NAMES]

    def part(worker: int) -> list[Counts]:
        counts, space = [np.zeros(cells(members), np.int64) for members in sets], _work_space()
        for first in range(worker * CHUNK_ROWS, len(codes), WORKERS * CHUNK_ROWS):
            _count_chunk([column[first : first + CHUNK_ROWS] for column in columns], sets, counts, space)
        return counts

    with ThreadPoolExecutor(WORKERS) as pool:
        return _summed(sets, pool.map(part, range(WORKERS)))


# --- NumPy


def _numpy_code(field: Field, array: pa.Array) -> Counts:
    if field.is_text:
        return _numpy_text_code(field, array)
    values = array.view("int32") if field.kind == "date" else array
    filled = values.fill_null(0) if array.null_count else values
    code = _numpy_number_code(field, filled.to_numpy(zero_copy_only=False))
    if array.null_count:
        code[array.is_null().to_numpy(zero_copy_only=False)] = field.present
    return code


def _numpy_text_code(field: Field, array: pa.DictionaryArray) -> Counts:
    position = {level: code for code, level in enumerate(field.levels)}
    lookup = np.array([*(position[text] for text in array.dictionary.to_pylist()), field.present], np.uint8)
    indices = array.indices
    return lookup[(indices.fill_null(len(lookup) - 1) if indices.null_count else indices).to_numpy()]


def _numpy_number_code(field: Field, values: Counts) -> Counts:
    if field.kind == "boolean":
        return values.view(np.uint8)
    if field.levels or field.kind == "date":
        first, lookup = _lookup(field)
        return lookup[values - first]
    if field.kind == "integer":
        return (values - field.bounds[0]).astype(np.uint8)
    if field.name == "score":
        return np.minimum((values * 0.32).astype(np.uint8), np.uint8(field.present - 1))
    code = np.zeros(len(values), np.uint8)
    for edge in field.edges[1:-1]:
        code += values >= edge
    return code


@cache
def _lookup(field: Field) -> tuple[int, Counts]:
    """Return codes by value for listed numbers and for days, and the value that stands first."""
    if field.levels:
        codes = np.zeros(max(map(int, field.levels)) + 1, np.uint8)
        codes[list(field.levels)] = np.arange(len(field.levels))
        return 0, codes
    days = np.array([*field.edges, field.bounds[1] + dt.timedelta(1)], "datetime64[D]").astype(np.int64)
    return int(days[0]), np.repeat(np.arange(field.present, dtype=np.uint8), np.diff(days))


def _work_space() -> Counts:
    """Return room for the widened codes of a chunk and, last, its cell numbers: nothing is allocated in the loop."""
    return np.empty((len(FIELDS) + 1, CHUNK_ROWS), np.intp)


def _count_chunk(
    codes: Sequence[Counts], sets: Sequence[ColumnSet], counts: Sequence[Counts], work_space: Counts
) -> None:
    """Fuse the codes of each set into a cell number and count the numbers."""
    *wide, cell = work_space[:, : len(codes[0])]
    for column, narrow in zip(wide, codes, strict=True):
        column[:] = narrow
    for members, table in zip(sets, counts, strict=True):
        np.multiply(wide[members[0]], SIZES[members[1]], out=cell)
        cell += wide[members[1]]
        for c in members[2:]:
            cell *= SIZES[c]
            cell += wide[c]
        table += np.bincount(cell, minlength=len(table))


def _numpy_part(path: str, sets: Sequence[ColumnSet], worker: int) -> list[Counts]:
    """Count every WORKERS-th row group: text as dictionaries, codes and cells in chunks that fit the cache."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, read_dictionary=[field.name for field in FIELDS if field.is_text])
    counts, space = [np.zeros(cells(members), np.int64) for members in sets], _work_space()
    groups = list(range(worker, file.num_row_groups, WORKERS))
    for batch in file.iter_batches(BATCH_ROWS, row_groups=groups, use_threads=False):
        codes = [_numpy_code(field, batch.column(field.name)) for field in FIELDS]
        for first in range(0, batch.num_rows, CHUNK_ROWS):
            _count_chunk([column[first : first + CHUNK_ROWS] for column in codes], sets, counts, space)
    return counts


def _summed(sets: Sequence[ColumnSet], parts: Iterable[list[Counts]]) -> Tables:
    return pairs_of(sets, [sum(tables[1:], tables[0]) for tables in zip(*parts, strict=True)])


def numpy_threads(path: str, sets: Sequence[ColumnSet] = PAIRS) -> Tables:
    """Stream row groups in threads and count with ``np.bincount``."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return _summed(sets, pool.map(partial(_numpy_part, path, sets), range(WORKERS)))


def numpy_processes(path: str, sets: Sequence[ColumnSet] = PAIRS) -> Tables:
    """The same in forked processes, which do not share a GIL."""
    from multiprocessing import get_context

    with get_context("fork").Pool(WORKERS) as pool:
        return _summed(sets, pool.map(partial(_numpy_part, path, sets), range(WORKERS)))


RIVALS: dict[str, Callable[[str], Tables]] = {
    "DuckDB, UNION ALL of GROUP BYs": duckdb_union,
    "DuckDB, GROUPING SETS": duckdb_grouping_sets,
    "DuckDB, by covering": duckdb_covering,
    "polars, fused group_by": polars_group_by,
    "polars, by covering": lambda path: polars_group_by(path, covering()),
    "polars and bincount": polars_bincount,
    "polars and bincount, by covering": lambda path: polars_bincount(path, covering()),
    "NumPy, threads": numpy_threads,
    "NumPy, processes": numpy_processes,
    "NumPy, threads, by covering": lambda path: numpy_threads(path, covering()),
    "NumPy, processes, by covering": lambda path: numpy_processes(path, covering()),
}
