"""quality.json: a statement beside the release that it is about, sealed like release.json."""

from __future__ import annotations

from typing import Literal

from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import BesideEvents, Guarantee
from sfumato.privacy.ledger.recorded import RandomnessRecord, Record, RecordedCost
from sfumato.privacy.sealed import SealedJson
from sfumato.quality.result import NoisyMeasure, Quality
from sfumato.version import __version__

LAYOUT = SealedJson(indent=2, empty="")


class AboutRelease(Record):
    """Which release a statement is about: nothing else may lie beside it."""

    seal: str
    sha256: str
    """Of the release.json."""
    rows_sha256: str
    """Of the released counts, by which the rows are known."""


class QualityDocument(BesideEvents, Record):
    """The content of quality.json. It holds nothing that depends on private rows but through its noisy numbers."""

    format: Literal[1] = 1
    created_at: str
    table: str
    about: AboutRelease
    target: str | None
    why: str
    correlations: tuple[str, ...] = ()
    level: float
    measures: tuple[NoisyMeasure, ...]
    words: tuple[str, ...]
    noisy: tuple[tuple[int, ...], ...]
    """The noisy whole numbers that the measures follow from, part by part of the event."""
    guarantee: Guarantee
    statement: str
    events: tuple[Event, ...]
    randomness: RandomnessRecord
    recorded: RecordedCost | None = None
    version: str = __version__
    seal: str = ""

    @classmethod
    def of(cls, made: Quality, about: AboutRelease) -> QualityDocument:
        """Return the sealed document of a statement."""
        recorded = RecordedCost.of(made.entries, made.account) if made.entries and made.account else None
        return cls(
            created_at=made.created_at,
            table=made.table,
            about=about,
            target=made.target,
            why=made.why,
            correlations=made.correlations,
            level=made.level,
            measures=made.measures,
            words=made.words,
            noisy=made.noisy,
            guarantee=made.guarantee,
            statement=made.guarantee.statement(),
            events=made.events,
            randomness=RandomnessRecord.of(made.randomness),
            recorded=recorded,
        ).sealed()

    def sealed(self) -> QualityDocument:
        """Return the document with the seal that its content has."""
        return self.model_copy(update={"seal": LAYOUT.seal(self.model_dump(mode="json"))})

    def to_json(self) -> str:
        """Return canonical JSON: sorted keys, two spaces, UTF-8, one newline at the end."""
        return LAYOUT.text(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, data: str) -> QualityDocument:
        """Read a document back; unknown fields and other formats are refused."""
        return cls.model_validate_json(data)
