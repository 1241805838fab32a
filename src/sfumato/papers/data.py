"""Locate the public data files of the papers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import TableError

DATA_VARIABLE = "SFUMATO_DATA"
DEFAULT_FOLDER = Path("..") / "shared" / "data"


def data_folder(folder: Path | None = None) -> Path:
    """Return where the public tables lie: the folder given, SFUMATO_DATA, or ../shared/data."""
    return folder or Path(os.environ.get(DATA_VARIABLE) or DEFAULT_FOLDER)


def missing_files(folder: Path, files: Sequence[str]) -> list[str]:
    """Return the files that are not in a folder."""
    return [name for name in files if not (folder / name).is_file()]


def require_files(folder: Path, files: Sequence[str]) -> None:
    """Refuse, naming every file that is missing and how to give the folder."""
    missing = missing_files(folder, files)
    if missing:
        raise TableError(
            f"the paper's tables are not in {str(folder)!r}",
            [f"no file {name}" for name in missing],
            f"set {DATA_VARIABLE} to the folder that holds {' and '.join(files)}",
        )
