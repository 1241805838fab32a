"""All event kinds: the privacy loss of each, its parts, and the check of its stated cost.

A kind is one entry of ``KINDS``, with the functions above it that only this kind has. What can be checked depends on
the kind. Laplace noise: the sum of sensitivity over scale. Gaussian noise, on counts or on a lattice, alone or with
selections: the same certificates by which it was planned. A clipped posterior: its strength. The privacy test of
plausible deniability is recorded by one of its four numbers only, and a declared release by none: there the stated cost
is believed.

Why discrete Laplace is accounted as randomised response: on integers with sensitivity 1 the log-ratio of the two
discrete Laplace laws takes only the values +epsilon and -epsilon, so it is exactly the worst epsilon-DP
mechanism. The privacy loss distribution of the *continuous* Laplace mechanism is better than that and would
understate the cost: 100 releases at 0.1 compose to 4.7746 at delta 1e-6, not to 4.6927.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Any

from sfumato.privacy.accounting.composition import (
    ComposedLoss,
    LatticeNoise,
    gaussian_mu_of_parts,
    selections_rho,
    split_selections,
    worst_case_loss,
)
from sfumato.privacy.accounting.event import Event, EventKind, EventPart, event_kind, register_event_kind
from sfumato.privacy.accounting.gaussian_and_selection import MOST_COORDINATES, SMALLEST_SIGMA, is_within_budget
from sfumato.privacy.accounting.gaussian_calibration import (
    concentrated_epsilon,
    gaussian_delta,
    is_certified_discrete,
)
from sfumato.privacy.accounting.lattice_gaussian import composed_delta, tail_radius
from sfumato.privacy.accounting.privacy_loss import (
    DISCRETISATION,
    discrete_gaussian_parts,
    pure_or_approximate,
    stated_loss,
)
from sfumato.privacy.accounting.sensitivity import vector_sum_sensitivity
from sfumato.privacy.accounting.stability_threshold import thresholds_delta
from sfumato.privacy.exact import format_fraction, fraction_to_text, round_down, round_up

LARGEST_SUMMED = 2.0**16
"""Sigma up to which the law of discrete noise is summed up; above it the lattice theorem decides."""
ROUNDING = Fraction(1, 10**12)
"""Relative room for a scale that was rounded to a float."""
ROOM = 1e-13
"""Relative room for machine arithmetic in a sum of squares, thousands of times what it can be."""


def understated_cost(event: Event, *, thorough: bool = True) -> str | None:
    """Return why an event cannot cost as little as it states, or nothing.

    Without ``thorough``, discrete Gaussian noise is compared with the continuous one, in a millisecond: what was
    admitted once by its own certificate passes, and what is too small by some per cent of delta is found.
    """
    if not event.is_formal:
        return None
    bare: Any = event.model_copy(update={"method": "", "table": "", "note": ""})  # frozen, so it can be a key
    return _problem(bare, thorough)


@lru_cache(maxsize=4096)
def _problem(event: Event, thorough: bool) -> str | None:
    kind = event_kind(event.kind)
    if not any(event.cost):
        return f"a release of kind {event.kind} cannot cost nothing"
    if kind.needs_delta and not event.cost[1]:
        return f"{event.kind} needs a delta above 0: no epsilon holds at delta 0"
    if kind.check_cost is None:
        return None
    return _odd_parts(event, kind) or _too_small(event, kind, thorough)


def _odd_parts(event: Event, kind: EventKind) -> str | None:
    if not event.parts:
        return f"an event of kind {event.kind} must list the parts that were released, each with its scale"
    for part in event.parts:
        sizes = part.sensitivity >= 1 and part.changed_cells >= 1 and part.cells >= 0
        sizes = sizes and (part.threshold is None or kind.has_thresholds)
        if not (sizes and math.isfinite(part.scale) and part.scale > 0):
            return f"the part {part.stage!r} is invalid: sensitivity {part.sensitivity}, scale {part.scale}"
    return None


def _too_small(event: Event, kind: EventKind, thorough: bool) -> str | None:
    assert kind.check_cost is not None
    try:
        if kind.quick_check is not None and not thorough and kind.quick_check(event):
            return None
        if kind.check_cost(event):
            return None
    except ArithmeticError:  # noise so small that its cost is no number
        pass
    epsilon, delta = event.cost
    stated = f"{format_fraction(epsilon)} at delta {format_fraction(delta)}" if delta else format_fraction(epsilon)
    return f"the noise of {', '.join(part.stage for part in event.parts)} is too small for its epsilon, {stated}"


def _floats(event: Event) -> tuple[float, float]:
    epsilon, delta = event.cost
    return round_down(epsilon), round_down(delta)


def _squared(parts: Sequence[EventPart]) -> float:
    return gaussian_mu_of_parts(parts) ** 2 * (1 + ROOM)


def _by_own_law(event: Event) -> ComposedLoss:
    return ComposedLoss(others=((event, 1),)) if event.parts else worst_case_loss(event)


def _check_laplace(event: Event) -> bool:
    return sum((part.sensitivity / Fraction(part.scale) for part in event.parts), Fraction(0)) <= event.cost[0]


def _discrete_laplace(event: Event) -> ComposedLoss:
    """Each table is as bad as the worst mechanism of its own epsilon: scale and L1 sensitivity say which."""
    strengths = Counter(round_up(part.sensitivity / Fraction(part.scale)) for part in event.parts)
    if not strengths:
        return worst_case_loss(event)
    return ComposedLoss(pairs=tuple(sorted((epsilon, 0.0, times) for epsilon, times in strengths.items())))


def _laplace_law(event: Event) -> Any:
    """Compose the loss of every part of continuous Laplace noise that another system ran."""
    from dp_accounting.pld import privacy_loss_distribution

    losses = [
        privacy_loss_distribution.from_laplace_mechanism(
            part.scale, sensitivity=part.sensitivity, value_discretization_interval=DISCRETISATION
        )
        for part in event.parts
    ]
    return reduce(lambda a, b: a.compose(b), losses) if losses else stated_loss(event)


def _check_clipped(event: Event) -> bool:
    """One draw of strength w costs w, and twice that where a record may be replaced; copies add up."""
    demanded = sum(
        (vector_sum_sensitivity(event.adjacency, part.cells) / Fraction(part.scale) for part in event.parts),
        Fraction(0),
    )
    return demanded <= event.cost[0] * (1 + ROUNDING)


def _believed(event: Event) -> bool:
    return True


def _check_gaussian(event: Event) -> bool:
    epsilon, delta = _floats(event)
    return gaussian_delta(epsilon, gaussian_mu_of_parts(event.parts)) <= delta * (1 + 1e-9)


def _gaussian(event: Event) -> ComposedLoss:
    return ComposedLoss(mu_squared=_squared(event.parts)) if event.parts else worst_case_loss(event)


def _check_lattice(event: Event) -> bool:
    epsilon, delta = _floats(event)
    units = [part.sensitivity * math.sqrt(part.changed_cells) for part in event.parts]
    sigmas = [part.scale for part in event.parts]
    dimensions = sum(part.cells for part in event.parts)
    return composed_delta(epsilon, sigmas, units, dimensions, tail_radius(epsilon, delta)) <= delta


def _lattice_gaussian(event: Event) -> ComposedLoss:
    if not event.parts:
        return worst_case_loss(event)
    lattice = LatticeNoise(min(part.scale for part in event.parts), sum(part.cells for part in event.parts))
    if lattice.sigma < 1:
        return worst_case_loss(event)
    return ComposedLoss(mu_squared=_squared(event.parts), lattices=(lattice,))


def _check_discrete_gaussian(event: Event) -> bool:
    epsilon, delta = _floats(event)
    if concentrated_epsilon(gaussian_mu_of_parts(event.parts) ** 2 / 2, delta) <= epsilon or _check_lattice(event):
        return True
    return max(part.scale for part in event.parts) <= LARGEST_SUMMED and is_certified_discrete(
        event.parts, epsilon, delta
    )


def _discrete_gaussian(event: Event) -> ComposedLoss:
    if not event.parts:
        return worst_case_loss(event)
    if min(part.scale for part in event.parts) > LARGEST_SUMMED:
        return _lattice_gaussian(event)
    widest = max(part.scale for part in event.parts)
    if widest <= LARGEST_SUMMED and all(part.sensitivity == 1 for part in event.parts):
        return ComposedLoss(others=((event, 1),))
    return ComposedLoss(rho=_squared(event.parts) / 2)


def _discrete_gaussian_law(event: Event) -> Any:
    unit_shifts = all(part.sensitivity == 1 for part in event.parts)
    return discrete_gaussian_parts(event.parts) if unit_shifts and event.parts else stated_loss(event)


def _discrete_gaussian_rho(event: Event) -> float:
    return gaussian_mu_of_parts(event.parts) ** 2 / 2


def _check_thresholded(event: Event) -> bool:
    """What thresholds leave of delta must pay for the counts."""
    left = event.cost[1] - Fraction(thresholds_delta(event.parts))
    return left > 0 and _check_discrete_gaussian(event.model_copy(update={"delta": fraction_to_text(left)}))


def _thresholded(event: Event) -> ComposedLoss:
    """Gaussian counts, and a chance for values that only one neighbour holds: that much of the loss is unbounded."""
    counts = _discrete_gaussian(event)
    if counts.others or not event.parts:
        return counts  # its own law knows the chance
    return counts + ComposedLoss(pairs=((0.0, thresholds_delta(event.parts), 1),))


def _thresholded_law(event: Event) -> Any:
    counts = _discrete_gaussian_law(event)
    chance = thresholds_delta(event.parts) if event.parts and all(part.sensitivity == 1 for part in event.parts) else 0
    return counts.compose(pure_or_approximate(0.0, chance)) if chance else counts


def _check_gaussian_and_selections(event: Event) -> bool:
    epsilon, delta = _floats(event)
    noisy, selected = split_selections(event.parts)
    return is_within_budget(epsilon, delta, gaussian_mu_of_parts(noisy), selections_rho(selected))


def _gaussian_and_selections(event: Event) -> ComposedLoss:
    if not event.parts:
        return worst_case_loss(event)
    noisy, selected = split_selections(event.parts)
    lattice = LatticeNoise(SMALLEST_SIGMA, MOST_COORDINATES)
    return ComposedLoss(mu_squared=_squared(noisy), rho=selections_rho(selected) * (1 + ROOM), lattices=(lattice,))


_pure = partial(EventKind, formal=True, guarantee="pure", counts_by_epsilon=True)
_approximate = partial(EventKind, formal=True, guarantee="approximate", needs_delta=True)
KINDS = (
    _pure(name="discrete-laplace", loss_parts=_discrete_laplace, check_cost=_check_laplace),
    _pure(name="laplace", loss_parts=_by_own_law, loss=_laplace_law, check_cost=_check_laplace, totals_known=True),
    _pure(name="clipped-posterior", loss_parts=worst_case_loss, check_cost=_check_clipped),
    _approximate(name="plausible-deniability", loss_parts=worst_case_loss, check_cost=_believed),
    _approximate(name="gaussian", loss_parts=_gaussian, check_cost=_check_gaussian, totals_known=True),
    _approximate(name="lattice-gaussian", loss_parts=_lattice_gaussian, check_cost=_check_lattice, totals_known=True),
    _approximate(
        name="discrete-gaussian",
        loss_parts=_discrete_gaussian,
        loss=_discrete_gaussian_law,
        check_cost=_check_discrete_gaussian,
        quick_check=_check_gaussian,
        totals_known=True,
        rho=_discrete_gaussian_rho,
    ),
    _approximate(
        name="thresholded-gaussian",
        loss_parts=_thresholded,
        loss=_thresholded_law,
        check_cost=_check_thresholded,
        has_thresholds=True,
    ),
    _approximate(
        name="gaussian-and-choices",
        loss_parts=_gaussian_and_selections,
        check_cost=_check_gaussian_and_selections,
        totals_known=True,
    ),
    EventKind(name="declared", formal=True, guarantee="approximate", counts_by_epsilon=True),
    EventKind(name="zero-concentrated", formal=True, guarantee="zero-concentrated", needs_delta=True),
    EventKind(name="probabilistic", formal=True, guarantee="probabilistic"),
    EventKind(name="asymptotic", formal=False, guarantee="asymptotic"),
    EventKind(name="heuristic", formal=False, guarantee="heuristic"),
)
for _kind in KINDS:
    register_event_kind(_kind)
