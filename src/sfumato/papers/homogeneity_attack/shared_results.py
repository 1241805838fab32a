"""Risk curves of figure 4 and appendix D, printed and exact, and what several parts share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, cast

import numpy as np
from scipy import optimize

from sfumato.papers.homogeneity_attack.data import Name, PaperTables, read_paper_tables
from sfumato.papers.homogeneity_attack.marginal_tvd import DRAWS, SEED, Mechanism, TvdBox, tvd_boxes
from sfumato.papers.homogeneity_attack.published import published
from sfumato.privacy.accounting.gaussian_calibration import GaussianCalibration
from sfumato.risk.homogeneity import (
    Counts,
    Gaussian,
    Geometric,
    GuessingRisk,
    Laplace,
    NoiseLaw,
    Poisson,
    View,
    expected,
    gaussian_sigma,
    local,
    plurality,
    soft,
    weighted_mean,
)

Measure = Literal[
    "printed",
    "conservative",
    "record",
    "record by record",
    "Poisson printed",
    "Poisson zero-truncated",
    "observed sizes",
    "hard",
    "soft",
    "hard by record",
    "soft by record",
]

TINY = 1e-12
"""Stands for epsilon going to 0."""
DELTAS = (1e-3, 1e-5, 1e-6)
GRID = tuple(sorted([5.0, *(float(f"{10**power:.4g}") for power in np.linspace(-2, 2, 41))]))
"""Log-spaced from 0.01 to 100, with 5 put in."""
GUESS_GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Coarser: a guessing attacker costs a hundred times as much to compute."""
GUESSES: tuple[Measure, ...] = ("hard", "soft", "hard by record", "soft by record")
PRINTED_LAMBDA: dict[Name, float] = {"adult": 4.6, "bankruptcy": 2.43}
EQUATIONS: dict[Name, tuple[int, int]] = {"adult": (18, 28), "bankruptcy": (18, 28), "bankruptcy-subset": (12, 22)}
"""The printed formula that the paper used: for Laplace and for Gaussian noise."""
EXACT: dict[str, tuple[View, str]] = {
    "conservative": ("conservative", "cell"),
    "record": ("record", "cell"),
    "record by record": ("record", "record"),
}
"""View and weights of the exact measures."""


@dataclass(frozen=True)
class RiskCurve:
    """Risk against epsilon."""

    epsilon: tuple[float, ...]
    risk: tuple[float, ...]

    def at(self, epsilon: float) -> float:
        """Return the risk at an epsilon of the grid."""
        return self.risk[self.epsilon.index(epsilon)]

    def up_to(self, epsilon: float) -> RiskCurve:
        """Return the curve as far as an epsilon."""
        kept = sum(each <= epsilon for each in self.epsilon)
        return RiskCurve(self.epsilon[:kept], self.risk[:kept])


def noise_law(mechanism: Mechanism, epsilon: float, delta: float | None = None) -> NoiseLaw:
    """Return the noise of a mechanism; those with a Gaussian need a delta."""
    if mechanism == "laplace":
        return Laplace(epsilon)
    if mechanism == "geometric":
        return Geometric(epsilon)
    rule = cast("GaussianCalibration", mechanism.removeprefix("gaussian-"))
    return Gaussian(gaussian_sigma(epsilon, delta or 0.0, rule=rule))


def average_risk(counts: Counts, noise: NoiseLaw, view: View = "conservative", weights: str = "cell") -> float:
    """Return the exact average risk of cells."""
    return weighted_mean(local(counts, noise, view), counts, weights)


@dataclass(frozen=True, eq=False)
class SharedResults:
    """The paper's tables, and what several parts show of them, computed when it is first asked for."""

    folder: Path | None = None
    draws: int = DRAWS
    seed: int = SEED
    known_curves: dict[tuple[Name, Mechanism, Measure, float | None], RiskCurve] = field(default_factory=dict)
    known_guesses: dict[tuple[Name, str, NoiseLaw], GuessingRisk] = field(default_factory=dict)

    @cached_property
    def tables(self) -> PaperTables:
        """The three tables."""
        return read_paper_tables(self.folder)

    @cached_property
    def distances(self) -> list[TvdBox]:
        """The boxes of figure 5."""
        return tvd_boxes(self.tables.ratings, self.draws, self.seed)

    def curve(self, name: Name, mechanism: Mechanism, measure: Measure, delta: float | None = None) -> RiskCurve:
        """Return one curve; the classic Gaussian rule exists below epsilon 1 only."""
        key = name, mechanism, measure, delta
        if key not in self.known_curves:
            grid: Sequence[float] = GUESS_GRID if measure in GUESSES else GRID
            kept = tuple(e for e in grid if e < 1 or mechanism != "gaussian-classic")
            risks = (self._risk(name, measure, noise_law(mechanism, e, delta)) for e in kept)
            self.known_curves[key] = RiskCurve(kept, tuple(risks))
        return self.known_curves[key]

    def _risk(self, name: Name, measure: Measure, noise: NoiseLaw) -> float:
        counts, sizes = self.tables.cells[name].counts, self.tables.printed_sizes(name)
        if measure in EXACT:
            return average_risk(counts, noise, *EXACT[measure])
        if measure in GUESSES:
            guess = self._guess(name, measure.partition(" ")[0], noise)
            return guess.record_average if measure.endswith("record") else guess.cell_average
        is_laplace = isinstance(noise, Laplace)
        if measure == "printed":
            equation = EQUATIONS[name][0 if is_laplace else 1]
            facts = {"counts": counts} if equation in (12, 22) else {"n": sizes}
            return float(published(equation, noise, **facts))
        if measure == "observed sizes":
            return float(published(18 if is_laplace else 28, noise, n=sizes))
        law = Poisson(PRINTED_LAMBDA[name])
        if measure == "Poisson printed":
            return float(published(19 if is_laplace else 29, noise, sizes=law))
        return expected(law, [1.0, 0.0], noise)

    def _guess(self, name: Name, attacker: str, noise: NoiseLaw) -> GuessingRisk:
        key = name, attacker, noise
        if key not in self.known_guesses:
            guess = plurality if attacker == "hard" else soft
            self.known_guesses[key] = guess(self.tables.cells[name].counts, noise)
        return self.known_guesses[key]


def zero_truncated_rate(mean: float) -> float:
    """Return the Poisson rate whose non-empty cells have this mean size: lam / (1 - exp(-lam)) = mean.

    >>> round(zero_truncated_rate(2.42718), 4)
    2.1423
    """
    return float(optimize.root_scalar(lambda lam: lam / -math.expm1(-lam) - mean, bracket=(1e-9, mean)).root)


def homogeneous_share(counts: np.ndarray) -> float:
    """Return the share of homogeneous cells: the risk of the true table."""
    return float(((counts > 0).sum(axis=1) == 1).mean())
