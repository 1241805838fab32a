"""Lower bounds from the runs of two worlds: the statistic is chosen on some runs, the bound computed on others.

Ways. *Along the way*: the mean of the divergences of all steps, or of 1 - exp(-loss), by betting; and for epsilon the
mean of (1 - exp(e - loss))+, which is delta at e, tested at e_1 < e_2 < ... until it fails, so that no correction is
needed. These know the noise by the law it names; that the noise has that law is tested apart
(:func:`noise_law_problem`). *By attack*: hits and false alarms of a threshold on a score; these know nothing.

An impossible run (:mod:`sfumato.risk.auditing.transcript`) has probability 0 on the other table, by construction. So
where such runs are certainly more frequent than delta, no epsilon holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.metrics.confidence import binomial_lower
from sfumato.risk.auditing.claim import Claim
from sfumato.risk.auditing.lower_bounds import (
    Point,
    ThresholdAttack,
    best_threshold,
    betting_lower_bound,
    mean_exceeds,
)
from sfumato.risk.auditing.runs import PairedRuns, Score, candidate_scores
from sfumato.risk.auditing.transcript import Step, uniforms

TOP = 8.0
"""The mean loss is looked for up to so many times the claim."""
STEPS, FURTHEST = 40, 4
"""Steps of epsilon up to the claim, and how many times the claim is looked at."""
ALL_DRAWN = "all that was drawn, step by step"
SLACK = 1e-9
"""What machine arithmetic may add to a loss, and more."""
LAW_ALPHA = 1e-6
"""Probability with which noise of the right law is called wrong."""
MOST_NOISE = 200_000


@dataclass(frozen=True)
class BoundMethod:
    """One way to a bound: its name, and the bound that runs give at an alpha."""

    name: str
    bound: Callable[[PairedRuns, float], float]


@dataclass(frozen=True)
class BoundMethods:
    """How mu and epsilon are bounded, as chosen on a pilot."""

    mu: BoundMethod
    epsilon: BoundMethod
    attack_mu: BoundMethod


def choose_bound_methods(pilot: PairedRuns, claim: Claim, alpha: float, lawful: bool = True) -> BoundMethods:
    """Return how to bound what other runs show: step by step where all is known, else by the attack that shows most.

    Scores are learnt on one part of the pilot and compared on the other. Attacks never show more than the steps do: a
    way out of the table that passes no noise is an impossible run.
    """
    taught, tried = pilot.halves()
    scores = candidate_scores(taught)
    attacks = [_best(scores, tried, value, alpha) for value in (claim.mu_of, lambda point: point.epsilon(claim.delta))]
    if not (pilot.taped and lawful):
        return BoundMethods(attacks[0], attacks[1], attacks[0])
    by_steps = BoundMethod(ALL_DRAWN, lambda runs, level: mu_of_steps(runs, claim, level))
    by_losses = BoundMethod(ALL_DRAWN, lambda runs, level: epsilon_of_losses(runs, claim, level))
    return BoundMethods(by_steps, by_losses, attacks[0])


def _best(scores: Mapping[str, Score], tried: PairedRuns, value: Callable[[Point], float], alpha: float) -> BoundMethod:
    """Return the attack on which these runs show most."""
    ways = [_by_attack(name, score, tried, value, alpha) for name, score in scores.items()]
    return max(ways, key=lambda way: way.bound(tried, alpha))


def _by_attack(
    name: str, score: Score, pilot: PairedRuns, value: Callable[[Point], float], alpha: float
) -> BoundMethod:
    cut: ThresholdAttack = best_threshold(*score(pilot), value, alpha)
    return BoundMethod(name, lambda runs, level: value(cut.point(*score(runs), level)))


def mu_of_steps(runs: PairedRuns, claim: Claim, alpha: float) -> float:
    """Return a lower bound on mu from losses and divergences that are known exactly."""
    if impossible_outcomes_exceed(runs, claim.delta, alpha):
        return math.inf
    if claim.mean_loss is None:
        return claim.as_mu(betting_lower_bound(-np.expm1(-np.maximum(interleaved(runs.own()), 0.0)), alpha, 1.0))
    return claim.as_mu(betting_lower_bound(interleaved(runs.spent()), alpha, TOP * claim.mean_loss))


def epsilon_of_losses(runs: PairedRuns, claim: Claim, alpha: float) -> float:
    """Return a lower bound on epsilon at the claim's delta from losses that are known exactly."""
    if impossible_outcomes_exceed(runs, claim.delta, alpha):
        return math.inf
    losses, found = interleaved(runs.own()) - SLACK, 0.0
    for step in range(1, FURTHEST * STEPS + 1):
        epsilon = claim.epsilon * step / STEPS
        if not mean_exceeds(-np.expm1(np.minimum(epsilon - losses, 0.0)), claim.delta, alpha):
            return found
        found = epsilon
    return found


def impossible_outcomes_exceed(runs: PairedRuns, delta: float, alpha: float) -> bool:
    """Whether runs that the other table cannot have made are certainly more frequent than delta."""
    return binomial_lower(runs.impossible, runs.runs, alpha) > delta


def interleaved(values: FloatArray) -> FloatArray:
    """Return both worlds' values in turn: a gambler shall not see all of one first."""
    half = len(values) // 2
    return np.column_stack([values[:half], values[half : 2 * half]]).ravel()


def noise_law_problem(steps: Sequence[Step], generator: np.random.Generator) -> str | None:
    """Return in words that the noise has not the law it names, if that is certain at LAW_ALPHA.

    The largest distance between the distribution of the noise's places within their laws and the uniform one exceeds
    sqrt(log(2 / alpha) / 2n) with probability at most alpha (Dvoretzky, Kiefer and Wolfowitz 1956, Massart 1990).
    """
    places = uniforms(steps, generator)[:MOST_NOISE]
    if not len(places):
        return None
    places.sort()
    ranks = np.arange(len(places) + 1) / len(places)
    apart = float(max((ranks[1:] - places).max(), (places - ranks[:-1]).max()))
    allowed = math.sqrt(math.log(2 / LAW_ALPHA) / (2 * len(places)))
    if apart <= allowed:
        return None
    said = f"{len(places):,} draws lie {apart:.3g} away from it in distribution, where {allowed:.3g} happens by chance"
    return f"the noise has not the law that it was asked for: {said} once in a million times"
