"""Homogeneity attack on noisy contingency tables: exact risk, its inverse, and planning.

Exact, before the release, in milliseconds; and the inverse: which epsilon keeps that risk under a target.

>>> local([[4, 0], [3, 1]], Geometric(1.0), view="record").round(3).tolist()
[0.721, 0.201]
"""

from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma
from sfumato.privacy.noise_distributions import DiscreteGaussian, Gaussian, Geometric, Laplace, NoiseLaw
from sfumato.risk.homogeneity.cell_risk import HomogeneityRates, SeveralRisk, attack, local, several
from sfumato.risk.homogeneity.cells import Cells, Companions, Counts, View, companions, weighted_mean
from sfumato.risk.homogeneity.curves import curves, several_curves
from sfumato.risk.homogeneity.epsilon_search import EpsilonChoice, Mechanism, epsilon_for
from sfumato.risk.homogeneity.expected import (
    DirichletFit,
    NegativeBinomial,
    Poisson,
    expected,
    fit_dirichlet,
    overall,
    shrinkage,
)
from sfumato.risk.homogeneity.guessing import GuessingRisk, plurality, soft
from sfumato.risk.homogeneity.planning import PlannedRisk, PublicFacts, planned
from sfumato.risk.homogeneity.results import RiskCurves, SeveralCurves

__all__ = [
    "Cells",
    "Companions",
    "Counts",
    "DirichletFit",
    "DiscreteGaussian",
    "EpsilonChoice",
    "Gaussian",
    "Geometric",
    "GuessingRisk",
    "HomogeneityRates",
    "Laplace",
    "Mechanism",
    "NegativeBinomial",
    "NoiseLaw",
    "PlannedRisk",
    "Poisson",
    "PublicFacts",
    "RiskCurves",
    "SeveralCurves",
    "SeveralRisk",
    "View",
    "attack",
    "companions",
    "curves",
    "epsilon_for",
    "expected",
    "fit_dirichlet",
    "gaussian_sigma",
    "local",
    "overall",
    "planned",
    "plurality",
    "several",
    "several_curves",
    "shrinkage",
    "soft",
    "weighted_mean",
]
