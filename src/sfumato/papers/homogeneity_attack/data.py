"""The paper's tables, Adult and Qualitative Bankruptcy, cut into its cells.

Adult is used as the paper describes it, made here from the public file: training rows without a missing field of people
born in the United States, ages in groups of five years and hours in groups of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.papers.data import data_folder, missing_files, require_files
from sfumato.risk.homogeneity import Cells
from sfumato.schema import Column, Schema
from sfumato.table import Table, read

Name = Literal["adult", "bankruptcy", "bankruptcy-subset"]
ADULT, ADULT_AT_UCI, BANKRUPTCY = "adult.csv.gz", "adult.data", "qualitative_bankruptcy.csv"
FILES = (ADULT, BANKRUPTCY)
"""Public tables. Adult has a header and a column ``split``; the UCI repository's own training file is taken as well."""
UCI_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
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
BINS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 10), (11, 20), (21, 50), (51, 120), (121, None))
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

    def cell_facts(self, name: Name) -> dict[str, float]:
        """Return what is counted of the cells of one table."""
        cells = self.cells[name]
        sizes, alike = cells.sizes, cells.homogeneous
        return {
            "classes": cells.counts.shape[1],
            "records": int(sizes.sum()),
            "cells": len(sizes),
            "homogeneous_cells": int(alike.sum()),
            "homogeneous_share": float(alike.mean()),
            "homogeneous_records": int(sizes[alike].sum()),
            "largest": int(sizes.max()),
            "singletons": int((sizes == 1).sum()),
            "mean_size": float(sizes.mean()),
            "values_per_cell": float((cells.counts > 0).sum(axis=1).mean()),
            "majority": float(cells.counts.sum(axis=0).max() / sizes.sum()),
        }

    def size_histogram(self, name: Name) -> dict[str, tuple[int, int]]:
        """Return how many cells have a size, ours and those that the paper counted, up to the largest size of any.

        For Adult the paper counted cells of identifiers and income.
        """
        counted: dict[str, tuple[int, int]] = {}
        for low, high in BINS:
            label = str(low) if low == high else f"{low}+" if high is None else f"{low}-{high}"
            ours, theirs = (
                int(((sizes >= low) & (sizes <= (high or np.inf))).sum())
                for sizes in (self.cells[name].sizes, self.printed_sizes(name))
            )
            counted[label] = ours, theirs
        while counted and not any(list(counted.values())[-1]):
            counted.popitem()
        return counted


def read_paper_tables(folder: Path | None = None) -> PaperTables:
    """Read both tables by their public code books and count the cells on the engine."""
    place = data_folder(folder)
    require_files(place, FILES if missing_files(place, (ADULT_AT_UCI,)) else (BANKRUPTCY,))
    adult = _table(adult_rows(place), "adult", ADULT_VALUES, "income")
    ratings = dict.fromkeys(RATINGS, ("N", "A", "P"))
    bankruptcy = _table(str(place / BANKRUPTCY), "bankruptcy", {**ratings, "class": ("B", "NB")}, "class")
    subset = [name for name in RATINGS if name != "financial_flexibility"]
    cells: dict[Name, Cells] = {
        "adult": Cells.of(adult),
        "bankruptcy": Cells.of(bankruptcy),
        "bankruptcy-subset": Cells.of(bankruptcy, identifiers=subset, sensitive="financial_flexibility"),
    }
    return PaperTables(cells, bankruptcy.marginals([RATINGS])[RATINGS])


def adult_rows(place: Path) -> pd.DataFrame:
    """Return the rows and columns of Adult that the paper uses, made from the public file."""
    rows = _public_adult(place)
    kept = rows[(rows["split"] == "train") & (rows["native-country"] == "United-States") & ~(rows == "?").any(axis=1)]
    made = {
        "age": _groups(kept["age"], 5),
        **{name: list(kept[name]) for name in ("relationship", "education", "race", "sex")},
        "hours_per_week": _groups(kept["hours-per-week"], 10),
        "income": list(kept["income"]),
    }
    return pd.DataFrame(made)


def _public_adult(place: Path) -> pd.DataFrame:
    if not missing_files(place, (ADULT,)):
        return pd.read_csv(place / ADULT, dtype=str, keep_default_na=False)
    names = list(UCI_COLUMNS)
    rows = pd.read_csv(
        place / ADULT_AT_UCI, header=None, names=names, dtype=str, keep_default_na=False, skipinitialspace=True
    )
    return rows.assign(split="train")


def _groups(numbers: Any, width: int) -> list[str]:
    """Return whole numbers as groups that begin with 1, such as 16-20."""
    low = [(int(number) - 1) // width * width + 1 for number in numbers]
    return [f"{start}-{start + width - 1}" for start in low]


def _table(source: object, name: str, values: dict[str, tuple[str, ...]], sensitive: str) -> Table:
    columns = tuple(
        Column(column, "category", values=levels, role="sensitive" if column == sensitive else "quasi-identifier")
        for column, levels in values.items()
    )
    table = read(source, Schema(name, columns))
    table.require_valid()
    return table
