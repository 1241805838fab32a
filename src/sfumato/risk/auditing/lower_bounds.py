"""Lower confidence bounds on epsilon and mu from runs on two neighbouring tables, and the claims they test.

A threshold on a score gives hits and false alarms, two binomial counts: Clopper and Pearson's bounds hold whatever the
score is. The mean of numbers between 0 and some unknown top is bounded from below by betting (Waudby-Smith and Ramdas
2024): a gambler who starts with 1 and stakes a share of the capital on "the mean is above m", by what was seen before,
has a capital whose mean stays at most 1 where the mean is at most m; it ever reaches 1 / alpha with probability at most
alpha (Ville 1939). The least m that the gambler does not refute is the bound.

**Choice of the bound.** What runs of two worlds prove is bounded in ways that are chosen on some runs and computed on
others. *Step by step*: the mean of the divergences of all steps, or of 1 - exp(-loss), by betting; and for epsilon the
mean of (1 - exp(e - loss))+, which is delta at e, tested at e_1 < e_2 < ... until it fails, so that no correction is
needed. These know the noise by the law it names; that the noise has that law is tested apart
(:func:`noise_law_problem`). *By attack*: hits and false alarms of a threshold on a score; these know nothing.

An impossible run (:mod:`sfumato.risk.auditing.transcript`) has probability 0 on the other table, by construction. So
where such runs are certainly more frequent than delta, no epsilon holds.

**The claim.** Epsilon at delta is claimed as it is. Mu is claimed in one of two currencies; which, follows from the
events alone.

*Mean loss.* Where all noise is accounted step by step (Gaussian noise of total mu_0^2, choices of total rho, pure steps
of epsilon_i), the Kullback-Leibler divergence between neighbours is at most

    K = mu_0^2 / 2 + rho + sum epsilon_i tanh(epsilon_i / 2),

by the chain rule: discrete Gaussian noise has d^2 / 2 sigma^2, rho-zCDP is a bound on it (order 1), and so is epsilon
tanh(epsilon / 2) for epsilon-DP (randomised response has it). The claimed mu is sqrt(2 K): mu itself for Gaussian
noise, sqrt(mu_0^2 + 2 rho) for noise and choices. So sqrt(2 k) <= mu for every lower bound k on the divergence.

*Advantage.* Where only (epsilon, delta) is known of a step, the divergence may be infinite. The claimed mu is then that
of the Gaussian trade-off with the advantage A of the claimed curve, 2 Phi^-1((1 + A) / 2), and every lower bound on the
advantage is turned into mu in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.core.plan import Plan
from sfumato.errors import RiskError
from sfumato.metrics.confidence import binomial_lower, binomial_upper
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve, gaussian_mu_squared, privacy_curve
from sfumato.risk.auditing.runs import PairedRuns, Score, candidate_scores
from sfumato.risk.auditing.transcript import Step, uniforms

GRID = 2000
LARGEST = 1e12
BOLDEST = 0.95
"""Share of what could be lost at most that the gambler stakes at most."""
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
class Claim:
    """Epsilon, delta, the bound on the divergence (None where there is none) and on the advantage."""

    epsilon: float
    delta: float
    mean_loss: float | None
    advantage: float

    @classmethod
    def of_plan(cls, plan: Plan) -> Claim:
        """Return what a plan claims; refuses one that claims nothing formal."""
        if not plan.events or not all(event.is_formal for event in plan.events):
            raise RiskError(
                f"{plan.method} claims no epsilon that an audit could refute",
                next_step="audit a formal method: 'sfumato methods' says which are",
            )
        return cls.of_events(plan.events)

    @classmethod
    def of_events(cls, events: Sequence[Event]) -> Claim:
        """Return what events claim together."""
        epsilon, delta = (float(sum(event.cost[place] for event in events)) for place in (0, 1))
        curve = privacy_curve(events).holding(epsilon, delta)
        return cls(epsilon, delta, _mean_loss(curve), curve.advantage)

    @classmethod
    def of_pair(cls, epsilon: float, delta: float = 0.0) -> Claim:
        """Return what (epsilon, delta) claims of a mechanism of which nothing else is known."""
        known = _pure(epsilon) if delta == 0 else None
        return cls(epsilon, delta, known, PrivacyCurve.of_pair(epsilon, delta).advantage)

    @classmethod
    def of_mu(cls, mu: float, delta: float) -> Claim:
        """Return what mu-Gaussian DP claims, with its epsilon at a delta."""
        curve = PrivacyCurve.of_gaussian(mu)
        return cls(curve.epsilon(delta) or 0.0, delta, mu * mu / 2, curve.advantage)

    @property
    def mu(self) -> float:
        """The claimed mu."""
        return self.as_mu(self.advantage if self.mean_loss is None else self.mean_loss)

    def as_mu(self, amount: float) -> float:
        """Return an amount of the claim's currency as mu."""
        if self.mean_loss is not None:
            return math.sqrt(2 * amount)
        from scipy.special import ndtri

        return math.inf if amount >= 1 else 2 * float(ndtri((1 + amount) / 2))

    def mu_of(self, point: Point) -> float:
        """Return the mu that hits and false alarms show, in the currency of the claim."""
        return self.as_mu(point.advantage if self.mean_loss is None else point.mean_loss)


