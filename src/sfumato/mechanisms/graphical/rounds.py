"""AIM's engines: tables chosen in rounds, with a tree or a tree and a mixture fitted to them, or all pairs at once.

In a round the worst-fitting table is chosen and measured, and the model fitted again, until the budget is spent.

McKenna, Mullins, Sheldon and Miklau 2022, with three changes that were measured to help: columns are compressed first,
fits start from the last model, and noise never shrinks so fast that fewer than ``least_rounds`` rounds are left.

Proof note. Adjacency: the schema's. One person moves the counts of every table by at most D in L2 and S in L1
(:class:`Problem`). Each round pays from its :class:`~sfumato.mechanisms.graphical.budget.Budget` before it
draws: a choice by exponential weights and one table with discrete Gaussian noise. Everything else that decides (the
model, sigma, which tables are offered) is computed from public facts and earlier noisy answers. So the run is
(epsilon, delta)-DP by the theorem of :mod:`sfumato.privacy.accounting.gaussian_and_selection`. Public: column sizes,
weights, limits, the totals.

All pairs at once (:func:`run_pairs`) makes no choices: every two-way table gets the same discrete Gaussian noise, and a
mixture of products, whose size does not depend on which tables were measured, is fitted to all of them. Costs are paid
from the same budget; with nothing spent on choices its theorem is that of Gaussian noise alone, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions, model_marginals
from sfumato.mechanisms.graphical.exponential_mechanism import expected_noise_l1, select_marginal
from sfumato.mechanisms.graphical.junction_tree.graphical_model import (
    GraphicalModel,
    LinearMeasurement,
    StructuralZeros,
)
from sfumato.mechanisms.graphical.junction_tree.junction_tree import ModelSize
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate
from sfumato.mechanisms.graphical.mixture.fit import Backend, MixtureSettings
from sfumato.mechanisms.graphical.mixture.model import AveragedModel, MixtureModel, fit_mixture
from sfumato.privacy.accounting.gaussian_and_selection import MOST_COORDINATES
from sfumato.privacy.randomness import Randomness

AnyModel = GraphicalModel | MixtureModel | AveragedModel
Kind = TypeVar("Kind", bound=AnyModel)
Watch = Callable[["RoundLog"], None]
BYTES_PER_CELL = 8
FIRST_SHARES = 3
"""Tables that are measured before any is chosen get this many shares of a first round."""
FEW_LARGER = 500
"""Up to so many looks at more than two columns are offered in every round; more of them only now and then, for time."""
ALL_LOOKS, SOME_LOOKS = 12_000, 2_000
"""Looks up to which a round weighs all of them (all pairs of 100 columns at two resolutions); of more, this many."""
LARGEST_TABLE = MOST_COORDINATES // 128
"""Cells of one table in the rounds: with at most 100 of them the run stays within what its proof allows."""


@dataclass(frozen=True)
class Candidates:
    """What the rounds work on. ``counts`` are true counts: nothing of them leaves but through noise and choices."""

    resolutions: Resolutions
    total: float
    counts: Mapping[CoarsenedMarginal, NDArray[np.int64]] = field(repr=False)
    weights: Mapping[CoarsenedMarginal, int]
    sensitivity: int
    """The most by which one person moves a table's counts, as an L1 distance."""
    supports: tuple[StructuralZeros, ...] = ()
    first: tuple[CoarsenedMarginal, ...] = ()
    """Tables that are measured before any is chosen: what a rule needs to be kept well."""
    count: Callable[[Sequence[CoarsenedMarginal]], Mapping[CoarsenedMarginal, NDArray[np.int64]]] | None = field(
        default=None, repr=False
    )
    """Counts tables when they are asked for, where all of them together would fill the memory."""

    def counted(self, looks: Sequence[CoarsenedMarginal]) -> Mapping[CoarsenedMarginal, NDArray[np.int64]]:
        """Return the true counts of some tables: those that are held, or counted now."""
        return self.counts if self.count is None else self.count(looks)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column in the model."""
        return self.resolutions.sizes

    def noisy(self, look: CoarsenedMarginal, sigma: float, budget: Budget, randomness: Randomness) -> LinearMeasurement:
        """Pay for one table and measure it."""
        counts = budget.noisy(self.counts[look], sigma, randomness)
        return LinearMeasurement(look.clique, counts, sigma, self.resolutions.maps(look))


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
    look: CoarsenedMarginal
    sigma: float
    distance: float
    """How far the new answer moved the model, in rows."""
    left: float
    """Share of the budget that is left."""


@dataclass(frozen=True)
class FittedMarginals(Generic[Kind]):
    """The last model, every noisy table it was fitted to, and the log of the rounds."""

    model: Kind
    tables: tuple[LinearMeasurement, ...]
    rounds: tuple[RoundLog, ...]


Algorithm = Callable[
    [Candidates, Sequence[LinearMeasurement], Budget, RoundSettings, Randomness, Watch | None], FittedMarginals[Any]
]
"""Chooses and measures tables after the one-way ones, and fits a model to all of them."""


def run_aim(
    problem: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> FittedMarginals[GraphicalModel]:
    """Measure tables until the budget is spent and return the model fitted to all of them."""
    tables, log = list(one_way), list[RoundLog]()
    for look in problem.first:
        share = FIRST_SHARES * budget.noise.left / settings.start_rounds
        tables.append(problem.noisy(look, budget.sigma(share), budget, randomness))
        log.append(RoundLog(len(log) + 1, look, tables[-1].sigma, 0.0, budget.left_share))
    model = estimate(problem.sizes, tables, problem.total, problem.supports, None, settings.steps, settings.tolerance)
    share, last = budget.noise.left / settings.start_rounds, False
    for_choices = budget.choices.left / budget.noise.left
    while not last:
        last = budget.noise.left < 2 * share
        share = budget.noise.left if last else share
        larger = offer_larger_cliques(problem.weights, [each.look for each in log[len(problem.first) :]])
        look, table = select_and_measure(
            problem, model, budget, share, share * for_choices, settings, larger, randomness
        )
        before = model_marginals(model, [look], problem.resolutions)[look]
        tables.append(table)
        model = estimate(
            problem.sizes, tables, problem.total, problem.supports, model, settings.steps, settings.tolerance
        )
        moved = float(np.abs(model_marginals(model, [look], problem.resolutions)[look] - before).sum())
        log.append(RoundLog(len(log) + 1, look, table.sigma, moved, budget.left_share))
        if moved <= expected_noise_l1(table.sigma, table.counts.size):
            share = max(share, min(4 * share, budget.noise.left / settings.least_rounds))
        if watch is not None:
            watch(log[-1])
    model = estimate(
        problem.sizes, tables, problem.total, problem.supports, model, settings.last_steps, settings.tolerance
    )
    return FittedMarginals(model, tuple(tables), tuple(log))


def offer_larger_cliques(offered: Collection[CoarsenedMarginal], chosen: Sequence[CoarsenedMarginal]) -> bool:
    """Say whether the next round offers more than two columns at once: seldom where there are many and none is taken.

    Each time that none of them is chosen the wait doubles; when one is, they are back in the next round. What was
    chosen is released, so the wait tells nothing more.
    """
    if sum(len(look.clique) > 2 for look in offered) <= FEW_LARGER:
        return True
    due, wait = 0, 1
    for number, look in enumerate(chosen):
        if number == due:
            wait = 1 if len(look.clique) > 2 else 2 * wait
            due = number + wait
    return len(chosen) == due


def select_and_measure(
    problem: Candidates,
    model: GraphicalModel,
    budget: Budget,
    share: Fraction,
    for_choice: Fraction,
    settings: RoundSettings,
    larger: bool,
    randomness: Randomness,
) -> tuple[CoarsenedMarginal, LinearMeasurement]:
    """Choose a table and measure it; both are paid for before either is drawn."""
    sigma = budget.sigma(share)
    used = 1 - budget.left_share + float(share / budget.noise.total)
    some = subsample_candidates(problem, randomness)
    offered = within_model_size(problem, model, settings, used, some, larger) or within_model_size(
        problem, model, settings, used, problem.weights, larger
    )
    strength = budget.strength(min(for_choice, budget.choices.left))
    look = select_marginal(
        problem.counts,
        model_marginals(model, offered, problem.resolutions),
        problem.weights,
        offered,
        strength,
        sigma,
        problem.sensitivity,
        randomness,
    )
    return look, problem.noisy(look, sigma, budget, randomness)


def subsample_candidates(problem: Candidates, randomness: Randomness) -> Collection[CoarsenedMarginal]:
    """Return the tables that a round looks at: all, or of very many some that chance alone draws anew each time.

    Chance knows nothing of the rows, so a choice among these costs what any choice does. That a greedy choice loses
    little by it: Mirzasoleiman and others 2015, "Lazier than lazy greedy".
    """
    if len(problem.weights) <= ALL_LOOKS:
        return problem.weights
    looks = list(problem.weights)
    return [looks[place] for place in np.sort(randomness.generator.choice(len(looks), SOME_LOOKS, replace=False))]


def within_model_size(
    problem: Candidates,
    model: GraphicalModel,
    settings: RoundSettings,
    used: float,
    looks: Collection[CoarsenedMarginal],
    with_larger: bool = True,
) -> list[CoarsenedMarginal]:
    """Return the tables with which the model stays within its share of the memory, or needs no more than now."""
    held = ModelSize(problem.sizes, model.cliques)
    limit = max(held.cells, used * settings.megabytes * 1e6 / BYTES_PER_CELL)
    small = [look for look in looks if problem.counts[look].size <= LARGEST_TABLE]
    sets = {look.clique for look in small if with_larger or len(look.clique) <= 2}
    fit_in = {clique for clique in sets if held.holds(clique) or held.cells_with(clique) <= limit}
    return [look for look in small if look.clique in fit_in]


def run_aim_with_mixture(
    problem: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> FittedMarginals[AveragedModel]:
    """Choose and measure tables in rounds, then fit a mixture to the same tables beside the tree."""
    fitted = run_aim(problem, one_way, budget, settings, randomness, watch)
    mixture = fit_mixture(
        problem.sizes,
        fitted.tables,
        problem.total,
        supports=problem.supports,
        generator=randomness.generator,
        settings=MixtureSettings(backend=settings.backend),
    )
    return FittedMarginals(AveragedModel(fitted.model, mixture), fitted.tables, fitted.rounds)


def measure_all_pairs(
    problem: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> FittedMarginals[MixtureModel]:
    """Measure every pair once and fit a mixture to all of them."""
    pairs = [look for look in problem.counts if len(look.clique) == 2 and look.groups is None]
    sigma = budget.sigma(budget.noise.left / len(pairs))
    tables, log = list(one_way), list[RoundLog]()
    for look in pairs:
        tables.append(problem.noisy(look, sigma, budget, randomness))
        log.append(RoundLog(len(log) + 1, look, sigma, 0.0, budget.left_share))
        if watch is not None:
            watch(log[-1])
    model = fit_mixture(
        problem.sizes,
        tables,
        problem.total,
        supports=problem.supports,
        generator=randomness.generator,
        settings=MixtureSettings(backend=settings.backend),
    )
    return FittedMarginals(model, tuple(tables), tuple(log))
