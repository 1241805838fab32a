"""Privacy curve of a run: delta(epsilon), the trade-off function and bounds on attack success.

Every bound here is an upper bound that was proved. delta(epsilon) bounds P(S) - e^epsilon Q(S) over all events S, where
P and Q are the laws of what a run shows on two neighbouring tables, whichever of them is the true one. The proof for
any mix of mechanisms stands in :mod:`sfumato.privacy.accounting.composition`. Where the stated (epsilon, delta) says
more than the computed curve, it is taken: the smaller of two valid bounds is valid.

Hits. A test that takes Q for P with probability a (false alarms) finds P with probability b (hits) of at most
e^epsilon a + delta(epsilon), by the definition with S the event of an alarm; and of at most
1 - (1 - a - delta(epsilon)) e^-epsilon, by the same with P and Q exchanged and S the event of none. So the least of
these over any set of epsilons is a bound. At epsilon 0: b - a <= delta(0), the **advantage**.

Success. An attack looks at a release and makes a guess; let it be right with probability ``baseline`` where the release
was made without the person's record (under add-remove), or with another in its place (under replace). Proof in two
lines: the event S that the guess is right is an event of the output, for what is true of the person does not depend on
the release; so the probability of S is at most hits(baseline), by the above. This holds for singling out, linkage,
attribute inference and reconstruction alike. It does not bound what is true of people of this kind, and would have been
learned without the record. The idea is that of Kaissis et al. 2023, Hayes, Mahloujifar and Balle 2023, and Kulynych,
Gomez, Kaissis, Hayes, Balle, Calmon and Raisaro 2024-2025; trade-off functions are those of Dong, Roth and Su 2022.

Public: all of it. A curve is computed from events, which hold nothing about the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import AccountingError
from sfumato.privacy.accounting.composition import ComposedLoss, compose_losses, gaussian_mu_of_parts
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.gaussian_and_selection import run_delta, selection_delta
from sfumato.privacy.accounting.privacy_loss import LossDistribution, loss_distribution
from sfumato.privacy.exact import round_up

ROUNDING = 1e-11
"""Relative room for machine arithmetic in sums of positive terms, far above what it can be."""
FEW = 200
"""Atoms up to which the theorem on choices is used at each; with more of them Gaussian noise goes onto the grid."""
BLOCK = 1 << 14
LARGEST = 700.0
"""Epsilon up to which its exponential is a number."""
STEPS = 24
"""Epsilons among which the best bound on hits is looked for first."""


@dataclass(frozen=True)
class PrivacyCurve:
    """A proved upper bound on delta at every epsilon, and on the success of attacks.

    >>> one = PrivacyCurve.of_pair(1.0)
    >>> round(one.delta(0.5), 6), round(one.advantage, 6), round(one.hits(0.01), 6)
    (0.287649, 0.462117, 0.027183)
    >>> round(PrivacyCurve.of_gaussian(1.0).success(0.1), 6)
    0.389144
    """

    run: ComposedLoss
    pairs: tuple[tuple[float, float], ...] = ()
    """Pairs (epsilon, delta) that hold for the whole run besides."""

    @classmethod
    def of_pair(cls, epsilon: float, delta: float = 0.0) -> PrivacyCurve:
        """Return the curve of the worst run that is (epsilon, delta)-DP."""
        return cls(ComposedLoss(pairs=((epsilon, delta, 1),)), ((epsilon, delta),))

    @classmethod
    def of_gaussian(cls, mu: float, rho: float = 0.0) -> PrivacyCurve:
        """Return the curve of continuous Gaussian noise of total mu, with choices of total rho."""
        return cls(ComposedLoss(mu_squared=mu * mu, rho=rho))

    def holding(self, epsilon: float, delta: float) -> PrivacyCurve:
        """Return the curve of the same run with a pair that is known to hold for it besides."""
        return replace(self, pairs=tuple(sorted({*self.pairs, (epsilon, delta)})))

    @property
    def mu(self) -> float | None:
        """Mu of Gaussian DP where the run is Gaussian noise and nothing else, None otherwise.

        Noise on a lattice is mu-Gaussian up to a slack, which ``delta`` counts in. Noise on whole counts is only near
        to it: ask ``delta`` for its bound.
        """
        if self.run.rho or self.run.pairs or not (self.run.mu_squared or self.run.others):
            return None
        kinds = {event.kind for event, _ in self.run.others}
        if not kinds <= {"discrete-gaussian"}:
            return None
        return math.sqrt(self.run.mu_squared + math.fsum(n * gaussian_mu_squared(e) for e, n in self.run.others))

    @property
    def rho(self) -> float:
        """Rho of the choices, and of whatever else is accounted in zCDP."""
        return self.run.rho

    @property
    def advantage(self) -> float:
        """The most by which hits can exceed false alarms, whatever the attack: delta at epsilon 0."""
        return self.delta(0.0)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at any real epsilon.

        Below 0 the divergence in the other direction tells it: delta(-e) = 1 - e^-e + e^-e delta(e).
        """
        if math.isnan(epsilon):
            raise AccountingError("epsilon must be a number", next_step="give epsilon such as 0.5")
        if epsilon < 0:
            return min(1.0, -math.expm1(epsilon) + math.exp(epsilon) * self.delta(-epsilon))
        known = self._known
        if epsilon not in known:
            known[epsilon] = min([1.0, *(_pair_delta(epsilon, *pair) for pair in self.pairs), self._computed(epsilon)])
        return known[epsilon]

    def hits(self, false_alarms: float) -> float:
        """Return the most hits of any attack that raises a false alarm with this probability.

        The bound a e^epsilon + delta(epsilon) is convex in e^epsilon; its least value is first looked for on a grid of
        epsilons of both signs, then between the neighbours of the best one. Each of them alone is a valid bound.
        """
        alarms = _probability(false_alarms)
        grid = np.concatenate([-self._grid[:0:-1], self._grid])
        values = [self._hits_at(float(each), alarms) for each in grid]
        best = int(np.argmin(values))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
        return max(alarms, min(values[best], self._least_between(low, high, alarms)))

    def success(self, baseline: float) -> float:
        """Return the most that any attack succeeds with, which would succeed with ``baseline`` without the record.

        "Without" means: against a release of the table without the row (add-remove), or with another row in its place
        (replace). The proof stands at the head of this module. It holds for singling out, linkage, attribute inference
        and reconstruction, whatever else the attacker knows.
        """
        return self.hits(baseline)

    def epsilon(self, delta: float) -> float | None:
        """Return the smallest epsilon found at which the curve is at most ``delta``; None if there is none."""
        known = [epsilon for epsilon, chance in self.pairs if chance <= delta]
        low, high = 0.0, min([max(self._top, 1e-6), *known])
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > 1e7:
                return None
        if self.delta(0.0) <= delta:
            return 0.0
        while high - low > 1e-9 * high + 1e-15:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    @cached_property
    def _known(self) -> dict[float, float]:
        return {}

    @cached_property
    def _top(self) -> float:
        """Return an epsilon beyond which there is little left to bound."""
        run = self.run
        spread = run.mu_squared / 2 + run.rho + 10 * math.sqrt(run.mu_squared + 2 * run.rho)
        pure = math.fsum(times * epsilon for epsilon, _, times in run.pairs)
        own = math.fsum(times * float(event.cost[0]) for event, times in run.others)
        return min([LARGEST, spread + pure + own, *(2 * epsilon for epsilon, _ in self.pairs)])

    @cached_property
    def _grid(self) -> NDArray[np.float64]:
        top = max(self._top, 1e-6)
        exact = [epsilon for epsilon, _ in self.pairs if epsilon <= LARGEST]
        return np.unique([0.0, *np.geomspace(top / 500, top, STEPS), *exact])

    def _hits_at(self, epsilon: float, alarms: float) -> float:
        return math.exp(epsilon) * alarms + self.delta(epsilon) if alarms else self.delta(epsilon)

    def _least_between(self, low: float, high: float, alarms: float) -> float:
        from scipy.optimize import minimize_scalar

        minimum: Any = minimize_scalar(self._hits_at, bounds=(low, high), args=(alarms,), method="bounded")
        return float(minimum.fun)

    def _computed(self, epsilon: float) -> float:
        level, factor, tail = self.run.after_slack(epsilon)
        run = self.run
        closed = _one_laplace(run)
        if closed is not None:
            return _laplace_delta(level, closed)
        law = loss_distribution(run.pairs, run.others)
        gridded = run.rho > 0 and run.mu_squared > 0 and law.losses.size > FEW
        law, mu = (loss_distribution(run.pairs, run.others, run.mu), 0.0) if gridded else (law, run.mu)
        return factor * (_mean(level, law, mu, run.rho) + tail)


