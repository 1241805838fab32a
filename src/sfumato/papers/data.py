"""Locate and read the public data files of the papers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.arrays import FloatArray
from sfumato.errors import TableError

DATA_VARIABLE = "SFUMATO_DATA"
OTHER_FILE = "take the file that the paper names"
DEFAULT_FOLDER = Path("..") / "shared" / "data"


def data_folder(folder: Path | None = None) -> Path:
    """Return where the public tables lie: the folder given, SFUMATO_DATA, or ../shared/data."""
    return folder or Path(os.environ.get(DATA_VARIABLE) or DEFAULT_FOLDER)


def missing_files(folder: Path, files: Sequence[str]) -> list[str]:
    """Return the files that are not in a folder."""
    return [name for name in files if not (folder / name).is_file()]


def read_numbers(folder: Path, name: str, columns: Sequence[str]) -> list[FloatArray]:
    """Return columns of a paper's file as numbers; a file that lacks them, or has gaps, is refused by its name."""
    require_files(folder, (name,))
    try:
        frame = pd.read_csv(folder / name, usecols=list(columns))
        numbers = [frame[column].to_numpy(float) for column in columns]
    except ValueError as error:
        raise TableError(f"{name} cannot be read", [str(error)], OTHER_FILE) from error
    gaps = [
        column for column, each in zip(columns, numbers, strict=True) if not (len(each) and np.isfinite(each).all())
    ]
    if gaps:
        raise TableError(f"{name}: {' and '.join(gaps)} is empty or has gaps", next_step=OTHER_FILE)
    return numbers


def require_files(folder: Path, files: Sequence[str]) -> None:
    """Refuse, naming every file that is missing and how to give the folder."""
    missing = missing_files(folder, files)
    if missing:
        raise TableError(
            f"the paper's tables are not in {str(folder)!r}",
            [f"no file {name}" for name in missing],
            f"set {DATA_VARIABLE} to the folder that holds {' and '.join(files)}",
        )
