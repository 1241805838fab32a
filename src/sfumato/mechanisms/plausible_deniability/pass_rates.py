"""Pass rate of the privacy test, estimated on a public pilot table.

The pass rate is a fact about the rows. Released rows do not show it, and no budget here pays for it. So it is computed
on a *pilot*: a public table, or an earlier release, that looks like the private one. The pilot is read as it is,
without noise: its numbers are as confidential as the pilot.

One attempt on a table of N rows passes with the mean, over seeds s and candidates y, of P(|C| + L >= k), where |C| is
the number of rows in the seed's cell. Seeds and candidates are drawn, the probability is computed: what is left of
chance is that of the draws alone, and every point states it. A pilot of n rows stands for N: the seed is one row of its
cell, and the |C| - 1 others count (N - 1) / (n - 1) times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.core.parameters import delta_problems, number_problems
from sfumato.errors import PlanError, TableError
from sfumato.mechanisms.plausible_deniability.method import TOTAL_DELTA, PlausibleDeniability
from sfumato.mechanisms.plausible_deniability.privacy_test import (
    MOST_SEEDS,
    PrivacyTest,
    pass_probability,
    prior_share,
    stated_problems,
)
from sfumato.mechanisms.plausible_deniability.proposals import (
    PrefixProposal,
    Proposal,
    SeedRows,
    learn_tree,
)
from sfumato.mechanisms.plausible_deniability.record_composition import MODEL_DELTA
from sfumato.mechanisms.tree_model import TreeModel, tree_marginals
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table import Table, read
from sfumato.table.counting import count_nonempty_cells

NOTICE = (
    "Computed from the pilot's rows, without noise. The pilot must be public, or a release; if it is the private table "
    "itself, none of these numbers may leave."
)
GAMMAS, KS = (2.0, 4.0, 8.0), (10, 20, 50, 100, 200)
DRAWS = 2000
FEWEST_DRAWS, MOST_DRAWS = 20, 1_000_000
FEWEST_ROWS = 2


@dataclass(frozen=True)
class PassPoint:
    """The pass rate at one k and gamma, and what the test promises there."""

    k: int
    gamma: float
    rate: float
    error: float
    """Standard error of the rate, from the draws."""
    from_seeds: float
    """Share of released rows that would come from a seed; all others come from the prior."""
    epsilon: float | None
    """Epsilon of one row at the stated delta; None where this k is too small for that delta."""
    kept: float | None = None
    """Attributes of a seed that a candidate keeps, on average; None for the kernel model, which moves all of them."""


@dataclass(frozen=True)
class PassRates:
    """Pass rates of a pilot against k and gamma."""

    points: tuple[PassPoint, ...]
    columns: tuple[str, ...]
    model: str
    epsilon0: float
    delta: float
    pilot_rows: int
    rows: int
    """The number of rows for which the pilot stands."""
    notice: str = NOTICE

    def rate(self, k: int, gamma: float) -> float:
        """Return the pass rate at one k and gamma."""
        return next(point.rate for point in self.points if (point.k, point.gamma) == (k, gamma))

    def statement(self) -> str:
        """Return in plain words what was computed."""
        return (
            f"Pass rate of one attempt, {self.model} model, {len(self.columns)} columns, epsilon0 {self.epsilon0:g}: a "
            f"pilot of {self.pilot_rows:,} rows that stands for {self.rows:,}. {self.notice}"
        )


def pass_rates(
    pilot: Any,
    schema: Schema | None = None,
    *,
    gamma: float | Sequence[float] = GAMMAS,
    k: int | Sequence[int] = KS,
    epsilon0: Number = "0.5",
    delta: Number = TOTAL_DELTA,
    columns: Sequence[str] | None = None,
    model: Literal["seed", "kernel"] = "seed",
    model_epsilon: Number = 1,
    keep: Number | None = None,
    bandwidth: Number = 1,
    rows: int | None = None,
    draws: int = DRAWS,
    seed: int = 1,
    delimiter: str | None = None,
    **dialect: Any,
) -> PassRates:
    """Return how often the privacy test would pass on rows like those of a pilot, for every k and gamma.

    ``pilot`` is a table from :func:`sfumato.read`, or whatever that reads with a ``schema``. It must be public, or an
    earlier release: what is returned is computed from its rows, without noise. ``rows`` is the public number of rows of
    the table it stands for: the schema's, or the pilot's own, unless stated. The other parameters are those of
    :class:`~sfumato.PlausibleDeniability`; ``delta`` is that of one row. ``delimiter`` and ``dialect`` say how a file
    is written, as for :func:`sfumato.read`.
    """
    gammas, wanted = _listed(gamma), _listed(k)
    method = PlausibleDeniability(
        epsilon=1, columns=columns, model=model, model_epsilon=model_epsilon, keep=keep, bandwidth=bandwidth
    )
    _refuse(gammas, wanted, epsilon0, delta, rows, draws)
    table = _pilot_table(pilot, schema, method, {"delimiter": delimiter, **dialect})
    seeds = SeedRows.of(*count_nonempty_cells(table.source.engine, table.schema, table.schema.names))
    if seeds.total < FEWEST_ROWS:
        raise TableError(f"a pilot of {seeds.total} rows shows nothing", next_step="give a pilot with more rows")
    size = int(rows or _public_rows(pilot, schema) or seeds.total)
    drawn = _PilotDraws(table, seeds, method, size, int(draws), seed)
    points = [
        drawn.point(int(n), float(g), float(to_fraction(epsilon0)), float(to_fraction(delta)))
        for n in wanted
        for g in gammas
    ]
    facts = (table.schema.names, model, float(to_fraction(epsilon0)), float(to_fraction(delta)), seeds.total, size)
    return PassRates(tuple(points), *facts)


def _listed(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _refuse(
    gammas: Sequence[Any], ks: Sequence[Any], epsilon0: Number, delta: Number, rows: int | None, draws: int
) -> None:
    """Refuse parameters that make no test, all of them at once."""
    problems = stated_problems(epsilon0=epsilon0)
    problems += delta_problems(delta) + number_problems(draws, "draws", FEWEST_DRAWS, MOST_DRAWS, whole=True)
    problems += [] if rows is None else number_problems(rows, "rows", FEWEST_ROWS, MOST_SEEDS, whole=True)
    for k in ks:
        problems += stated_problems(k=k)
    for gamma in gammas:
        problems += stated_problems(gamma=gamma)
    problems += ["no k is given"] * (not ks) + ["no gamma is given"] * (not gammas)
    if problems:
        raise PlanError(
            "pass rates need k, gamma and epsilon0 of a privacy test",
            list(dict.fromkeys(problems)),
            "give for example k=[20, 50], gamma=[2, 4], epsilon0=0.1",
        )


def _pilot_table(pilot: Any, schema: Schema | None, method: PlausibleDeniability, dialect: Mapping[str, Any]) -> Table:
    """Return the pilot with the columns that are asked for; it may have as many rows as it likes."""
    facts = pilot.schema if isinstance(pilot, Table) else schema
    if facts is None:
        raise PlanError("no schema is given", next_step="give a pilot from sfumato.read(...), or schema=...")
    names = method.sound_columns(facts)
    rules = tuple(rule for rule in facts.rules if set(rule.columns) <= set(names))
    chosen = tuple(facts[name] for name in names)
    narrow = replace(
        facts, columns=chosen, rules=rules, adjacency="add-remove", rows=None, person=None, rows_per_person=1
    )
    table = Table(narrow, pilot.source) if isinstance(pilot, Table) else read(pilot, narrow, **dialect)
    table.require_valid()
    return table


def _public_rows(pilot: Any, schema: Schema | None) -> int | None:
    facts = schema or getattr(pilot, "schema", None)
    return None if facts is None else facts.rows


class _PilotDraws:
    """Seeds of a pilot and what the model proposes for them: the same draws at every k and gamma."""

    def __init__(
        self, table: Table, seeds: SeedRows, method: PlausibleDeniability, size: int, draws: int, seed: int
    ) -> None:
        self.table, self.seeds, self.method, self.size, self.seed = table, seeds, method, size, seed
        uniform = Randomness.of(seed).uniform
        self.chosen = seeds.codes[seeds.draw(seeds.total, draws, uniform)]
        self.tree = self._learn() if method.model == "seed" else None

    def _learn(self) -> tuple[TreeModel, float]:
        """Fit the tree to the pilot's tables, made as large as those of the table it stands for, with their noise."""
        budget = (to_fraction(self.method.model_epsilon), to_fraction(TOTAL_DELTA) * MODEL_DELTA)
        measured = tree_marginals(self.method.name, self.table.schema.names, budget, "gaussian")
        plan = measured.plan(self.table.schema, "seeded")
        counts = {
            names: np.rint(noisy_counts * self._times).astype(np.int64)
            for names, noisy_counts in self.table.marginals(measured.sets).items()
        }
        return learn_tree({names: counts[names] for names in measured.sets}, plan, None, Randomness.of(self.seed))

    def proposal(self, k: int) -> Proposal:
        """Return the model at one k."""
        schema = self.table.schema
        return self.method.proposal(schema, schema.names, self.tree, k, Randomness.of(self.seed).uniform)

    @property
    def _times(self) -> float:
        return self.size / self.seeds.total

    def point(self, k: int, gamma: float, epsilon0: float, delta: float) -> PassPoint:
        """Return the pass rate at one k and gamma."""
        proposal = self.proposal(k)
        candidates = proposal.propose(self.chosen, Randomness.of(self.seed + 1).uniform)
        passes = pass_probability(
            self._mates(proposal.plausible(self.seeds, self.chosen, candidates, gamma)), k, epsilon0
        )
        passes = passes * min(1.0, self.size / k)  # a place without a row fails
        rate, error = float(passes.mean()), float(passes.std(ddof=1) / math.sqrt(len(passes)))
        seeded = (1 - prior_share(k, gamma, epsilon0)) * rate
        kept = float(np.arange(len(proposal.keep)) @ proposal.keep) if isinstance(proposal, PrefixProposal) else None
        return PassPoint(k, gamma, rate, error, seeded, _epsilon(k, gamma, epsilon0, delta), kept)

    def _mates(self, found: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many rows of the table stand in a cell that holds so many rows of the pilot."""
        return np.rint(1 + (found - 1) * ((self.size - 1) / (self.seeds.total - 1)))


def _epsilon(k: int, gamma: float, epsilon0: float, delta: float) -> float | None:
    try:
        return PrivacyTest.best(k, gamma, epsilon0, delta).epsilon
    except PlanError:
        return None
