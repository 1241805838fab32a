"""Free space on disks: looked at before anything is spent, and where to go with what finds none afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import NoSpaceError

LEDGER = 200_000
"""Bytes that a ledger may grow by for one release."""


def temporary() -> Path:
    """Return the folder of temporary files."""
    return Path(tempfile.gettempdir())


def standing(place: Path) -> Path:
    """Return the place itself, or the first folder above it that is there."""
    return next(p for p in (place, *place.absolute().parents) if p.exists())


def refuse_full_disks(needs: Sequence[tuple[str, Path, int]]) -> None:
    """Refuse where a disk has less free space than all that may be written to it; each need has a name and a place."""
    by_disk: dict[int, list[tuple[str, Path, int]]] = {}
    for what, place, size in needs:
        there = standing(place)
        by_disk.setdefault(there.stat().st_dev, []).append((what, there, size))
    problems: list[str] = []
    for here in by_disk.values():
        needed, free = sum(size for _, _, size in here), shutil.disk_usage(here[0][1]).free
        if needed > free:
            parts = ", ".join(f"{what} in {str(place)!r}" for what, place, _ in here)
            problems.append(f"{parts}: up to {_megabytes(needed)} MB may be needed, and {free / 1e6:.2f} MB are free")
    if problems:
        step = "make room, or choose another disk: --out for the bundle, TMPDIR for temporary files; "
        step += "--about-rows tells the number of rows where it is not known"
        raise NoSpaceError("there may not be enough space for this release; nothing was spent", problems, step)


def _megabytes(size: int) -> str:
    return f"{-(-size // 10_000) / 100:.2f}"


def shelters(ledger: Path | None) -> list[Path]:
    """Return the folders for a bundle that its own folder has no room for: beside a ledger, temporary, home."""
    return [*([] if ledger is None else [ledger.absolute().parent]), temporary(), Path("~").expanduser()]
