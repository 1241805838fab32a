"""Write sampled rows to one file, or to one Parquet part of a folder.

A part is drawn by one task alone, wherever that runs: from the model's file, which lies in the folder while it is
written, and from a stream of chance of its own. The streams come from one root, so that a task that is run again,
because its machine was lost or slow, writes the same bytes again. It writes beside the place of its part and moves
the whole file there; the folder itself takes its name when all parts are in it and have been checked. So rows are
neither lost nor doubled, and what stands under the folder's name is complete.

Proof note. Rows are post-processing of the model (:mod:`sfumato.mechanisms.graphical.fitted_model.fitted_model`),
whoever draws them:
no worker sees the private table. The root is no secret, as no seed of a sample is one; unless a seed is given, it is
128 bits of the operating system, and SeedSequence makes the streams of the parts independent of each other.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from sfumato.atomic_files import PARTIAL, atomic_file, flush_to_disk
from sfumato.core.file_metadata import parquet_metadata, seed_warning
from sfumato.errors import ModelError, PlanError
from sfumato.mechanisms.graphical.fitted_model.fitted_model import (
    BATCH_ROWS,
    FittedModel,
    ModelSample,
    check_count,
    sound_seed,
)
from sfumato.mechanisms.graphical.fitted_model.model_file import BUNDLED, read_model
from sfumato.table.writing.formats import WRITERS, require_installed, suffix_of

PARQUET = ".parquet"
"""The one format that carries the guarantee and the stamp itself."""


@dataclass(frozen=True)
class WrittenSample:
    """Where rows were written, how many, how many broke each rule and were mended, and how many were replaced."""

    path: Path
    rows: int
    repaired: Mapping[str, int]
    replaced: int
    notes: tuple[str, ...] = ()
    """What the rules cost the first batch, where a reader must know."""


def format_from_name(path: str | Path) -> str:
    """Return the format that a file name asks for; one that cannot be written here is refused."""
    suffix = suffix_of(path)
    if suffix is None:
        raise ModelError(
            f"{str(path)!r} ends in none of {', '.join(WRITERS)}", next_step="choose a name such as people.parquet"
        )
    require_installed(suffix)
    return suffix


def seed_warning_path(target: Path) -> Path:
    """Return where the warning lies that a file of a seeded fit cannot carry itself, unless it is Parquet."""
    return target.with_name(f"{target.name}.NOT-FOR-RELEASE.txt")


def write_rows(
    model: FittedModel,
    path: str | Path,
    kind: str,
    batches: Iterator[ModelSample],
    overwrite: bool = False,
) -> WrittenSample:
    """Write batches to one file, in the forms that the schema states; when anything fails, no rows are left behind."""
    target, metadata = Path(path).absolute(), parquet_metadata(model.require_guarantee(), model.stamp)
    with atomic_file(target, overwrite) as fresh:
        counts = write_batches(fresh, opener(kind, model), batches, metadata)
        if model.stamp and kind != PARQUET:
            with atomic_file(seed_warning_path(target), overwrite=True) as note:
                note.write_text(seed_warning(model.stamp), encoding="utf-8")
    return WrittenSample(target, *counts)


def opener(kind: str, model: FittedModel) -> Callable[[Path, pa.Schema], Any]:
    """Return what opens a file of a format for rows of a model."""
    return lambda path, fields: WRITERS[kind](path, fields, model.schema)


def write_batches(
    fresh: Path,
    opened: Callable[[Path, pa.Schema], Any],
    batches: Iterator[ModelSample],
    metadata: dict[str, str],
) -> tuple[int, dict[str, int], int, tuple[str, ...]]:
    """Write batches; return the rows, how many were mended for each rule, how many replaced, and notes."""
    rows, replaced, repaired, notes = 0, 0, Counter[str](), ()
    with ExitStack() as stack:
        writer: Any = None
        for drawn in batches:
            writer = writer or stack.enter_context(opened(fresh, drawn.table.schema.with_metadata(metadata)))
            writer.write_table(drawn.table.replace_schema_metadata(metadata))
            notes = notes if rows else drawn.notes
            rows, replaced = rows + drawn.table.num_rows, replaced + drawn.replaced
            repaired.update(drawn.repaired)
    return rows, dict(repaired), replaced, notes


PART_ROWS = 1_000_000
"""Rows of a part by default: four batches, and a file of some tens of megabytes."""

MOST_PARTS = 100_000

WORK = "_work"
"""Folder of what tasks need and write while the parts are made; it is removed before the folder gets its name."""

BLOCK = 1 << 20


class PartRecord(BaseModel):
    """What a task hands back of the rows that it wrote: no rows."""

    model_config = ConfigDict(frozen=True)

    name: str
    rows: int
    bytes: int
    sha256: str
    repaired: dict[str, int] = {}
    replaced: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SampleParts:
    """How rows are cut into parts, and where the chance of each comes from: the same wherever a part is drawn."""

    rows: int
    number: int
    root: int
    rounding: bool = True
    batch_rows: int = BATCH_ROWS

    @classmethod
    def of(cls, rows: int, part_rows: int, seed: int | None, rounding: bool, batch_rows: int) -> SampleParts:
        """Cut rows into parts of nearly equal size, of at most ``part_rows``; refuse more files than a folder takes."""
        number = -(-rows // check_count(part_rows, "part_rows"))
        if number > MOST_PARTS:
            raise PlanError(
                f"{rows:,} rows in parts of {part_rows:,} are {number:,} files, at most {MOST_PARTS:,} are written",
                next_step=f"give part_rows={-(-rows // MOST_PARTS):,} or more (--part-rows)".replace(",", ""),
            )
        root = secrets.randbits(128) if sound_seed(seed) is None else seed
        return cls(rows, number, root or 0, rounding, check_count(batch_rows, "batch_rows"))

    def name(self, place: int) -> str:
        """Return the name of a part's file; names sort as the parts do."""
        return f"part-{place:05d}{PARQUET}"

    def size(self, place: int) -> int:
        """Return the rows of a part: the first ones take what does not divide."""
        return self.rows // self.number + (place < self.rows % self.number)

    def generator(self, place: int) -> np.random.Generator:
        """Return the chance of one part, independent of all others."""
        return np.random.default_rng(np.random.SeedSequence(self.root, spawn_key=(place,)))

    def write(self, folder: Path, place: int) -> PartRecord:
        """Draw a part and put its file in its place; what is run again makes the same file again."""
        model = _loaded(str(folder / WORK / BUNDLED))
        fresh = folder / WORK / f"{self.name(place)}.{secrets.token_hex(4)}{PARTIAL}"
        batches = model.draws_by(self.generator(place), self.size(place), self.batch_rows, self.rounding)
        metadata = parquet_metadata(model.require_guarantee(), model.stamp)
        try:
            rows, repaired, replaced, notes = write_batches(fresh, opener(PARQUET, model), batches, metadata)
            flush_to_disk(fresh)
            size, sha256 = fresh.stat().st_size, _sha256(fresh)
            fresh.replace(folder / self.name(place))
        finally:
            fresh.unlink(missing_ok=True)
        return PartRecord(
            name=self.name(place),
            rows=rows,
            bytes=size,
            sha256=sha256,
            repaired=repaired,
            replaced=replaced,
            notes=notes if place == 0 else (),
        )

    def problems(self, folder: Path, records: Sequence[PartRecord]) -> list[str]:
        """Return what keeps a folder from being complete: parts that are absent, doubled or of another size."""
        reported = Counter(record.name for record in records)
        wanted = {self.name(place): self.size(place) for place in range(self.number)}
        problems = [f"{name}: told {reported[name]} times" for name in wanted if reported[name] != 1]
        problems += [
            f"{r.name}: {r.rows:,} rows, not {wanted.get(r.name, 0):,}" for r in records if r.rows != wanted.get(r.name)
        ]
        return problems + [
            f"{r.name}: not here, or of another size" for r in records if _size(folder / r.name) != r.bytes
        ]


Runner = Callable[[Path, SampleParts], Iterable[PartRecord]]
"""Writes all parts into a folder, somewhere, and hands back their records in any order."""


@lru_cache(maxsize=1)
def _loaded(path: str) -> FittedModel:
    """Return the model of a folder; a process that draws several parts reads it once."""
    return read_model(path)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1
