"""Write sampled rows to a folder of Parquet parts: here, in processes or on Spark."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel

from sfumato.atomic_files import flush_to_disk, temporary_folder, temporary_path
from sfumato.bounded_reads import bounded_text
from sfumato.core.file_metadata import seed_warning
from sfumato.errors import ModelError
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel, check_count
from sfumato.mechanisms.graphical.fitted_model.model_file import BUNDLED, write_model
from sfumato.mechanisms.graphical.fitted_model.sample_files import (
    WORK,
    PartRecord,
    Runner,
    SampleParts,
    WrittenSample,
    seed_warning_path,
)
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.canonical_json import SealedDocument
from sfumato.process_pool import run_in_processes
from sfumato.progress import report_progress
from sfumato.version import __version__

LAYOUT = SealedDocument(indent=1)
MANIFEST, SUCCESS = "_manifest.json", "_SUCCESS"
"""Readers of Parquet folders pass over names that begin so; Spark looks for the second."""
DRAWING = "drawing rows"
ANOTHER = "choose another folder"


class SampleManifest(BaseModel):
    """The content of _manifest.json: what the folder holds, and what is promised of it."""

    format: Literal[1] = 1
    version: str
    """The version of sfumato that wrote the folder."""
    method: str
    table: str
    columns: tuple[str, ...]
    rows: int
    guarantee: Guarantee
    statement: str
    stamp: str | None
    parts: tuple[PartRecord, ...]
    seal: str = ""


def choose_runner(spark: Any = None, processes: int = 1) -> Runner:
    """Return who draws the parts: the workers of a Spark session, several processes, or this one.

    Workers that cannot are refused here, before anything is written.
    """
    number = check_count(processes, "processes")
    if spark is not None:
        from sfumato.mechanisms.graphical.fitted_model.spark_sampling import check_workers, write_parts_on_spark

        check_workers(spark)
        return partial(write_parts_on_spark, spark)
    if number > 1:
        return partial(write_parts_in_processes, number)
    return write_parts_here


def write_parts_here(folder: Path, parts: SampleParts) -> Iterator[PartRecord]:
    """Draw the parts one after the other in this process."""
    for place in range(parts.number):
        report_progress(DRAWING, place / parts.number)
        yield parts.write(folder, place)


def write_parts_in_processes(number: int, folder: Path, parts: SampleParts) -> Iterator[PartRecord]:
    """Draw the parts by so many processes and hand on what they tell; the first that fails ends all."""
    died = ModelError("a process that drew rows has died", next_step="draw again, with fewer processes")
    written = run_in_processes(_write_part, (folder, parts), range(parts.number), min(number, parts.number), died)
    yield from (record for _, record in written)


def _write_part(shared: tuple[Path, SampleParts], place: int) -> PartRecord:
    folder, parts = shared
    return parts.write(folder, place)


def refuse_folder(target: Path, overwrite: bool = False) -> None:
    """Refuse a place that cannot take the folder, before any work is done for it; only a folder of rows is replaced."""
    if not target.parent.is_dir():
        raise ModelError(f"there is no folder {str(target.parent)!r}", next_step="make it, or choose another place")
    if not (target.exists() or target.is_symlink()):
        return
    if target.is_symlink() or not target.is_dir():
        raise ModelError(f"{str(target)!r} is no folder", next_step=ANOTHER)
    if not any(target.iterdir()):
        return
    if not overwrite:
        step = f"{ANOTHER}, or say overwrite=True (--force)"
        raise ModelError(f"{str(target)!r} exists, and is not overwritten unless asked", next_step=step)
    if not (target / MANIFEST).is_file():
        message = f"{str(target)!r} holds no {MANIFEST}, so it is not a folder of rows and is not overwritten"
        raise ModelError(message, next_step=ANOTHER)


def write_folder(
    model: FittedModel, folder: str | Path, parts: SampleParts, run: Runner, overwrite: bool = False
) -> WrittenSample:
    """Let the parts be drawn into a folder beside its place, check them, and move it there; or leave nothing."""
    target, guarantee = Path(folder).absolute(), model.require_guarantee()
    refuse_folder(target, overwrite)
    with _named_failure(target), temporary_folder(target, keep_parents=True) as shop:
        (shop / WORK).mkdir()
        write_model(model, shop / WORK / BUNDLED)
        records = sorted(run(shop, parts), key=lambda record: record.name)
        problems = parts.problems(shop, records)
        if problems:
            raise ModelError(f"rows are missing in {str(target)!r}", problems[:5], "draw them again; nothing was left")
        shutil.rmtree(shop / WORK)
        _finish(shop, model, guarantee, records)
        _move(shop, target, overwrite)
    return _told(target, records)


def _finish(shop: Path, model: FittedModel, guarantee: Guarantee, records: Sequence[PartRecord]) -> None:
    """Write what lies beside the parts: the manifest, the warning of a seeded fit, and the mark of completeness."""
    manifest = SampleManifest(
        version=__version__,
        method=model.method,
        table=model.schema.name,
        columns=model.names,
        rows=sum(record.rows for record in records),
        guarantee=guarantee,
        statement=guarantee.statement(),
        stamp=model.stamp,
        parts=tuple(records),
    )
    (shop / MANIFEST).write_text(LAYOUT.text(LAYOUT.sealed(manifest.model_dump(mode="json"))), encoding="utf-8")
    if model.stamp:
        seed_warning_path(shop / "_rows").write_text(seed_warning(model.stamp), encoding="utf-8")
    (shop / SUCCESS).touch()
    flush_to_disk(shop)


def _move(shop: Path, target: Path, overwrite: bool) -> None:
    """Give the folder its name; an older one makes room first, and comes back if that fails."""
    refuse_folder(target, overwrite)
    if not target.exists():
        shop.rename(target)
        return
    old = temporary_path(target)
    target.rename(old)
    try:
        shop.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _named_failure(target: Path) -> Generator[None]:
    """Say in a named error what the disk refused; the unfinished folder is removed."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot write {str(target)!r}: {reason}"
        raise ModelError(message, next_step="make room, or choose another place; nothing was left behind") from error


def _told(target: Path, records: Sequence[PartRecord]) -> WrittenSample:
    repaired = Counter[str]()
    for record in records:
        repaired.update(record.repaired)
    rows, replaced = sum(record.rows for record in records), sum(record.replaced for record in records)
    return WrittenSample(target, rows, dict(repaired), replaced, records[0].notes)


def read_manifest(folder: str | Path) -> SampleManifest:
    """Read the manifest of a folder of rows; ModelError where it is absent, damaged or was changed."""
    place = Path(folder) / MANIFEST
    try:
        body = json.loads(bounded_text(place))
        manifest = SampleManifest.model_validate(body)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{str(folder)!r} is no complete folder of rows: {error}", next_step="draw it again"
        ) from error
    if not LAYOUT.holds(body):
        raise ModelError(f"{str(place)!r} was changed after it was written", next_step="draw the rows again")
    return manifest
