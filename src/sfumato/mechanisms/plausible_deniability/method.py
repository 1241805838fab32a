"""PlausibleDeniability: rows made from seeds, released only if k seeds are plausible.

The mechanism, its theorem and the repair that makes it hold are in
:mod:`sfumato.mechanisms.plausible_deniability.privacy_test`;
what many rows cost together in :mod:`sfumato.mechanisms.plausible_deniability.record_composition`.

Proof note. Adjacency: the schema's; one row under add-remove, or the content of one row under replace (same cost).
Stage 1 measures one- and two-way tables with discrete Gaussian noise (:mod:`sfumato.mechanisms.noisy_marginals`) and
fits a tree; everything that follows sees the tree as public. Stage 2 makes N rows; each is one attempt with the prior
as fallback, (epsilon_r, delta_r)-DP by the theorem, and N of them compose optimally. Work is the same whether attempts
pass or fail, and the number that failed is neither released nor recorded. Candidates that break a rule of the schema
are replaced from the prior: post-processing. The kernel model has no stage 1; its prior is uniform over the public
domain. Public: schema, columns, k, gamma, epsilon0, t, number of rows, kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.constraints.draw_rows import sample_rows
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import (
    SMALLEST_EPSILON,
    check_parameters,
    delta_or_default,
    delta_problems,
    epsilon_problems,
    number_problems,
    share_problems,
    word_problems,
)
from sfumato.core.plan import (
    Plan,
    Stage,
    check_row_count,
    event_facts,
    exact_cost,
    refuse_memory,
    table_memory,
)
from sfumato.errors import PlanError
from sfumato.mechanisms.noisy_marginals import NoisyMarginals
from sfumato.mechanisms.plausible_deniability.privacy_test import (
    PrivacyTest,
    prior_share,
    stated_problems,
)
from sfumato.mechanisms.plausible_deniability.privacy_test import hockey_stick_divergence as hockey_stick_divergence
from sfumato.mechanisms.plausible_deniability.privacy_test import output_distribution as output_distribution
from sfumato.mechanisms.plausible_deniability.proposals import (
    MOST_COLUMNS,
    KernelProposal,
    PrefixProposal,
    Proposal,
    SeedRows,
    attempt_rows,
    choose_keep,
    fixed_prefix,
    kernel_bytes,
    learn_tree,
)
from sfumato.mechanisms.plausible_deniability.record_composition import (
    RecordBudget,
    budget_from_parameters,
    privacy_test_from_parameters,
    total_budget,
)
from sfumato.mechanisms.tree_model import TreeModel, tree_marginals
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.exact import Number, fraction_to_text, to_fraction
from sfumato.privacy.randomness import Randomness, UniformSource
from sfumato.sampling.values import rows_table
from sfumato.schema import Schema
from sfumato.schema.column_selection import selection_problems
from sfumato.table.counting import count_nonempty_cells
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

Codes = NDArray[np.int64]
DEFAULT_ROWS = 100
"""Rows to make when none are asked for: every row costs, so a table of the old size is rarely affordable."""
LARGEST_SAMPLE = 1_000_000
TOTAL_DELTA = "1e-6"
"""The delta where none is given."""
STAY = 0.8
"""Probability that the kernel model keeps a level without an order."""
RECORDS = "records"


@checked_parameters
@dataclass(frozen=True)
class PlausibleDeniability:
    """Rows made from seeds that at least k rows of the table could stand in for, up to noise.

    Give a total ``epsilon`` and ``delta``: k follows from the number of rows, by optimal composition. Or give ``k``,
    ``gamma``, ``epsilon0`` and ``delta`` per row (and ``t``, unless the best one is wanted): the total follows, plus
    ``model_epsilon`` for the model's parameters. ``model`` "seed" keeps ``keep`` leading attributes of a seed and draws
    the others from learned conditional tables; "kernel" moves every attribute to nearby bins (``bandwidth``).
    ``delta`` is 1e-6 unless it is given.
    """

    epsilon: Number | None = None
    delta: Number | None = None
    k: Number | None = None
    gamma: Number = 2
    epsilon0: Number | None = None
    t: Number | None = None
    columns: Sequence[str] | None = None
    model: Literal["seed", "kernel"] = "seed"
    model_share: Number = "1/4"
    model_epsilon: Number = 1
    keep: Number | None = None
    bandwidth: Number = 1

    name: ClassVar[str] = "plausible-deniability"
    summary: ClassVar[str] = "synthetic rows made from seeds, each released only if at least k rows could have made it"
    about: ClassVar[str] = (
        "Each row was made from one row of the table, or from public knowledge and noisy counts alone; nobody can tell "
        "which. A row may equal a true row by chance."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        check_parameters(self, self._problems())
        if self.epsilon is None:
            self.privacy_test()

    @property
    def stated_delta(self) -> Number:
        """The delta of the release, or of each row where k and epsilon0 are given."""
        return delta_or_default(self.delta, TOTAL_DELTA)

    def _problems(self) -> list[str]:
        problems = word_problems(self.model, "model", ("seed", "kernel"))
        problems += delta_problems(self.stated_delta) + share_problems(self.model_share, "model_share")
        problems += stated_problems(gamma=self.gamma) + number_problems(self.bandwidth, "bandwidth", "1e-3", "1e9")
        problems += epsilon_problems(self.model_epsilon, "model_epsilon")
        if self.keep is not None:
            problems += number_problems(self.keep, "keep", "0", "1000000", whole=True)
        if self.columns in ((), []):
            problems.append("columns names no column")
        return problems + self._budget_problems()

    def _budget_problems(self) -> list[str]:
        stated = {"k": self.k, "epsilon0": self.epsilon0, "t": self.t}
        if self.epsilon is not None:
            both = any(value is not None for value in stated.values())
            problems = (
                ["epsilon is a total from which k, epsilon0 and t follow: give either it or them"] if both else []
            )
            return problems + epsilon_problems(self.epsilon)
        if self.k is None or self.epsilon0 is None:
            return [
                "the privacy test needs k and epsilon0, or a total epsilon from which they follow: give epsilon=8 "
                "(and delta), or k=50, gamma=4, epsilon0=1, delta=1e-9"
            ]
        return stated_problems(**stated)

    def privacy_test(self, rows: int = DEFAULT_ROWS) -> PrivacyTest:
        """Return k, t, gamma, epsilon0 and the (epsilon, delta) of one row, when ``rows`` rows are made."""
        if self.k is not None and self.epsilon0 is not None:
            return privacy_test_from_parameters(self.k, self.gamma, self.epsilon0, self.stated_delta, self.t)
        return self.budget(rows).test

    def budget(self, rows: int) -> RecordBudget:
        """Return what the model and the rows cost."""
        seeded = self.model == "seed"
        if self.epsilon is None:
            model = to_fraction(self.model_epsilon) if seeded else Fraction(0)
            return budget_from_parameters(self.privacy_test(), model, rows)
        share = to_fraction(self.model_share) if seeded else Fraction(0)
        return total_budget(self.epsilon, self.stated_delta, float(to_fraction(self.gamma)), share, rows)

    def _model_tables(self, schema: Schema, budget: RecordBudget) -> NoisyMarginals:
        whole = (budget.model_epsilon, budget.model_delta)
        return tree_marginals(self.name, self.chosen_columns(schema), whole, "gaussian")

    def chosen_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns to synthesise."""
        return schema.releasable if self.columns is None else tuple(self.columns)

    def sound_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns to synthesise, or refuse those that cannot be."""
        names = self.chosen_columns(schema)
        problems = selection_problems(schema, names) if names else ["it has no column that may be released"]
        if self.model == "kernel" and len(names) > MOST_COLUMNS:
            problems.append(f"the kernel model takes at most {MOST_COLUMNS:,} columns, found {len(names):,}")
        if problems:
            raise PlanError(f"cannot plan {self.name} on table {schema.name!r}", problems, "name other columns")
        return names

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        check_row_count(rows)
        wanted = DEFAULT_ROWS if rows is None else int(rows)
        if wanted > LARGEST_SAMPLE:
            raise PlanError(
                f"rows must be between 1 and {LARGEST_SAMPLE:,}, found {wanted:,}",
                next_step="every row costs: give for example --rows 100",
            )
        names = self.sound_columns(schema)
        _refuse_unit(schema)
        budget = self.budget(wanted)
        _refuse_model(self.model, budget)
        _refuse_small(schema, budget.test, self._remedy())
        refuse_contradictions(schema, names)
        stages, events = self._records(schema, wanted, budget, randomness)
        if self.model == "seed":
            model = self._model_tables(schema, budget).plan(schema, randomness)
            stages = (*(_share(stage, budget) for stage in model.stages), *stages)
            events = (*model.events, *events)
        return self._plan(schema, wanted, budget, stages, events)

    def _plan(
        self,
        schema: Schema,
        rows: int,
        budget: RecordBudget,
        stages: tuple[Stage, ...],
        events: tuple[Event, ...],
    ) -> Plan:
        names = self.chosen_columns(schema)
        sets = self._model_tables(schema, budget).sets if self.model == "seed" else ()
        memory = table_memory(schema, sets) + (schema.rows or 0) * (8 * len(names) + 8) + rows * 64 * len(names)
        memory += kernel_bytes(schema.shape(names)) if self.model == "kernel" else 0
        refuse_memory(memory, "the model and its rows", "use fewer columns")
        notes = (_cost_note(budget.test, rows), *_size_note(schema, budget.test))
        return Plan.for_(self.name, schema, stages, events, memory, rows=rows, notes=notes)

    def _records(
        self,
        schema: Schema,
        rows: int,
        budget: RecordBudget,
        randomness: str,
    ) -> tuple[tuple[Stage, ...], tuple[Event, ...]]:
        test = budget.test
        part = EventPart(stage=RECORDS, cells=rows, scale=1 / test.epsilon0)
        words = f"k={test.k} t={test.t} gamma={test.gamma!r} epsilon0={test.epsilon0!r}; each of {rows} rows"
        event = Event(
            kind=self.name,
            parts=(part,),
            note=f"{words} ({test.epsilon!r}, {test.delta!r})",
            **exact_cost(budget.epsilon, budget.delta),
            **event_facts(self.name, schema, randomness),
        )
        stage = Stage.of(part, f"privacy test, k = {test.k}", budget.epsilon, _part_of(budget.epsilon, budget))
        return (stage,), (event,)

    def _remedy(self) -> str:
        return "ask for fewer rows or a larger epsilon" if self.epsilon is not None else "lower k"

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        cells = DataRequest("records and how often each occurs", "cells", sets=(self.chosen_columns(schema),))
        if self.model == "kernel":
            return (cells,)
        return DataRequest(
            "tables of the model",
            sets=self._model_tables(schema, self.budget(DEFAULT_ROWS if rows is None else rows)).sets,
        ), cells

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Learn the model's parameters, make one attempt for each row, fall back on the prior."""
        schema, count = table.schema, plan.rows or 1
        names, budget = self.chosen_columns(schema), self.budget(count)
        proposal, prior = self._model(table, plan, budget, randomness)
        seeds = SeedRows.of(*count_nonempty_cells(table.source.engine, schema, names))
        attempts = attempt_rows(seeds, proposal, prior(count), budget.test, randomness)
        first = [attempts]

        def draw(wanted: int) -> dict[str, Codes]:
            codes = first.pop() if first else prior(wanted)
            return {name: codes[:, i] for i, name in enumerate(names)}

        sampled = sample_rows(schema, draw, count, randomness.generator)
        statistics = _statistics(budget, proposal) | sampled.statistics
        rows_drawn = rows_table(schema, sampled.values)
        return Output({("synthetic",): rows_drawn}, single=True, statistics=statistics, notes=sampled.notes)

    def _model(self, table: Table, plan: Plan, budget: RecordBudget, randomness: Randomness) -> tuple[Proposal, Any]:
        schema, uniform, test = table.schema, randomness.uniform, budget.test
        names = self.chosen_columns(schema)
        if self.model == "kernel":
            sizes = schema.shape(names)
            return self.proposal(schema, names, None, test.k, uniform), lambda n: _uniform_codes(sizes, n, uniform)
        measured = self._model_tables(schema, budget)
        learned = plan.model_copy(update={"events": plan.events[:1]})
        tree, total = learn_tree(table.marginals(measured.sets), learned, schema.rows, randomness)
        proposal = self.proposal(schema, names, (tree, total), test.k, uniform)
        return proposal, lambda n: _columns(tree.draw(n, uniform), names)

    def proposal(
        self,
        schema: Schema,
        names: tuple[str, ...],
        learned: tuple[TreeModel, float] | None,
        k: int,
        uniform: UniformSource,
    ) -> Proposal:
        """Return how candidates are made: by kernels from public facts, or by a learned tree and its number of rows."""
        if learned is None:
            return KernelProposal.of(schema, names, float(to_fraction(self.bandwidth)), STAY)
        kept = choose_keep(*learned, k, uniform) if self.keep is None else fixed_prefix(self.keep, names)
        return PrefixProposal(names, learned[0], kept)

    @classmethod
    def example(cls, schema: Schema) -> PlausibleDeniability:
        """Return a small instance that fits a schema."""
        return cls(epsilon=20.0, delta="1e-5")


