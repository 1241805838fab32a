"""Write files and folders atomically: under a temporary name first, then rename."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from sfumato.errors import ModelError, SfumatoError

PARTIAL = ".partial"
"""End of the name of what is being written."""
LONGEST_NAME = 60
AT_CURRENT, EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


def temporary_path(target: Path) -> Path:
    """Return a fresh, hidden name beside a place; 60 letters of the old name leave room for the rest."""
    return target.with_name(f".{target.name[:LONGEST_NAME]}.{secrets.token_hex(4)}{PARTIAL}")


def flush_to_disk(place: Path) -> None:
    """Bring a file, or a folder with everything in it, to the disk before it is moved; Windows does that by itself."""
    if os.name != "posix":  # there is no descriptor of a folder, nor of a file that is only read
        return
    for path in (*place.rglob("*"), place) if place.is_dir() else (place,):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_target(
    target: Path,
    overwrite: bool = False,
    error: type[SfumatoError] = ModelError,
    instead: str = "choose another name, or say overwrite=True (--force)",
) -> None:
    """Refuse a place that cannot take the file, before any work is done for it.

    ``instead`` is what to do where something is there already.
    """
    try:
        there = target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        there = None
    except (OSError, ValueError) as problem:
        raise error(f"{str(target)!r} is not a path", next_step="choose another place") from problem
    if target.is_dir():
        raise error(f"{str(target)!r} is a folder", next_step="give the name of a file")
    if not target.absolute().parent.is_dir():
        raise error(f"there is no folder {str(target.parent)!r}", next_step="make it, or choose another place")
    if there is not None and not overwrite:
        raise error(f"{str(target)!r} exists already", next_step=instead)


@contextmanager
def atomic_file(target: Path, overwrite: bool = False, error_class: type[SfumatoError] = ModelError) -> Generator[Path]:
    """Yield a fresh path beside the target; a complete file there replaces the target at the end."""
    check_target(target, overwrite, error_class)
    fresh = temporary_path(target)
    try:
        yield fresh
        flush_to_disk(fresh)
        check_target(target, overwrite, error_class)
        fresh.replace(target)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise error_class(f"cannot write {str(target)!r}: {reason}", next_step="choose another place") from error
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def temporary_folder(target: Path, keep_parents: bool) -> Generator[Path]:
    """Make a folder beside the target for the caller to fill and move; what is left at the end is removed."""
    absent = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = temporary_path(target)
    try:
        folder.mkdir()
        with locked_folder(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not (keep_parents and target.exists()):
            _remove_empty(absent)


@contextmanager
def locked_folder(folder: Path) -> Generator[bool]:
    """Hold a folder while it is written; false where another process holds it. The system lets go of the dead's."""
    try:
        import fcntl
    except ImportError:  # a system without such locks
        yield True
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = True
    except BlockingIOError:
        free = False
    except OSError:  # a file system without locks
        free = True
    try:
        yield free
    finally:
        os.close(descriptor)


def exchange(fresh: Path, standing: Path) -> None:
    """Put a folder in the place of another, which takes its place: in one step where the system can do that."""
    if _exchanged(fresh, standing):
        return
    aside = temporary_path(standing)
    standing.rename(aside)
    fresh.rename(standing)
    aside.rename(fresh)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two places by the call of Linux; false where there is none, or where the file system cannot."""
    import ctypes

    call = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    names = os.fsencode(first.absolute()), os.fsencode(second.absolute())
    return call is not None and call(AT_CURRENT, names[0], AT_CURRENT, names[1], EXCHANGE) == 0


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return
