"""Rows of a fitted model in a folder of Parquet files, one for each part of the rows; any number of rows fits.

A part is drawn by one task alone, wherever that runs: from the model's file, which lies in the folder while it is
written, and from a stream of chance of its own. The streams come from one root, so that a task that is run again,
because its machine was lost or slow, writes the same bytes again. It writes beside the place of its part and moves
the whole file there; the folder itself takes its name when all parts are in it and have been checked. So rows are
neither lost nor doubled, and what stands under the folder's name is complete.

Proof note. Rows are post-processing of the model (:mod:`sfumato.methods.graphical.saved.model`), whoever draws them:
no worker sees the private table. The root is no secret, as no seed of a sample is one; unless a seed is given, it is
128 bits of the operating system, and SeedSequence makes the streams of the parts independent of each other.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from sfumato.errors import PlanError
from sfumato.methods.graphical.saved.file import BUNDLED, read_model
from sfumato.methods.graphical.saved.model import BATCH_ROWS, FittedModel, sound_seed, whole
from sfumato.methods.graphical.saved.sample import PARQUET, fill_file, opener
from sfumato.release.stamp import parquet_metadata
from sfumato.rows.atomic import PARTIAL, settle

PART_ROWS = 1_000_000
"""Rows of a part unless said: four batches, and a file of some tens of megabytes."""
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
class Parts:
    """How rows are cut into parts, and where the chance of each comes from: the same wherever a part is drawn."""

    rows: int
    number: int
    root: int
    rounding: bool = True
    batch_rows: int = BATCH_ROWS

    @classmethod
    def of(cls, rows: int, part_rows: int, seed: int | None, rounding: bool, batch_rows: int) -> Parts:
        """Cut rows into parts of nearly equal size, of at most ``part_rows``; refuse more files than a folder takes."""
        number = -(-rows // whole(part_rows, "part_rows"))
        if number > MOST_PARTS:
            raise PlanError(
                f"{rows:,} rows in parts of {part_rows:,} are {number:,} files, at most {MOST_PARTS:,} are written",
                next_step=f"give part_rows={-(-rows // MOST_PARTS):,} or more (--part-rows)".replace(",", ""),
            )
        root = secrets.randbits(128) if sound_seed(seed) is None else seed
        return cls(rows, number, root or 0, rounding, whole(batch_rows, "batch_rows"))

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
            rows, repaired, replaced, notes = fill_file(fresh, opener(PARQUET, model), batches, metadata)
            settle(fresh)
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
        told = Counter(record.name for record in records)
        wanted = {self.name(place): self.size(place) for place in range(self.number)}
        found = [f"{name}: told {told[name]} times" for name in wanted if told[name] != 1]
        found += [
            f"{r.name}: {r.rows:,} rows, not {wanted.get(r.name, 0):,}" for r in records if r.rows != wanted.get(r.name)
        ]
        return found + [f"{r.name}: not here, or of another size" for r in records if _size(folder / r.name) != r.bytes]


Runner = Callable[[Path, Parts], Iterable[PartRecord]]
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