def _uniform_codes(sizes: Sequence[int], count: int, uniform: UniformSource) -> Codes:
    return np.column_stack([np.floor(uniform.random(count) * size).astype(np.int64) for size in sizes])


def _columns(codes: Mapping[str, Codes], names: Sequence[str]) -> Codes:
    return np.column_stack([codes[name] for name in names])


def _part_of(epsilon: Fraction, budget: RecordBudget) -> str:
    return fraction_to_text((epsilon / (budget.epsilon + budget.model_epsilon)).limit_denominator(10**6))


def _share(stage: Stage, budget: RecordBudget) -> Stage:
    whole = to_fraction(stage.share) * budget.model_epsilon
    return stage.model_copy(update={"share": _part_of(whole, budget)})


def _cost_note(test: PrivacyTest, rows: int) -> str:
    return (
        f"each of {rows:,} rows is ({test.epsilon:.4g}, {test.delta:.3g})-DP: k = {test.k}, t = {test.t}, gamma = "
        f"{test.gamma:g}, epsilon0 = {test.epsilon0:.4g}; noisy counts would pay once for any number of rows"
    )


def _refuse_model(model: str, budget: RecordBudget) -> None:
    if model == "seed" and budget.model_epsilon < SMALLEST_EPSILON:
        raise PlanError(
            f"the share of the model is epsilon {float(budget.model_epsilon):g}, and its noise needs "
            f"{float(SMALLEST_EPSILON):g}",
            next_step="give a larger epsilon or model_share, or use model='kernel', which learns nothing",
        )