def _pure(epsilon: float) -> float:
    return epsilon * math.tanh(epsilon / 2)


def _mean_loss(curve: PrivacyCurve) -> float | None:
    run = curve.run
    if any(delta for _, delta, _ in run.pairs) or any(e.kind != "discrete-gaussian" for e, _ in run.others):
        return None
    pure = [times * _pure(epsilon) for epsilon, _, times in run.pairs]
    counted = [times * gaussian_mu_squared(event) / 2 for event, times in run.others]
    return run.mu_squared / 2 + run.rho + math.fsum(pure) + math.fsum(counted)


def betting_lower_bound(values: Sequence[float] | FloatArray, alpha: float, top: float) -> float:
    """Return a bound that the mean of independent numbers of at least 0 lies above, but for a probability of alpha.

    Numbers above ``top`` count as top. Guesses are refuted one after the other from below, on a grid that is fixed, so
    that all of them together are wrong with probability alpha. Where the numbers come from several laws, the bound is
    one on the largest of their means.

    >>> 0.48 < betting_lower_bound([0.5] * 200, 0.05, 1.0) <= 0.5
    True
    """
    guesses = np.linspace(0, 1, GRID + 1)[1:]
    standing = np.flatnonzero(_most_capital(values, guesses, top) < math.log(1 / alpha))
    refuted = int(standing[0]) if len(standing) else GRID
    return float(guesses[refuted - 1] * top) if refuted else 0.0


def mean_exceeds(values: Sequence[float] | FloatArray, amount: float, alpha: float) -> bool:
    """Whether the mean of numbers between 0 and 1 lies above an amount, but for a probability of at most alpha.

    >>> mean_exceeds([0.02] * 300, 0.01, 0.05), mean_exceeds([0.02] * 300, 0.03, 0.05)
    (True, False)
    """
    if amount <= 0:
        return bool(np.any(np.asarray(values) > 0))
    return bool(_most_capital(values, np.array([amount]), 1.0)[0] >= math.log(1 / alpha))


def _most_capital(values: Sequence[float] | FloatArray, guesses: FloatArray, top: float) -> FloatArray:
    """Return the log of the most that a gambler ever had who bets against each guess."""
    seen = np.minimum(np.asarray(values, float), top) / top
    capital, most = np.zeros(len(guesses)), np.zeros(len(guesses))
    total, squares = 2 * guesses, 5 * guesses**2  # as if one number had been seen: twice the guess, and as unsure
    for number, value in enumerate(seen):
        mean = total / (number + 1)
        spread = np.maximum(squares / (number + 1) - mean * mean, 1e-12)
        ahead = mean - guesses
        stake = np.clip(ahead / (spread + ahead * ahead), 0.0, BOLDEST / guesses)
        capital += np.log1p(stake * (value - guesses))
        most = np.maximum(most, capital)
        total, squares = total + value, squares + value * value
    return most


@dataclass(frozen=True)
class ThresholdAttack:
    """An attack: say "the target is there" where the score lies above (or, turned, at or below) a threshold."""

    threshold: float
    turned: bool = False

    def point(self, within: FloatArray, without: FloatArray, alpha: float) -> Point:
        """Return bounds on hits and false alarms that hold together but for alpha."""
        near, far = (int((world > self.threshold).sum()) for world in (within, without))
        if self.turned:
            near, far = len(without) - far, len(within) - near
            within, without = without, within
        return Point(binomial_lower(near, len(within), alpha / 2), binomial_upper(far, len(without), alpha / 2))


@dataclass(frozen=True)
class Point:
    """At least so many hits, at most so many false alarms.

    >>> point = Point(0.5, 0.1)
    >>> round(point.epsilon(0.0), 3), round(point.advantage, 3), round(point.mean_loss, 3)
    (1.609, 0.4, 0.511)
    """

    hits: float
    alarms: float

    @property
    def advantage(self) -> float:
        """By how much hits exceed false alarms at least."""
        return max(self.hits - self.alarms, 0.0)

    @property
    def mean_loss(self) -> float:
        """The divergence of the two outcomes of the attack: no more than that of the releases."""
        if not self.hits > self.alarms:
            return 0.0
        if self.alarms <= 0:
            return math.inf
        missed = (1 - self.hits) * math.log((1 - self.hits) / (1 - self.alarms)) if self.hits < 1 else 0.0
        return self.hits * math.log(self.hits / self.alarms) + missed

    def epsilon(self, delta: float) -> float:
        """Return the epsilon that the point shows at least, at this delta."""
        if self.hits - delta <= self.alarms:
            return 0.0
        return math.inf if self.alarms <= 0 else math.log((self.hits - delta) / self.alarms)


def best_threshold(
    within: FloatArray, without: FloatArray, value: Callable[[Point], float], alpha: float, cuts: int = 40
) -> ThresholdAttack:
    """Return the threshold on which these runs show most; only other runs may say how much it is."""
    both = np.clip(np.concatenate([within, without]), -LARGEST, LARGEST)  # impossible runs have infinite losses
    places = np.unique(np.quantile(both, np.linspace(0, 1, cuts + 1)[:-1], method="lower"))
    tried = [ThresholdAttack(float(place), turned) for place in places for turned in (False, True)]
    return max(tried, key=lambda cut: value(cut.point(within, without, alpha)))


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
