"""Plan of a two-stage release: stages, sensitivities, shares of the budget, proof note.

Proof note. The stages are those of :mod:`sfumato.mechanisms.lattice_sums`, and so is their joint theorem; the vectors
are made in :mod:`.compiled_loops`. In lattice units, L2, one record moves

- inputs: one count of 2^24 in each of d histograms: sqrt(d); replace sqrt(2d); target: the same with d = 1;
- correlation (unit STEPS^2): the products of every two of d steps w with |w| <= STEPS. Their squares sum to
  (|w|^4 - sum w_j^4) / 2 <= |w|^4 (1 - 1/d) / 2; replace 1, since |ww' - uu'|^2 <= |w|^4 + |u|^4 and every product
  stands in the matrix twice;
- gram (unit STEPS^2): products of every two features times 17, squares times 12: 289 / 2 |w|^4 at most, since
  144 < 289 / 2; replace sqrt(2) times that, as in the line above;
- first, second (unit STEPS^2): features times a residual of at most STEPS steps: 1; replace 2. A target of levels has
  a vector r of residuals, one for each level, with |r| <= STEPS: the products w r' have length |w| |r|, so 1 and 2 too;
- spread (unit STEPS^2): a squared residual, or |r|^2, in [0, 1]: 1, under both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.core.parameters import delta_problems, shared_epsilon_problems
from sfumato.core.plan import BYTES_PER_VALUE, Plan, event_facts, exact_cost, refuse_memory
from sfumato.errors import PlanError
from sfumato.mechanisms.lattice_sums import KIND, LENGTH, UNIT, lattice_parts, lattice_stage
from sfumato.mechanisms.two_stage.gaussian_copula import bins_for
from sfumato.mechanisms.two_stage.noise_aware_ridge import MOST_CLASSES
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.gaussian_calibration import gaussian_mu
from sfumato.privacy.accounting.sensitivity import (
    histogram_l2_squared,
    nonobtuse_sum_l2_squared,
    vector_sum_sensitivity,
)
from sfumato.privacy.exact import Number, to_fraction
from sfumato.sampling.public_box import Adjacency, BoundedAxis, FloatArray, box_problems
from sfumato.schema import Schema
from sfumato.schema.column import Column

WEAK_SHARES = {"inputs": 0.2, "correlation": 0.2, "response": 0.6}
STRONG_SHARES = {"inputs": 0.1, "correlation": 0.1, "response": 0.8}
"""Shares of mu^2; those of the response are split further. Many rows need less for the inputs."""
TARGET_SHARE, SPREAD_SHARE, GRAM_SHARE = 0.08, 0.04, 0.3
"""Shares of the response; two passes over the residuals halve what is left."""
STRONG = 5000
"""n_pub * epsilon from which a noisy Gram matrix pays: below it, that of synthetic rows is nearer to the truth."""
PASSES = 5
"""Passes over the rows: histograms, correlation (of two inputs or more), first move, spread, second move."""
SYNTHETIC_ROWS = 6000
"""Rows drawn to find the features: post-processing, so that the number is free."""
MOST_POINTS = 4000
"""Numbers that may stand for one row: the features are directions of all of them, at a cost of their third power."""
RANKS = {0: 30, 20_000: 60}
"""Features by the least n_pub * epsilon at which they pay. California at epsilon .5 and 10: relative error .336 and
.294 with 30 features, .350 and .277 with 60."""


@dataclass(frozen=True, kw_only=True)
class TwoStagePlan:
    """The stages of a release, planned from public facts alone: the same facts always give the same plan.

    Rows come as one array, inputs first and the target last. A column named in ``categorical`` (by position) holds
    codes of levels and has whole bounds.

    >>> inputs, target = (BoundedAxis(0, 1),) * 3, BoundedAxis(0, 9)
    >>> plan = TwoStagePlan(axes=inputs, target=target, epsilon=1, delta=1e-6, n_pub=10_000)
    >>> [part.stage for part in plan.parts]
    ['inputs', 'correlation', 'target', 'gram', 'first', 'spread', 'second']
    """

    axes: tuple[BoundedAxis, ...]
    target: BoundedAxis
    epsilon: Number
    delta: Number
    n_pub: int
    categorical: tuple[int, ...] = ()
    adjacency: Adjacency = "add-remove"
    classes: int = 0
    """Levels of the target, whose codes are 0, 1, ...; 0 for a numeric one."""

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if not problems and self.points > MOST_POINTS:
            problems.append(f"inputs and their levels come to {self.points:,} indicators, {MOST_POINTS:,} are the most")
        if problems:
            raise PlanError(
                "cannot plan a private two-stage release",
                problems,
                "give public bounds of inputs and target, a budget, and the rows to expect",
            )

    def _problems(self) -> Iterator[str]:
        yield from box_problems(self.axes)
        yield from self.target.problems("target")
        for j in self.categorical:
            if not 0 <= j < len(self.axes):
                yield f"categorical column {j}: there are {len(self.axes)} inputs"
            elif not self.axes[j].whole:
                yield f"column {j}: a categorical column holds whole codes, give Axis(low, high, whole=True)"
        if self.classes and (self.target.low, self.target.high) != (0, self.classes - 1):
            yield f"target: the codes of {self.classes} levels have the bounds 0 and {self.classes - 1}"
        if self.classes > MOST_CLASSES:
            yield f"the target has {self.classes:,} levels, {MOST_CLASSES} are the most"
        if self.n_pub < 1:
            yield f"n_pub must be at least 1, found {self.n_pub}"
        if self.adjacency not in ("add-remove", "replace"):
            yield f"unknown adjacency {self.adjacency!r}"
        yield from shared_epsilon_problems(self.epsilon)
        yield from delta_problems(self.delta)

    @property
    def points(self) -> int:
        """Numbers that stand for one row: one for each numeric input, and an indicator for each level."""
        levels = (round(self.axes[j].high - self.axes[j].low) + 1 for j in self.categorical)
        return len(self.axes) - len(self.categorical) + sum(levels)

    @property
    def strength(self) -> float:
        """Rows to expect times epsilon: what public rules go by."""
        return self.n_pub * float(to_fraction(self.epsilon))

    @property
    def rank(self) -> int:
        """Number of features, without the constant."""
        return max(rank for least, rank in RANKS.items() if self.strength >= least)

    @cached_property
    def shares(self) -> dict[str, float]:
        """Shares of mu^2 by stage; one input has no correlation, and the others take its share."""
        stages, gram = (STRONG_SHARES, GRAM_SHARE) if self.strength >= STRONG else (WEAK_SHARES, 0.0)
        each = (1 - TARGET_SHARE - SPREAD_SHARE - gram) / 2
        response = {"target": TARGET_SHARE, "gram": gram, "first": each, "spread": SPREAD_SHARE, "second": each}
        shares = {"inputs": stages["inputs"], "correlation": stages["correlation"]}
        if len(self.axes) == 1:
            del shares["correlation"]
        shares |= {stage: stages["response"] * share for stage, share in response.items() if share}
        total = math.fsum(shares.values())
        return {stage: share / total for stage, share in shares.items()}

    def _bins(self, stage: str, axis: BoundedAxis, columns: int, *, categorical: bool = False) -> int:
        moved = math.sqrt(histogram_l2_squared(self.adjacency, tables=columns))
        sigma = moved / (gaussian_mu(self.epsilon, self.delta) * math.sqrt(self.shares[stage]))
        return bins_for(axis, self.n_pub, sigma, categorical=categorical)

    @cached_property
    def edges(self) -> tuple[FloatArray, ...]:
        """Ends of the cells of each input."""
        return tuple(
            axis.edges(self._bins("inputs", axis, len(self.axes), categorical=j in self.categorical))
            for j, axis in enumerate(self.axes)
        )

    @cached_property
    def target_edges(self) -> FloatArray:
        """Ends of the cells of the target."""
        return self.target.edges(self._bins("target", self.target, 1, categorical=self.classes > 0))

    @property
    def _cells(self) -> dict[str, int]:
        d, features = len(self.axes), self.rank + 1
        moves = features * max(self.classes, 1)
        return {
            "inputs": sum(len(edge) - 1 for edge in self.edges),
            "correlation": d * (d - 1) // 2,
            "target": len(self.target_edges) - 1,
            "gram": features * (features + 1) // 2,
            "first": moves,
            "spread": 1,
            "second": moves,
        }

    @property
    def _units(self) -> dict[str, int]:
        """L2 sensitivities in lattice units, rounded up."""
        d = len(self.axes)
        correlation = UNIT if self.adjacency == "replace" else _root(UNIT**2 * (d - 1), 2 * d)
        return {
            "inputs": _root(histogram_l2_squared(self.adjacency, tables=d) * LENGTH**2),
            "correlation": correlation,
            "target": _root(histogram_l2_squared(self.adjacency) * LENGTH**2),
            "gram": _root(nonobtuse_sum_l2_squared(self.adjacency, 289 * UNIT**2), 2),
            "first": vector_sum_sensitivity(self.adjacency, UNIT),
            "spread": UNIT,
            "second": vector_sum_sensitivity(self.adjacency, UNIT),
        }

    @cached_property
    def parts(self) -> tuple[EventPart, ...]:
        """What the event records, stage by stage: coordinates, sensitivity in lattice units, scale of the noise."""
        return lattice_parts(self.shares, self._units, self._cells, self.epsilon, self.delta)


@dataclass(frozen=True)
class PlannedTwoStage:
    """A two-stage release, planned on one schema from public facts alone."""

    name: str
    """Of the method."""
    schema: Schema
    columns: tuple[Column, ...]
    """Inputs, numeric ones first, then the target."""
    stages: TwoStagePlan
    notes: tuple[str, ...]

    def plan(self, rows: int | None, randomness: str) -> Plan:
        """Return cost and needs."""
        refuse_contradictions(self.schema, tuple(column.name for column in self.columns))
        event = Event(
            kind=KIND,
            parts=self.stages.parts,
            **exact_cost(self.stages.epsilon, self.stages.delta),
            **event_facts(self.name, self.schema, randomness),
        )
        shares = self.stages.shares
        stages = tuple(lattice_stage(part, f"{shares[part.stage]:.6f}") for part in self.stages.parts)
        count = rows if rows is not None else self.schema.rows
        memory = BYTES_PER_VALUE * ((count or 1) * len(self.columns) + SYNTHETIC_ROWS * self.stages.points)
        refuse_memory(memory, "the rows", "ask for fewer rows, or leave out columns of many levels")
        return Plan.for_(self.name, self.schema, stages, (event,), memory, rows=count, notes=self.notes)


def _root(square: int, parts: int = 1) -> int:
    """Return the square root of square / parts, rounded up."""
    return math.isqrt(square // parts) + 1
