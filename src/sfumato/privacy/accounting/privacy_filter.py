"""Privacy filter: totals of mu^2 and rho fixed in advance for adaptively chosen releases.

Theorem. When a table is opened, totals M and R are fixed such that Gaussian noise of mu^2 = M with choices of rho = R
is (epsilon, delta)-DP, for at most ``MOST_RUNS`` runs on lattices. Each release, its method and parameters included,
may be chosen after seeing all earlier ones; it is admitted only if afterwards mu^2 <= M and rho <= R hold for all
admitted ones together, where any part of the Gaussian noise may be counted as rho = mu^2 / 2 instead. Then all releases
together are (epsilon, delta)-DP.

Proof. All admitted releases together are one run in the sense of
:mod:`sfumato.privacy.accounting.gaussian_and_selection`,
which is adaptive and asks for nothing but totals that no step may exceed; its step (3) uses of the choices only that
they are R-zCDP, as a filter. A Gaussian answer of squared size m^2 = u + v is made from two independent ones of squared
size u and v; the first counts as Gaussian, the second as a step of v / 2 in zCDP (Bun and Steinke 2016). Discrete
Gaussian noise on whole counts counts as rho = mu^2 / 2 in full (Canonne, Kamath and Steinke 2020), a step that is e-DP
as e^2 / 2 (Bun and Steinke). The slack of the lattices is set aside for all of them beforehand. QED

"Tight" composition needs parameters that were fixed beforehand; here only the totals are. What has a delta of its own
(thresholds, plausible deniability, a declared delta) fits into no total of this kind and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.privacy.accounting.composition import LatticeNoise, compose_losses
from sfumato.privacy.accounting.event import Event, event_kind
from sfumato.privacy.accounting.gaussian_and_selection import adaptive_rho, lattice_slack
from sfumato.privacy.accounting.lattice_gaussian import lattice_epsilon_slack, tail_radius
from sfumato.privacy.exact import Number, round_down, to_fraction

MOST_RUNS = 256
"""Runs on lattices that one account may hold; their slack is below 2e-4 in epsilon."""
ROOM = 1e-9
"""Relative room for machine arithmetic, which the totals are made smaller by."""


@dataclass(frozen=True)
class FilterUse:
    """The mu^2, rho and lattice slack that releases use; ``refused`` are kinds without such totals."""

    mu_squared: float
    rho: float
    lattices: tuple[LatticeNoise, ...] = ()
    refused: tuple[str, ...] = ()

    @classmethod
    def used(cls, events: Sequence[Event]) -> FilterUse:
        """Return the totals that formal events use."""
        run = compose_losses(
            [event.model_copy(update={"adaptive": False}) for event in events]
        )  # totals hold for them as well
        pure = math.fsum(times * epsilon**2 / 2 for epsilon, _, times in run.pairs)
        own = math.fsum(times * _rho(event) for event, times in run.others)
        return cls(run.mu_squared, run.rho + pure + own, run.lattices, tuple(sorted({*_with_delta(events)})))


def _rho(event: Event) -> float:
    """Return the rho of an event whose law is no continuous Gaussian."""
    kind = event_kind(event.kind)
    if kind.rho is not None:
        return kind.rho(event)
    return math.fsum((part.sensitivity / part.scale) ** 2 / 2 for part in event.parts)


def _with_delta(events: Sequence[Event]) -> list[str]:
    """Return the kinds of events whose loss is unbounded with some probability, or is not known here."""
    kinds = [(event, event_kind(event.kind)) for event in events]
    return [
        event.kind
        for event, kind in kinds
        if not (kind.totals_known and event.parts) and (event.cost[1] or not kind.counts_by_epsilon)
    ]


@dataclass(frozen=True)
class FilterTotals:
    """The totals that an account was opened with.

    >>> caps = FilterTotals.of(1, "1e-9", Fraction(1, 10))
    >>> round(caps.mu_squared, 4), round(caps.rho, 5)
    (0.0285, 0.00159)
    """

    mu_squared: float
    rho: float
    slack: float
    growth: float
    reach: float

    @classmethod
    def of(cls, epsilon: Number, delta: Number, choices: Fraction) -> FilterTotals:
        """Return the largest totals of which the share ``choices`` is rho and that are (epsilon, delta)-DP together."""
        return _fixed(to_fraction(epsilon), to_fraction(delta, "delta"), choices)

    def over(self, used: FilterUse) -> list[str]:
        """Return which totals the events would exceed; nothing where all of them fit."""
        spared = max(0.0, used.mu_squared - self.mu_squared) / 2
        slack = math.fsum(lattice_epsilon_slack(each.sigma, each.coordinates, self.reach) for each in used.lattices)
        growth = math.fsum(each.coordinates / (8 * each.sigma**2) for each in used.lattices)
        problems = [f"no total of mu^2 and rho holds releases of kind {kind}" for kind in used.refused]
        if used.rho + spared > self.rho:
            problems.append(
                f"mu^2: cap {self.mu_squared:.6g}, with this release {used.mu_squared:.6g}; rho: cap {self.rho:.6g}, "
                f"with this release {used.rho:.6g}" + (f", and {spared:.6g} of what mu^2 lacks" if spared else "")
            )
        if len(used.lattices) > MOST_RUNS or slack > self.slack or growth > self.growth:
            problems.append(f"the rounding of {len(used.lattices)} runs exceeds what was set aside for {MOST_RUNS}")
        return problems


@lru_cache(maxsize=64)
def _fixed(epsilon: Fraction, delta: Fraction, choices: Fraction) -> FilterTotals:
    total = float(adaptive_rho(epsilon, delta, choices, MOST_RUNS)) * (1 - ROOM)
    budget, chance = round_down(epsilon), round_down(delta)
    slack, growth = lattice_slack(budget, chance, MOST_RUNS)
    share = float(choices)
    room = 1 + 1e-12  # that the same sum in another order still fits
    reach = tail_radius(budget, chance / MOST_RUNS)
    return FilterTotals(2 * total * (1 - share), total * share, slack * room, growth * room, reach)
