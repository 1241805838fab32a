"""Typed results of the risk curves, for the terminal, the page and JSON."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from sfumato.risk.homogeneity.cells import View
from sfumato.risk.homogeneity.epsilon_search import EpsilonChoice
from sfumato.risk.homogeneity.noise import CLASSICAL_END

Weights = Literal["cell", "record"]
FEW_POINTS = 13
"""Epsilons of the printed table, of the guessing attackers and of the simulated utility: every fifth of the grid."""


def evenly_spaced(points: int) -> list[int]:
    """Return the positions of evenly spaced points, both ends included.

    >>> evenly_spaced(61)[:3], len(evenly_spaced(61)), evenly_spaced(3)
    ([0, 5, 10], 13, [0, 1, 2])
    """
    return [int(i) for i in np.unique(np.linspace(0, points - 1, min(points, FEW_POINTS)).round())]


class FrozenModel(BaseModel):
    """A frozen part of the result; infinite ends of intervals are written as words."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Average(FrozenModel):
    """One risk averaged over occupied cells, and over the records in them."""

    cell: float
    record: float

    def by(self, weights: str) -> float:
        """Return the average by its name."""
        return self.record if weights == "record" else self.cell


class RiskPoint(FrozenModel):
    """The homogeneity attack at one epsilon, exactly."""

    epsilon: float
    conservative: Average
    record: Average
    any: Average
    ppv: Average
    """Share of readings that are right for a random record: record / any."""


class AlonePoint(FrozenModel):
    """Re-identification at one epsilon: :class:`sfumato.risk.homogeneity.uniqueness.ReidentificationRisk` as it is
    saved."""

    epsilon: float
    alone: float
    baseline: float
    seen: float
    named: float
    right: float
    known: float
    shown: float


class GuessPoint(FrozenModel):
    """Attackers who guess wherever anything survives."""

    epsilon: float
    plurality: Average
    soft: Average


class MarginalTvdPoint(FrozenModel):
    """Expected total-variation distance of the marginals of one order: mean and largest over the column sets."""

    epsilon: float
    way: Literal["cross", "direct"]
    order: int
    mean: float
    largest: float


class Utility(FrozenModel):
    """How much of the 1-, 2- and 3-way marginals is left, and how it was simulated."""

    points: tuple[MarginalTvdPoint, ...]
    draws: int
    sets: dict[int, int]
    all_sets: dict[int, int]


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


class RiskCurves(FrozenModel):
    """Everything about one cross table: curves, limits, utility, worst cells, companions, and the choice of epsilon."""

    table: str
    identifiers: tuple[str, ...]
    sensitive: str
    adjacency: str
    mechanism: str
    delta: float | None = None
    rule: str | None = None
    """How sigma follows from epsilon and delta, for Gaussian noise."""
    sensitivity: float
    view: View
    weights: Weights
    pilot: str | None
    cells: int
    records: int
    values: int
    domain: int
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
    choice: EpsilonChoiceRecord | None

    def few(self) -> tuple[RiskPoint, ...]:
        """Return the points of the printed table."""
        return tuple(self.points[i] for i in evenly_spaced(len(self.points)))


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


class SeveralCurves(FrozenModel):
    """Everything about one cross table with several sensitive attributes."""

    table: str
    identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    adjacency: str
    mechanism: str
    delta: float | None
    rule: str | None
    sensitivity: float
    weights: Weights
    pilot: str | None
    cells: int
    records: int
    combinations: int
    """Combinations of sensitive values."""
    domain: int
    kinds: dict[str, CellKinds]
    """Without noise: complete, partial and heterogeneous cells (definitions 5 and 6 of the paper)."""
    baselines: dict[str, float]
    """Share of people for whom naming the most common value is right: of each attribute, and of all together."""
    points: tuple[SeveralPoint, ...]
    example: SeveralPoint
    """At epsilon 1, or at the end of the range that is nearest to it."""
    ceiling: SeveralPoint
    """Without noise; its epsilon is infinite."""
    choice: EpsilonChoiceRecord | None
    """By the chance that at least one attribute is read rightly."""

    def few(self) -> tuple[SeveralPoint, ...]:
        """Return the points of the printed table."""
        return tuple(self.points[i] for i in evenly_spaced(len(self.points)))
