"""The paper's two public tables, Adult and Qualitative Bankruptcy, cut into its three sets of cells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.papers.data import data_folder, require_files
from sfumato.papers.homogeneity_attack.results import Name
from sfumato.risk.homogeneity import Cells
from sfumato.schema import Column, Schema
from sfumato.table import Table, read

FILES = {"adult": "adult_dr_ha.csv.gz", "bankruptcy": "qualitative_bankruptcy.csv"}
RATINGS = (
    "industrial_risk",
    "management_risk",
    "financial_flexibility",
    "credibility",
    "competitiveness",
    "operating_risk",
)
ADULT_VALUES: dict[str, tuple[str, ...]] = {
    "age": tuple(f"{low}-{low + 4}" for low in range(16, 91, 5)),
    "relationship": ("Husband", "Wife", "Own-child", "Not-in-family", "Other-relative", "Unmarried"),
    "education": (
        "Preschool",
        "1st-4th",
        "5th-6th",
        "7th-8th",
        "9th",
        "10th",
        "11th",
        "12th",
        "HS-grad",
        "Some-college",
        "Assoc-voc",
        "Assoc-acdm",
        "Bachelors",
        "Masters",
        "Prof-school",
        "Doctorate",
    ),
    "race": ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
    "sex": ("Female", "Male"),
    "hours_per_week": tuple(f"{low}-{low + 9}" for low in range(1, 100, 10)),
    "income": ("<=50K", ">50K"),
}
TITLES: dict[Name, str] = {
    "adult": "Adult",
    "bankruptcy": "Bankruptcy",
    "bankruptcy-subset": "Bankruptcy subset",
}


@dataclass(frozen=True)
class PaperTables:
    """The three sets of cells of section 4, and the six-way table of figure 5."""

    cells: dict[Name, Cells]
    ratings: NDArray[np.int64]
    """Counts of the six ratings, 3 x 3 x 3 x 3 x 3 x 3."""

    def printed_sizes(self, name: Name) -> NDArray[np.int64]:
        """Return the cell sizes that the paper used: for Adult, cells of identifiers *and* income."""
        counts = self.cells[name].counts
        return counts[counts > 0] if name == "adult" else counts.sum(axis=1)


def load(folder: Path | None = None) -> PaperTables:
    """Read both tables by their public code books and count the cells on the engine."""
    place = data_folder(folder)
    require_files(place, tuple(FILES.values()))
    adult = _table(place, "adult", ADULT_VALUES, "income")
    ratings = dict.fromkeys(RATINGS, ("N", "A", "P"))
    bankruptcy = _table(place, "bankruptcy", {**ratings, "class": ("B", "NB")}, "class")
    subset = [name for name in RATINGS if name != "financial_flexibility"]
    cells: dict[Name, Cells] = {
        "adult": Cells.of(adult),
        "bankruptcy": Cells.of(bankruptcy),
        "bankruptcy-subset": Cells.of(bankruptcy, identifiers=subset, sensitive="financial_flexibility"),
    }
    return PaperTables(cells, bankruptcy.marginals([RATINGS])[RATINGS])


def _table(folder: Path, name: str, values: dict[str, tuple[str, ...]], sensitive: str) -> Table:
    columns = tuple(
        Column(column, "category", values=levels, role="sensitive" if column == sensitive else "quasi-identifier")
        for column, levels in values.items()
    )
    table = read(str(folder / FILES[name]), Schema(name, columns))
    table.require_valid()
    return table
