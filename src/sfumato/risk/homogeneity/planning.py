"""Expected risk of a contingency table from public facts alone.

Known beforehand are the number of people and of cells, or the size of a cell, and how common the sensitive values are.
With a size n and shares p this is the paper's *expected* risk; with a Dirichlet law of the shares, which differ from
cell to cell, the *shrinkage* risk; averaged over a law of sizes the *global* risk. Epsilon chosen by it depends on
nothing confidential.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.confidence import FrozenModel
from sfumato.privacy.noise_distributions import NoiseLaw
from sfumato.risk.homogeneity.cells import VIEWS, View, as_alpha, as_probabilities, as_size
from sfumato.risk.homogeneity.curves import CurveOptions, check_request
from sfumato.risk.homogeneity.epsilon_search import NOISELESS, AverageRisk, Mechanism
from sfumato.risk.homogeneity.expected import SizeLaw, expected, overall, shrinkage
from sfumato.risk.homogeneity.results import AlonePoint, EpsilonChoiceRecord, NoiseFacts
from sfumato.risk.homogeneity.uniqueness import reidentification_for

MOST_PEOPLE = 500
"""The largest cell that is planned: larger ones cost seconds for each epsilon, and are hardly ever homogeneous."""


@dataclass(frozen=True)
class PublicFacts:
    """Sizes of cells (a number, or a law of sizes) and the sensitive values: shares ``p``, or a Dirichlet ``alpha``."""

    sizes: int | SizeLaw
    p: Sequence[float] | None = None
    alpha: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if (self.p is None) == (self.alpha is None):
            raise RiskError(
                "give the shares of the sensitive values, or the alpha of their Dirichlet law: one of the two",
                next_step="give p such as [0.7, 0.3], or alpha such as [1.4, 0.6]",
            )
        self.values  # noqa: B018  refuses what is no law
        if isinstance(self.sizes, int) and as_size(self.sizes) == 0:
            raise RiskError("an empty cell has no risk", next_step="give a size of 1 or more")
        if self._largest > MOST_PEOPLE:
            raise RiskError(
                f"cells of up to {self._largest:,} people are too large to plan; {MOST_PEOPLE} is the most",
                next_step="plan smaller cells: such large ones are hardly ever homogeneous",
            )

    @property
    def values(self) -> FloatArray:
        """The shares, or the parameters of their law."""
        return as_alpha(self.alpha) if self.p is None else as_probabilities(self.p)  # pyright: ignore[reportArgumentType]

    @property
    def measure(self) -> str:
        """The paper's name of the risk."""
        if self.p is not None:
            return "expected"
        return "shrinkage" if isinstance(self.sizes, int) else "global"

    @property
    def _largest(self) -> int:
        return self.sizes if isinstance(self.sizes, int) else self.sizes.largest()

    @property
    def mean_size(self) -> float:
        """Mean number of people in a cell that is not empty."""
        if isinstance(self.sizes, int):
            return float(self.sizes)
        whole = np.arange(1, self.sizes.largest() + 1)
        mass = self.sizes.pmf(whole)
        return float(whole @ mass / mass.sum())

    def risk(self, noise: NoiseLaw, view: View = "record") -> float:
        """Return the risk of a cell that is not empty."""
        if self.p is not None:
            return expected(self.sizes, self.p, noise, view)
        if isinstance(self.sizes, int):
            return float(np.asarray(shrinkage(self.sizes, self.values, noise, view)))
        return overall(self.values, noise, self.sizes, view=view)


class PlanPoint(FrozenModel):
    """The planned risk at one epsilon."""

    epsilon: float
    record: float
    conservative: float
    any: float


class PlannedRisk(NoiseFacts):
    """What public facts say about a cross table, before anybody counts it."""

    measure: str
    view: View
    mean_size: float
    """People in a cell that is not empty."""
    values: int
    points: tuple[PlanPoint, ...]
    ceiling: PlanPoint
    """Without noise; its epsilon is infinite."""
    alone: tuple[AlonePoint, ...]
    """Re-identification from a table of the identifiers alone; none where one size is given instead of a law."""


def planned(
    facts: PublicFacts,
    epsilons: Sequence[float] | None = None,
    sensitivity: float = 1,
    mechanism: str = "geometric",
    **more: Unpack[CurveOptions],
) -> PlannedRisk:
    """Return the risk against epsilon that follows from public facts alone; no table is read.

    >>> from sfumato.risk.homogeneity import Poisson
    >>> found = planned(PublicFacts(Poisson(4.6), alpha=[1.4, 0.3]), [0.5, 1.0], target=0.35)
    >>> found.measure, round(found.points[1].record, 4), round(found.choice.safe[1], 4)
    ('global', 0.5186, 0.1664)
    """
    request = check_request(epsilons, mechanism, more, sensitivity=sensitivity)
    noise, values = request.noise, len(facts.values)
    average = AverageRisk(lambda law: facts.risk(law, request.view), values, facts.mean_size + values)
    return PlannedRisk(
        measure=facts.measure,
        **noise.facts(),
        view=request.view,
        mean_size=facts.mean_size,
        values=values,
        points=tuple(_point(facts, epsilon, noise.law(epsilon)) for epsilon in request.epsilons),
        ceiling=_point(facts, math.inf, NOISELESS),
        alone=_alone(facts, request.epsilons, noise),
        choice=EpsilonChoiceRecord.found(request.target, average, noise),
    )


def _point(facts: PublicFacts, epsilon: float, law: NoiseLaw) -> PlanPoint:
    return PlanPoint(epsilon=epsilon, **{view: facts.risk(law, view) for view in VIEWS})


def _alone(facts: PublicFacts, grid: Sequence[float], noise: Mechanism) -> tuple[AlonePoint, ...]:
    if isinstance(facts.sizes, int):
        return ()
    return tuple(AlonePoint.at(epsilon, reidentification_for(facts.sizes, noise.law(epsilon))) for epsilon in grid)
