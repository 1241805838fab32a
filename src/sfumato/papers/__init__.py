"""Reproductions of papers: what is printed, what we compute, and why the two differ. Nothing else imports them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from pydantic import BaseModel

from sfumato.errors import PlanError
from sfumato.papers.reproduction_page import PageTable, ReproductionPage

PAPERS = {
    "homogeneity-attack": "sfumato.papers.homogeneity_attack",
    "reaedp": "sfumato.papers.reaedp",
    "range-restriction": "sfumato.papers.range_restriction",
    "kmeans-geometry": "sfumato.papers.kmeans_geometry",
    "two-stage": "sfumato.papers.two_stage",
}
"""Papers that can be reproduced, by the name that the command line takes."""


class PaperModule(Protocol):
    """What the module of a paper offers."""

    def reproduce(self, folder: Path | None = None) -> BaseModel:
        """Compute every figure of merit from the data in a folder."""
        ...

    def page_of(self, results: Any) -> ReproductionPage:
        """Return the page of saved results; no data are needed."""
        ...

    def summary(self, results: Any) -> PageTable:
        """Return the short table for the terminal."""
        ...


@runtime_checkable
class PaperInParts(Protocol):
    """What the module of a paper offers besides, when its figures and tables can be had one by one."""

    def parts(self) -> tuple[str, ...]:
        """Return the names of the parts, such as ``figure 4``."""
        ...

    def reproduce(self, folder: Path | None = None, only: str | None = None) -> BaseModel:
        """Compute everything, or one part."""
        ...


def paper(name: str) -> PaperModule:
    """Return the module of a paper.

    >>> paper("homogeneity-attack").__name__
    'sfumato.papers.homogeneity_attack'
    """
    if name not in PAPERS:
        raise PlanError(f"no reproduction of a paper {name!r}", next_step=f"use one of: {', '.join(PAPERS)}")
    return cast("PaperModule", importlib.import_module(PAPERS[name]))
