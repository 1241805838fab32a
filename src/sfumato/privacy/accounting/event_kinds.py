"""All event kinds: the privacy loss of each, its parts, and the check of its stated cost.

What can be checked depends on the kind. Laplace noise: the sum of sensitivity over scale. Gaussian noise, on counts or
on a lattice, alone or with choices: the same certificates by which it was planned. A clipped posterior: its strength.
The privacy test of plausible deniability is recorded by one of its four numbers only, and a declared release by none:
there the stated cost is believed.

Why discrete Laplace is accounted as randomised response: on integers with sensitivity 1 the log-ratio of the two
discrete Laplace laws takes only the values +epsilon and -epsilon, so it is exactly the worst epsilon-DP
mechanism. The privacy loss distribution of the *continuous* Laplace mechanism is better than that and would
understate the cost: 100 releases at 0.1 compose to 4.7746 at delta 1e-6, not to 4.6927.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Any

from sfumato.privacy.accounting.event import Event, EventKind, EventPart, register_event_kind
from sfumato.privacy.accounting.sensitivity import vector_sum_sensitivity
from sfumato.privacy.exact import format_fraction, fraction_to_text, round_down, round_up

SELECTIONS_PART = "choices of tables"

"""Stage whose part is no noise but choices by exponential weights; its scale is 1 over their strength."""

LARGEST_MU = 1e150

LARGEST_SUMMED = 2.0**16

"""Sigma up to which the law of discrete noise is summed up; above it the lattice theorem decides."""

ROUNDING = Fraction(1, 10**12)

"""Relative room for a scale that was rounded to a float."""


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
    if not any(event.cost):
        return f"a release of kind {event.kind} cannot cost nothing"
    if event.kind in _NEED_DELTA and not event.cost[1]:
        return f"{event.kind} needs a delta above 0: no epsilon holds at delta 0"
    if event.kind not in _CHECKS:
        return None
    return _odd_parts(event) or _too_small(event, thorough)


def _odd_parts(event: Event) -> str | None:
    if not event.parts:
        return f"an event of kind {event.kind} must list the parts that were released, each with its scale"
    for part in event.parts:
        sizes = part.sensitivity >= 1 and part.changed_cells >= 1 and part.cells >= 0
        sizes = sizes and (part.threshold is None or event.kind == "thresholded-gaussian")
        if not (sizes and math.isfinite(part.scale) and part.scale > 0):
            return f"the part {part.stage!r} makes no sense: sensitivity {part.sensitivity}, scale {part.scale}"
    return None


def _too_small(event: Event, thorough: bool) -> str | None:
    try:
        if event.kind == "discrete-gaussian" and not thorough and _gaussian(event):
            return None
        if _CHECKS[event.kind](event):
            return None
    except ArithmeticError:  # noise so small that its cost is no number
        pass
    epsilon, delta = event.cost
    stated = f"{format_fraction(epsilon)} at delta {format_fraction(delta)}" if delta else format_fraction(epsilon)
    return f"the noise of {', '.join(part.stage for part in event.parts)} is too small for its epsilon, {stated}"


def _laplace(event: Event) -> bool:
    return sum((part.sensitivity / Fraction(part.scale) for part in event.parts), Fraction(0)) <= event.cost[0]


def _clipped(event: Event) -> bool:
    """One draw of strength w costs w, and twice that where a record may be replaced; copies add up."""
    demanded = sum(
        (vector_sum_sensitivity(event.adjacency, part.cells) / Fraction(part.scale) for part in event.parts),
        Fraction(0),
    )
    return demanded <= event.cost[0] * (1 + ROUNDING)


def _believed(event: Event) -> bool:
    return True


def _floats(event: Event) -> tuple[float, float]:
    epsilon, delta = event.cost
    return round_down(epsilon), round_down(delta)


def gaussian_mu_of_parts(parts: Sequence[EventPart]) -> float:
    """Return mu of Gaussian noise on all these parts: the root of the sum of squared sensitivity over variance."""
    steps = (math.sqrt(part.changed_cells) * part.sensitivity / part.scale for part in parts)
    return min(math.hypot(*steps), LARGEST_MU)


def _gaussian(event: Event) -> bool:
    from sfumato.privacy.accounting.gaussian_calibration import gaussian_delta

    epsilon, delta = _floats(event)
    return gaussian_delta(epsilon, gaussian_mu_of_parts(event.parts)) <= delta * (1 + 1e-9)


def _discrete_gaussian(event: Event) -> bool:
    from sfumato.privacy.accounting.gaussian_calibration import concentrated_epsilon, is_certified_discrete

    epsilon, delta = _floats(event)
    if concentrated_epsilon(gaussian_mu_of_parts(event.parts) ** 2 / 2, delta) <= epsilon or _lattice(event):
        return True
    return max(part.scale for part in event.parts) <= LARGEST_SUMMED and is_certified_discrete(
        event.parts, epsilon, delta
    )


def _thresholded(event: Event) -> bool:
    """What thresholds leave of delta must pay for the counts."""
    from sfumato.privacy.accounting.stability_threshold import thresholds_delta

    left = event.cost[1] - Fraction(thresholds_delta(event.parts))
    return left > 0 and _discrete_gaussian(event.model_copy(update={"delta": fraction_to_text(left)}))


def _lattice(event: Event) -> bool:
    from sfumato.privacy.accounting.lattice_gaussian import composed_delta, tail_radius

    epsilon, delta = _floats(event)
    units = [part.sensitivity * math.sqrt(part.changed_cells) for part in event.parts]
    sigmas = [part.scale for part in event.parts]
    dimensions = sum(part.cells for part in event.parts)
    return composed_delta(epsilon, sigmas, units, dimensions, tail_radius(epsilon, delta)) <= delta


def _gaussian_and_choices(event: Event) -> bool:
    from sfumato.privacy.accounting.gaussian_and_selection import is_within_budget

    epsilon, delta = _floats(event)
    noisy, chosen = split_choices(event.parts)
    return is_within_budget(epsilon, delta, gaussian_mu_of_parts(noisy), selections_rho(chosen))


def split_choices(parts: Sequence[EventPart]) -> tuple[Sequence[EventPart], Sequence[EventPart]]:
    """Return the parts that got Gaussian noise, and the last part where that stands for choices."""
    chosen = parts[-1:] if parts[-1].stage == SELECTIONS_PART else ()
    return parts[: len(parts) - len(chosen)], chosen


def selections_rho(chosen: Sequence[EventPart]) -> float:
    """Return the rho of choices by exponential weights."""
    return math.fsum(1 / (8 * part.scale**2) for part in chosen)


_CHECKS: dict[str, Callable[[Event], bool]] = {
    "discrete-laplace": _laplace,
    "laplace": _laplace,
    "discrete-gaussian": _discrete_gaussian,
    "thresholded-gaussian": _thresholded,
    "gaussian": _gaussian,
    "lattice-gaussian": _lattice,
    "gaussian-and-choices": _gaussian_and_choices,
    "clipped-posterior": _clipped,
    "plausible-deniability": _believed,
}

_NEED_DELTA = frozenset(_CHECKS) - {"discrete-laplace", "laplace", "clipped-posterior"} | {"zero-concentrated"}

DISCRETISATION = 1e-4

"""Grid of the privacy loss in dp-accounting, rounded against us (pessimistic)."""


@lru_cache(maxsize=256)
def pure_or_approximate(epsilon: float, delta: float) -> Any:
    """Return the loss of the worst mechanism with this (epsilon, delta)."""
    from dp_accounting.pld import common, privacy_loss_distribution

    parameters = common.DifferentialPrivacyParameters(epsilon, delta)
    return privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=DISCRETISATION)


@lru_cache(maxsize=256)
def discrete_gaussian(sigma: float, sensitivity: int, times: int, interval: float = DISCRETISATION) -> Any:
    """Return the loss of ``times`` discrete Gaussian draws, each shifted by ``sensitivity``."""
    from dp_accounting.pld import privacy_loss_distribution

    one = privacy_loss_distribution.from_discrete_gaussian_mechanism(
        sigma, sensitivity=sensitivity, value_discretization_interval=interval
    )
    return repeated(one, times)


def discrete_gaussian_parts(parts: Sequence[EventPart], interval: float = DISCRETISATION) -> Any:
    """Return the joint loss of several tables with discrete Gaussian noise."""
    groups: dict[tuple[float, int], int] = {}
    for part in parts:
        key = (part.scale, part.sensitivity)
        groups[key] = groups.get(key, 0) + part.changed_cells
    losses = [discrete_gaussian(sigma, shift, times, interval) for (sigma, shift), times in groups.items()]
    return reduce(lambda a, b: a.compose(b), losses)


def stated_loss(event: Event) -> Any:
    """Return the loss of the worst mechanism with the cost that the event states."""
    epsilon, delta = event.cost
    return pure_or_approximate(round_up(epsilon), round_up(delta))


def _laplace_parts(event: Event) -> Any:
    """Each table is as bad as the worst mechanism of its own epsilon: scale and L1 sensitivity say which."""
    if not event.parts:
        return stated_loss(event)
    groups = Counter(round_up(part.sensitivity / Fraction(part.scale)) for part in event.parts)
    losses = [repeated(pure_or_approximate(epsilon, 0.0), times) for epsilon, times in groups.items()]
    return reduce(lambda a, b: a.compose(b), losses)


def repeated(loss: Any, times: int) -> Any:
    """Return the loss of independent repetitions."""
    return loss.self_compose(times) if times > 1 else loss


def _gaussian_parts(event: Event) -> Any:
    unit_shifts = all(part.sensitivity == 1 for part in event.parts)
    return discrete_gaussian_parts(event.parts) if unit_shifts and event.parts else stated_loss(event)


def _event_kinds_thresholded(event: Event) -> Any:
    """Gaussian counts, and a chance for values that only one neighbour holds: that much of the loss is unbounded."""
    from sfumato.privacy.accounting.stability_threshold import thresholds_delta

    unit_shifts = all(part.sensitivity == 1 for part in event.parts)
    if not unit_shifts or not event.parts:
        return stated_loss(event)
    counts = discrete_gaussian_parts(event.parts)
    chance = thresholds_delta(event.parts)
    return counts.compose(pure_or_approximate(0.0, chance)) if chance else counts


def _continuous_loss(name: str, event: Event) -> Any:
    """Compose the loss of every part of a continuous mechanism that another system ran."""
    from dp_accounting.pld import privacy_loss_distribution

    if not event.parts:
        return stated_loss(event)
    mechanism = getattr(privacy_loss_distribution, name)
    losses: list[Any] = []
    for part in event.parts:
        one = mechanism(part.scale, sensitivity=part.sensitivity, value_discretization_interval=DISCRETISATION)
        losses.append(repeated(one, part.changed_cells if name == "from_gaussian_mechanism" else 1))
    return reduce(lambda a, b: a.compose(b), losses)


for _kind in (
    EventKind(name="discrete-laplace", formal=True, guarantee="pure", loss=_laplace_parts),
    EventKind(name="discrete-gaussian", formal=True, guarantee="approximate", loss=_gaussian_parts),
    EventKind(name="thresholded-gaussian", formal=True, guarantee="approximate", loss=_event_kinds_thresholded),
    EventKind(name="laplace", formal=True, guarantee="pure", loss=partial(_continuous_loss, "from_laplace_mechanism")),
    EventKind(
        name="gaussian", formal=True, guarantee="approximate", loss=partial(_continuous_loss, "from_gaussian_mechanism")
    ),
    EventKind(name="lattice-gaussian", formal=True, guarantee="approximate", loss=stated_loss),
    EventKind(name="plausible-deniability", formal=True, guarantee="approximate", loss=stated_loss),
    EventKind(name="clipped-posterior", formal=True, guarantee="pure", loss=stated_loss),
    EventKind(name="gaussian-and-choices", formal=True, guarantee="approximate", loss=stated_loss),
    EventKind(name="declared", formal=True, guarantee="approximate", loss=stated_loss),
    EventKind(name="zero-concentrated", formal=True, guarantee="zero-concentrated", loss=stated_loss),
    EventKind(name="probabilistic", formal=True, guarantee="probabilistic", loss=stated_loss),
    EventKind(name="asymptotic", formal=False, guarantee="asymptotic"),
    EventKind(name="heuristic", formal=False, guarantee="heuristic"),
):
    register_event_kind(_kind)
