"""A graphical release on a table: one-way tables, candidate counts, the engine, and rows drawn from its model.

Only counting and noise see the table (:mod:`~sfumato.methods.graphical.cells.one_way`,
:mod:`~sfumato.methods.graphical.choosing.rounds`, :mod:`~sfumato.methods.graphical.choosing.spanning_tree`); what
follows is computed from their noisy answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sfumato.methods.graphical.cells.group_counts import look_counts
from sfumato.methods.graphical.cells.one_way import OneWayTables, measure_one_way
from sfumato.methods.graphical.cells.zeros import supports_of
from sfumato.methods.graphical.choosing.budget import Budget
from sfumato.methods.graphical.choosing.looks import Look, Resolutions, offered_looks, weight_of
from sfumato.methods.graphical.choosing.rounds import Engine, Fitted, Problem, Round, Settings
from sfumato.methods.graphical.plan import GraphicalPlan
from sfumato.methods.graphical.saved.model import FittedModel
from sfumato.methods.graphical.tree.junction import Clique
from sfumato.privacy.accounting.sensitivity import histogram_l1
from sfumato.privacy.randomness import Randomness
from sfumato.progress import tell
from sfumato.release.method import Output
from sfumato.release.plan import LARGEST_SAMPLE, Plan

if TYPE_CHECKING:
    from sfumato.table import Table

NOISE_PER_CELL, LEAST_ROUNDS = 4.0, 10
"""A table of more than two columns is offered where its rows amount to this many standard deviations of noise in each
cell, if the budget were spread over this many rounds."""
ROUNDS, CRUMB = "choosing and measuring tables", 0.005
"""Noise is rounded to a lattice, so that the rounds may leave a crumb of the budget."""
SUPPORT_SHARE = 0.1
"""Share of the model's memory that one rule's table of forbidden cells may take."""


def release_rows(
    planned: GraphicalPlan,
    table: Table,
    plan: Plan,
    engine: Engine,
    settings: Settings,
    rounding: bool,
    randomness: Randomness,
) -> Output:
    """Measure, fit, draw rows."""
    from threadpoolctl import threadpool_limits

    budget = planned.budget()
    for_one_way = budget.rho * planned.one_way_share
    one_way = measure_one_way(
        table, planned.names, planned.binning, for_one_way, planned.later_tables, budget, randomness
    )
    problem = _problem(planned, table, one_way, budget)
    tell(ROUNDS, 0.0)
    with threadpool_limits(1):  # the matrices are small: a second thread costs more than it brings
        fitted = engine(problem, one_way.tables, budget, settings, randomness, _told)
    model = FittedModel(
        schema=table.schema,
        names=planned.names,
        groupings=one_way.groupings,
        model=fitted.model,
        method=planned.method,
        statistics=_statistics(planned, one_way, fitted),
    )
    tell("drawing rows")
    count = plan.rows if plan.rows is not None else min(max(round(one_way.total), 1), LARGEST_SAMPLE)
    drawn = model.draw(count, randomness.generator, rounding)
    statistics = {
        **model.statistics,
        "rows_repaired_for_rules": drawn.repaired,
        "rows_replaced_for_rules": drawn.replaced,
    }
    made = {("synthetic",): drawn.table}
    return Output(made, single=True, statistics=statistics, notes=drawn.notes, model=model)


def _problem(planned: GraphicalPlan, table: Table, one_way: OneWayTables, budget: Budget) -> Problem:
    supports, _ = supports_of(table.schema, one_way.groupings, int(SUPPORT_SHARE * planned.megabytes * 1e6 / 8))
    resolutions = Resolutions(one_way.sizes, one_way.coarser)
    worth = one_way.total / (NOISE_PER_CELL * budget.sigma(budget.noise.left / LEAST_ROUNDS))
    wide = planned.in_blocks
    looks = [Look(c) for c in planned.weights] if wide else offered_looks(list(planned.weights), resolutions, worth)
    count = partial(look_counts, table, one_way.groupings, resolutions)
    return Problem(
        resolutions=resolutions,
        total=one_way.total,
        counts={} if wide else count(looks),
        count=count if wide else None,
        weights={look: weight_of(look, planned.weights[look.clique]) for look in looks},
        sensitivity=histogram_l1(table.schema.adjacency, table.schema.rows_per_person),
        supports=tuple(supports),
        first=tuple(Look(pair) for pair in planned.pairs_of_rules),
    )


def _told(done: Round) -> None:
    """Tell a patient user how far the rounds are: by the budget, of which a crumb may stay unspent."""
    if done.left > CRUMB:
        tell(ROUNDS, 1 - done.left)
    else:
        tell("fitting the model")


def _statistics(planned: GraphicalPlan, one_way: OneWayTables, fitted: Fitted[Any]) -> dict[str, Any]:
    noise = _noise_of_tables(fitted.rounds)
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


def _noise_of_tables(rounds: Sequence[Round]) -> dict[Clique, float]:
    """Return each measured set of columns with the noise of a count in it; several answers are joined."""
    precision: dict[Clique, float] = {}
    for done in rounds:
        precision[done.look.clique] = precision.get(done.look.clique, 0.0) + done.sigma**-2
    return {clique: total**-0.5 for clique, total in precision.items()}


def _groups_of(clique: Clique, rounds: Sequence[Round]) -> list[int | None]:
    """Return at how many groups a set was measured, each number once; None for the columns' own groups."""
    return list(dict.fromkeys(done.look.groups for done in rounds if done.look.clique == clique))
