"""The guarantee of a release and its quality statements: who sees the folder sees all of them, so they compose."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.purchases import purchased
from sfumato.core.schema_assumptions import schema_assumptions
from sfumato.privacy.accounting.accountant import release_guarantee
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.accounting.strength import require_strong_enough
from sfumato.schema import Schema

EXPOSED = "the released rows have no formal guarantee, and this one does not cover what they show"
"""What a statement about an exposure rests on: nothing can be added up."""


def together(
    events: Sequence[Event],
    schema: Schema,
    released: tuple[Guarantee, Sequence[Event]] | None,
    earlier: Sequence[Event] = (),
    recorded: bool = False,
    allow_weak: bool | None = None,
) -> Guarantee:
    """Return what the release, earlier statements about it and a statement with these events promise together.

    A promise that is too weak is refused, unless the release was allowed to be weak or ``allow_weak`` says so.
    """
    promise, its_events = released or (None, ())
    if promise is not None and promise.formal:
        beside, assumptions = promise.counted(its_events), promise.assumptions
    else:
        beside, assumptions = purchased(schema), (EXPOSED, *schema_assumptions(schema, formal=True))
    composed = release_guarantee(events, (*beside, *earlier))
    allowed = promise is not None and promise.allowed_weak if allow_weak is None else allow_weak
    facts = {
        "rows": schema.rows,
        "recorded": recorded,
        "assumptions": assumptions,
        "uncharged": "" if promise is None else promise.uncharged,
        "allowed_weak": require_strong_enough(composed.exact_epsilon, composed.exact_delta, allowed),
    }
    return composed.model_copy(update=facts)
