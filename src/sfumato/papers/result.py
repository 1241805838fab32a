"""Typed results of a reproduction: parts, comparisons, values, charts and errata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

ChartT = TypeVar("ChartT")
PartT = TypeVar("PartT", bound="PartOf[Any]")


class FrozenModel(BaseModel):
    """A value that cannot change and knows all its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class ValueTable(FrozenModel):
    """A table of values; ``numbers`` are the columns set to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()


class Comparison(FrozenModel):
    """One statement of the paper beside what we get, and why they differ."""

    what: str
    printed: str
    ours: str
    why: str


class PartOf(FrozenModel, Generic[ChartT]):
    """One figure or table of a paper, or one thing beyond it; each paper has charts and subjects of its own."""

    subjects: ClassVar[Mapping[str, str]] = {}
    """What each part is about, in the order of the page."""

    name: str
    """Such as ``figure 4``, ``table S3`` or ``beyond 1``."""
    text: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    values: tuple[ValueTable, ...] = ()
    charts: tuple[ChartT, ...] = ()
    charts_a_row: int = 100
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
        return self.subjects[self.name].capitalize() if self.name.startswith("beyond") else self.label

    @property
    def title(self) -> str:
        """The name and what it is about."""
        return f"{self.label}: {self.subjects[self.name]}"


class Erratum(FrozenModel):
    """One thing that software must do differently: the paper, what we measure, and what stands instead."""

    name: str
    paper: str
    measured: str
    instead: str


class ReproductionOf(FrozenModel, Generic[PartT]):
    """Everything that a reproduction finds, or one part of it; each paper adds how it was run."""

    paper: str
    title: str
    sfumato: str
    folder: str = ""
    """Where missing data were looked for; empty where nothing is missing."""
    parts: tuple[PartT, ...]

    def part(self, name: str) -> PartT:
        """Return one figure or table."""
        return next(each for each in self.parts if each.name == name)


def comparison(what: str, printed: str, ours: str, why: str) -> Comparison:
    """Return one row of the table that every part has."""
    return Comparison(what=what, printed=printed, ours=ours, why=why)