def _refuse_unit(schema: Schema) -> None:
    if schema.rows_per_person > 1:
        raise PlanError(
            f"plausible deniability protects one row, but a person may hold {schema.rows_per_person} rows of "
            f"{schema.name!r}",
            next_step="release a table with one row per person, or use a method that counts, such as marginals",
        )


def _refuse_small(schema: Schema, test: PrivacyTest, remedy: str) -> None:
    """Refuse a public number of rows below k: every row would come from the prior. A private number is never asked."""
    if schema.rows is not None and schema.rows < test.k:
        raise PlanError(
            f"table {schema.name!r} is too small: it has {schema.rows:,} rows, and every synthetic row needs "
            f"k = {test.k:,} rows that could have made it",
            next_step=remedy,
        )


def _size_note(schema: Schema, test: PrivacyTest) -> tuple[str, ...]:
    """Say what a small table would come to, where its size is private: the guarantee holds, the rows are of no use."""
    if schema.rows is not None:
        return ()
    return (
        f"every row needs k = {test.k:,} rows that could have made it: of a table with fewer, next to all rows come "
        "from the prior; no message says whether this one has as many",
    )


def _statistics(budget: RecordBudget, proposal: Proposal) -> dict[str, Any]:
    test = budget.test
    kept = (
        {"kept_attributes": [i for i, p in enumerate(proposal.keep) if p]}
        if isinstance(proposal, PrefixProposal)
        else {}
    )
    order = {"attribute_order": list(proposal.order)} if isinstance(proposal, PrefixProposal) else {}
    return {
        "k": test.k,
        "t": test.t,
        "gamma": test.gamma,
        "epsilon0": test.epsilon0,
        "epsilon_of_one_row": test.epsilon,
        "delta_of_one_row": test.delta,
        "prior_share": prior_share(test.k, test.gamma, test.epsilon0),
        **kept,
        **order,
    }
