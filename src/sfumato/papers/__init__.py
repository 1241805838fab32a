"""The five papers: records, published forms, errata and reproductions."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from pydantic import BaseModel

from sfumato.errors import PlanError
from sfumato.papers.page import PageTable, ReproductionPage


@dataclass(frozen=True)
class PaperRecord:
    """What the command line says about a paper before its module is imported; a test compares it with the module."""

    home: str
    about: str
    parts: str
    """Its figures and tables, as :func:`sfumato.papers.compute.parts_text` writes them."""
    files: tuple[str, ...] = ()
    """Public tables that it reads; without them, what needs them is left out or refused."""
    repeats: str = ""
    """What is repeated, and how often unless said; nothing where no number of repetitions can be given."""
    deep: str = ""
    """What ``--deep`` trains anew; nothing where nothing is trained."""


PAPERS = {
    "homogeneity-attack": PaperRecord(
        "sfumato.papers.homogeneity_attack",
        "the risk that noisy counts give a sensitive value away",
        "figures 3 to 5, D; table 1",
        ("adult.csv.gz", "qualitative_bankruptcy.csv"),
        "draws of the distances of figure 5, 40 unless said",
    ),
    "reaedp": PaperRecord(
        "sfumato.papers.reaedp",
        "entropy-calibrated histograms, plausible deniability, mean curves",
        "figures 1 to 8, S1, S2, S4; tables IV, S1, S3",
        ("house_prices.csv", "unrate.csv"),
    ),
    "range-restriction": PaperRecord(
        "sfumato.papers.range_restriction",
        "pseudo posteriors under a restricted range",
        "figures 1 to 20; table 1",
        ("fatigue.csv",),
        "repeated samples, 30 unless said; the paper has 100",
    ),
    "kmeans-geometry": PaperRecord(
        "sfumato.papers.kmeans_geometry",
        "noisy centroids and radii, epsilon by a Rand index",
        "figures 1 to 5; tables 1 to 4",
        (),
        "runs at each epsilon, 40 unless said; the paper has 30",
    ),
    "two-stage": PaperRecord(
        "sfumato.papers.two_stage",
        "synthetic inputs, blended with true rows, then predicted outputs",
        "figures 4 to 13; tables 4, 7, 8",
        ("insurance.csv", "eia.csv", "california_housing.csv.gz", "census_casc.csv", "tarragona.csv"),
        "trials on simulated data, 3 unless said",
        "the generative networks of figures 4, 6 and 7",
    ),
}
"""Papers that can be reproduced, by the name that the command line takes."""


class Reproducible(Protocol):
    """What the module of a paper offers."""

    def parts(self) -> tuple[str, ...]:
        """Return the names of its figures and tables, such as ``figure 4``."""
        ...

    def reproduce(self, folder: Path | None = None, only: str | None = None) -> BaseModel:
        """Compute every figure of merit from the data in a folder, or one part."""
        ...

    def page_of(self, results: Any) -> ReproductionPage:
        """Return the page of saved results; no data are needed."""
        ...

    def summary(self, results: Any) -> PageTable:
        """Return the short table for the terminal."""
        ...


def paper(name: str) -> Reproducible:
    """Return the module of a paper.

    >>> paper("homogeneity-attack").__name__
    'sfumato.papers.homogeneity_attack'
    """
    if name not in PAPERS:
        raise PlanError(f"no reproduction of a paper {name!r}", next_step=f"use one of: {', '.join(PAPERS)}")
    return cast("Reproducible", importlib.import_module(PAPERS[name].home))
