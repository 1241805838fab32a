"""What the reproduction of the two-stage paper finds, as typed values: JSON in and out, page and terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

__all__ = [
    "Chart",
    "Comparison",
    "Erratum",
    "Part",
    "Points",
    "Reproduction",
    "ValueTable",
    "bars",
    "comparison",
    "curve_chart",
    "table",
]

SUBJECTS = {
    "figure 4": "synthesis against hybrid",
    "figure 5": "privacy and prediction as alpha varies",
    "figure 6": "two stages against one",
    "figure 7": "first stages compared",
    "figure 8": "second stages compared",
    "table 4": "pricing metrics with and without the release",
    "figure 9": "pricing metrics by the rows that the public holds",
    "figure 10": "LID and Delta-MSE on five real tables",
    "figure 11": "predicting from the release alone",
    "figure 12": "test rows of another distribution",
    "figure 13": "Delta-MSE of every model as alpha varies",
    "table 7": "the requirements of provider and public, checked",
    "table 8": "pricing metrics on the original and on the release",
    "beyond 1": "LID and linkage disagree",
    "beyond 2": "the simulated data as printed, and the reach of the kernel",
}
"""What each figure and table is about, in the order of the page; ``beyond`` is what the paper does not show."""


class Points(FrozenModel):
    """The points of a line, or the heights of bars."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


class Chart(FrozenModel):
    """One chart as numbers: lines, or bars side by side over ``labels``."""

    kind: Literal["lines", "bars"]
    title: str
    label: str
    x: str
    y: str
    series: tuple[Points, ...]
    labels: tuple[str, ...] = ()
    rules: tuple[tuple[str, float], ...] = ()
    """Horizontal lines with a word."""


class Part(PartOf[Chart]):
    """One figure or table of the paper, or one thing beyond it."""

    subjects = SUBJECTS


class Reproduction(ReproductionOf[Part]):
    """Everything that the reproduction finds, or one part of it."""

    seed: int
    runs: int
    networks: str
    """When and where GAN and diffusion were trained."""
    errata: tuple[Erratum, ...] = ()


def curve_chart(
    title: str,
    x: str,
    y: str,
    at: Sequence[float],
    heights: Mapping[str, Sequence[float]],
    rules: tuple[tuple[str, float], ...] = (),
) -> Chart:
    """Return lines over common x values, with the digits that a drawing needs."""
    label = f"{y} against {x}: " + ", ".join(heights)
    series = tuple(Points(name=name, x=tuple(at), y=_drawn(ys)) for name, ys in heights.items())
    return Chart(kind="lines", title=title, label=label, x=x, y=y, series=series, rules=rules)


def bars(title: str, x: str, y: str, labels: Sequence[str], heights: Mapping[str, Sequence[float]]) -> Chart:
    """Return bars side by side over labels; the first series is the yardstick."""
    places = tuple(float(place) for place in range(len(labels)))
    series = tuple(Points(name=name, x=places, y=_drawn(ys)) for name, ys in heights.items())
    label = f"{y} by {x}: " + ", ".join(heights)
    return Chart(kind="bars", title=title, label=label, x=x, y=y, series=series, labels=tuple(labels))


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> ValueTable:
    """Return a table whose first column is words and the others numbers."""
    return ValueTable(
        title=title, header=tuple(header), rows=tuple(tuple(row) for row in rows), numbers=tuple(range(1, len(header)))
    )


def _drawn(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(f"{value:.4g}") for value in values)
