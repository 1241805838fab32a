"""The paper's simulated table, and the fatigue data with three rows held out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.arrays import Array
from sfumato.errors import TableError
from sfumato.papers.data import absent, data_folder, require_files

FATIGUE = "fatigue.csv"
ROWS = 22
HELD_OUT = (1, 13, 22)
"""Rows of the file, counted from 1, that the help page of BayesLN's LN_MeanReg holds out."""
PRINTED = {"mean": 57771.0, "median": 15616.0, "Q90": 165385.0}


@dataclass(frozen=True, eq=False)
class Sample:
    """Values to synthesise and their predictors."""

    x: Array
    z: Array


def simulated(seed: int, records: int = 2000) -> Sample:
    """Return z ~ Normal(2, 1) and x ~ Lognormal(z + 1, 1), as in section 4.

    >>> simulated(1000, 3).x.round(2).tolist()
    [104.5, 14.43, 30.64]
    """
    generator = np.random.default_rng(seed)
    z = generator.normal(2.0, 1.0, records)
    return Sample(generator.lognormal(z + 1.0, 1.0), z)


@dataclass(frozen=True)
class Sources:
    """A folder with or without the fatigue data."""

    folder: Path
    present: frozenset[str] = frozenset()

    @classmethod
    def find(cls, folder: Path | None = None) -> Sources:
        """Look whether the file is there."""
        place = data_folder(folder)
        return cls(place, frozenset({FATIGUE}) - set(absent(place, (FATIGUE,))))

    def fatigue(self) -> Sample:
        """Return all 22 rows: cycles and stress."""
        require_files(self.folder, (FATIGUE,))
        try:
            frame = pd.read_csv(self.folder / FATIGUE, usecols=["cycle", "stress"])
            cycle, stress = (np.asarray(frame[name], dtype=float) for name in ("cycle", "stress"))
        except ValueError as error:
            raise TableError(f"{FATIGUE} cannot be read", [str(error)], "take the file that the paper names") from error
        if len(cycle) != ROWS or not (cycle > 0).all() or not (stress > 0).all():
            problem = f"{len(cycle)} rows; {ROWS} with numbers above 0 are needed"
            raise TableError(
                f"{FATIGUE} is not the table of fatigue tests", [problem], "take the file that the paper names"
            )
        return Sample(cycle, stress)


def kept_rows(table: Sample) -> Sample:
    """Return the 19 rows that the paper's statistics come from."""
    keep = np.setdiff1d(np.arange(len(table.x)), np.array(HELD_OUT) - 1)
    return Sample(table.x[keep], table.z[keep])


def statistics(values: Array) -> dict[str, float]:
    """Return mean, median and 90 % quantile.

    >>> statistics(np.arange(11.0))
    {'mean': 5.0, 'median': 5.0, 'Q90': 9.0}
    """
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "Q90": float(np.quantile(values, 0.9)),
    }
