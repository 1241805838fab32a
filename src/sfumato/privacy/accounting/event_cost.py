"""Does an event state at least what its parts cost? Asked before a ledger admits it, and whenever one is verified.

What can be checked depends on the kind. Laplace noise: the sum of sensitivity over scale. Gaussian noise, on counts or
on a lattice, alone or with choices: the same certificates by which it was planned. A clipped posterior: its strength.
The privacy test of plausible deniability is recorded by one of its four numbers only, and a declared release by none:
there the stated cost is believed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.privacy.accounting.event import Event, Part
from sfumato.privacy.accounting.sensitivity import sum_norm
from sfumato.privacy.exact import round_down, show, text

CHOICES = "choices of tables"
"""Stage whose part is no noise but choices by exponential weights; its scale is 1 over their strength."""
LARGEST_MU = 1e150
LARGEST_SUMMED = 2.0**16
"""Sigma up to which the law of discrete noise is summed up; above it the lattice theorem decides."""
ROUNDING = Fraction(1, 10**12)
"""Relative room for a scale that was rounded to a float."""


def cost_problem(event: Event, *, thorough: bool = True) -> str | None:
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
    stated = f"{show(epsilon)} at delta {show(delta)}" if delta else show(epsilon)
    return f"the noise of {', '.join(part.stage for part in event.parts)} is too small for its epsilon, {stated}"


def _laplace(event: Event) -> bool:
    return sum((part.sensitivity / Fraction(part.scale) for part in event.parts), Fraction(0)) <= event.cost[0]


def _clipped(event: Event) -> bool:
    """One draw of strength w costs w, and twice that where a record may be replaced; copies add up."""
    demanded = sum((sum_norm(event.adjacency, part.cells) / Fraction(part.scale) for part in event.parts), Fraction(0))
    return demanded <= event.cost[0] * (1 + ROUNDING)


def _believed(event: Event) -> bool:
    return True


def _floats(event: Event) -> tuple[float, float]:
    epsilon, delta = event.cost
    return round_down(epsilon), round_down(delta)


def noise_mu(parts: Sequence[Part]) -> float:
    """Return mu of Gaussian noise on all these parts: the root of the sum of squared sensitivity over variance."""
    steps = (math.sqrt(part.changed_cells) * part.sensitivity / part.scale for part in parts)
    return min(math.hypot(*steps), LARGEST_MU)


def _gaussian(event: Event) -> bool:
    from sfumato.privacy.accounting.calibration import gaussian_delta

    epsilon, delta = _floats(event)
    return gaussian_delta(epsilon, noise_mu(event.parts)) <= delta * (1 + 1e-9)


def _discrete_gaussian(event: Event) -> bool:
    from sfumato.privacy.accounting.calibration import concentrated_epsilon, is_certified

    epsilon, delta = _floats(event)
    if concentrated_epsilon(noise_mu(event.parts) ** 2 / 2, delta) <= epsilon or _lattice(event):
        return True
    return max(part.scale for part in event.parts) <= LARGEST_SUMMED and is_certified(event.parts, epsilon, delta)


def _thresholded(event: Event) -> bool:
    """What thresholds leave of delta must pay for the counts."""
    from sfumato.privacy.accounting.thresholds import threshold_delta

    left = event.cost[1] - Fraction(threshold_delta(event.parts))
    return left > 0 and _discrete_gaussian(event.model_copy(update={"delta": text(left)}))


def _lattice(event: Event) -> bool:
    from sfumato.privacy.accounting.lattice_gaussian import composed_delta, far_reach

    epsilon, delta = _floats(event)
    units = [part.sensitivity * math.sqrt(part.changed_cells) for part in event.parts]
    sigmas = [part.scale for part in event.parts]
    dimensions = sum(part.cells for part in event.parts)
    return composed_delta(epsilon, sigmas, units, dimensions, far_reach(epsilon, delta)) <= delta


def _gaussian_and_choices(event: Event) -> bool:
    from sfumato.privacy.accounting.gaussian_choices import covers

    epsilon, delta = _floats(event)
    noisy, chosen = split_choices(event.parts)
    return covers(epsilon, delta, noise_mu(noisy), choices_rho(chosen))


def split_choices(parts: Sequence[Part]) -> tuple[Sequence[Part], Sequence[Part]]:
    """Return the parts that got Gaussian noise, and the last part where that stands for choices."""
    chosen = parts[-1:] if parts[-1].stage == CHOICES else ()
    return parts[: len(parts) - len(chosen)], chosen


def choices_rho(chosen: Sequence[Part]) -> float:
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
