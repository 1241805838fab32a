"""A graphical release on a table: first tables, candidate counts, the rounds, and rows drawn from the model.

Only counting and noise see the table (:mod:`.first`, :mod:`.rounds`, :mod:`.spanning`); what follows is computed from
their noisy answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.methods.graphical.cells.groups import group_counts
from sfumato.methods.graphical.cells.one_way import FirstTables, measure_first
from sfumato.methods.graphical.choosing.budget import Budget
from sfumato.methods.graphical.choosing.rounds import Clique, Fitted, Problem, Round, Settings, Watch
from sfumato.methods.graphical.plan import Design
from sfumato.methods.graphical.saved.model import FittedModel
from sfumato.methods.graphical.tree.model import NoisyTable
from sfumato.privacy.accounting.sensitivity import histogram_l1
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Output
from sfumato.release.plan import LARGEST_SAMPLE, Plan
from sfumato.rows.rules.zeros import supports_of

if TYPE_CHECKING:
    from sfumato.table import Table

Measure = Callable[[Problem, Sequence[NoisyTable], Budget, Settings, Randomness, Watch | None], Fitted[Any]]
SUPPORT_SHARE = 0.1
"""Share of the model's memory that one rule's table of forbidden cells may take."""


def release_rows(
    design: Design,
    table: Table,
    plan: Plan,
    measure: Measure,
    settings: Settings,
    rounding: bool,
    randomness: Randomness,
) -> Output:
    """Measure, fit, draw rows."""
    from threadpoolctl import threadpool_limits

    budget = design.budget()
    for_first = budget.rho * design.first_share
    first = measure_first(table, design.names, design.binning, for_first, design.later_tables, budget, randomness)
    problem = _problem(design, table, first)
    with threadpool_limits(1):  # the matrices are small: a second thread costs more than it brings
        fitted = measure(problem, first.tables, budget, settings, randomness, _watch(design, table))
    model = FittedModel(
        schema=table.schema,
        names=design.names,
        groupings=first.groupings,
        model=fitted.model,
        method=design.method,
        statistics=_statistics(design, first, fitted),
    )
    count = plan.rows if plan.rows is not None else min(max(round(first.total), 1), LARGEST_SAMPLE)
    drawn = model.draw(count, randomness.generator, rounding)
    statistics = {
        **model.statistics,
        "rows_repaired_for_rules": drawn.repaired,
        "rows_replaced_for_rules": drawn.replaced,
    }
    return Output({("synthetic",): drawn.table}, single=True, statistics=statistics, model=model)


def _problem(design: Design, table: Table, first: FirstTables) -> Problem:
    cells = int(SUPPORT_SHARE * design.megabytes * 1e6 / 8)
    supports, _ = supports_of(table.schema, first.groupings, cells)
    return Problem(
        sizes=first.sizes,
        total=first.total,
        counts=group_counts(table, first.groupings, list(design.weights)),
        weights=design.weights,
        sensitivity=histogram_l1(table.schema.adjacency, table.schema.rows_per_person),
        supports=tuple(supports),
    )


def _watch(design: Design, table: Table) -> Watch | None:
    """Return what tells a patient user about each round, where the table's progress can show words."""
    say: Any = getattr(table.progress, "say", None)
    if say is None:
        return None

    def told(done: Round) -> None:
        names = " x ".join(design.names[place] for place in done.clique)
        left = round(100 * done.left)  # noise is rounded to a lattice, so a crumb of the budget may stay
        say(f"round {done.number}: {names}; {f'{left} % of the budget left' if left else 'now fitting the model'}")

    return told


def _statistics(design: Design, first: FirstTables, fitted: Fitted[Any]) -> dict[str, Any]:
    noise = _noise_of_tables(fitted.rounds)
    return {
        "noisy_total": first.total,
        "rounds": len(fitted.rounds),
        "measured_tables": [[design.names[place] for place in clique] for clique in noise],
        "noise_of_tables": [round(sigma, 4) for sigma in noise.values()],
        "noise_of_rounds": [round(done.sigma, 4) for done in fitted.rounds],
        "groups_of_columns": {name: group.size for name, group in zip(design.names, first.groupings, strict=True)},
        "model_steps": fitted.model.steps,
        "model_settled": fitted.model.converged,
    }


def _noise_of_tables(rounds: Sequence[Round]) -> dict[Clique, float]:
    """Return each measured table with the noise of a count in it; answers to the same question are averaged."""
    precision: dict[Clique, float] = {}
    for done in rounds:
        precision[done.clique] = precision.get(done.clique, 0.0) + done.sigma**-2
    return {clique: total**-0.5 for clique, total in precision.items()}
