"""Compose recorded events into one guarantee; kinds of guarantee are never mixed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.errors import AccountingError
from sfumato.privacy.accounting.event import Event, event_kind
from sfumato.privacy.accounting.guarantee import Guarantee, for_one_unit
from sfumato.privacy.exact import Number, fraction_to_text, round_down, to_fraction

ASSUMPTION_FIXED = "the parameters of all releases were fixed before the first of them was seen"


def basic_composition(events: Sequence[Event]) -> tuple[Fraction, Fraction]:
    """Return the exact sums of epsilon and delta.

    Theorem (basic composition, also as a filter): the sums bound the whole even when each release and its
    parameters are chosen after seeing all earlier ones.
    """
    _same("unit", events)
    costs = [event.cost for event in events]
    return sum((c[0] for c in costs), Fraction(0)), sum((c[1] for c in costs), Fraction(0))


def compose(events: Sequence[Event], delta: Number = 0) -> Guarantee:
    """Return the guarantee of all events together.

    With ``delta`` 0 and pure events this is the exact sum. Otherwise the curve of all events together is read off at
    ``delta``; the smaller of that and of the exact sums is returned.
    """
    _require_one_table(events)
    _require_one_kind(events)
    epsilon, sum_of_deltas = basic_composition(events)
    target = to_fraction(delta, "delta")
    assumptions: tuple[str, ...] = ()
    tight = tight_epsilon(events, target) if target > 0 else None
    if tight is not None and (tight < epsilon or sum_of_deltas > target):
        epsilon, sum_of_deltas, assumptions = tight, target, (ASSUMPTION_FIXED,)
    elif sum_of_deltas > target > 0:
        raise AccountingError(
            f"these events have no finite epsilon at delta {float(target):g}: their own deltas sum to "
            f"{float(sum_of_deltas):g}",
            next_step="ask for a larger delta",
        )
    return formal_guarantee(events, epsilon, sum_of_deltas, assumptions)


def tight_epsilon(events: Sequence[Event], delta: Number) -> Fraction | None:
    """Return epsilon at ``delta`` of all events together, read off their curve, which is rounded against us.

    Gaussian noise and choices (AIM, MST) count by the sums of their mu^2 and rho, discrete Laplace noise by its own
    atoms, whatever has no closed form by dp-accounting. None means that no finite epsilon holds at that delta.
    """
    from sfumato.privacy.accounting.privacy_curve import privacy_curve

    if not events:
        return Fraction(0)
    epsilon = privacy_curve(events).epsilon(round_down(to_fraction(delta, "delta")))
    return None if epsilon is None else to_fraction(epsilon)


def _require_one_kind(events: Sequence[Event]) -> None:
    if len({event.is_formal for event in events}) > 1:
        raise AccountingError(
            "formal releases and exposures cannot be composed into one guarantee",
            next_step="compose the formal events; show the exposures beside them",
        )


def _require_one_table(events: Sequence[Event]) -> None:
    if not events:
        raise AccountingError("no events to compose", next_step="give at least one event")
    for what in ("adjacency", "unit", "table"):
        _same(what, events)


def _same(what: str, events: Sequence[Event]) -> None:
    values = sorted({getattr(event, what) for event in events})
    if len(values) > 1:
        raise AccountingError(
            f"events of different {what} cannot be composed: {', '.join(values)}",
            next_step="compose the events of one table under one adjacency and one unit",
        )


def release_guarantee(events: Sequence[Event], beside: Sequence[Event] = ()) -> Guarantee:
    """Return the guarantee of one release: exact sums where every event is formal, and an exposure otherwise.

    ``beside`` are events that were charged apart and whose output is shown as well: a formal promise counts them.
    """
    _require_one_table(events)
    if not all(event.is_formal for event in events):
        return _exposure_of(events)
    everything = for_one_unit((*events, *beside))
    _require_one_table(everything)
    whole = formal_guarantee(everything, *basic_composition(everything))
    return whole.model_copy(update={"beside": tuple(beside)}).resting_on(events)


def composed_totals(guarantee: Guarantee, events: Sequence[Event]) -> tuple[Fraction, Fraction]:
    """Return the exact totals of these events and of everything else that the guarantee counts."""
    return basic_composition(guarantee.counted(events))


def _exposure_of(events: Sequence[Event]) -> Guarantee:
    """Label events of which not all are formal by the weakest kind among them: heuristic before asymptotic."""
    kinds = {event_kind(event.kind).guarantee for event in events if not event.is_formal}
    weakest: Any = max(kinds, key=lambda kind: (kind == "heuristic", kind))
    return Guarantee(kind=weakest, **_shared_facts(events))


def _shared_facts(events: Sequence[Event]) -> dict[str, Any]:
    seeded = any(event.randomness == "seeded" for event in events)
    first = events[0]
    return {
        "adjacency": first.adjacency,
        "unit": first.unit,
        "table": first.table,
        "randomness": "seeded" if seeded else "secure",
    }


def formal_guarantee(
    events: Sequence[Event],
    epsilon: Fraction,
    delta: Fraction,
    assumptions: tuple[str, ...] = (),
) -> Guarantee:
    """Return the guarantee of formal events for totals that an accountant computed."""
    kinds = {event_kind(event.kind).guarantee for event in events}
    kind: Any = "approximate" if delta else (kinds.pop() if len(kinds) == 1 else "pure")
    kind = "pure" if kind == "approximate" and not delta else kind
    facts = {"epsilon": fraction_to_text(epsilon), "delta": fraction_to_text(delta), "assumptions": assumptions}
    return Guarantee(kind=kind, **facts, **_shared_facts(events)).resting_on(events)
