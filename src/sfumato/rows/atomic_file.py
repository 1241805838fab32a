"""One file, written beside its place and moved there whole: readers see all of it or nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from sfumato.errors import ModelError

LONGEST_NAME = 60


def refuse_place(target: Path, overwrite: bool = False) -> None:
    """Refuse a place that cannot take the file, before any work is done for it."""
    if target.is_dir():
        raise ModelError(f"{str(target)!r} is a folder", next_step="give the name of a file")
    if not target.parent.is_dir():
        raise ModelError(f"there is no folder {str(target.parent)!r}", next_step="make it, or choose another place")
    if os.path.lexists(target) and not overwrite:
        raise ModelError(
            f"{str(target)!r} exists, and is not overwritten unless asked",
            next_step="choose another name, or say overwrite=True (--force)",
        )


@contextmanager
def whole_file(target: Path, overwrite: bool = False) -> Generator[Path]:
    """Yield a fresh path beside the target; what was written there takes the target's place at the end, or nothing."""
    refuse_place(target, overwrite)
    fresh = target.with_name(f".{target.name[:LONGEST_NAME]}.{secrets.token_hex(4)}.partial")
    try:
        yield fresh
        _settle(fresh)
        refuse_place(target, overwrite)
        fresh.replace(target)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"cannot write {str(target)!r}: {reason}", next_step="choose another place") from error
    finally:
        fresh.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Bring the file to the disk before the rename."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
