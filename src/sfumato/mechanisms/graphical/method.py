"""Shared steps of AIM and MST: check parameters, measure one-way marginals, compile the workload, sample rows.

Only counting and noise see the table (:mod:`~sfumato.mechanisms.graphical.one_way_marginals`,
:mod:`~sfumato.mechanisms.graphical.aim`, :mod:`~sfumato.mechanisms.graphical.mst`); what follows is computed from their
noisy answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from sfumato.core.method import Output
from sfumato.core.parameters import DEFAULT_DELTA, check_parameters, delta_or_default
from sfumato.core.plan import Plan, check_row_count, sample_size
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.candidates import Candidates, compile_candidates
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal
from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement
from sfumato.mechanisms.graphical.mixture.fit import Backend
from sfumato.mechanisms.graphical.mixture.model import AveragedModel, MixtureModel
from sfumato.mechanisms.graphical.one_way_marginals import Discretisation, OneWayMarginals, measure_one_way_marginals
from sfumato.mechanisms.graphical.plan import GraphicalPlan, scans
from sfumato.privacy.exact import Number, to_fraction, to_positive_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.progress import report_progress
from sfumato.schema import Schema
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

AnyModel = GraphicalModel | MixtureModel | AveragedModel
Model = TypeVar("Model", bound=AnyModel)
Bins = Literal["adaptive", "schema"]
DISCRETISATIONS = {
    "adaptive": Discretisation(fine_cells=128, most_groups=32),
    "schema": Discretisation(fine_cells=1, most_groups=None),
}
ROUNDS, CRUMB = "choosing and measuring tables", 0.005
"""Noise is rounded to a lattice, so that the rounds may leave a crumb of the budget."""


@dataclass(frozen=True)
class RoundSettings:
    """How the budget is spread over rounds; all public."""

    start_rounds: int = 100
    least_rounds: int = 10
    steps: int = 50
    last_steps: int = 500
    tolerance: float = 1e-2
    """A fit ends when its last steps together lowered the loss by less than this share of it.

    That is early stopping, not the least loss: fits that went on followed the noise and gave worse tables.
    """
    megabytes: float = 2.0
    backend: Backend = "numpy"
    """Where a mixture is fitted."""


@dataclass(frozen=True)
class RoundLog:
    """What one round did: released, since it follows from noisy answers."""

    number: int
    marginal: CoarsenedMarginal
    sigma: float
    distance: float
    """How far the new answer moved the model, in rows."""
    left: float
    """Share of the budget that is left."""


Watch = Callable[[RoundLog], None]


@dataclass(frozen=True)
class FittedMarginals(Generic[Model]):
    """The last model, every measurement it was fitted to, and the log of the rounds."""

    model: Model
    measurements: tuple[LinearMeasurement, ...]
    rounds: tuple[RoundLog, ...]


Algorithm = Callable[
    [Candidates, Sequence[LinearMeasurement], Budget, RoundSettings, Randomness, Watch | None], FittedMarginals[Any]
]
"""Selects and measures marginals after the one-way ones, and fits a model to all of them."""


def fit_and_sample(
    planned: GraphicalPlan,
    table: Table,
    plan: Plan,
    algorithm: Algorithm,
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
    candidates = compile_candidates(planned, table, one_way, budget)
    report_progress(ROUNDS, 0.0)
    with threadpool_limits(1):  # the matrices are small: a second thread costs more than it brings
        fitted = algorithm(candidates, one_way.measurements, budget, settings, randomness, _report_progress)
    model = FittedModel(
        schema=table.schema,
        names=planned.names,
        groupings=one_way.groupings,
        model=fitted.model,
        method=planned.method,
        statistics=_statistics(planned, one_way, fitted),
    )
    report_progress("drawing rows")
    count = sample_size(plan, one_way.total, len(planned.names))
    drawn = model.draw(count, randomness.generator, rounding)
    statistics = {
        **model.statistics,
        "rows_repaired_for_rules": drawn.repaired,
        "rows_replaced_for_rules": drawn.replaced,
    }
    return Output({("synthetic",): drawn.table}, single=True, statistics=statistics, notes=drawn.notes, model=model)


def measure_equally(
    candidates: Candidates,
    marginals: Sequence[CoarsenedMarginal],
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    randomness: Randomness,
    watch: Watch | None = None,
) -> tuple[tuple[LinearMeasurement, ...], tuple[RoundLog, ...]]:
    """Spend all that is left for noise on some marginals, in equal shares; return all measurements, and the log."""
    sigma = budget.sigma(budget.noise.left / len(marginals))
    measurements, log = list(one_way), list[RoundLog]()
    for marginal in marginals:
        measurements.append(candidates.measure(marginal, sigma, budget, randomness))
        log.append(RoundLog(len(log) + 1, marginal, sigma, 0.0, budget.share_left))
        if watch is not None:
            watch(log[-1])
    return tuple(measurements), tuple(log)


def _report_progress(done: RoundLog) -> None:
    """Report how far the rounds are: by the budget, of which a crumb may stay unspent."""
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
        precision[done.marginal.clique] = precision.get(done.marginal.clique, 0.0) + done.sigma**-2
    return {clique: total**-0.5 for clique, total in precision.items()}


def _groups_of(clique: Clique, rounds: Sequence[RoundLog]) -> list[int | None]:
    """Return at how many groups a set was measured, each number once; None for the columns' own groups."""
    return list(dict.fromkeys(done.marginal.groups for done in rounds if done.marginal.clique == clique))


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
    def algorithm(self) -> Algorithm:
        """What selects and measures marginals after the one-way ones, and fits the model."""

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
        return fit_and_sample(planned, table, plan, self.algorithm, self.settings(), bool(self.rounding), randomness)
