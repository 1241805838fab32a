"""Typed results of a reproduction: parts, comparisons, values and errata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from sfumato.papers.charts import Chart, FrozenModel

Verdict = Literal["wrong", "conceded by the authors", "data or settings not given", "our reading"]


class ValueTable(FrozenModel):
    """A table in words: a caption, a header and rows; ``numbers`` are the columns set to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    folded: bool = False
    """Whether the reader opens it: for long tables."""


class Comparison(FrozenModel):
    """One statement of the paper beside what we get, and why they differ."""

    what: str
    printed: str
    ours: str
    why: str


class Part(FrozenModel):
    """One figure or table of a paper, or one thing beyond it. Its name and its subject come from the paper's list."""

    name: str = ""
    """Such as ``figure 4``, ``table S3`` or ``beyond 1``."""
    subject: str = ""
    """What it is about."""
    text: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    values: tuple[ValueTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    charts_a_row: int | None = None
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Files that were not there; what needs them is left out."""

    @property
    def label(self) -> str:
        """The name as a heading has it, such as ``Figure 4``."""
        return "Beyond the paper" if self.name.startswith("beyond") else self.name[0].upper() + self.name[1:]

    @property
    def short(self) -> str:
        """The name as a list of sections has it: what a part is about, where many have the same name."""
        return self.subject.capitalize() if self.name.startswith("beyond") else self.label

    @property
    def title(self) -> str:
        """The name and what it is about."""
        return f"{self.label}: {self.subject}"


class Erratum(FrozenModel):
    """One statement of a paper that software must not follow: what is printed, what holds, and what Sfumato does."""

    name: str
    where: str = ""
    """Section, equation or table; nothing where the statement names it."""
    printed: str
    holds: str
    """What we measure or prove."""
    verdict: Verdict
    instead: str = ""
    """What Sfumato does."""
    why: str = ""
    """Why the two differ."""
    caveat: str = ""
    """What the authors say about it themselves."""

    @property
    def paper(self) -> str:
        """What the paper says, and where."""
        return f"{self.where}: {self.printed}" if self.where else self.printed


class Reproduction(FrozenModel):
    """Everything that a reproduction finds, or one part of it, and how it was run."""

    paper: str
    title: str
    lead: str = ""
    """What the paper does, for the head of the page."""
    facts: tuple[tuple[str, str], ...] = ()
    """What the numbers depend on: seed, runs, data."""
    sfumato: str
    seed: int
    runs: int | None = None
    """How often what is random was repeated, where that can be chosen."""
    folder: str = ""
    """Where missing data were looked for; empty where nothing is missing."""
    parts: tuple[Part, ...] = ()
    errata: tuple[Erratum, ...] = ()

    def part(self, name: str) -> Part:
        """Return one figure or table."""
        return next(each for each in self.parts if each.name == name)


def comparison(what: str, printed: str, ours: str, why: str) -> Comparison:
    """Return one row of the table that every part has."""
    return Comparison(what=what, printed=printed, ours=ours, why=why)


def value_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> ValueTable:
    """Return a table whose first columns are words and the others numbers."""
    numbers = tuple(range(words, len(header)))
    return ValueTable(title=title, header=tuple(header), rows=tuple(map(tuple, rows)), numbers=numbers)
