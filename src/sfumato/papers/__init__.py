"""The five papers: records, published forms, errata and reproductions."""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pydantic import TypeAdapter

from sfumato.errors import PlanError
from sfumato.papers.result import Reproduction, ValueTable

if TYPE_CHECKING:
    from sfumato.report import Page


@dataclass(frozen=True)
class PaperRecord:
    """A paper: who wrote it, where it is, and what is reproduced of it; a test compares the latter with the module."""

    home: str
    about: str
    parts: str
    """Its figures and tables, plain numbers in runs: ``figures 1 to 3, S1; table IV``."""
    authors: tuple[str, ...]
    title: str
    year: int
    venue: str = ""
    identifier: str = ""
    """arXiv number or DOI, where we know one."""
    code: str = ""
    """Repository of the authors' code; nothing where we know none."""
    commit: str = ""
    """Commit that statements about the authors' code refer to."""
    files: tuple[str, ...] = ()
    """Public tables that it reads; without them, what needs them is left out or refused."""
    repeats: str = ""
    """What is repeated, and how often by default; nothing where no number of repetitions can be given."""
    deep: str = ""
    """What ``--deep`` trains anew; nothing where nothing is trained."""

    @property
    def citation(self) -> str:
        """Authors, year, title, venue and identifier in one line."""
        *others, last = self.authors
        names = f"{', '.join(others)} and {last}"
        place = "; ".join(part for part in (self.identifier, self.venue) if part)
        return f"{names} ({self.year}). {self.title}. {place}"


def _read_records() -> dict[str, PaperRecord]:
    texts = tomllib.loads((files("sfumato.papers") / "records.toml").read_text(encoding="utf-8"))
    return TypeAdapter(dict[str, PaperRecord]).validate_python(texts)


PAPERS = _read_records()
"""The papers by the name that the command line takes."""


class Reproducible(Protocol):
    """What the module of a paper offers."""

    def parts(self) -> tuple[str, ...]:
        """Return the names of its figures and tables, such as ``figure 4``."""
        ...

    def reproduce(self, folder: Path | None = None, only: str | None = None) -> Reproduction:
        """Compute every figure of merit from the data in a folder, or one part."""
        ...

    def page_of(self, results: Any) -> Page:
        """Return the page of saved results; no data are needed."""
        ...

    def summary(self, results: Any) -> ValueTable:
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
