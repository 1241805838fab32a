"""Shared steps of AIM and MST: check parameters, measure one-way marginals, sample rows.

Only counting and noise see the table (:mod:`~sfumato.mechanisms.graphical.one_way_marginals`,
:mod:`~sfumato.mechanisms.graphical.rounds`, :mod:`~sfumato.mechanisms.graphical.spanning_tree`); what
follows is computed from their noisy answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.method import Output
from sfumato.core.parameters import DEFAULT_DELTA, check_parameters, delta_or_default
from sfumato.core.plan import LARGEST_SAMPLE, Plan, check_row_count
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.candidates import count_candidates
from sfumato.mechanisms.graphical.coarsened_marginals import (
    CoarsenedMarginal,
    Resolutions,
    candidate_marginals,
    candidate_weight,
)
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.one_way_marginals import Discretisation, OneWayMarginals, measure_one_way_marginals
from sfumato.mechanisms.graphical.plan import GraphicalPlan, scans
from sfumato.mechanisms.graphical.rounds import Algorithm, Candidates, FittedMarginals, RoundLog, RoundSettings
from sfumato.mechanisms.graphical.structural_zeros import structural_zeros
from sfumato.privacy.accounting.sensitivity import histogram_l1
from sfumato.privacy.exact import Number, to_fraction, to_positive_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.progress import report_progress
from sfumato.schema import Schema
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

NOISE_PER_CELL, LEAST_ROUNDS = 4.0, 10

"""A table of more than two columns is offered where its rows amount to this many standard deviations of noise in each
cell, if the budget were spread over this many rounds."""

ROUNDS, CRUMB = "choosing and measuring tables", 0.005

"""Noise is rounded to a lattice, so that the rounds may leave a crumb of the budget."""

SUPPORT_SHARE = 0.1

"""Share of the model's memory that one rule's table of forbidden cells may take."""


def fit_and_sample(
    planned: GraphicalPlan,
    table: Table,
    plan: Plan,
    engine: Algorithm,
    settings: RoundSettings,
    rounding: bool,
    randomness: Randomness,
) -> Output:
    """Measure, fit, draw rows."""
    from threadpoolctl import threadpool_limits

    budget = planned.budget()
    for_one_way = budget.rho * planned.one_way_share
    one_way = measure_one_way_marginals(
        table, planned.names, planned.binning, for_one_way, planned.later_tables, budget, randomness
    )
    problem = compile_candidates(planned, table, one_way, budget)
    report_progress(ROUNDS, 0.0)
    with threadpool_limits(1):  # the matrices are small: a second thread costs more than it brings
        fitted = engine(problem, one_way.tables, budget, settings, randomness, _report_progress)
    model = FittedModel(
        schema=table.schema,
        names=planned.names,
        groupings=one_way.groupings,
        model=fitted.model,
        method=planned.method,
        statistics=_statistics(planned, one_way, fitted),
    )
    report_progress("drawing rows")
    count = plan.rows if plan.rows is not None else min(max(round(one_way.total), 1), LARGEST_SAMPLE)
    drawn = model.draw(count, randomness.generator, rounding)
    statistics = {
        **model.statistics,
        "rows_repaired_for_rules": drawn.repaired,
        "rows_replaced_for_rules": drawn.replaced,
    }
    made = {("synthetic",): drawn.table}
    return Output(made, single=True, statistics=statistics, notes=drawn.notes, model=model)


def compile_candidates(planned: GraphicalPlan, table: Table, one_way: OneWayMarginals, budget: Budget) -> Candidates:
    """Return the marginals that the exponential mechanism may choose from, with their weights."""
    supports, _ = structural_zeros(table.schema, one_way.groupings, int(SUPPORT_SHARE * planned.megabytes * 1e6 / 8))
    resolutions = Resolutions(one_way.sizes, one_way.coarser)
    worth = one_way.total / (NOISE_PER_CELL * budget.sigma(budget.noise.left / LEAST_ROUNDS))
    wide = planned.in_blocks
    looks = (
        [CoarsenedMarginal(c) for c in planned.weights]
        if wide
        else candidate_marginals(list(planned.weights), resolutions, worth)
    )
    count = partial(count_candidates, table, one_way.groupings, resolutions)
    return Candidates(
        resolutions=resolutions,
        total=one_way.total,
        counts={} if wide else count(looks),
        count=count if wide else None,
        weights={look: candidate_weight(look, planned.weights[look.clique]) for look in looks},
        sensitivity=histogram_l1(table.schema.adjacency, table.schema.rows_per_person),
        supports=tuple(supports),
        first=tuple(CoarsenedMarginal(pair) for pair in planned.pairs_of_rules),
    )


def _report_progress(done: RoundLog) -> None:
    """Tell a patient user how far the rounds are: by the budget, of which a crumb may stay unspent."""
    if done.left > CRUMB:
        report_progress(ROUNDS, 1 - done.left)
    else:
        report_progress("fitting the model")


def _statistics(planned: GraphicalPlan, one_way: OneWayMarginals, fitted: FittedMarginals[Any]) -> dict[str, Any]:
    noise = _noise_by_clique(fitted.rounds)
    return {
        "noisy_total": one_way.total,
        "rounds": len(fitted.rounds),
        "measured_tables": [[planned.names[place] for place in clique] for clique in noise],
        "groups_of_tables": [_groups_of(clique, fitted.rounds) for clique in noise],
        "noise_of_tables": [round(sigma, 4) for sigma in noise.values()],
        "noise_of_rounds": [round(done.sigma, 4) for done in fitted.rounds],
        "groups_of_columns": {name: group.size for name, group in zip(planned.names, one_way.groupings, strict=True)},
        "model_steps": fitted.model.steps,
        "model_settled": fitted.model.converged,
    }


def _noise_by_clique(rounds: Sequence[RoundLog]) -> dict[Clique, float]:
    """Return each measured set of columns with the noise of a count in it; several answers are joined."""
    precision: dict[Clique, float] = {}
    for done in rounds:
        precision[done.look.clique] = precision.get(done.look.clique, 0.0) + done.sigma**-2
    return {clique: total**-0.5 for clique, total in precision.items()}


def _groups_of(clique: Clique, rounds: Sequence[RoundLog]) -> list[int | None]:
    """Return at how many groups a set was measured, each number once; None for the columns' own groups."""
    return list(dict.fromkeys(done.look.groups for done in rounds if done.look.clique == clique))


