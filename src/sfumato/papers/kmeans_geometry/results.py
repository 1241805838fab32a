"""What the reproduction of the K-means geometry paper finds, as typed values: JSON in and out, page and terminal."""

from __future__ import annotations

from typing import Literal

from sfumato.papers.results import Comparison, Frozen, Values, compared

__all__ = ["Chart", "Comparison", "Erratum", "Part", "Points", "Reproduction", "Values", "compared"]

SUBJECTS = {
    "figure 1": "the data, and the data standardised",
    "figure 2": "clusters, and centroids with noise",
    "figure 3": "centroids reflected into their bounds",
    "figure 4": "noisy radii, and the synthetic rows",
    "figure 5": "clusters of the original and of the synthetic rows",
    "table 1": "confusion matrix",
    "table 2": "baselines",
    "table 3": "adjusted Rand index over runs",
    "table 4": "epsilon by target",
    "beyond 1": "the aligned index measures copied labels",
    "beyond 2": "labels recovered, against what differential privacy allows",
    "beyond 3": "the form with a guarantee",
}
"""What each figure and table is about, in the order of the page; ``beyond`` is what the paper does not show."""


class Points(Frozen):
    """Named points of a chart, or the points of a line."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


class Chart(Frozen):
    """One chart as numbers: clouds of points with marked centroids, or lines."""

    kind: Literal["points", "lines"]
    title: str
    label: str
    x: str
    y: str
    series: tuple[Points, ...]
    marks: tuple[Points, ...] = ()
    """Centroids, a name for each kind."""
    bounds: tuple[float, ...] = ()
    """Vertical lines where a bound of x is."""
    rules: tuple[tuple[str, float], ...] = ()
    """Horizontal lines with a word."""
    muted_first: bool = False
    """Whether the first line is what the paper reports."""


class Part(Frozen):
    """One figure or table of the paper, or one thing beyond it."""

    name: str
    text: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    values: tuple[Values, ...] = ()
    charts: tuple[Chart, ...] = ()

    @property
    def label(self) -> str:
        """The name as a heading has it, such as ``Figure 4``."""
        return "Beyond the paper" if self.name.startswith("beyond") else self.name[0].upper() + self.name[1:]

    @property
    def title(self) -> str:
        """The name and what it is about."""
        return f"{self.label}: {SUBJECTS[self.name]}"


class Erratum(Frozen):
    """One thing that software must do differently: the paper, what we measure, and what stands instead."""

    name: str
    paper: str
    measured: str
    instead: str


class Reproduction(Frozen):
    """Everything that the reproduction finds, or one part of it."""

    paper: str
    title: str
    sfumato: str
    seed: int
    runs: int
    parts: tuple[Part, ...]
    errata: tuple[Erratum, ...] = ()

    def part(self, name: str) -> Part:
        """Return one figure or table."""
        return next(each for each in self.parts if each.name == name)
