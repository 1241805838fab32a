"""Typed results of the risk curves, for the terminal, the page and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import numpy as np

from sfumato.metrics.confidence import FrozenModel
from sfumato.risk.homogeneity.cells import Average, View
from sfumato.risk.homogeneity.epsilon_search import (
    CLASSICAL_END,
    AverageRisk,
    EpsilonChoice,
    Mechanism,
    feasible_epsilons,
)
from sfumato.risk.homogeneity.marginal_tvd import Utility
from sfumato.risk.homogeneity.uniqueness import ReidentificationRisk

Weights = Literal["cell", "record"]
FEW_POINTS = 13
"""Epsilons of the printed table, of the guessing attackers and of the simulated utility: every fifth of the grid."""
T = TypeVar("T")


def evenly_spaced(points: Sequence[T]) -> tuple[T, ...]:
    """Return evenly spaced ones of some points, both ends included.

    >>> evenly_spaced(range(61))[:3], len(evenly_spaced(range(61))), evenly_spaced("abc")
    ((0, 5, 10), 13, ('a', 'b', 'c'))
    """
    places = np.unique(np.linspace(0, len(points) - 1, min(len(points), FEW_POINTS)).round())
    return tuple(points[int(place)] for place in places)


class RiskPoint(FrozenModel):
    """The homogeneity attack at one epsilon, exactly."""

    epsilon: float
    conservative: Average
    record: Average
    any: Average
    ppv: Average
    """Share of readings that are right for a random record: record / any."""


class AlonePoint(ReidentificationRisk):
    """Re-identification at one epsilon."""

    epsilon: float

    @classmethod
    def at(cls, epsilon: float, risk: ReidentificationRisk) -> AlonePoint:
        """Return a risk with its epsilon."""
        return cls(epsilon=epsilon, **risk.model_dump())


class GuessPoint(FrozenModel):
    """Attackers who guess wherever anything survives."""

    epsilon: float
    plurality: Average
    soft: Average


class Limits(FrozenModel):
    """What a risk tends to without any information (floor) and without noise (ceiling)."""

    floor: Average
    ceiling: Average


class WorstCell(FrozenModel):
    """A cell whose members are most at risk, by its public identifiers."""

    identifiers: dict[str, str]
    people: int
    value: str
    """The sensitive value that most of them have, and their share."""
    share: float
    risk: float


class EpsilonChoiceRecord(FrozenModel):
    """Which epsilons keep the target: :class:`EpsilonChoice` as it is saved."""

    target: float
    intervals: tuple[tuple[float, float], ...]
    safe: tuple[float, float] | None
    """The interval from 0 up that keeps the target, or none: then even pure noise misses it."""
    floor: float
    ceiling: float
    statement: str

    def ends_with_rule(self, rule: str | None) -> bool:
        """Whether the last epsilon is where the classical rule ends, and not where the risk passes the target."""
        return rule == "classical" and bool(self.intervals) and self.intervals[-1][1] > CLASSICAL_END * (1 - 1e-6)

    @classmethod
    def of(cls, found: EpsilonChoice) -> EpsilonChoiceRecord:
        """Return the choice as it is saved."""
        return cls(
            target=found.target,
            intervals=found.intervals,
            safe=found.safe,
            floor=found.floor,
            ceiling=found.ceiling,
            statement=found.statement(),
        )

    @classmethod
    def found(cls, target: float | None, average: AverageRisk, noise: Mechanism) -> EpsilonChoiceRecord | None:
        """Search the epsilons that keep a target; none where no target is given."""
        return None if target is None else cls.of(feasible_epsilons(target, average, noise))


class NoiseFacts(FrozenModel):
    """The noise of some curves, and the epsilons that keep the target."""

    mechanism: str
    delta: float | None = None
    rule: str | None = None
    """How sigma follows from epsilon and delta, for Gaussian noise."""
    sensitivity: float
    choice: EpsilonChoiceRecord | None


class TableFacts(NoiseFacts):
    """What is said of any cross table whose risk is drawn."""

    table: str
    identifiers: tuple[str, ...]
    adjacency: str
    weights: Weights
    pilot: str | None
    cells: int
    records: int
    domain: int


class RiskCurves(TableFacts):
    """Everything about one cross table: curves, limits, utility, worst cells, companions, and the choice of epsilon."""

    sensitive: str
    view: View
    values: int
    baseline: float
    """Share of records that always naming the most common value gets right."""
    points: tuple[RiskPoint, ...]
    example: RiskPoint
    """At epsilon 1, or at the end of the range that is nearest to it."""
    reference: RiskPoint
    """At the largest safe epsilon where there is one, else the example: here the worst cells are ranked."""
    alone: tuple[AlonePoint, ...]
    """Whether people who are alone in their cell are seen to be alone, and rightly."""
    alone_example: AlonePoint
    """At the epsilon of the example."""
    guesses: tuple[GuessPoint, ...]
    distinct_cells: int
    """Cells that differ in more than the order of their counts: equal ones have equal risk."""
    guessed_cells: int
    """Distinct cells behind each guessing average, at least; fewer than there are where a sample was taken."""
    limits: dict[str, Limits]
    utility: Utility | None
    worst: tuple[WorstCell, ...]
    companions: dict[str, float]


class SeveralPoint(FrozenModel):
    """Readings that are right for a random record of the cell, at one epsilon, exactly."""

    epsilon: float
    each: dict[str, Average]
    complete: Average
    """All attributes are read, and rightly."""
    some: Average
    """At least one attribute is read rightly."""


class CellKinds(FrozenModel):
    """Cells of a kind without noise, and the people in them."""

    cells: int
    people: int


class SeveralCurves(TableFacts):
    """Everything about one cross table with several sensitive attributes; :attr:`SeveralPoint.some` steers epsilon."""

    sensitive: tuple[str, ...]
    combinations: int
    """Combinations of sensitive values."""
    kinds: dict[str, CellKinds]
    """Without noise: complete, partial and heterogeneous cells (definitions 5 and 6 of the paper)."""
    baselines: dict[str, float]
    """Share of people for whom naming the most common value is right: of each attribute, and of all together."""
    points: tuple[SeveralPoint, ...]
    example: SeveralPoint
    """At epsilon 1, or at the end of the range that is nearest to it."""
    ceiling: SeveralPoint
    """Without noise; its epsilon is infinite."""
