"""Spark: counting in its workers, in one pass for all tables, where they have this package; by GROUP BY where not.

Spark reads the rows, keeps those that count (persons, bounds and readings are the same expressions as on every
engine), and hands them as Arrow batches to :mod:`sfumato.table.on_workers`. The counts of the tasks are summed by
Spark, and only sums come to the driver.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.errors import TableError
from sfumato.schema import Schema
from sfumato.table.engine import BATCH_ROWS, IbisEngine, UnfitWorkersError, engine_errors
from sfumato.table.on_workers import COUNTED, FACTS, UNFIT, UNREACHED, Counted, Job, Task, facts
from sfumato.table.passes import Answer, Ask, grouped
from sfumato.table.spark_files import SparkFiles, plain_files
from sfumato.version import __version__

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

    def answer(self, ask: Ask, schema: Schema) -> Answer:
        """Workers count in one pass what is asked at once, where they have this package; nothing is tried here."""
        if ask.kind == "tables":
            return Answer(IN_WORKERS, ask.times, ask.at_most, "counts")
        if ask.kind == "check" and schema.person is None:
            return Answer("in Spark's workers and by Spark's SQL", ask.times + 1, True, "counts")
        return grouped(ask, schema, str(self.table.get_backend().name))

    @cached_property
    def files(self) -> SparkFiles | None:
        """The Parquet files that are the whole table, where it is nothing but them."""
        with engine_errors("the table"):
            return plain_files(self.table.get_backend().raw_sql(self.table.get_backend().compile(self.table)))

    def count(self, expression: Any, job: Job) -> Counted:
        """Return the counts of a job over the rows of an expression, or raise :class:`UnfitWorkersError`."""
        require_fit(self.session)
        with _unfit_workers(), engine_errors("the table"), _large_batches(self.session):
            backend = self.table.get_backend()
            parts = _mapped(backend.raw_sql(backend.compile(expression)), job.task(), COUNTED)
            return _summed(parts, job)

    def count_files(self, job: Job) -> Counted | None:
        """Return the counts of a job over all rows, read by the workers from the files; None where they cannot.

        Spark turns the columns of a file into rows and these into Arrow columns again, which takes most of the time
        of :meth:`count`.
        """
        kinds = self.files.kinds(job.columns) if self.files else None
        if self.files is None or kinds is None or unfitness(self.session):
            return None
        try:
            with _unfit_workers(), engine_errors("the table"):
                splits = self.files.splits()
                places = self.session.range(0, len(splits), 1, len(splits))
                return _summed(_mapped(places, job.file_task(splits, kinds), COUNTED), job)
        except UnfitWorkersError:
            return None  # told, and counted otherwise, by whoever asks for rows next
        except TableError as error:
            if UNREACHED not in str(error.__context__):
                raise
            return None


def ask_workers(session: Any, number: int, task: Task, answers: str) -> Any:
    """Return what a task answers at each of so many places, as an Arrow table: for work without a private table.

    Each place is one task. Raises :class:`UnfitWorkersError` where the workers lack this package, and Spark's own
    errors where a task fails for good.
    """
    require_fit(session)
    with _unfit_workers():
        return _mapped(session.range(0, number, 1, number), task, answers).toArrow()


def _summed(parts: Any, job: Job) -> Counted:
    """Return the sum of what the tasks counted; of many cells Spark makes it, so that one array reaches the driver."""
    if job.layout().cells > FEW_CELLS:
        from pyspark.sql import functions

        parts = parts.groupBy("cell").agg(functions.sum("times").alias("times"))
    answer = parts.toArrow()
    return job.sum(*(answer.column(name).to_numpy().astype(np.int64) for name in ("cell", "times")))


def require_fit(session: Any) -> None:
    """Raise :class:`UnfitWorkersError` where the workers of a session cannot run this package."""
    if reason := unfitness(session):
        raise UnfitWorkersError(reason, NEXT)


def unfitness(session: Any) -> str:
    """Return why the workers of a session cannot count, found once by a tiny job; an empty text where they can."""
    if session not in _fit:
        _fit[session] = _tried(session)
    return _fit[session]


def _tried(session: Any) -> str:
    try:
        (found,) = _mapped(session.range(1, numPartitions=1), facts, FACTS).collect()
    except Exception as error:
        if type(error).__module__.split(".")[0] not in SPARKS_OWN:
            raise
        return _reason(error)
    return "" if found["version"] == __version__ else f"its workers have sfumato {found['version']}, not {__version__}"


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
        raise UnfitWorkersError(reason, NEXT) from error


def _reason(error: BaseException) -> str:
    """Return in a sentence why a worker could not count, from the traceback that Spark passes on."""
    text = str(error)
    if UNFIT in text:
        return "a worker has another version: " + text.split(UNFIT + ": ")[1].splitlines()[0]
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
