"""How tables are measured and modelled: rounds with a tree, rounds with a tree and a mixture, or all pairs at once.

All pairs at once (``run_pairs``) makes no choices: every two-way table gets the same discrete Gaussian noise, and a
mixture of products, whose size does not depend on which tables were measured, is fitted to all of them. Costs are paid
from the same budget; with nothing spent on choices its theorem is that of Gaussian noise alone, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.methods.graphical.choosing.budget import Budget
from sfumato.methods.graphical.choosing.rounds import Fitted, Problem, Round, Settings, Watch, run_rounds
from sfumato.methods.graphical.mixture.averaged import AveragedModel
from sfumato.methods.graphical.mixture.model import MixtureModel, fit_mixture
from sfumato.methods.graphical.tree.model import NoisyTable
from sfumato.privacy.randomness import Randomness


def run_both(
    problem: Problem,
    first: Sequence[NoisyTable],
    budget: Budget,
    settings: Settings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> Fitted[AveragedModel]:
    """Choose and measure tables in rounds, then fit a mixture to the same tables beside the tree."""
    fitted = run_rounds(problem, first, budget, settings, randomness, watch)
    mixture = fit_mixture(
        problem.sizes,
        fitted.tables,
        problem.total,
        supports=problem.supports,
        generator=randomness.generator,
        backend=settings.backend,
    )
    return Fitted(AveragedModel(fitted.model, mixture), fitted.tables, fitted.rounds)


def run_pairs(
    problem: Problem,
    first: Sequence[NoisyTable],
    budget: Budget,
    settings: Settings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> Fitted[MixtureModel]:
    """Measure every pair once and fit a mixture to all of them."""
    pairs = [clique for clique in problem.counts if len(clique) == 2]
    sigma = budget.sigma(budget.noise.left / len(pairs))
    tables, log = list(first), list[Round]()
    for clique in pairs:
        tables.append(NoisyTable(clique, budget.noisy(problem.counts[clique], sigma, randomness), sigma))
        log.append(Round(len(log) + 1, clique, sigma, 0.0, budget.left_share))
        if watch is not None:
            watch(log[-1])
    model = fit_mixture(
        problem.sizes,
        tables,
        problem.total,
        supports=problem.supports,
        generator=randomness.generator,
        backend=settings.backend,
    )
    return Fitted(model, tuple(tables), tuple(log))
