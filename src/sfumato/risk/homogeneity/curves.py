"""Risk and utility of a noisy contingency table against epsilon.

Everything here is computed on the true counts, exactly where a closed form exists. It is the custodian's knowledge:
nothing of it may be published unless the table was a public pilot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.privacy.noise_distributions import NoiseLaw
from sfumato.risk.homogeneity.cell_risk import local, several
from sfumato.risk.homogeneity.cells import (
    VIEWS,
    Average,
    Cells,
    DistinctCells,
    View,
    check_counts,
    companions,
    project,
)
from sfumato.risk.homogeneity.epsilon_search import (
    CLASSICAL_END,
    NOISELESS,
    AverageRisk,
    Mechanism,
    average_cell_risk,
    noise_problems,
    stated_sensitivity,
)
from sfumato.risk.homogeneity.guessing import guessing_averages
from sfumato.risk.homogeneity.marginal_tvd import marginal_distances
from sfumato.risk.homogeneity.results import (
    AlonePoint,
    CellKinds,
    EpsilonChoiceRecord,
    GuessPoint,
    Limits,
    RiskCurves,
    RiskPoint,
    SeveralCurves,
    SeveralPoint,
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
    """The risk by which epsilon is chosen (seen how, averaged over what, kept at or below which target), and what may
    be said about Gaussian noise."""

    target: float | None
    view: View
    weights: Weights
    delta: float | None
    rule: str | None


class CurveRequest(NamedTuple):
    """The epsilons of some curves, the noise, and the risk by which epsilon is chosen."""

    epsilons: tuple[float, ...]
    noise: Mechanism
    target: float | None
    view: View
    weights: Weights

    @property
    def example(self) -> float:
        """Epsilon 1, or the end of the range that is nearest to it."""
        return min(max(1.0, self.epsilons[0]), self.epsilons[-1])


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
    request = check_request(epsilons, mechanism, facts, cells.schema, sensitivity)
    noise, grid, beside = request.noise, request.epsilons, companions(cells)
    counts = check_counts(cells.counts)
    totals, empty = counts.sum(axis=0), empty_cells(cells)
    average = average_cell_risk(counts, request.view, request.weights)
    choice = EpsilonChoiceRecord.found(request.target, average, noise)
    risk = _Risk(DistinctCells.of(counts), noise)
    few = evenly_spaced(grid)
    guessed = guessing_averages(risk.cells.rows, risk.cells.repeats, {epsilon: noise.law(epsilon) for epsilon in few})
    example = risk.at(request.example)
    safe = math.inf if choice is None or choice.safe is None else choice.safe[1]
    reference = example if math.isinf(safe) else risk.at(safe)
    return RiskCurves(
        **_facts(cells, request, pilot),
        sensitive=cells.column,
        values=counts.shape[1],
        baseline=float(totals.max() / totals.sum()),
        view=request.view,
        points=tuple(risk.at(epsilon) for epsilon in grid),
        example=example,
        reference=reference,
        alone=tuple(risk.alone(epsilon, empty) for epsilon in grid),
        alone_example=risk.alone(example.epsilon, empty),
        guesses=tuple(
            GuessPoint(epsilon=found.epsilon, plurality=_pair(found.plurality), soft=_pair(found.soft))
            for found in guessed
        ),
        distinct_cells=len(risk.cells.rows),
        guessed_cells=min((found.cells for found in guessed), default=0),
        limits=risk.limits(),
        utility=marginal_distances(cells, few, noise) if utility else None,
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
    request = check_request(epsilons, mechanism, facts, cells.schema, sensitivity)
    require_record(request.view)
    if not len(cells.counts):
        raise RiskError("the table has no records", next_step="give a table with at least one record")
    law, distinct = request.noise.law, DistinctCells.of(cells.counts)

    def point(epsilon: float, noise: NoiseLaw) -> SeveralPoint:
        return _several_point(distinct, cells.sensitive, epsilon, noise)

    by, classes = request.weights, math.prod(cells.counts.shape[1:])
    spread = float((distinct.sizes + classes) @ distinct.shares(by))
    average = AverageRisk(lambda noise: point(1.0, noise).some.by(by), classes, spread)
    return SeveralCurves(
        **_facts(cells, request, pilot),
        sensitive=cells.sensitive,
        **_kinds(cells),
        points=tuple(point(epsilon, law(epsilon)) for epsilon in request.epsilons),
        example=point(request.example, law(request.example)),
        ceiling=point(math.inf, NOISELESS),
        choice=EpsilonChoiceRecord.found(request.target, average, request.noise),
    )


def require_record(view: str) -> None:
    """Refuse a view that several attributes do not have."""
    if view != "record":
        raise RiskError(f"view {view!r} is for one sensitive column", next_step="leave the view out: it is 'record'")


def empty_cells(cells: Cells) -> float:
    """Return how many combinations of the identifiers nobody has; they get noise, too."""
    return float(math.prod(cells.schema.shape(cells.identifiers)) - len(cells.counts))


def _facts(cells: Cells, request: CurveRequest, pilot: str | None) -> dict[str, Any]:
    """Return what the table and the noise are."""
    return {
        **request.noise.facts(),
        "weights": request.weights,
        "pilot": pilot,
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
    epsilons: Sequence[float] | None,
    mechanism: str,
    facts: CurveOptions,
    schema: Schema | None = None,
    sensitivity: float | None = None,
) -> CurveRequest:
    """Return the request, or refuse it with everything that is wrong; the schema says the sensitivity unless given."""
    delta, rule = facts.get("delta"), facts.get("rule")
    view, weights = facts.get("view", "record"), facts.get("weights", "cell")
    grid = epsilon_grid(*default_range(rule)) if epsilons is None else tuple(float(epsilon) for epsilon in epsilons)
    problems: list[str] = []
    if len(grid) < 2 or not all(0 < e < math.inf for e in grid) or list(grid) != sorted(set(grid)):
        problems.append("epsilons must be at least two finite numbers above 0 that rise")
    elif rule == "classical" and grid[-1] > CLASSICAL_END:
        problems.append(f"the classical rule is proved for epsilon below 1 only, and the curves go to {grid[-1]:g}")
    known = (("view", view, VIEWS), ("weights", weights, ("cell", "record")))
    problems += [f"unknown {what} {name!r}; use {', '.join(names)}" for what, name, names in known if name not in names]
    problems += noise_problems(mechanism, delta, rule)
    if problems:
        raise RiskError("cannot draw these risk curves", problems, "correct what is listed")
    if sensitivity is None:
        sensitivity = stated_sensitivity(mechanism, schema.adjacency, schema.rows_per_person) if schema else 1
    return CurveRequest(grid, Mechanism(mechanism, delta, rule, sensitivity), facts.get("target"), view, weights)


class _Risk:
    """The attack on one sensitive column of distinct cells."""

    def __init__(self, cells: DistinctCells, noise: Mechanism) -> None:
        self.cells, self.noise = cells, noise

    def at(self, epsilon: float) -> RiskPoint:
        law = self.noise.law(epsilon)
        views = {view: self.cells.average(local(self.cells.rows, law, view)) for view in VIEWS}
        right, read = views["record"], views["any"]
        ppv = Average(cell=_ratio(right.cell, read.cell), record=_ratio(right.record, read.record))
        return RiskPoint(epsilon=epsilon, ppv=ppv, **views)

    def alone(self, epsilon: float, empty: float) -> AlonePoint:
        risk = reidentification(self.cells.rows, self.noise.law(epsilon), empty, self.cells.repeats)
        return AlonePoint.at(epsilon, risk)

    def limits(self) -> dict[str, Limits]:
        """As epsilon goes to 0 each count survives with probability 1/2; without noise each keeps its sign."""
        rows, average = self.cells.rows, self.cells.average
        classes = rows.shape[1]
        alike, present = 0.5**classes, (rows > 0).sum(axis=1)
        shares = rows / rows.sum(axis=1, keepdims=True)
        same = average((present == 1).astype(float))
        floors = {
            "record": alike,
            "any": classes * alike,
            "plurality": (1 - alike) / classes,
            "soft": (1 - alike) / classes,
        }
        ceilings = {
            "record": same,
            "any": same,
            "plurality": average(shares.max(axis=1)),
            "soft": average((shares**2).sum(axis=1)),
        }
        found = {
            name: Limits(floor=Average(cell=floor, record=floor), ceiling=ceilings[name])
            for name, floor in floors.items()
        }
        return {"conservative": Limits(floor=average(present * alike), ceiling=same), **found}


def _several_point(cells: DistinctCells, names: Sequence[str], epsilon: float, noise: NoiseLaw) -> SeveralPoint:
    step = max(1, CHUNK // math.prod(cells.rows.shape[1:]))
    parts = [several(cells.rows[i : i + step], noise) for i in range(0, len(cells.rows), step)]
    return SeveralPoint(
        epsilon=epsilon,
        each={name: cells.average(np.concatenate([part.each[j] for part in parts])) for j, name in enumerate(names)},
        complete=cells.average(np.concatenate([part.complete for part in parts])),
        some=cells.average(np.concatenate([part.some for part in parts])),
    )


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


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _pair(averages: tuple[float, float]) -> Average:
    return Average(cell=averages[0], record=averages[1])


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
