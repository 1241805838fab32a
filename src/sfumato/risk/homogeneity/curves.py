"""Risk and utility of a noisy contingency table against epsilon.

Everything here is computed on the true counts, exactly where a closed form exists. It is the custodian's knowledge:
nothing of it may be published unless the table was a public pilot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts, FloatArray
from sfumato.errors import RiskError
from sfumato.privacy.accounting.sensitivity import histogram_l1, histogram_l2_squared
from sfumato.privacy.noise_distributions import NoiseLaw
from sfumato.risk.homogeneity.cell_risk import local, several
from sfumato.risk.homogeneity.cells import VIEWS, Cells, View, check_counts, companions, distinct_cells, project
from sfumato.risk.homogeneity.epsilon_search import NOISELESS, AverageCellRisk, feasible_epsilons
from sfumato.risk.homogeneity.guessing import GuessingAverage, guessing_averages
from sfumato.risk.homogeneity.marginal_tvd import Distances, marginal_distances
from sfumato.risk.homogeneity.noise import CLASSICAL_END, WITH_DELTA, Mechanism, noise_problems
from sfumato.risk.homogeneity.results import (
    AlonePoint,
    Average,
    CellKinds,
    EpsilonChoiceRecord,
    GuessPoint,
    Limits,
    MarginalTvdPoint,
    RiskCurves,
    RiskPoint,
    SeveralCurves,
    SeveralPoint,
    Utility,
    Weights,
    WorstCell,
    evenly_spaced,
)
from sfumato.risk.homogeneity.uniqueness import reidentification
from sfumato.schema import Schema

RANGE = (0.01, 30.0)
POINTS = 61
CHUNK = 1 << 22
"""Counts worked on at once."""
WORST = 10


def epsilon_grid(low: float = RANGE[0], high: float = RANGE[1], points: int = POINTS) -> tuple[float, ...]:
    """Return epsilons evenly spaced on the log axis.

    >>> epsilon_grid(0.1, 10, 3)
    (0.1, 1.0, 10.0)
    """
    if not (0 < low < high < math.inf):
        raise RiskError(f"no range of epsilons: {low:g} to {high:g}", next_step="give 0 < low < high such as 0.01:30")
    return tuple(float(f"{epsilon:.12g}") for epsilon in np.geomspace(low, high, points))


class CurveOptions(TypedDict, total=False):
    """What may be said about the choice of epsilon (see :class:`Steering`) and about Gaussian noise."""

    target: float | None
    view: View
    weights: Weights
    delta: float | None
    rule: str | None


@dataclass(frozen=True)
class EpsilonCriterion:
    """The risk by which epsilon is chosen: seen how, averaged over what, and kept at or below which target if any."""

    target: float | None = None
    view: View = "record"
    weights: Weights = "cell"


def curves(
    cells: Cells,
    epsilons: Sequence[float] | None = None,
    sensitivity: float | None = None,
    utility: bool = True,
    mechanism: str = "geometric",
    pilot: str | None = None,
    **facts: Unpack[CurveOptions],
) -> RiskCurves:
    """Return risk and utility of publishing the cross table of identifiers and sensitive column, against epsilon.

    ``sensitivity`` follows from the schema unless given: 1 under add-remove (k for k rows a person), 2 under replace,
    and for Gaussian noise the L2 one: 1, k, the square root of 2. ``gaussian`` and ``discrete-gaussian`` need a
    ``delta`` and take a ``rule``: analytic by default, classical (proved below epsilon 1), or probabilistic.
    ``pilot`` names the public or earlier table that the cells came from; it is only said, never read. ``target``,
    ``view`` and ``weights`` say by which risk epsilon is chosen.
    """
    grid, by = check_request(epsilons, mechanism, facts)
    beside = companions(cells)
    counts = check_counts(cells.counts)
    totals = counts.sum(axis=0)
    stated = stated_sensitivity(cells.schema, mechanism) if sensitivity is None else sensitivity
    noise = Mechanism(mechanism, facts.get("delta"), facts.get("rule"), stated)
    choice = _choice(by, counts, noise)
    risk = _Risk(counts, noise)
    few = [grid[i] for i in evenly_spaced(len(grid))]
    guessed = guessing_averages(risk.rows, risk.repeats, {epsilon: noise.law(epsilon) for epsilon in few})
    example = risk.at(min(max(1.0, grid[0]), grid[-1]))
    safe = math.inf if choice is None or choice.safe is None else choice.safe[1]
    reference = example if math.isinf(safe) else risk.at(safe)
    return RiskCurves(
        **_facts(cells),
        sensitive=cells.column,
        values=counts.shape[1],
        baseline=float(totals.max() / totals.sum()),
        mechanism=mechanism,
        delta=noise.delta,
        rule=noise.sigma_rule,
        sensitivity=stated,
        view=by.view,
        weights=by.weights,
        pilot=pilot,
        points=tuple(risk.at(epsilon) for epsilon in grid),
        example=example,
        reference=reference,
        alone=tuple(risk.alone(epsilon, empty_cells(cells)) for epsilon in grid),
        alone_example=risk.alone(example.epsilon, empty_cells(cells)),
        guesses=tuple(_guess_point(found) for found in guessed),
        distinct_cells=len(risk.rows),
        guessed_cells=min((found.cells for found in guessed), default=0),
        limits=risk.limits(),
        utility=_utility(marginal_distances(cells, few, noise)) if utility else None,
        worst=_worst(cells, local(counts, noise.law(reference.epsilon), "record")),
        companions=beside.as_dict(),
        choice=choice,
    )


def several_curves(
    cells: Cells,
    epsilons: Sequence[float] | None = None,
    sensitivity: float | None = None,
    mechanism: str = "geometric",
    pilot: str | None = None,
    **facts: Unpack[CurveOptions],
) -> SeveralCurves:
    """Return the risk of publishing the cross table of identifiers and several sensitive columns, against epsilon.

    The arguments are those of :func:`curves`. Epsilon is steered by the chance that
    at least one attribute is read rightly; the only view is ``record``.
    """
    grid, by = check_request(epsilons, mechanism, facts)
    require_record(by.view)
    if not len(cells.counts):
        raise RiskError("the table has no records", next_step="give a table with at least one record")
    stated = stated_sensitivity(cells.schema, mechanism) if sensitivity is None else sensitivity
    noise = Mechanism(mechanism, facts.get("delta"), facts.get("rule"), stated)
    risk = _SeveralRisk(cells, by.weights)
    choice = None if by.target is None else EpsilonChoiceRecord.of(feasible_epsilons(by.target, risk, noise))
    return SeveralCurves(
        **_facts(cells),
        sensitive=cells.sensitive,
        **_kinds(cells),
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


def stated_sensitivity(schema: Schema, mechanism: str) -> float:
    """Return the sensitivity of a cross table by its schema, in the norm of the noise."""
    if mechanism in WITH_DELTA:
        return math.sqrt(histogram_l2_squared(schema.adjacency, schema.rows_per_person))
    return histogram_l1(schema.adjacency, schema.rows_per_person)


def empty_cells(cells: Cells) -> float:
    """Return how many combinations of the identifiers nobody has; they get noise, too."""
    return float(math.prod(cells.schema.shape(cells.identifiers)) - len(cells.counts))


def _choice(steering: EpsilonCriterion, counts: Counts, noise: Mechanism) -> EpsilonChoiceRecord | None:
    if steering.target is None:
        return None
    return EpsilonChoiceRecord.of(
        feasible_epsilons(steering.target, AverageCellRisk(counts, steering.view, steering.weights), noise)
    )


def _facts(cells: Cells) -> dict[str, Any]:
    """Return what the table is, before any noise."""
    return {
        "table": cells.schema.name,
        "identifiers": cells.identifiers,
        "adjacency": cells.schema.adjacency,
        "cells": len(cells.counts),
        "records": int(cells.sizes.sum()),
        "domain": math.prod(cells.schema.shape((*cells.identifiers, *cells.sensitive))),
    }


def default_range(rule: str | None) -> tuple[float, float]:
    """Return the epsilons of the curves where none are given: the classical rule ends before 1."""
    return (RANGE[0], 0.99) if rule == "classical" else RANGE


def check_request(
    epsilons: Sequence[float] | None, mechanism: str, facts: CurveOptions
) -> tuple[tuple[float, ...], EpsilonCriterion]:
    """Return the grid of epsilons and how it is steered; everything that is wrong is reported at once."""
    rule, by = (
        facts.get("rule"),
        EpsilonCriterion(facts.get("target"), facts.get("view", "record"), facts.get("weights", "cell")),
    )
    grid = epsilon_grid(*default_range(rule)) if epsilons is None else tuple(float(epsilon) for epsilon in epsilons)
    problems: list[str] = []
    if len(grid) < 2 or not all(0 < e < math.inf for e in grid) or list(grid) != sorted(set(grid)):
        problems.append("epsilons must be at least two finite numbers above 0 that rise")
    elif rule == "classical" and grid[-1] > CLASSICAL_END:
        problems.append(f"the classical rule is proved for epsilon below 1 only, and the curves go to {grid[-1]:g}")
    known = (("view", by.view, VIEWS), ("weights", by.weights, ("cell", "record")))
    problems += [f"unknown {what} {name!r}; use {', '.join(names)}" for what, name, names in known if name not in names]
    problems += noise_problems(mechanism, facts.get("delta"), rule)
    if problems:
        raise RiskError("cannot draw these risk curves", problems, "mend what is listed")
    return grid, by


class _Risk:
    """The attack on distinct cells: equal cells have equal risk, so each is computed once."""

    def __init__(self, counts: Counts, noise: Mechanism) -> None:
        self.rows, self.repeats = distinct_cells(counts)
        self.noise = noise

    def average(self, values: FloatArray) -> Average:
        return average(values, self.rows, self.repeats)

    def at(self, epsilon: float) -> RiskPoint:
        law = self.noise.law(epsilon)
        views: dict[str, Average] = {
            "conservative": self.average(local(self.rows, law, "conservative")),
            "record": self.average(local(self.rows, law, "record")),
            "any": self.average(local(self.rows, law, "any")),
        }
        right, read = views["record"], views["any"]
        ppv = Average(cell=_ratio(right.cell, read.cell), record=_ratio(right.record, read.record))
        return RiskPoint(epsilon=epsilon, ppv=ppv, **views)

    def alone(self, epsilon: float, empty: float) -> AlonePoint:
        found = reidentification(self.rows, self.noise.law(epsilon), empty, self.repeats)
        return AlonePoint(epsilon=epsilon, **asdict(found))

    def limits(self) -> dict[str, Limits]:
        """As epsilon goes to 0 each count survives with probability 1/2; without noise each keeps its sign."""
        classes = self.rows.shape[1]
        alike, present = 0.5**classes, (self.rows > 0).sum(axis=1)
        shares = self.rows / self.rows.sum(axis=1, keepdims=True)
        same = self.average((present == 1).astype(float))
        floors = {
            "record": alike,
            "any": classes * alike,
            "plurality": (1 - alike) / classes,
            "soft": (1 - alike) / classes,
        }
        ceilings = {
            "record": same,
            "any": same,
            "plurality": self.average(shares.max(axis=1)),
            "soft": self.average((shares**2).sum(axis=1)),
        }
        found = {
            name: Limits(floor=Average(cell=floor, record=floor), ceiling=ceilings[name])
            for name, floor in floors.items()
        }
        return {"conservative": Limits(floor=self.average(present * alike), ceiling=same), **found}


class _SeveralRisk:
    """The attack on distinct cells, each computed once; and, for the search, the chance of at least one reading."""

    def __init__(self, cells: Cells, weights: Weights) -> None:
        shape = cells.counts.shape
        flat, self.repeats = np.unique(cells.counts.reshape(shape[0], -1), axis=0, return_counts=True)
        self.rows: Counts = flat.reshape(-1, *shape[1:])
        self.flat, self.names, self.weights = flat, cells.sensitive, weights
        self.classes = flat.shape[1]
        self.spread = self._mean(flat.sum(axis=1) + float(self.classes)).by(weights)

    def _mean(self, values: FloatArray) -> Average:
        return average(values, self.flat, self.repeats)

    def point(self, epsilon: float, noise: NoiseLaw) -> SeveralPoint:
        step = max(1, CHUNK // self.classes)
        parts = [several(self.rows[i : i + step], noise) for i in range(0, len(self.rows), step)]
        each = [np.concatenate([part.each[j] for part in parts]) for j in range(len(self.names))]
        return SeveralPoint(
            epsilon=epsilon,
            each={name: self._mean(values) for name, values in zip(self.names, each, strict=True)},
            complete=self._mean(np.concatenate([part.complete for part in parts])),
            some=self._mean(np.concatenate([part.some for part in parts])),
        )

    def at(self, noise: NoiseLaw) -> float:
        """Return the average chance that at least one attribute is read rightly."""
        return self.point(1.0, noise).some.by(self.weights)


def _kinds(cells: Cells) -> dict[str, Any]:
    """Return which cells give away all, some or none of the columns without noise, and what naming guesses right."""
    sizes = cells.sizes
    of_kind = {"complete": cells.complete, "partial": cells.partial, "heterogeneous": cells.heterogeneous}
    sets: dict[str, tuple[int, ...]] = {name: (axis,) for axis, name in enumerate(cells.sensitive)}
    sets["all together"] = tuple(range(len(cells.sensitive)))
    shares = {name: project(cells.counts, chosen).sum(axis=0) / sizes.sum() for name, chosen in sets.items()}
    return {
        "combinations": int(np.prod(cells.counts.shape[1:])),
        "kinds": {n: CellKinds(cells=int(which.sum()), people=int(sizes[which].sum())) for n, which in of_kind.items()},
        "baselines": {name: float(share.max()) for name, share in shares.items()},
    }


def average(values: FloatArray, rows: Counts, repeats: NDArray[np.int64]) -> Average:
    """Average over cells and over records, from distinct cells and how often each occurs."""
    people = repeats * rows.sum(axis=1)
    return Average(cell=float(values @ repeats / repeats.sum()), record=float(values @ people / people.sum()))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _guess_point(found: GuessingAverage) -> GuessPoint:
    plurality = Average(cell=found.plurality[0], record=found.plurality[1])
    return GuessPoint(
        epsilon=found.epsilon, plurality=plurality, soft=Average(cell=found.soft[0], record=found.soft[1])
    )


def _utility(found: Distances) -> Utility:
    points = tuple(MarginalTvdPoint(**asdict(distance)) for distance in found.distances)
    return Utility(points=points, draws=found.draws, sets=found.sets, all_sets=found.all_sets)


def _worst(cells: Cells, risk: FloatArray) -> tuple[WorstCell, ...]:
    """Return the cells of highest risk; among equals those with most people."""
    order = np.lexsort((-cells.sizes, -risk.round(12)))[:WORST]
    labels = cells.schema[cells.column].labels
    top = cells.counts.argmax(axis=1)
    return tuple(
        WorstCell(
            identifiers={name: _word(label) for name, label in cells.label(int(i)).items()},
            people=int(cells.sizes[i]),
            value=_word(labels[top[i]]),
            share=float(cells.counts[i, top[i]] / cells.sizes[i]),
            risk=float(risk[i]),
        )
        for i in order
    )


def _word(label: object) -> str:
    if label is None:
        return "missing"
    return str(label).lower() if isinstance(label, bool) else str(label)
