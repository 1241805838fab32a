"""Spark tables that are Parquet files and nothing else: workers may read those files themselves.

A table qualifies when Spark's own plan of it is one scan: no filter, no renaming, no join, no partition folders, no
format that builds on Parquet (Delta and Iceberg keep lists of deleted rows elsewhere). Files must lie in a file
system that is mounted on every machine, and hold the needed columns in the very types that Spark reads. Whatever does
not qualify goes through Spark's reader, with the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.schema.column import Column
from sfumato.table.encode import can_encode
from sfumato.table.on_workers import Split, same_kinds

SPLIT_BYTES = 32 << 20
"""Bytes of a file that one task reads, in whole row groups."""
SCAN = ("LogicalRelation", "HadoopFsRelation", "ParquetFileFormat")
KINDS = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}
"""Types that a file must have for what Spark says of a column; others are converted by Spark."""
MODERN = date(1900, 1, 1)
"""Old writers counted days before 1582 by another calendar, which Spark corrects and a plain reader does not."""


@dataclass(frozen=True)
class SparkFiles:
    """The files of a table, with the types that Spark reads from them."""

    paths: tuple[str, ...]
    types: dict[str, str]

    def kinds(self, columns: Sequence[Column]) -> pa.Schema | None:
        """Return the Arrow types of columns that encoders take as they are; None where one needs a conversion.

        The first file is looked at here, the others by whoever reads them.
        """
        wanted = [(column, KINDS.get(self.types.get(column.name, ""))) for column in columns]
        if not all(kind and can_encode(column, kind) and not _is_ancient(column) for column, kind in wanted):
            return None
        kinds = pa.schema([(column.name, kind) for column, kind in wanted])
        return kinds if same_kinds(pq.read_schema(self.paths[0]), kinds) else None

    def splits(self) -> list[Split]:
        """Cut the files into pieces for tasks, by the sizes and row groups that the files have now."""
        return [Split(path, part, parts) for path in self.paths for parts in [_parts(path)] for part in range(parts)]


def _parts(path: str) -> int:
    by_size = ceil(Path(path).stat().st_size / SPLIT_BYTES)
    return 1 if by_size <= 1 else max(1, min(by_size, pq.read_metadata(path).num_row_groups))


def _is_ancient(column: Column) -> bool:
    return column.kind == "date" and (column.bounds is None or column.bounds[0] < MODERN)


def plain_files(frame: Any) -> SparkFiles | None:
    """Return the files that are the whole of a Spark frame, as Spark's own plan says; None for any other frame."""
    java = getattr(frame, "_jdf", None)
    if java is None or not _is_bare_scan(java.queryExecution().optimizedPlan()):
        return None
    addresses = [urlparse(address) for address in frame.inputFiles()]
    paths = tuple(unquote(address.path) for address in addresses)
    if (
        not paths
        or any(a.scheme != "file" or a.netloc for a in addresses)
        or not all(Path(path).is_file() for path in paths)
    ):
        return None
    return SparkFiles(paths, dict(frame.dtypes))


def _is_bare_scan(plan: Any) -> bool:
    relation, scan, parquet = SCAN
    if plan.getClass().getSimpleName() != relation or plan.relation().getClass().getSimpleName() != scan:
        return False
    files = plan.relation()
    return files.fileFormat().getClass().getSimpleName() == parquet and files.partitionSchema().length() == 0
