"""Compose a run's privacy loss from Gaussian noise, selections and dominated steps; filter with fixed totals.

**Composition.** Theorem. Let a run ask its questions in any order, each after seeing all earlier answers, with
parameters fixed beforehand. Let its privacy loss be made of

- Gaussian answers of total mu^2 and choices (or any other steps) of total rho in zCDP, both totals fixed beforehand;
- other steps, each dominated by a symmetric pair (P_i, Q_i): for every change by one neighbour and every history its
  hockey-stick divergences are, at every level, at most those of the pair.

Then for every epsilon the run is (epsilon, delta)-DP with

    delta = E[ g(epsilon - L) ],   L = sum of the losses log P_i / Q_i under the P_i, independent,

where g(t) is the delta at t of :mod:`sfumato.privacy.accounting.gaussian_and_selection` for (mu, rho); where neither
noise nor choices were used, g(t) = max(0, 1 - e^t).

Proof. A dominated pair of laws is made from the dominating pair by a random map that does not know which of the two it
gets (Blackwell 1953; Zhu, Dong and Wang 2022 for its use here). So, as in step (2) of the theorem on choices, whoever
knows both neighbours, but not which of them was used (b), makes every such answer from one draw of P_i or Q_i and
randomness that is independent of b; the map may depend on the history. Given all these draws, what is left is a run of
Gaussian answers and choices by a questioner who is then fixed. The hockey-stick divergence of the whole at e^epsilon is
the mean over the draws of that of the rest at e^(epsilon - L), which g bounds. QED

Which pair dominates what: a step that is (e, d)-DP, whatever it is: loss unbounded with probability d, and otherwise
randomised response of e, +e with odds e^e against -e (Kairouz, Oh and Viswanath 2015). Discrete Laplace noise: no more
(:mod:`sfumato.privacy.accounting.event_kinds`). Discrete Gaussian noise on whole counts: its own law where one row
moves single cells by one, and otherwise it counts as rho = D^2 / 2 s^2. Noise on a fine lattice is compared with the
continuous one; the slack of :mod:`sfumato.privacy.accounting.lattice_gaussian` is added up over the events, and the
comparison holds beside other steps because those have the same conditional law in both worlds. Public: all of it.

Releases from a bought schema. Their parameters (tables, shares, sigmas) follow from noisy answers, and only their total
(epsilon, delta) was fixed beforehand. All of them together are one interactive step that is (sum of epsilon, sum of
delta)-DP by basic composition, which holds for adaptive parameters, and such a step is dominated by one randomised
response of that pair even where other steps come in between (Lyu 2022; Vadhan and Zhang 2023). So they count by it.

**Privacy filter.** Theorem. When a table is opened, totals M and R are fixed such that Gaussian noise of mu^2 = M with
choices of rho = R is (epsilon, delta)-DP, for at most ``MOST_RUNS`` runs on lattices. Each release, its method and
parameters included, may be chosen after seeing all earlier ones; it is admitted only if afterwards mu^2 <= M and rho <=
R hold for all admitted ones together, where any part of the Gaussian noise may be counted as rho = mu^2 / 2 instead.
Then all releases together are (epsilon, delta)-DP.

Proof. All admitted releases together are one run in the sense of
:mod:`sfumato.privacy.accounting.gaussian_and_selection`, which is adaptive and asks for nothing but totals that no step
may exceed; its step (3) uses of the choices only that they are R-zCDP, as a filter. A Gaussian answer of squared size
m^2 = u + v is made from two independent ones of squared size u and v; the first counts as Gaussian, the second as a
step of v / 2 in zCDP (Bun and Steinke 2016). Discrete Gaussian noise on whole counts counts as rho = mu^2 / 2 in full
(Canonne, Kamath and Steinke 2020), a step that is e-DP as e^2 / 2 (Bun and Steinke). The slack of the lattices is set
aside for all of them beforehand. QED

"Tight" composition needs parameters that were fixed beforehand; here only the totals are. What has a delta of its own
(thresholds, plausible deniability, a declared delta) fits into no total of this kind and is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import AccountingError
from sfumato.privacy.accounting.event import Event, EventPart, event_kind
from sfumato.privacy.accounting.gaussian_and_selection import adaptive_rho, lattice_slack
from sfumato.privacy.accounting.lattice_gaussian import lattice_epsilon_slack, tail_radius
from sfumato.privacy.exact import Number, round_down, round_up, to_fraction

SELECTIONS_PART = "choices of tables"
"""Stage whose part is no noise but choices by exponential weights; its scale is 1 over their strength."""
LARGEST_MU = 1e150
FAR = 300.0
"""Exponent of the far tail of lattice noise: beyond it there is a probability of exp(-300)."""


@dataclass(frozen=True)
class LatticeNoise:
    """Noise on a lattice: its narrowest sigma in units, and how many coordinates got noise."""

    sigma: float
    coordinates: int


@dataclass(frozen=True)
class ComposedLoss:
    """The parts of a run's privacy loss; runs add up.

    >>> (ComposedLoss(mu_squared=1.0) + ComposedLoss(mu_squared=3.0, rho=0.1)).mu
    2.0
    """

    mu_squared: float = 0.0
    """Gaussian noise: the sum of squared sensitivity over variance."""
    rho: float = 0.0
    """Choices, and whatever else is accounted in zCDP."""
    pairs: tuple[tuple[float, float, int], ...] = ()
    """Steps of which only (epsilon, delta) counts, and how often."""
    others: tuple[tuple[Event, int], ...] = ()
    """Events whose own law is computed on a grid, and how often."""
    lattices: tuple[LatticeNoise, ...] = ()

    @property
    def mu(self) -> float:
        """Mu of all Gaussian noise together."""
        return math.sqrt(self.mu_squared)

    def __add__(self, other: ComposedLoss) -> ComposedLoss:
        return ComposedLoss(
            mu_squared=self.mu_squared + other.mu_squared,
            rho=self.rho + other.rho,
            pairs=_merged_pairs([*self.pairs, *other.pairs]),
            others=_merged_events([*self.others, *other.others]),
            lattices=(*self.lattices, *other.lattices),
        )

    def after_slack(self, epsilon: float) -> tuple[float, float, float]:
        """Return the level that the lattices leave of epsilon, the factor of the rest's delta, and the far tail."""
        if not self.lattices:
            return epsilon, 1.0, 0.0
        reach = math.sqrt(2 * (max(epsilon, 0.0) + FAR))
        slack = math.fsum(lattice_epsilon_slack(each.sigma, each.coordinates, reach) for each in self.lattices)
        growth = math.fsum(each.coordinates / (8 * each.sigma**2) for each in self.lattices)
        return epsilon - slack, math.exp(min(growth, FAR)), len(self.lattices) * math.exp(-FAR)


