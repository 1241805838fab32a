"""Events that paid for the bought facts of a schema: every release from it shows them, so its guarantee counts them."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.core.plan import event_facts
from sfumato.errors import AccountingError, SchemaError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.exact import format_fraction
from sfumato.schema import Schema
from sfumato.schema.purchase import Purchase, unpaid

UNRECORDED_PURCHASE = "not recorded"
"""How the words of a purchase begin that no ledger holds."""
REMEDY = (
    "buy the facts again (sfumato schema buy), copy the purchase from the ledger into the schema as [[purchases]] "
    "(docs/buying-facts.md), or state facts of your own without 'bought'"
)


def purchased(schema: Schema) -> tuple[Event, ...]:
    """Return the event of each purchase of a schema, once; refuses facts of which nobody knows what they cost."""
    problems = [f"column {name}: bought, but no purchase is listed" for name in unpaid(schema, schema.purchases)]
    events: list[Event] = []
    for each in schema.purchases:
        try:
            events.append(_event(each))
        except (AccountingError, ValueError, TypeError, AttributeError):
            problems.append(f"purchase {each.words!r}: its event cannot be read")
        else:
            problems += _contradictions(each, events[-1], schema)
    if problems:
        headline = f"it is not known what the bought facts of table {schema.name!r} cost, and every release shows them"
        raise SchemaError(headline, problems, REMEDY)
    return tuple(events)


def cost_words(event: Event) -> str:
    """Return the cost of a purchase as the words of its columns state it."""
    return f"epsilon {format_fraction(event.cost[0])}, delta {format_fraction(event.cost[1])}"


def _event(purchase: Purchase) -> Event:
    event = Event.from_json(purchase.event)
    _ = event.cost  # refuses an exposure
    return event


def _contradictions(purchase: Purchase, event: Event, schema: Schema) -> Iterator[str]:
    name = f"purchase {purchase.words!r}"
    here = event_facts("", schema, "")
    for fact in ("table", "adjacency", "unit"):
        if getattr(event, fact) != here[fact]:
            yield f"{name}: its {fact} is {getattr(event, fact)!r}, that of the schema is {here[fact]!r}"
    if cost_words(event) not in purchase.words:
        yield f"{name}: its event costs {cost_words(event)}"
    if problem := understated_cost(event, thorough=False):
        yield f"{name}: {problem}"
    counted = {part.stage.partition(" of ")[2] for part in event.parts}
    missing = [each.name for each in schema if each.bought == purchase.words and each.name not in counted]
    if missing:
        yield f"{name}: its event did not count {', '.join(missing)}"
