"""Lower confidence bounds on epsilon and mu from runs on two neighbouring tables.

A threshold on a score gives hits and false alarms, two binomial counts: Clopper and Pearson's bounds hold whatever the
score is. The mean of numbers between 0 and some unknown top is bounded from below by betting (Waudby-Smith and Ramdas
2024): a gambler who starts with 1 and stakes a share of the capital on "the mean is above m", by what was seen before,
has a capital whose mean stays at most 1 where the mean is at most m; it ever reaches 1 / alpha with probability at most
alpha (Ville 1939). The least m that the gambler does not refute is the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.metrics.confidence import binomial_lower, binomial_upper

GRID = 2000
LARGEST = 1e12
BOLDEST = 0.95
"""Share of what could be lost at most that the gambler stakes at most."""


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
