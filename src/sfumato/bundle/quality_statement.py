"""quality.json, the sealed quality statement beside a release, and the guarantee of everything in its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.bundle.ledger_record import DocumentPart, LedgerCost, RandomnessRecord, SealedPart
from sfumato.core.schema_assumptions import purchased, schema_assumptions
from sfumato.privacy.accounting.accountant import release_guarantee
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee, WithGuaranteeAndEvents
from sfumato.privacy.accounting.strength import require_strong_enough
from sfumato.schema import Schema
from sfumato.version import __version__

EXPOSED = "the released rows have no formal guarantee, and this one does not cover what they show"
"""What a statement about an exposure rests on: nothing can be added up."""


@dataclass(frozen=True)
class NoisyMetric:
    """One measure with noise: tvd_1_q16, prediction_accuracy, guess or another."""

    name: str
    words: str
    value: float
    low: float
    high: float
    yardstick: float | None = None
    """What it would be for as many fresh rows of the released shares, or for the guess; None where nothing is known."""

    @property
    def sentence(self) -> str:
        """The measure in one sentence."""
        beside = "" if self.yardstick is None else f" (yardstick {self.yardstick:.3g})"
        return f"{self.name} {self.value:.3g}, between {self.low:.3g} and {self.high:.3g}{beside}: {self.words}."


class StatementSubject(DocumentPart):
    """Which release a statement is about: nothing else may lie beside it."""

    seal: str
    sha256: str
    """Of the release.json."""
    rows_sha256: str
    """Of the released counts, by which the rows are known."""


class QualityStatement(WithGuaranteeAndEvents, SealedPart):
    """The content of quality.json. It holds nothing that depends on private rows but through its noisy numbers."""

    format: Literal[1] = 1
    created_at: str
    table: str
    about: StatementSubject
    target: str | None
    why: str
    correlations: tuple[str, ...] = ()
    level: float
    measures: tuple[NoisyMetric, ...]
    words: tuple[str, ...]
    noisy: tuple[tuple[int, ...], ...]
    """The noisy whole numbers that the measures follow from, part by part of the event."""
    guarantee: Guarantee
    statement: str
    events: tuple[Event, ...]
    randomness: RandomnessRecord
    recorded: LedgerCost | None = None
    version: str = __version__


def events_of(paths: Iterable[Path]) -> tuple[Event, ...]:
    """Return what statements were charged for, in their order."""
    statements = (QualityStatement.from_json(path.read_text(encoding="utf-8")) for path in paths)
    return tuple(event for statement in statements for event in statement.events)


def statement_note(created_at: str) -> str:
    """Return what the ledger is told about a statement: which release it is about, by its time."""
    return f"quality of the release of {created_at}"


def combined_guarantee(
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
