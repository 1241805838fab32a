"""Disclosure risk in closed form: how many people's sensitive value can a neighbour read off a noisy cross table?

Exact, before the release, in milliseconds; and the inverse: which epsilon keeps that risk under a target.

>>> local([[4, 0], [3, 1]], Geometric(1.0), view="record").round(3).tolist()
[0.721, 0.201]
"""

from sfumato.privacy.accounting.calibration import gaussian_sigma
from sfumato.privacy.noise.laws import DiscreteGaussian, Gaussian, Geometric, Laplace, NoiseLaw
from sfumato.risk.homogeneity.attack import AttackResult, attack
from sfumato.risk.homogeneity.cells import Cells, Companions, companions
from sfumato.risk.homogeneity.checks import Counts, View, weighted_mean
from sfumato.risk.homogeneity.curves import curves
from sfumato.risk.homogeneity.dirichlet import DirichletFit, fit_dirichlet
from sfumato.risk.homogeneity.expected import NegativeBinomial, Poisson, expected, overall, shrinkage
from sfumato.risk.homogeneity.guessing import GuessingRisk, plurality, soft
from sfumato.risk.homogeneity.inverse import EpsilonChoice, epsilon_for
from sfumato.risk.homogeneity.joint import JointCells, SeveralRisk, several
from sfumato.risk.homogeneity.local import local
from sfumato.risk.homogeneity.mechanisms import Mechanism
from sfumato.risk.homogeneity.planning import PlannedRisk, PublicFacts, planned
from sfumato.risk.homogeneity.published import Published, published
from sfumato.risk.homogeneity.results import RiskCurves
from sfumato.risk.homogeneity.several_curves import SeveralCurves, several_curves

__all__ = [
    "AttackResult",
    "Cells",
    "Companions",
    "Counts",
    "DirichletFit",
    "DiscreteGaussian",
    "EpsilonChoice",
    "Gaussian",
    "Geometric",
    "GuessingRisk",
    "JointCells",
    "Laplace",
    "Mechanism",
    "NegativeBinomial",
    "NoiseLaw",
    "PlannedRisk",
    "Poisson",
    "PublicFacts",
    "Published",
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
    "published",
    "several",
    "several_curves",
    "shrinkage",
    "soft",
    "weighted_mean",
]