def _merged_pairs(pairs: Iterable[tuple[float, float, int]]) -> tuple[tuple[float, float, int], ...]:
    counted: Counter[tuple[float, float]] = Counter()
    for epsilon, delta, times in pairs:
        counted[epsilon, delta] += times
    return tuple(sorted((*pair, times) for pair, times in counted.items()))


def _merged_events(events: Iterable[tuple[Event, int]]) -> tuple[tuple[Event, int], ...]:
    counted: Counter[Event] = Counter()
    for event, times in events:
        counted[event] += times
    return tuple(sorted(counted.items(), key=lambda item: item[0].to_json()))


def compose_losses(events: Sequence[Event]) -> ComposedLoss:
    """Return the parts of all events together; an exposure among them is refused."""
    exposed = sorted({event.kind for event in events if not event.is_formal})
    if exposed:
        raise AccountingError(
            f"no curve bounds a release without a formal guarantee: {', '.join(exposed)}",
            next_step="ask for the curve of formal releases only; measure the risk of the others",
        )
    alike = Counter(_bare(event) for event in events if not event.adaptive)
    fixed = (_times(_loss_parts(event), times) for event, times in alike.items())
    return sum(fixed, _adaptive([event.cost for event in events if event.adaptive]))


def _adaptive(costs: Sequence[tuple[Fraction, Fraction]]) -> ComposedLoss:
    """Return the worst run of steps whose parts, and the split among them, were chosen after earlier answers."""
    epsilon, delta = (sum((cost[place] for cost in costs), Fraction(0)) for place in (0, 1))
    return ComposedLoss(pairs=((round_up(epsilon), min(1.0, round_up(delta)), 1),)) if costs else ComposedLoss()


def _bare(event: Event) -> Event:
    """Keep only what decides the loss, so that equal mechanisms merge."""
    parts = tuple(part.model_copy(update={"stage": _stage(part)}) for part in event.parts)
    return event.model_copy(update={"method": "", "note": "", "table": "", "parts": parts})


def _stage(part: EventPart) -> str:
    return SELECTIONS_PART if part.stage == SELECTIONS_PART else ""


def _times(run: ComposedLoss, times: int) -> ComposedLoss:
    return ComposedLoss(
        mu_squared=times * run.mu_squared,
        rho=times * run.rho,
        pairs=tuple((epsilon, delta, times * each) for epsilon, delta, each in run.pairs),
        others=tuple((event, times * each) for event, each in run.others),
        lattices=times * run.lattices,
    )


def worst_case_loss(event: Event) -> ComposedLoss:
    """Return the worst run with the cost that the event states."""
    epsilon, delta = event.cost
    return ComposedLoss(pairs=((round_up(epsilon), round_up(delta), 1),))


def _loss_parts(event: Event) -> ComposedLoss:
    """Return the parts of one event's loss, as its kind has them: its own law, or the worst for its stated cost."""
    kind = event_kind(event.kind)
    if kind.loss_parts is not None:
        return kind.loss_parts(event)
    return ComposedLoss(others=((event, 1),)) if kind.loss is not None else worst_case_loss(event)


def gaussian_mu_of_parts(parts: Sequence[EventPart]) -> float:
    """Return mu of Gaussian noise on all these parts: the root of the sum of squared sensitivity over variance."""
    steps = (math.sqrt(part.changed_cells) * part.sensitivity / part.scale for part in parts)
    return min(math.hypot(*steps), LARGEST_MU)


def split_selections(parts: Sequence[EventPart]) -> tuple[Sequence[EventPart], Sequence[EventPart]]:
    """Return the parts that got Gaussian noise, and the last part where that stands for choices."""
    selected = parts[-1:] if parts[-1].stage == SELECTIONS_PART else ()
    return parts[: len(parts) - len(selected)], selected


def selections_rho(chosen: Sequence[EventPart]) -> float:
    """Return the rho of choices by exponential weights."""
    return math.fsum(1 / (8 * part.scale**2) for part in chosen)


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
