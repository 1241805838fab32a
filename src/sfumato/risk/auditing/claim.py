"""Claimed epsilon, mu and divergence of a method, in the form that an audit tests.

Epsilon at delta is claimed as it is. Mu is claimed in one of two currencies; which, follows from the events alone.

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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.core.plan import Plan
from sfumato.errors import RiskError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve, gaussian_mu_squared, privacy_curve

if TYPE_CHECKING:
    from sfumato.risk.auditing.lower_bounds import Point


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
