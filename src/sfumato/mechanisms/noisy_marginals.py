"""Noisy marginals: plan, record and measure counts of several column sets under one budget.

Proof note. Adjacency: the schema's. One row lies in exactly one cell of each table, so under add-remove a table has
L1 and L2 sensitivity 1 (k where a person may hold k rows: kept rows are chosen within each person, so the bound holds
for every table); under replace one cell falls and one rises: L1 2, L2 sqrt 2. Whole public domains are noised, empty
cells included. Laplace: table j with share s_j gets discrete Laplace noise of scale L1 / (s_j epsilon); the shares
sum to 1, so all tables together are epsilon-DP by composition. Gaussian: sigma_j = L2 / (mu sqrt(s_j)), where mu is
the Gaussian-DP parameter of (epsilon, delta); squares add up to mu^2, and the discrete mechanism is certified (see
:mod:`sfumato.privacy.accounting.gaussian_calibration`). Public: schema, column sets, shares, epsilon, delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.parameters import DEFAULT_DELTA, delta_or_default
from sfumato.core.plan import (
    Plan,
    Stage,
    cells_of,
    event_facts,
    exact_cost,
    refuse_beyond_memory,
    table_memory,
)
from sfumato.errors import AccountingError, PlanError
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.gaussian_calibration import certified_discrete_parts
from sfumato.privacy.accounting.sensitivity import changed_cells, histogram_l1
from sfumato.privacy.exact import (
    Number,
    round_down,
    to_fraction,
    to_positive_fraction,
)
from sfumato.privacy.noise import add_gaussian, add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.schema.column_selection import selection_problems

Noise = Literal["laplace", "gaussian"]
ColumnSet = tuple[str, ...]


class MarginalShare(NamedTuple):
    """One table that gets noise: the name of its stage, its cells (at most), its share of the budget."""

    stage: str
    cells: int
    share: Fraction


@dataclass(frozen=True)
class NoisyMarginals:
    """Noisy counts of several column sets that share one budget."""

    method: str
    sets: tuple[ColumnSet, ...]
    epsilon: Number
    delta: Number | None = None
    """None is 0 for Laplace noise, and DEFAULT_DELTA where Gaussian noise is asked for by name."""
    noise: Noise | None = None
    shares: tuple[Number, ...] | None = None

    def __post_init__(self) -> None:
        problems = [f"the table {' x '.join(s)} is asked for twice" for s in _repeated(self.sets)]
        problems += _budget_problems(self.epsilon, self.spent_delta, self.law)
        problems += _share_problems(self.shares, len(self.sets)) if self.shares is not None else []
        self._refuse(problems, "")

    @property
    def law(self) -> Noise:
        """The noise to draw: as stated, or Gaussian where a delta is given and Laplace otherwise."""
        if self.noise is not None:
            return self.noise
        return "gaussian" if _states_delta(delta_or_default(self.delta, 0)) else "laplace"

    @property
    def spent_delta(self) -> Number:
        """The delta of the release: as stated, or what the noise needs."""
        return delta_or_default(self.delta, DEFAULT_DELTA if self.law == "gaussian" else 0)

    def _refuse(self, problems: Sequence[str], where: str) -> None:
        if not problems:
            return
        raise PlanError(
            f"cannot plan {self.method}{where}",
            tuple(dict.fromkeys(problems)),
            "correct the method's parameters; 'sfumato methods' explains them",
        )

    def exact_shares(self) -> tuple[Fraction, ...]:
        """Return each table's share of the budget; equal shares unless stated."""
        if self.shares is None:
            return (Fraction(1, len(self.sets)),) * len(self.sets)
        return tuple(to_fraction(share, "share") for share in self.shares)

    def counted(self, schema: Schema) -> tuple[MarginalShare, ...]:
        """Return every table that gets noise, in the order in which it is drawn; here one for each column set."""
        return tuple(
            MarginalShare(" x ".join(names), cells_of(schema, names), share)
            for names, share in zip(self.sets, self.exact_shares(), strict=True)
        )

    def plan(self, schema: Schema, randomness: str = "secure") -> Plan:
        """Return cost, cells and memory; refuse what is wrong or cannot fit, all problems at once."""
        self._refuse(
            [p for names in self.sets for p in selection_problems(schema, names)], f" on table {schema.name!r}"
        )
        refuse_beyond_memory(schema, self.sets)
        events = self._events(schema, randomness)
        stages = self._stages(schema, events)
        return Plan.for_(self.method, schema, stages, events, table_memory(schema, self.sets))

    def _events(self, schema: Schema, randomness: str) -> tuple[Event, ...]:
        parts = self._laplace_parts(schema) if self.law == "laplace" else self._gaussian_parts(schema)
        return (
            Event(
                kind=f"discrete-{self.law}",
                parts=parts,
                **exact_cost(self.epsilon, self.spent_delta),
                **event_facts(self.method, schema, randomness),
            ),
        )

    def _laplace_parts(self, schema: Schema) -> tuple[EventPart, ...]:
        moved = histogram_l1(schema.adjacency, schema.rows_per_person)
        return tuple(
            _part(schema, counted, "laplace", laplace_scale(to_fraction(self.epsilon) * counted.share, moved))
            for counted in self.counted(schema)
        )

    def _gaussian_parts(self, schema: Schema) -> tuple[EventPart, ...]:
        tables = self.counted(schema)
        parts = [_part(schema, counted, "gaussian", 1.0) for counted in tables]
        shares = [float(counted.share) for counted in tables]
        return certified_discrete_parts(
            parts, shares, round_down(to_fraction(self.epsilon)), round_down(to_fraction(self.spent_delta))
        )

    def _stages(self, schema: Schema, events: Sequence[Event]) -> tuple[Stage, ...]:
        parts = [part for event in events for part in event.parts]
        shares = [counted.share for counted in self.counted(schema)]
        return tuple(
            Stage.of(
                part,
                f"discrete {self.law}",
                to_fraction(self.epsilon) * share if self.law == "laplace" else "joint",
                share,
            )
            for part, share in zip(parts, shares, strict=True)
        )


