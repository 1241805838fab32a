"""The fine print: the promise in full, stages, events, budget, where facts come from and who vouched for them."""

from __future__ import annotations

from typing import Any

from sfumato.report.document import PAGES, ReleaseDocument
from sfumato.report.words import stages
from sfumato.report.words.cost import cost
from sfumato.report.words.numbers import say
from sfumato.report.words.promise import identified
from sfumato.report.words.statistics import statistics
from sfumato.report.words.vouched import who_vouched
from sfumato.schema import Schema

MOST_STAGES = 10
"""Stages that are shown at once; the others are folded."""


def fine_print(document: ReleaseDocument, schema: Schema) -> dict[str, Any]:
    """Return what released_fine.html.j2 shows."""
    return {
        "statement": document.statement.splitlines(),
        "identified": identified(document, schema),
        "cost": cost(document),
        "entries": [(entry.sequence, entry.hash) for entry in (document.recorded.entries if document.recorded else ())],
        "stage_header": stages.STAGES,
        "stages": stages.stages(document),
        "most_stages": MOST_STAGES,
        "stage_note": stages.stage_note(document),
        "event_header": stages.EVENTS,
        "events": stages.events(document),
        "statistics": statistics(document),
        "notes": stages.notes(document),
        "vouched": who_vouched(schema),
        "column_header": stages.COLUMNS,
        "columns": stages.columns(document, schema),
        "files": [
            (path, say(file.bytes), file.sha256)
            for path, file in sorted(document.files.items(), key=lambda item: item[0])
            if path not in PAGES
        ],
    }
