"""The kinds of events that Sfumato emits, each with its privacy loss distribution.

Why discrete Laplace is accounted as randomised response: on integers with sensitivity 1 the log-ratio of the two
discrete Laplace laws takes only the values +epsilon and -epsilon, so it is exactly the worst epsilon-DP
mechanism. The privacy loss distribution of the *continuous* Laplace mechanism is better than that and would
understate the cost: 100 releases at 0.1 compose to 4.7746 at delta 1e-6, not to 4.6927.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Any

from sfumato.privacy.accounting.event import Event, EventKind, Part, register_kind
from sfumato.privacy.exact import round_up

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


def discrete_gaussian_parts(parts: Sequence[Part], interval: float = DISCRETISATION) -> Any:
    """Return the joint loss of several tables with discrete Gaussian noise."""
    groups: dict[tuple[float, int], int] = {}
    for part in parts:
        key = (part.scale, part.sensitivity)
        groups[key] = groups.get(key, 0) + part.changed_cells
    losses = [discrete_gaussian(sigma, shift, times, interval) for (sigma, shift), times in groups.items()]
    return reduce(lambda a, b: a.compose(b), losses)


def stated(event: Event) -> Any:
    """Return the loss of the worst mechanism with the cost that the event states."""
    epsilon, delta = event.cost
    return pure_or_approximate(round_up(epsilon), round_up(delta))


def _laplace_parts(event: Event) -> Any:
    """Each table is as bad as the worst mechanism of its own epsilon: scale and L1 sensitivity say which."""
    if not event.parts:
        return stated(event)
    groups = Counter(round_up(part.sensitivity / Fraction(part.scale)) for part in event.parts)
    losses = [repeated(pure_or_approximate(epsilon, 0.0), times) for epsilon, times in groups.items()]
    return reduce(lambda a, b: a.compose(b), losses)


def repeated(loss: Any, times: int) -> Any:
    """Return the loss of independent repetitions."""
    return loss.self_compose(times) if times > 1 else loss


def _gaussian_parts(event: Event) -> Any:
    unit_shifts = all(part.sensitivity == 1 for part in event.parts)
    return discrete_gaussian_parts(event.parts) if unit_shifts and event.parts else stated(event)


def _thresholded(event: Event) -> Any:
    """Gaussian counts, and a chance for values that only one neighbour holds: that much of the loss is unbounded."""
    from sfumato.privacy.accounting.thresholds import threshold_delta

    unit_shifts = all(part.sensitivity == 1 for part in event.parts)
    if not unit_shifts or not event.parts:
        return stated(event)
    counts = discrete_gaussian_parts(event.parts)
    chance = threshold_delta(event.parts)
    return counts.compose(pure_or_approximate(0.0, chance)) if chance else counts


def _continuous(name: str, event: Event) -> Any:
    """Compose the loss of every part of a continuous mechanism that another system ran."""
    from dp_accounting.pld import privacy_loss_distribution

    if not event.parts:
        return stated(event)
    mechanism = getattr(privacy_loss_distribution, name)
    losses: list[Any] = []
    for part in event.parts:
        one = mechanism(part.scale, sensitivity=part.sensitivity, value_discretization_interval=DISCRETISATION)
        losses.append(repeated(one, part.changed_cells if name == "from_gaussian_mechanism" else 1))
    return reduce(lambda a, b: a.compose(b), losses)


for _kind in (
    EventKind(name="discrete-laplace", formal=True, guarantee="pure", loss=_laplace_parts),
    EventKind(name="discrete-gaussian", formal=True, guarantee="approximate", loss=_gaussian_parts),
    EventKind(name="thresholded-gaussian", formal=True, guarantee="approximate", loss=_thresholded),
    EventKind(name="laplace", formal=True, guarantee="pure", loss=partial(_continuous, "from_laplace_mechanism")),
    EventKind(
        name="gaussian", formal=True, guarantee="approximate", loss=partial(_continuous, "from_gaussian_mechanism")
    ),
    EventKind(name="lattice-gaussian", formal=True, guarantee="approximate", loss=stated),
    EventKind(name="plausible-deniability", formal=True, guarantee="approximate", loss=stated),
    EventKind(name="clipped-posterior", formal=True, guarantee="pure", loss=stated),
    EventKind(name="gaussian-and-choices", formal=True, guarantee="approximate", loss=stated),
    EventKind(name="declared", formal=True, guarantee="approximate", loss=stated),
    EventKind(name="zero-concentrated", formal=True, guarantee="zero-concentrated", loss=stated),
    EventKind(name="probabilistic", formal=True, guarantee="probabilistic", loss=stated),
    EventKind(name="asymptotic", formal=False, guarantee="asymptotic"),
    EventKind(name="heuristic", formal=False, guarantee="heuristic"),
):
    register_kind(_kind)
