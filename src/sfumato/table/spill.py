"""Where an engine may put rows that do not fit into memory: a folder of our own, for nobody else's eyes."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import lru_cache

from sfumato.errors import TableError


def spill_folder() -> str:
    """Return a private folder (0700) in the temporary folder that TMPDIR names; it is gone when the program ends."""
    return _folder_of(os.getpid())


@lru_cache(maxsize=8)
def _folder_of(process: int) -> str:
    try:
        folder = tempfile.mkdtemp(prefix="sfumato-")
    except OSError as error:
        step = "make room there, or set TMPDIR to a folder that you may write to"
        raise TableError(f"there is no temporary folder to use: {error.strerror}", next_step=step) from error
    atexit.register(_remove, folder, process)
    return folder


def _remove(folder: str, process: int) -> None:
    """Remove the folder, unless this is a copy of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
