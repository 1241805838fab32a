"""Spark as an engine: count in its workers, or by GROUP BY where they lack this package.

A table qualifies when Spark's own plan of it is one scan: no filter, no renaming, no join, no partition folders, no
format that builds on Parquet (Delta and Iceberg keep lists of deleted rows elsewhere). Files must lie in a file
system that is mounted on every machine, and hold the needed columns in the very types that Spark reads. Whatever does
not qualify goes through Spark's reader, with the same counts.

Spark reads the rows, keeps those that count (persons, bounds and readings are the same expressions as on every
engine), and hands them as Arrow batches to :mod:`sfumato.table.engines.spark_worker`. The counts of the tasks are
summed by Spark, and only sums come to the driver.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import TableError
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.encode import can_encode
from sfumato.table.engines.engine import BATCH_ROWS, WorkersUnavailableError, engine_errors
from sfumato.table.engines.ibis import IbisEngine
from sfumato.table.engines.spark_worker import (
    COUNTED,
    FACTS,
    FILES_DIFFER,
    VERSIONS_DIFFER,
    CountJob,
    FileSplit,
    Task,
    WorkerCounts,
    same_kinds,
    worker_versions,
)
from sfumato.table.scan_plan import DataRequest, ScanPlan, group_by_scan
from sfumato.version import __version__

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
GREGORIAN_FROM = date(1900, 1, 1)
"""Old writers counted days before 1582 by another calendar, which Spark corrects and a plain reader does not."""


@dataclass(frozen=True)
class SparkParquetFiles:
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

    def splits(self) -> list[FileSplit]:
        """Cut the files into pieces for tasks, by the sizes and row groups that the files have now."""
        return [
            FileSplit(path, part, parts) for path in self.paths for parts in [_parts(path)] for part in range(parts)
        ]


def _parts(path: str) -> int:
    by_size = ceil(Path(path).stat().st_size / SPLIT_BYTES)
    return 1 if by_size <= 1 else max(1, min(by_size, pq.read_metadata(path).num_row_groups))


def _is_ancient(column: Column) -> bool:
    return column.kind == "date" and (column.bounds is None or column.bounds[0] < GREGORIAN_FROM)


def parquet_files_of(frame: Any) -> SparkParquetFiles | None:
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
    return SparkParquetFiles(paths, dict(frame.dtypes))


def _is_bare_scan(plan: Any) -> bool:
    relation, scan, parquet = SCAN
    if plan.getClass().getSimpleName() != relation or plan.relation().getClass().getSimpleName() != scan:
        return False
    files = plan.relation()
    return files.fileFormat().getClass().getSimpleName() == parquet and files.partitionSchema().length() == 0


LACKING = "a worker"
"""How a reason begins that speaks of the worker, and not of the rows."""
BATCH_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"
PYTHON_SETTINGS = ("spark.pyspark.python", "spark.pyspark.driver.python")
PYTHON_VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
SPARKS_OWN = ("pyspark", "py4j", "grpc")
"""Where exceptions come from that are about a session and its workers."""
FEW_CELLS = 16_384
"""Cells up to which every task's counts come to the driver: a quarter of a megabyte each. More are summed by Spark."""
NEXT = (
    f"install sfumato {__version__} for the Python of the workers and name that Python in PYSPARK_PYTHON or in "
    "spark.pyspark.python before the session starts (docs/on-a-cluster.md)"
)
IN_WORKERS = "in Spark's workers, by compiled loops; by GROUP BY, one for each table, where they lack this package"
_fit: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""What stands against counting in the workers of a session; an empty text where nothing does."""


@dataclass(frozen=True)
class SparkEngine(IbisEngine):
    """A Spark table, whose workers can count for us."""

    @cached_property
    def session(self) -> Any:
        """The session that holds the table."""
        return self.table.get_backend().raw_sql("SELECT 1").sparkSession

    @property
    def workers(self) -> SparkEngine:
        """This engine's workers can be asked to count; :meth:`count` says when they cannot."""
        return self

    @property
    def has_typed_files(self) -> bool:
        """Workers read Parquet files in the types that Spark has of them, where the table is such files."""
        return True

    def scan_plan(self, ask: DataRequest, schema: Schema) -> ScanPlan:
        """Workers count in one pass what is asked at once, where they have this package; nothing is tried here."""
        if ask.kind == "tables":
            return ScanPlan(IN_WORKERS, ask.times, ask.at_most, "counts")
        if ask.kind == "check" and schema.person is None:
            return ScanPlan("in Spark's workers and by Spark's SQL", ask.times + 1, True, "counts")
        return group_by_scan(ask, schema, self.backend)

    @cached_property
    def files(self) -> SparkParquetFiles | None:
        """The Parquet files that are the whole table, where it is nothing but them."""
        with engine_errors("the table"):
            return parquet_files_of(self.table.get_backend().raw_sql(self.table.get_backend().compile(self.table)))

    def count(self, expression: Any, job: CountJob) -> WorkerCounts:
        """Return the counts of a job over the rows of an expression, or raise :class:`WorkersUnavailableError`."""
        require_workers(self.session)
        with _unfit_workers(), engine_errors("the table"), _large_batches(self.session):
            backend = self.table.get_backend()
            parts = _mapped(backend.raw_sql(backend.compile(expression)), job.task(), COUNTED)
            return _summed(parts, job)

    def count_files(self, job: CountJob) -> WorkerCounts | None:
        """Return the counts of a job over all rows, read by the workers from the files; None where they cannot.

        Spark turns the columns of a file into rows and these into Arrow columns again, which takes most of the time
        of :meth:`count`.
        """
        kinds = self.files.kinds(job.columns) if self.files else None
        if self.files is None or kinds is None or worker_problem(self.session):
            return None
        try:
            with _unfit_workers(), engine_errors("the table"):
                splits = self.files.splits()
                places = self.session.range(0, len(splits), 1, len(splits))
                return _summed(_mapped(places, job.file_task(splits, kinds), COUNTED), job)
        except WorkersUnavailableError:
            return None  # told, and counted otherwise, by whoever asks for rows next
        except TableError as error:
            if FILES_DIFFER not in str(error.__context__):
                raise
            return None


