"""Run a method on neighbouring tables and record privacy losses and observable features.

White box: the privacy loss of each run (:mod:`sfumato.risk.auditing.transcript`). Black box: numbers that anybody can
read off a release, such as the rows in the target's cell, and a score that logistic regression learns from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.core.method import Method, Output
from sfumato.core.plan import Plan
from sfumato.risk.auditing.neighbouring_tables import NeighbouringTables, corner_values
from sfumato.risk.auditing.transcript import UNKNOWN, Runs, Step, Transcript

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 24
"""Numbers that are looked at of a released table of values."""
COUNT = "count"


@dataclass(frozen=True)
class WorldRuns:
    """Runs on one of two tables: losses against the other one, divergences of their steps, and what is seen outside."""

    losses: FloatArray
    """The log of how much likelier the run's own table makes it."""
    spent: FloatArray
    taped: bool
    features: FloatArray = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False, default=())

    @property
    def impossible(self) -> int:
        """Runs that the other table cannot have made."""
        return int(np.isinf(self.losses).sum())

    def every(self, start: int) -> WorldRuns:
        """Return every second run."""
        return WorldRuns(self.losses[start::2], self.spent[start::2], self.taped, self.features[start::2])


@dataclass(frozen=True)
class PairedRuns:
    """Runs with the target and without it."""

    within: WorldRuns
    without: WorldRuns

    @property
    def taped(self) -> bool:
        """Whether every secret draw of every run was written down."""
        return self.within.taped and self.without.taped

    @property
    def losses(self) -> tuple[FloatArray, FloatArray]:
        """The loss in favour of the target's presence, in both worlds."""
        return self.within.losses, -self.without.losses

    def halves(self) -> tuple[PairedRuns, PairedRuns]:
        """Return the runs in two parts."""
        one, two = (PairedRuns(self.within.every(start), self.without.every(start)) for start in (0, 1))
        return one, two

    def own(self) -> FloatArray:
        """Return all losses, each in favour of the run's own table."""
        return np.concatenate([self.within.losses, self.without.losses])

    def spent(self) -> FloatArray:
        """Return all divergences along the way."""
        return np.concatenate([self.within.spent, self.without.spent])

    @property
    def impossible(self) -> int:
        """Runs that the other table cannot have made."""
        return self.within.impossible + self.without.impossible

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of all runs."""
        return (*self.within.steps, *self.without.steps)

    @property
    def runs(self) -> int:
        """Runs of both worlds."""
        return len(self.within.losses) + len(self.without.losses)


@dataclass(frozen=True)
class AuditCase:
    """A method on two neighbouring tables."""

    method: Method
    plan: Plan
    case: NeighbouringTables

    def runs(self, member: bool) -> Runs:
        """Return the method on one of the tables."""
        table = self.case.within if member else self.case.without
        return lambda randomness: self.method.run(table, self.plan, randomness, None)

    def watched(self, seeds: NDArray[np.int64], told: Callable[[], None] = lambda: None) -> PairedRuns:
        """Return runs of both worlds, as many of each as there are pairs of seeds."""
        return PairedRuns(*(self._world(member, seeds[:, int(member)], told) for member in (True, False)))

    def _world(self, member: bool, seeds: NDArray[np.int64], told: Callable[[], None]) -> WorldRuns:
        here, there = self.runs(member), self.runs(not member)
        losses, features, steps, taped = list[tuple[float, float]](), list[FloatArray](), list[Step](), True
        for seed in seeds:
            made = Transcript.of(here, int(seed))
            taped = taped and made.taped
            losses.append(made.loss(there) if taped else UNKNOWN)
            features.append(self.seen(made.output))
            steps += made.tape.steps
            told()
        both, least = np.array(losses).reshape(-1, 2), min(map(len, features), default=0)
        return WorldRuns(both[:, 0], both[:, 1], taped, np.array([seen[:least] for seen in features]), tuple(steps))

    def seen(self, output: Output) -> FloatArray:
        """Return what an outsider reads off a release."""
        look = {"rows": self._of_rows, "counts": self._of_counts}.get(self.method.makes, _of_values)
        return np.nan_to_num(np.concatenate([look(table) for table in output.tables.values()]))

    def _target(self, names: Sequence[str]) -> dict[str, Any]:
        schema = self.case.schema
        places = dict(zip(schema.releasable, self.case.target, strict=True))
        return {name: corner_values(schema[name])[places[name]] for name in names if name in places}

    def _matches(self, table: pa.Table) -> list[FloatArray]:
        """Return for each column which rows hold the target's value, or its bin."""
        found: list[FloatArray] = []
        for name, value in self._target(table.column_names).items():
            held = table.column(name).to_pylist()
            last = {value, str(value), self.case.schema[name].labels[-1 - self.case.schema[name].missing]}
            found.append(np.array([one in last for one in held], float))
        return found

    def _of_rows(self, table: pa.Table) -> FloatArray:
        matches = self._matches(table)
        means = [float(np.mean(numbers)) for numbers in map(_numbers, table.columns) if len(numbers)]
        together = [float(np.prod(matches, axis=0).sum())] if matches else []
        return np.array([table.num_rows, *together, *(match.sum() for match in matches), *means], float)

    def _of_counts(self, table: pa.Table) -> FloatArray:
        counts = np.array(table.column(COUNT).to_pylist() if COUNT in table.column_names else [], float)
        matches = self._matches(table)
        if not len(counts) or not matches:
            return _of_values(table)
        return np.array([counts.sum(), float((np.prod(matches, axis=0) * counts).sum())])


def _numbers(column: Any) -> FloatArray:
    import pyarrow as pa

    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return np.zeros(0)
    return np.nan_to_num(column.to_numpy().astype(float))


def _of_values(table: pa.Table) -> FloatArray:
    """Return the numbers of a table, evenly thinned out."""
    values = np.concatenate([np.zeros(0), *(_numbers(column) for column in table.columns)])
    if len(values) <= MOST_VALUES:
        return values
    return values[np.linspace(0, len(values) - 1, MOST_VALUES).astype(int)]


Score = Callable[[PairedRuns], tuple[FloatArray, FloatArray]]


def candidate_scores(pilot: PairedRuns) -> dict[str, Score]:
    """Return the scores to try: the loss, single numbers of a release, and one that these runs teach."""
    found: dict[str, Score] = {}
    if pilot.taped:
        found["everything that was drawn"] = lambda runs: runs.losses
    for place in range(min(world.features.shape[1] for world in (pilot.within, pilot.without))):
        found[f"number {place + 1} of the release"] = lambda runs, at=place: (
            runs.within.features[:, at],
            runs.without.features[:, at],
        )
    learnt = _learned_score(pilot)
    return found if learnt is None else {**found, "a score learnt from the release": learnt}


def _learned_score(pilot: PairedRuns) -> Score | None:
    """Return logistic regression on the numbers of a release, taught by these runs."""
    worlds = (pilot.within.features, pilot.without.features)
    both = np.vstack(worlds)
    if not both.std(axis=0).any() or len(both) < 4 or not math.isfinite(float(np.abs(both).max())):
        return None
    from sfumato.risk.attacks.membership import logistic_regression

    decide = logistic_regression(both, np.repeat([1, 0], [len(world) for world in worlds]), strength=0.1)
    return lambda runs: (decide(runs.within.features), decide(runs.without.features))


def fresh_seeds(runs: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return seeds for so many runs of both worlds."""
    return generator.integers(0, 1 << 62, (runs, 2))
