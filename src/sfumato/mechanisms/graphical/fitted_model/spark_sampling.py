"""Write sampled rows as Spark tasks, one part each."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import MissingExtra, ModelError
from sfumato.mechanisms.graphical.fitted_model.model_file import BUNDLED
from sfumato.mechanisms.graphical.fitted_model.sample_files import WORK, PartRecord, SampleParts
from sfumato.table.engines.engine import WorkersUnavailableError
from sfumato.table.engines.spark import require_workers, run_on_workers
from sfumato.table.engines.spark_worker import Task, require_same_version
from sfumato.version import __version__

TOLD = "record string"
UNSEEN = "sfumato-folder-unseen"
UNWRITTEN = "sfumato-part-unwritten"
"""What a worker says of a folder that it does not see or cannot write to; the driver looks for it in Spark's error."""
ONE_FOLDER = (
    "give a folder that is mounted under the same path on the driver and on every worker (docs/on-a-cluster.md)"
)


def open_session(master: str) -> Any:
    """Open a Spark session on a cluster; ModelError where there is none at that address."""
    with _named_failures():
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).appName("sfumato sample")
        session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        return session


def check_workers(session: Any) -> None:
    """Refuse a session whose workers cannot draw rows; nothing was written by then."""
    if not hasattr(session, "range") or not hasattr(session, "conf"):
        raise ModelError(
            f"spark must be a Spark session, found {type(session).__name__}",
            next_step="give spark=SparkSession.builder.getOrCreate()",
        )
    with _named_failures():
        require_workers(session)


def write_parts_on_spark(session: Any, folder: Path, parts: SampleParts) -> list[PartRecord]:
    """Let every part be drawn by a task of its own; only records come back, so the driver holds no rows."""
    with _named_failures():
        records = run_on_workers(session, parts.number, _task(str(folder), parts, __version__), TOLD)
    return [PartRecord.model_validate_json(text) for text in records.column(0).to_pylist()]


def _task(folder: str, parts: SampleParts, version: str) -> Task:
    """Return what a worker runs: rows tell it which parts are its own."""

    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        require_same_version(version)
        places = [place for batch in batches for place in batch.column(0).to_pylist()]
        texts = [_write_one(Path(folder), parts, place).model_dump_json() for place in places]
        yield pa.record_batch({"record": pa.array(texts, pa.string())})

    return draw


def _write_one(folder: Path, parts: SampleParts, place: int) -> PartRecord:
    if not (folder / WORK / BUNDLED).is_file():
        raise RuntimeError(f"{UNSEEN}: {folder.parent}")
    try:
        return parts.write(folder, place)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise RuntimeError(f"{UNWRITTEN}: {reason}") from error


@contextmanager
def _named_failures() -> Generator[None]:
    """Say in a named error why a cluster drew no rows."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
    except ImportError as error:
        raise MissingExtra("a cluster needs PySpark", next_step="pip install 'sfumato[spark]'") from error
    try:
        yield
    except WorkersUnavailableError as error:
        raise ModelError(f"the cluster cannot draw rows: {error}", next_step=error.next_step) from error
    except (PySparkException, Py4JError) as error:
        raise _named(str(error)) from error


def _named(text: str) -> ModelError:
    if UNSEEN in text:
        return ModelError(f"a worker does not see the folder {_after(text, UNSEEN)!r}", next_step=ONE_FOLDER)
    if UNWRITTEN in text:
        step = "make room, or choose another place; nothing was left behind"
        return ModelError(f"a worker cannot write its part: {_after(text, UNWRITTEN)}", next_step=step)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = lines[0][:200] if lines else "no reason was given"
    return ModelError(
        f"the cluster did not draw the rows: {reason}", next_step="look into Spark's log, then draw again"
    )


def _after(text: str, mark: str) -> str:
    return text.split(f"{mark}: ", 1)[1].splitlines()[0]