def run_on_workers(session: Any, number: int, task: Task, answers: str) -> Any:
    """Run a task so many times on the workers and return its answers as an Arrow table; no private table is involved.

    Each place is one task. Raises :class:`WorkersUnavailableError` where the workers lack this package, and Spark's own
    errors where a task fails for good.
    """
    require_workers(session)
    with _unfit_workers():
        return _mapped(session.range(0, number, 1, number), task, answers).toArrow()


def _summed(parts: Any, job: CountJob) -> WorkerCounts:
    """Return the sum of what the tasks counted; of many cells Spark makes it, so that one array reaches the driver."""
    if job.layout().cells > FEW_CELLS:
        from pyspark.sql import functions

        parts = parts.groupBy("cell").agg(functions.sum("times").alias("times"))
    answer = parts.toArrow()
    return job.sum(*(answer.column(name).to_numpy().astype(np.int64) for name in ("cell", "times")))


def require_workers(session: Any) -> None:
    """Raise :class:`WorkersUnavailableError` where the workers of a session cannot run this package."""
    if reason := worker_problem(session):
        raise WorkersUnavailableError(reason, NEXT)


def worker_problem(session: Any) -> str:
    """Return why the workers of a session cannot count, found once by a tiny job; an empty text where they can."""
    if session not in _fit:
        _fit[session] = _tried(session)
    return _fit[session]


def _tried(session: Any) -> str:
    try:
        (worker,) = _mapped(session.range(1, numPartitions=1), worker_versions, FACTS).collect()
    except Exception as error:
        if type(error).__module__.split(".")[0] not in SPARKS_OWN:
            raise
        return _reason(error)
    return (
        "" if worker["version"] == __version__ else f"its workers have sfumato {worker['version']}, not {__version__}"
    )


def _mapped(rows: Any, task: Task, answers: str) -> Any:
    with _own_python(rows.sparkSession):
        return rows.mapInArrow(task, answers)


@contextmanager
def _own_python(session: Any) -> Generator[None]:
    """Let a session on this machine use the Python of this process, unless somebody has named another.

    Spark would take the first ``python3`` on the path, which need not be the one that runs this.
    """
    context = getattr(session, "_sc", None)
    if context is None or not context.master.startswith("local") or _names_python(context):
        yield
        return
    before, context.pythonExec = context.pythonExec, sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def _names_python(context: Any) -> bool:
    conf = context.getConf()
    return any(os.environ.get(name) for name in PYTHON_VARIABLES) or any(conf.get(name) for name in PYTHON_SETTINGS)


@contextmanager
def _large_batches(session: Any) -> Generator[None]:
    """Hand rows over in batches of our size: Spark's own are small, and every batch has a fixed cost."""
    before = session.conf.get(BATCH_SETTING)
    session.conf.set(BATCH_SETTING, str(BATCH_ROWS))
    try:
        yield
    finally:
        session.conf.set(BATCH_SETTING, before)


@contextmanager
def _unfit_workers() -> Generator[None]:
    """Tell a worker without this package, met in the middle of a job, from an error about the user's table."""
    try:
        yield
    except Exception as error:
        reason = _reason(error.__context__ if isinstance(error, TableError) and error.__context__ else error)
        if not reason.startswith(LACKING):
            raise
        raise WorkersUnavailableError(reason, NEXT) from error


def _reason(error: BaseException) -> str:
    """Return in a sentence why a worker could not count, from the traceback that Spark passes on."""
    text = str(error)
    if VERSIONS_DIFFER in text:
        return "a worker has another version: " + text.split(VERSIONS_DIFFER + ": ")[1].splitlines()[0]
    if missing := re.search(r"No module named '([\w.]+)'", text):
        return f"a worker's Python lacks {missing[1]}"
    if "PYTHON_VERSION_MISMATCH" in text or "different minor version" in text:
        return f"a worker's Python is not {sys.version_info.major}.{sys.version_info.minor}, as the driver's is"
    if "PACKAGE_NOT_INSTALLED" in text or "must be installed" in text:
        return "a worker's Python lacks a package: " + " ".join(text.split())[:200]
    if "Cannot run program" in text:
        return "a worker does not find the Python that it was told to start"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "its workers ran no Python: " + (lines[-1][:200] if lines else type(error).__name__)
