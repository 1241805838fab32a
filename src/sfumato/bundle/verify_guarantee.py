"""Check the guarantee of a bundle: its events compose to it, their noise is large enough, and the plan gives them.

All of it follows from release.json and the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sfumato.bundle.document import ProvenanceRecord, ReleaseDocument
from sfumato.bundle.layout import DOCUMENT, SCHEMA
from sfumato.core.method import registered_home, with_parameter
from sfumato.core.purchases import purchased
from sfumato.core.schema_assumptions import schema_assumptions
from sfumato.privacy.accounting.accountant import basic_composition, composed_totals
from sfumato.privacy.accounting.event import Event, event_kind
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.accounting.strength import is_refused
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.schema import Schema


def guarantee_problems(document: ReleaseDocument) -> Iterator[str]:
    """Compose the events again and compare the result with what is stated."""
    guarantee, events = document.guarantee, document.events
    if not events:
        yield f"{DOCUMENT} has no events"
        return
    formal = all(event_kind(event.kind).formal for event in events)
    if formal != guarantee.formal or guarantee.formal != document.method.formal:
        yield f"the guarantee is stated as {guarantee.kind}, which is not the kind of its events and method"
    elif guarantee.formal and composed_totals(guarantee, events) != (guarantee.exact_epsilon, guarantee.exact_delta):
        yield (
            f"the events compose to epsilon {format_fraction(composed_totals(guarantee, events)[0])}, "
            f"the guarantee says {format_fraction(guarantee.exact_epsilon)}"
        )
    if guarantee.allowed_weak != is_refused(guarantee.exact_epsilon, guarantee.exact_delta):
        yield "the guarantee does not say truly whether the custodian allowed so weak a promise"
    yield from _selection_cost_problems(document)
    if guarantee.recorded != (document.recorded is not None):
        yield "the guarantee and the record disagree on whether the cost was recorded"
    subjects = {
        (document.table, document.adjacency, document.unit),
        (guarantee.table, guarantee.adjacency, guarantee.unit),
        *((event.table, event.adjacency, event.unit) for event in guarantee.counted(events)),
    }
    if len(subjects) > 1:
        yield "document, guarantee and events do not speak of the same table, adjacency and unit"


def _selection_cost_problems(document: ReleaseDocument) -> Iterator[str]:
    chosen = document.guarantee.selection
    if chosen is None:
        return
    if not 1 <= chosen.climbed <= len(chosen.values):
        yield f"the selection stopped at candidate {chosen.climbed} of {len(chosen.values)}"
    if basic_composition(document.events) != (to_fraction(chosen.spent_epsilon), to_fraction(chosen.spent_delta)):
        yield "the events do not compose to what the selection says that its candidates and scores cost"


def wording_problems(document: ReleaseDocument) -> Iterator[str]:
    """Word the guarantee again and compare."""
    if document.statement != document.guarantee.statement():
        yield "the statement in plain words is not the one that the guarantee makes"


def account_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether an account that was charged for the release can stand as the bundle says."""
    if document.recorded is not None:
        yield from (f"{DOCUMENT}: {problem}" for problem in document.recorded.problems(document.events))


def noise_problems(document: ReleaseDocument) -> Iterator[str]:
    """Look whether the noise of each event is as large as its cost demands."""
    problems = (understated_cost(event) for event in document.guarantee.counted(document.events))
    yield from (problem for problem in problems if problem is not None)


def purchase_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Look whether the guarantee counts what the bought facts of the schema cost."""
    if document.guarantee.beside != (purchased(schema) if document.guarantee.formal else ()):
        yield f"the guarantee does not count the purchases that {SCHEMA} lists, or counts others"


def origin_problems(document: ReleaseDocument, schema: Schema) -> Iterator[str]:
    """Look whether the guarantee says where the facts of the schema come from; that of an older sfumato did not."""
    complete = set(document.guarantee.assumptions) >= set(schema_assumptions(schema, document.guarantee.formal))
    if not complete or document.facts != ProvenanceRecord.of(schema):
        yield f"{DOCUMENT} does not say where the facts in {SCHEMA} come from, as {SCHEMA} says it"


def all_events(document: ReleaseDocument) -> tuple[Event, ...]:
    """Return the events with those of a selection that were never run."""
    chosen = document.guarantee.selection
    return document.events if chosen is None else (*document.events, *chosen.unclimbed)


def plan_problems(
    document: ReleaseDocument, schema: Schema, selection_events: Callable[..., Any] | None = None
) -> Iterator[str]:
    """Plan again from public facts alone: cells, sensitivities, scales and shares must come out the same.

    ``selection_events`` plans the candidates of a selection; releases without one do not need it.
    """
    if registered_home(document.method.name) is None:
        return  # which is a problem by itself
    method, plan = document.replan(schema)
    candidates = None if selection_events is None else _selection_events(document, schema, method, selection_events)
    events = plan.events if candidates is None else candidates
    if events != all_events(document) or plan.stages != document.stages:
        yield "the method and its parameters do not lead to the events and stages that the bundle states"


def _selection_events(
    document: ReleaseDocument, schema: Schema, method: Any, selection_events: Callable[..., Any]
) -> tuple[Event, ...]:
    """Plan every candidate of a selection again; none where the kept release is not that at which it stopped."""
    chosen = document.guarantee.selection
    assert chosen is not None  # asked only of releases that a selection kept
    candidates = selection_events(chosen, method, schema, document.method.rows, document.randomness.mode)
    climbed = sum(len(events) for events in candidates[: chosen.climbed])
    kept = with_parameter(method, chosen.parameter, chosen.values[chosen.climbed - 1])
    if kept != method or climbed != len(document.events):
        return ()
    return tuple(event for events in candidates for event in events)
