"""Result of a quality measurement: noisy metrics, intervals and cost."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.bundle.quality_statement import NoisyMetric
from sfumato.formatting import percent
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.guarantee import Guarantee
from sfumato.privacy.ledger import Account, Entry, Ledger
from sfumato.privacy.randomness import STAMP, Randomness
from sfumato.reprs import ReprMixin


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, repr=False)
class Quality(ReprMixin):
    """What a release's readers may be told: paid for, so public."""

    table: str
    release: str
    """Seal of the release.json that it is about; empty where the release was not saved yet."""
    measures: tuple[NoisyMetric, ...]
    guarantee: Guarantee
    events: tuple[Event, ...]
    level: float = 0.95
    target: str | None = None
    """The column that is predicted; None where none can be."""
    why: str = ""
    """Why this column is predicted, or none."""
    correlations: tuple[str, ...] = ()
    """Columns whose correlations were bought."""
    noisy: tuple[tuple[int, ...], ...] = ()
    """The noisy whole numbers that everything here is computed from, part by part of the event."""
    rows_sha256: str = ""
    """What tells the released rows from others (:class:`~sfumato.evaluate.quality.questions.PublicFacts`)."""
    randomness: Randomness = field(default_factory=Randomness)
    entries: tuple[Entry, ...] = ()
    account: Account | None = None
    ledger: Ledger | None = field(default=None, repr=False)
    """Where the cost was recorded; ``save`` marks there what became of it."""
    created_at: str = field(default_factory=_now)

    _headers = ("measure", "value", "95 % interval", "yardstick")

    def __getitem__(self, name: str) -> NoisyMetric:
        return next(each for each in self.measures if each.name == name)

    @property
    def stamp(self) -> str | None:
        """ "not for release" on every artefact of a seeded run."""
        return self.randomness.stamp

    def _line(self) -> str:
        stamp = "NOT FOR RELEASE; " if self.stamp else ""
        return f"{stamp}{self.table!r}: " + ", ".join(f"{m.name} {m.value:.3g}" for m in self.measures)

    def _lines(self) -> list[tuple[str, ...]]:
        yardstick = ("" if m.yardstick is None else f"{m.yardstick:.3g}" for m in self.measures)
        return [
            (m.name, f"{m.value:.3g}", f"{m.low:.3g} to {m.high:.3g}", beside)
            for m, beside in zip(self.measures, yardstick, strict=True)
        ]

    @property
    def words(self) -> tuple[str, ...]:
        """The statement in plain sentences."""
        return statement_text(self.measures, self.level, self.stamp)

    def statement(self) -> str:
        """Return the measures and what is promised, in plain words."""
        return "\n".join((*self.words, self.guarantee.statement()))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that may be public as plain values."""
        return {
            "table": self.table,
            "release": self.release,
            "target": self.target,
            "why": self.why,
            "correlations": list(self.correlations),
            "level": self.level,
            "measures": [asdict(each) for each in self.measures],
            "words": list(self.words),
            "guarantee": self.guarantee.model_dump(mode="json"),
            "statement": self.guarantee.statement(),
            "events": [event.model_dump(mode="json") for event in self.events],
            "noisy": [list(part) for part in self.noisy],
            "stamp": self.stamp,
        }

    def save(self, directory: str | Path, again: bool = False) -> Path:
        """Write the statement into the bundle that it is about, beside the release's own files; return its path.

        A bundle that has a statement takes another only with ``again``: it was paid for again, and both stay.
        """
        from sfumato.evaluate.quality.statement import write_statement

        return write_statement(self, directory, again)


def statement_text(measures: tuple[NoisyMetric, ...], level: float, stamp: str | None) -> tuple[str, ...]:
    """Return measures in sentences: the stamp first, what the intervals mean last."""
    stamped = (f"{stamp.replace(STAMP, STAMP.upper())}: whoever knows the seed can remove the noise.",) if stamp else ()
    meaning = (
        "Measured on the confidential table with noise, which is paid for. All intervals hold together with "
        f"probability {percent(level, 6)}; 0 is the best distance."
    )
    return (*stamped, *(each.sentence for each in measures), meaning)
