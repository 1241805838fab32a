"""What the reproduction of the range-restriction paper finds, as typed values: JSON in and out, page and terminal."""

from __future__ import annotations

from sfumato.papers.result import (
    Comparison,
    Erratum,
    FrozenModel,
    PartOf,
    ReproductionOf,
    ValueTable,
    comparison,
)

__all__ = ["Chart", "Comparison", "Erratum", "Part", "Reproduction", "ValueTable", "ViolinOutline", "comparison"]

SUBJECTS = {
    "figure 1": "Lipschitz bounds of the records of one sample",
    "figure 2": "epsilon over repeated samples",
    "figure 3": "ECDF mean squared difference over repeated samples",
    "figure 4": "90 % quantiles over repeated samples",
    "figure 5": "epsilon at four sample sizes",
    "figure 6": "Lipschitz bounds at equal epsilon",
    "figure 7": "weights at equal epsilon",
    "figure 8": "means at equal epsilon",
    "figure 9": "medians at equal epsilon",
    "figure 10": "90 % quantiles at equal epsilon",
    "figure 11": "epsilon with wider ranges in the tail",
    "figure 12": "ECDF maximum difference with wider ranges in the tail",
    "figure 13": "medians with wider ranges in the tail",
    "figure 14": "90 % quantiles with wider ranges in the tail",
    "figure 15": "Lipschitz bounds of the fatigue records",
    "figure 16": "fatigue: synthetic values",
    "figure 17": "ECDF mean squared difference with wider ranges in the tail",
    "figure 18": "means with wider ranges in the tail",
    "figure 19": "fatigue: probabilities outside the range",
    "figure 20": "fatigue: weights",
    "table 1": "fatigue: mean, median and 90 % quantile",
}
"""What each figure and table is about, in the order of the page."""


class ViolinOutline(FrozenModel):
    """The outline of one violin; for equal values it is a point."""

    name: str
    at: tuple[float, ...]
    width: tuple[float, ...]
    middle: float
    tone: int | None = None


class Chart(FrozenModel):
    """Violins side by side, with horizontal lines where something is printed or confidential."""

    title: str
    label: str
    y: str
    shapes: tuple[ViolinOutline, ...]
    rules: tuple[tuple[str, float], ...] = ()
    logarithmic: bool = False


class Part(PartOf[Chart]):
    """One figure or table of the paper, or one thing beyond it."""

    subjects = SUBJECTS
    charts_a_row: int = 1


class Reproduction(ReproductionOf[Part]):
    """Everything that the reproduction finds, or one part of it."""

    repeats: int
    seeds: tuple[int, ...]
    """First seed of the repeated samples, and of the contraction study."""
    errata: tuple[Erratum, ...] = ()
