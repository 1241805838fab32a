"""What the reproduction of the REAEDP paper finds, as typed values: JSON in and out, page and terminal.

A part is one figure or table of the paper: what is printed, what we get and why they differ, with the values drawn.
"""

from __future__ import annotations

from typing import Literal

from sfumato.papers.result import Comparison as Comparison
from sfumato.papers.result import FrozenModel as FrozenModel
from sfumato.papers.result import PartOf, ReproductionOf
from sfumato.papers.result import ValueTable as ValueTable
from sfumato.papers.result import comparison as comparison

SUBJECTS = {
    "figure 1": "pass rate of the privacy test",
    "figure 2": "private mean of curves",
    "figure 3": "the entropy bound against n",
    "figure 4": "sampled sensitivity against the bound",
    "figure 5": "baselines against epsilon",
    "figure 6": "entropy error by number of bins",
    "figure 7": "attacks",
    "figure 8": "one noisy histogram",
    "figure S1": "image noise against epsilon",
    "figure S2": "PSNR, MAE and SSIM",
    "figure S4": "histograms of several data sets",
    "table IV": "one run on the reviews",
    "table S1": "constants of the Renyi bound",
    "table S3": "seven data sets",
}
"""What each figure and table that is reproduced is about, in the order of the page."""


class Series(FrozenModel):
    """One line or one set of bars; for bars and images ``x`` is empty."""

    name: str
    y: tuple[float, ...]
    x: tuple[float, ...] = ()
    faint: bool = False


class Chart(FrozenModel):
    """One chart as numbers: lines, bars side by side, or a square grey image."""

    kind: Literal["lines", "bars", "image"]
    title: str
    label: str
    series: tuple[Series, ...]
    x: str = ""
    y: str = ""
    places: tuple[str, ...] = ()
    """What stands under each group of bars."""
    logarithmic: bool = True
    """Whether the x axis of lines is."""
    bottom: float | None = None
    """Where the y axis of lines begins, if not at 0."""
    top: float | None = None
    muted_first: bool = True
    """Whether the first series is what was printed."""
    rules: tuple[tuple[str, float], ...] = ()
    """Horizontal lines with a word."""


class Part(PartOf[Chart]):
    """One figure or table of the paper, or one thing beyond it."""

    subjects = SUBJECTS
    charts_a_row: int = 3


class Erratum(FrozenModel):
    """One thing that software must do differently: the paper, the verdict, and what stands instead."""

    number: int
    paper: str
    verdict: str
    instead: str


class Reproduction(ReproductionOf[Part]):
    """Everything that the reproduction finds, or one part of it."""

    seed: int
    errata: tuple[Erratum, ...] = ()