Bins = Literal["adaptive", "schema"]

DISCRETISATIONS = {
    "adaptive": Discretisation(fine_cells=128, most_groups=32),
    "schema": Discretisation(fine_cells=1, most_groups=None),
}


class GraphicalMethod(ABC):
    """A method that fits a graphical model to noisy marginals."""

    epsilon: Any
    delta: Any
    columns: Any
    bins: Any
    rounding: Any

    @abstractmethod
    def planned(self, schema: Schema) -> GraphicalPlan:
        """Return what will be done, from public facts alone."""

    @abstractmethod
    def settings(self) -> RoundSettings:
        """Return how the budget is spread."""

    @property
    @abstractmethod
    def chosen_engine(self) -> Algorithm:
        """What chooses and measures tables after the one-way ones, and fits the model."""

    @property
    def spent_delta(self) -> Number:
        """The delta of the release."""
        return delta_or_default(self.delta, DEFAULT_DELTA)

    def _check_parameters(self) -> None:
        """Refuse parameters that no schema could make sound, all at once."""
        check_parameters(self)
        problems: list[str] = []
        for check in (
            lambda: to_positive_fraction(self.epsilon),
            lambda: to_positive_fraction(self.spent_delta, "delta"),
        ):
            try:
                check()
            except PlanError as error:
                problems.append(error.headline)
        if not problems and not to_fraction(self.spent_delta) < 1:
            problems.append(f"delta must be below 1, found {self.delta}")
        if self.bins not in DISCRETISATIONS:
            problems.append(f"bins {self.bins!r} is unknown: use one of {', '.join(DISCRETISATIONS)}")
        if problems:
            raise PlanError(
                "the parameters are not sound", problems, "give for example epsilon=1.0, delta=1e-9, bins='adaptive'"
            )

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        check_row_count(rows)
        return self.planned(schema).release_plan(rows, randomness)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return scans(self.planned(schema))

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Measure tables, fit the model, draw rows."""
        planned = self.planned(table.schema)
        return fit_and_sample(
            planned, table, plan, self.chosen_engine, self.settings(), bool(self.rounding), randomness
        )
