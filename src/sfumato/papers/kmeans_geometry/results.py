"""What the reproduction of the K-means geometry paper finds, as typed values: JSON in and out, page and terminal."""

from __future__ import annotations

from typing import Literal

from sfumato.papers.result import (
    Comparison,
    Erratum,
    FrozenModel,
    PartOf,
    ReproductionOf,
    ValueTable,
    comparison,
)

__all__ = ["Chart", "Comparison", "Erratum", "Part", "Points", "Reproduction", "ValueTable", "comparison"]

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


class Points(FrozenModel):
    """Named points of a chart, or the points of a line."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


class Chart(FrozenModel):
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


class Part(PartOf[Chart]):
    """One figure or table of the paper, or one thing beyond it."""

    subjects = SUBJECTS


class Reproduction(ReproductionOf[Part]):
    """Everything that the reproduction finds, or one part of it."""

    seed: int
    runs: int
    errata: tuple[Erratum, ...] = ()