def _part(schema: Schema, counted: MarginalShare, noise: Noise, scale: float) -> EventPart:
    rows = schema.rows_per_person
    return EventPart(
        stage=counted.stage,
        cells=counted.cells,
        sensitivity=histogram_l1(schema.adjacency, rows) if noise == "laplace" else rows,
        changed_cells=changed_cells(schema.adjacency),
        scale=scale,
    )


class PlannedNoise:
    """Noise as a plan's events record it, handed out table by table in their order: no other can be drawn."""

    def __init__(self, plan: Plan, randomness: Randomness) -> None:
        self._left = [(event.kind, part) for event in plan.events for part in event.parts][::-1]
        self._randomness = randomness

    def add(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        """Return the counts of the next table with its noise, and the variance of that noise."""
        kind, part = self._left.pop() if self._left else ("", None)
        if part is None or counts.size > part.cells:
            raise AccountingError(
                f"a table of {counts.size:,} cells is counted, which the plan does not hold",
                next_step="release with the plan that the method made for this table",
            )
        add = add_laplace_scale if kind == "discrete-laplace" else add_gaussian
        return add(counts, part.scale, self._randomness), noise_variance(kind, part)


def noise_variance(kind: str, part: EventPart) -> float:
    """Return the variance of the recorded noise; it is public."""
    return 2 * part.scale**2 if kind == "discrete-laplace" else part.scale**2


def measure_marginals(
    counts: Mapping[ColumnSet, NDArray[np.int64]], plan: Plan, sets: Sequence[ColumnSet], randomness: Randomness
) -> dict[ColumnSet, NDArray[np.int64]]:
    """Return noisy counts with exactly the noise that the plan's events record."""
    noise = PlannedNoise(plan, randomness)
    return {names: noise.add(counts[names])[0] for names in sets}


def parse_column_sets(columns: Any) -> tuple[ColumnSet, ...]:
    """Read one column, one set or several sets: ``"age"``, ``["age", "sex"]``, ``[["age"], ["age", "sex"]]``."""
    if isinstance(columns, str):
        return ((columns,),)
    listed = list(columns)
    if listed and all(isinstance(item, str) for item in listed):
        return (tuple(listed),)
    if not listed or any(isinstance(item, str) or not item for item in listed):
        raise PlanError(
            f"columns must be a list of names, or a list of such lists, found {columns!r}",
            next_step="write for example columns=['age', 'sex'] or columns=[['age'], ['age', 'sex']]",
        )
    return tuple(tuple(item) for item in listed)


def _repeated(sets: Sequence[ColumnSet]) -> list[ColumnSet]:
    return [s for i, s in enumerate(sets) if s in sets[:i]]


def _states_delta(delta: Number) -> bool:
    try:
        return to_fraction(delta, "delta") != 0
    except PlanError:  # reported with all other problems of the budget
        return False


def _budget_problems(epsilon: Number, delta: Number, noise: str) -> list[str]:
    problems: list[str] = []
    for check in (lambda: to_positive_fraction(epsilon), lambda: to_fraction(delta, "delta")):
        try:
            check()
        except PlanError as error:
            problems.append(error.headline)
    if problems:
        return problems
    if noise not in ("laplace", "gaussian"):
        problems.append(f"noise {noise!r} is unknown; use 'laplace' or 'gaussian'")
    elif noise == "gaussian" and not 0 < to_fraction(delta) < 1:
        problems.append(f"gaussian noise needs a delta between 0 and 1 (such as 1e-6), found {delta}")
    elif noise == "laplace" and to_fraction(delta) != 0:
        problems.append(f"laplace noise has delta 0, found {delta}; leave it out or use noise='gaussian'")
    return problems


def _share_problems(shares: Sequence[Number], tables: int) -> list[str]:
    read = [to_fraction(share, "share") for share in shares]
    if len(read) != tables:
        return [f"{tables} tables need {tables} shares, found {len(read)}"]
    if any(share <= 0 for share in read) or sum(read) != 1:
        return [f"shares must be above 0 and sum to 1, found {', '.join(str(s) for s in shares)}"]
    return []
