"""Risk of several sensitive attributes against epsilon: one typed result for the terminal, the page and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from sfumato.arrays import Counts, FloatArray
from sfumato.errors import RiskError
from sfumato.privacy.noise.distributions import NoiseLaw
from sfumato.risk.homogeneity.curves import CurveOptions, average, check_request, stated_sensitivity
from sfumato.risk.homogeneity.epsilon_search import NOISELESS, feasible_epsilons
from sfumato.risk.homogeneity.joint import JointCells, project, several
from sfumato.risk.homogeneity.noise import Mechanism
from sfumato.risk.homogeneity.results import Average, EpsilonChoiceRecord, FrozenModel, Weights, evenly_spaced

CHUNK = 1 << 22
"""Counts worked on at once."""


class RiskPoint(FrozenModel):
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
    points: tuple[RiskPoint, ...]
    example: RiskPoint
    """At epsilon 1, or at the end of the range that is nearest to it."""
    ceiling: RiskPoint
    """Without noise; its epsilon is infinite."""
    choice: EpsilonChoiceRecord | None
    """By the chance that at least one attribute is read rightly."""

    def few(self) -> tuple[RiskPoint, ...]:
        """Return the points of the printed table."""
        return tuple(self.points[i] for i in evenly_spaced(len(self.points)))


def several_curves(
    cells: JointCells,
    epsilons: Sequence[float] | None = None,
    sensitivity: float | None = None,
    mechanism: str = "geometric",
    pilot: str | None = None,
    **facts: Unpack[CurveOptions],
) -> SeveralCurves:
    """Return the risk of publishing the cross table of identifiers and several sensitive columns, against epsilon.

    The arguments are those of :func:`~sfumato.risk.homogeneity.curves.curves`. Epsilon is steered by the chance that
    at least one attribute is read rightly; the only view is ``record``.
    """
    grid, by = check_request(epsilons, mechanism, facts)
    require_record(by.view)
    if not len(cells.counts):
        raise RiskError("the table has no records", next_step="give a table with at least one record")
    stated = stated_sensitivity(cells.schema, mechanism) if sensitivity is None else sensitivity
    noise = Mechanism(mechanism, facts.get("delta"), facts.get("rule"), stated)
    risk = _Risk(cells, by.weights)
    choice = None if by.target is None else EpsilonChoiceRecord.of(feasible_epsilons(by.target, risk, noise))
    return SeveralCurves(
        **_facts(cells),
        mechanism=mechanism,
        delta=noise.delta,
        rule=noise.sigma_rule,
        sensitivity=stated,
        weights=by.weights,
        pilot=pilot,
        points=tuple(risk.point(epsilon, noise.law(epsilon)) for epsilon in grid),
        example=risk.point(example := min(max(1.0, grid[0]), grid[-1]), noise.law(example)),
        ceiling=risk.point(math.inf, NOISELESS),
        choice=choice,
    )


def require_record(view: str) -> None:
    """Refuse a view that several attributes do not have."""
    if view != "record":
        raise RiskError(f"view {view!r} is for one sensitive column", next_step="leave the view out: it is 'record'")


class _Risk:
    """The attack on distinct cells, each computed once; and, for the search, the chance of at least one reading."""

    def __init__(self, cells: JointCells, weights: Weights) -> None:
        shape = cells.counts.shape
        flat, self.repeats = np.unique(cells.counts.reshape(shape[0], -1), axis=0, return_counts=True)
        self.rows: Counts = flat.reshape(-1, *shape[1:])
        self.flat, self.names, self.weights = flat, cells.sensitive, weights
        self.classes = flat.shape[1]
        self.spread = self._mean(flat.sum(axis=1) + float(self.classes)).by(weights)

    def _mean(self, values: FloatArray) -> Average:
        return average(values, self.flat, self.repeats)

    def point(self, epsilon: float, noise: NoiseLaw) -> RiskPoint:
        step = max(1, CHUNK // self.classes)
        parts = [several(self.rows[i : i + step], noise) for i in range(0, len(self.rows), step)]
        each = [np.concatenate([part.each[j] for part in parts]) for j in range(len(self.names))]
        return RiskPoint(
            epsilon=epsilon,
            each={name: self._mean(values) for name, values in zip(self.names, each, strict=True)},
            complete=self._mean(np.concatenate([part.complete for part in parts])),
            some=self._mean(np.concatenate([part.some for part in parts])),
        )

    def at(self, noise: NoiseLaw) -> float:
        """Return the average chance that at least one attribute is read rightly."""
        return self.point(1.0, noise).some.by(self.weights)


def _facts(cells: JointCells) -> dict[str, Any]:
    """Return what the table is, before any noise."""
    sizes = cells.sizes
    of_kind = {"complete": cells.complete, "partial": cells.partial, "heterogeneous": cells.heterogeneous}
    sets: dict[str, tuple[int, ...]] = {name: (axis,) for axis, name in enumerate(cells.sensitive)}
    sets["all together"] = tuple(range(len(cells.sensitive)))
    shares = {name: project(cells.counts, chosen).sum(axis=0) / sizes.sum() for name, chosen in sets.items()}
    return {
        "table": cells.schema.name,
        "identifiers": cells.identifiers,
        "sensitive": cells.sensitive,
        "adjacency": cells.schema.adjacency,
        "cells": len(sizes),
        "records": int(sizes.sum()),
        "combinations": int(np.prod(cells.counts.shape[1:])),
        "domain": math.prod(cells.schema.shape((*cells.identifiers, *cells.sensitive))),
        "kinds": {n: CellKinds(cells=int(which.sum()), people=int(sizes[which].sum())) for n, which in of_kind.items()},
        "baselines": {name: float(share.max()) for name, share in shares.items()},
    }
