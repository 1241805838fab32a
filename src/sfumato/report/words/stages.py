"""What was measured and recorded, line by line: stages, events, and the public facts of the columns."""

from __future__ import annotations

from sfumato.privacy.exact import exact, show
from sfumato.release.plan import UNSUMMED, Stage
from sfumato.report.document import ReleaseDocument
from sfumato.report.spread import Spread
from sfumato.report.words.cost import amount
from sfumato.report.words.numbers import say
from sfumato.report.words.released import released_columns
from sfumato.schema import Schema

STAGES = ("stage", "cells", "noise", "scale", "95 % of the noise", "epsilon", "share")
EVENTS = ("event", "method", "what it protects", "cost", "measured tables", "noise from", "note")
COLUMNS = ("column", "kind", "cells", "may be missing", "role")
IN_ROUNDS = (
    "Tables that were measured after the single columns stand as one stage: with the cells of the largest of them, and "
    "with the noise that their whole share would buy for one table. Each took a part of the share, so its noise is "
    "larger; the statistics below say how large."
)
SOURCES = {"secure": "the operating system", "seeded": "a fixed seed"}


def stages(document: ReleaseDocument) -> list[tuple[str, ...]]:
    """Return the table of stages: name, cells, noise, scale, 95 % of the noise, epsilon, share."""
    return [
        (
            stage.name,
            say(stage.cells),
            stage.noise,
            f"{stage.scale:.4g}",
            _noise_width(stage),
            stage.epsilon if stage.epsilon in UNSUMMED else show(exact(stage.epsilon)),
            f"{float(exact(stage.share)):.1%}",
        )
        for stage in document.stages
    ]


def _noise_width(stage: Stage) -> str:
    known = stage.noise.endswith(("laplace", "gaussian"))
    return f"± {say(Spread(stage.noise, stage.scale).half_width())}" if known else ""


def stage_note(document: ReleaseDocument) -> str:
    """Say how to read a stage whose tables were chosen one after another; empty for other methods."""
    return IN_ROUNDS if "noise_of_rounds" in document.statistics else ""


def events(document: ReleaseDocument) -> list[tuple[str, ...]]:
    """Return the table of events: what accountants read, and a ledger records; last what was charged apart."""
    return [
        (
            event.kind,
            event.method,
            f"one {event.unit}, {event.adjacency}" if not event.unit.startswith("the ") else event.unit,
            f"epsilon {amount(event.epsilon, event.delta)}" if event.epsilon else "none: an exposure",
            say(len(event.parts)),
            SOURCES[event.randomness],
            event.note,
        )
        for event in (*document.events, *document.guarantee.beside)
    ]


def columns(document: ReleaseDocument, schema: Schema) -> list[tuple[str, ...]]:
    """Return the public facts of the released columns: name, kind, cells, may be missing, role."""
    names = released_columns(document)
    return [
        (column.name, column.kind, say(column.size), "yes" if column.missing else "no", column.role or "")
        for column in schema
        if column.name in names
    ]


def notes(document: ReleaseDocument) -> list[str]:
    """Return the notes of a release that its promise does not say already."""
    told = {*document.guarantee.assumptions, *document.guarantee.warnings}
    return [f"{note[:1].upper()}{note[1:]}".removesuffix(".") + "." for note in document.notes if note not in told]
