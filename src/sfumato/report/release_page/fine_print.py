"""Fine print of a report: full guarantee, stages, events, budget and sources of facts."""

from __future__ import annotations

from typing import Any

from sfumato.bundle.description import budget_text, cost_statement
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import PAGES
from sfumato.core.plan import UNSUMMED, Stage, StageNoise
from sfumato.formatting import format_number, percent_fixed
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.report.texts import Texts
from sfumato.report.texts.guarantee import public_identifiers
from sfumato.report.texts.headline import released_columns
from sfumato.report.texts.provenance import provenance_card
from sfumato.report.texts.statistics import statistics
from sfumato.schema import Schema

MOST_STAGES = 10
"""Stages that are shown at once; the others are folded."""


def fine_print(document: ReleaseDocument, schema: Schema) -> dict[str, Any]:
    """Return what released_fine.html.j2 shows."""
    return {
        "statement": document.statement.splitlines(),
        "identified": public_identifiers(document, schema),
        "cost": cost_statement(document),
        "entries": [(entry.sequence, entry.hash) for entry in (document.recorded.entries if document.recorded else ())],
        "stage_header": STAGES,
        "stages": stage_rows(document),
        "most_stages": MOST_STAGES,
        "stage_note": stage_note(document),
        "event_header": EVENTS,
        "events": event_rows(document),
        "statistics": statistics(document),
        "notes": notes(document),
        "vouched": provenance_card(schema),
        "column_header": COLUMNS,
        "columns": column_rows(document, schema),
        "files": [
            (path, format_number(file.bytes), file.sha256)
            for path, file in sorted(document.files.items(), key=lambda item: item[0])
            if path not in PAGES
        ],
    }


STAGES = ("stage", "cells", "noise", "scale", "95 % of the noise", "epsilon", "share")
EVENTS = ("event", "method", "what it protects", "cost", "measured tables", "noise from", "note")
COLUMNS = ("column", "kind", "cells", "may be missing", "role")
SOURCES = {"secure": "the operating system", "seeded": "a fixed seed"}


def stage_rows(document: ReleaseDocument) -> list[tuple[str, ...]]:
    """Return the table of stages: name, cells, noise, scale, 95 % of the noise, epsilon, share."""
    return [
        (
            stage.name,
            format_number(stage.cells),
            stage.noise,
            f"{stage.scale:.4g}",
            _noise_width(stage),
            stage.epsilon if stage.epsilon in UNSUMMED else format_fraction(to_fraction(stage.epsilon)),
            percent_fixed(float(to_fraction(stage.share))),
        )
        for stage in document.stages
    ]


def _noise_width(stage: Stage) -> str:
    known = stage.noise.endswith(("laplace", "gaussian"))
    return f"± {format_number(StageNoise(stage.noise, stage.scale).half_width())}" if known else ""


def stage_note(document: ReleaseDocument) -> str:
    """Say how to read a stage whose tables were chosen one after another; empty for other methods."""
    return Texts("release")("data.rounds") if "noise_of_rounds" in document.statistics else ""


def event_rows(document: ReleaseDocument) -> list[tuple[str, ...]]:
    """Return the table of events: what accountants read, and a ledger records; last what was charged apart."""
    return [
        (
            event.kind,
            event.method,
            f"one {event.unit}, {event.adjacency}" if not event.unit.startswith("the ") else event.unit,
            f"epsilon {budget_text(event.epsilon, event.delta)}" if event.epsilon else "none: an exposure",
            format_number(len(event.parts)),
            SOURCES[event.randomness],
            event.note,
        )
        for event in (*document.events, *document.guarantee.beside)
    ]


def column_rows(document: ReleaseDocument, schema: Schema) -> list[tuple[str, ...]]:
    """Return the public facts of the released columns: name, kind, cells, may be missing, role."""
    names = released_columns(document)
    return [
        (column.name, column.kind, format_number(column.size), "yes" if column.missing else "no", column.role or "")
        for column in schema
        if column.name in names
    ]


def notes(document: ReleaseDocument) -> list[str]:
    """Return the notes of a release that its promise does not say already."""
    stated = {*document.guarantee.assumptions, *document.guarantee.warnings}
    return [f"{note[:1].upper()}{note[1:]}".removesuffix(".") + "." for note in document.notes if note not in stated]
