"""The paper's public columns that are here: SalePrice of House Prices, and UNRATE."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.arrays import Counts
from sfumato.errors import TableError
from sfumato.papers.data import absent, data_folder, require_files

PRICES, UNRATE = "house_prices.csv", "unrate.csv"
COLUMNS = {PRICES: "SalePrice", UNRATE: "UNRATE"}
SEED = 42
"""The paper's seed."""
BINS = 30
PUBLIC_RANGE = (0.0, 800_000.0)
"""Edges for SalePrice that do not look at the prices."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Sources:
    """A folder with some or all of the tables; a column is read when it is first asked for."""

    folder: Path
    present: frozenset[str] = frozenset()

    @classmethod
    def find(cls, folder: Path | None = None) -> Sources:
        """Look which tables are there."""
        place = data_folder(folder)
        return cls(place, frozenset(COLUMNS) - set(absent(place, tuple(COLUMNS))))

    @cached_property
    def prices(self) -> Numbers:
        """Sale prices of 1,460 houses, in the order of the file."""
        return self._column(PRICES)

    @cached_property
    def unrate(self) -> Numbers:
        """601 monthly unemployment rates."""
        return self._column(UNRATE)

    def _column(self, name: str) -> Numbers:
        require_files(self.folder, (name,))
        try:
            values = pd.read_csv(self.folder / name, usecols=[COLUMNS[name]])[COLUMNS[name]].to_numpy(float)
        except ValueError as error:
            raise TableError(f"{name} cannot be read", [str(error)], "take the file that the paper names") from error
        if not len(values) or not np.isfinite(values).all():
            raise TableError(
                f"{name}: {COLUMNS[name]} is empty or has gaps", next_step="take the file that the paper names"
            )
        return values


def data_bins(values: Numbers, bins: int = BINS) -> Counts:
    """Count as the paper's code does, in equal bins between the smallest and the largest value: not private."""
    return np.histogram(values, bins=bins)[0].astype(np.int64)


def public_bins(values: Numbers, bins: int = BINS) -> NDArray[np.int64]:
    """Return the public bin of each price; prices beyond the last edge count in the last bin."""
    low, high = PUBLIC_RANGE
    return np.clip(np.floor((values - low) / (high - low) * bins), 0, bins - 1).astype(np.int64)