def privacy_curve(events: Sequence[Event]) -> PrivacyCurve:
    """Return the curve of all events together, their parameters fixed beforehand.

    The stated costs add up to a pair that holds as well.
    """
    costs = [event.cost for event in events if event.is_formal]
    pair = sum((c[0] for c in costs), Fraction(0)), sum((c[1] for c in costs), Fraction(0))
    return PrivacyCurve(compose_losses(events), ((round_up(pair[0]), min(1.0, round_up(pair[1]))),))


def gaussian_mu_squared(event: Event) -> float:
    """Return mu squared of an event's Gaussian noise."""
    return gaussian_mu_of_parts(event.parts) ** 2


def _mean(level: float, law: LossDistribution, mu: float, rho: float) -> float:
    """Return the mean of g(level - loss) over the law."""
    levels = level - law.losses
    if not rho:
        rest = gaussian_deltas(levels, mu) if mu else np.maximum(-np.expm1(np.minimum(levels, 0.0)), 0.0)
    elif law.losses.size <= FEW:
        rest = np.array([run_delta(float(each), mu, rho) for each in levels])
    else:
        blocks = np.array_split(levels, -(-levels.size // BLOCK))
        rest = np.concatenate([selection_delta(block, rho) for block in blocks])
    return float(np.dot(law.masses, rest)) * (1 + ROUNDING) + law.unbounded


def gaussian_deltas(levels: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Return an upper bound on the delta of mu-Gaussian DP at each level; the room is for the normal distribution."""
    from scipy.special import log_ndtr, ndtr

    upper = ndtr(mu / 2 - levels / mu)
    lower = np.exp(np.minimum(levels + log_ndtr(-mu / 2 - levels / mu), 0.0))
    return np.clip(upper - lower + 1e-12 * upper, 0.0, 1.0)


def _pair_delta(epsilon: float, stated: float, delta: float) -> float:
    """Return delta at ``epsilon`` of the worst run that is (stated, delta)-DP."""
    if epsilon >= stated:
        return delta
    excess = -math.expm1(epsilon - stated) / (1 + math.exp(-stated))
    return min(1.0, (delta + (1 - delta) * excess) * (1 + ROUNDING))


def _one_laplace(run: ComposedLoss) -> float | None:
    """Return the strength of continuous Laplace noise where it is all there is: it has a closed form."""
    if run.mu_squared or run.rho or run.pairs or len(run.others) != 1:
        return None
    event, times = run.others[0]
    if event.kind != "laplace" or times > 1 or len(event.parts) != 1:
        return None
    return round_up(event.parts[0].sensitivity / Fraction(event.parts[0].scale))


def _laplace_delta(epsilon: float, strength: float) -> float:
    return max(0.0, -math.expm1((epsilon - strength) / 2)) * (1 + ROUNDING)


def _probability(value: float) -> float:
    if not 0 <= value <= 1:
        raise AccountingError(
            f"a probability lies between 0 and 1, found {value}", next_step="give a probability such as 0.01"
        )
    return float(value)
