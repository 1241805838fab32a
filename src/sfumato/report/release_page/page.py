"""Render report.html, and the custodian's version of it with true counts.

The public page is computed from the document, the schema and the released tables, and from nothing else. The
custodian's copy also gets true counts, and says so on top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.bundle.description import budget_text, cost_statement, replanned_forecast, warnings_of
from sfumato.bundle.document import ReleaseDocument, Tables
from sfumato.bundle.layout import PAGES
from sfumato.core.method import HasTrueValues, Method
from sfumato.core.plan import UNSUMMED, Stage, StageNoise
from sfumato.formatting import capitalize_first, format_number, percent, percent_fixed
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.exact import format_fraction, to_fraction
from sfumato.privacy.randomness import STAMP
from sfumato.report.page import print_margins, render_page
from sfumato.report.release_page.data import data_section, marginals_for_true_counts
from sfumato.report.texts import Texts
from sfumato.report.texts.guarantee import guarantee_text, public_identifiers
from sfumato.report.texts.numbers import StatisticText, main_numbers_table, statistic_texts, statistics
from sfumato.report.texts.provenance import provenance_card
from sfumato.report.texts.summary import explanation, headline, quality_lines, released_columns, uses_text
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.bundle.quality_statement import NoisyMetric, QualityStatement
    from sfumato.table import Table

FRESH, GUESSED = "as many rows drawn afresh: {}", "guess: {}"
BESIDE = {
    "tvd_1_q16": FRESH,
    "tvd_2_q16": FRESH,
    "prediction_accuracy": GUESSED,
    "prediction_range_error": GUESSED,
}
RELATED = "in the released rows: {}"
"""What the yardstick of a measure is."""
GUESS = "guess"
"""A measure that stands beside another, as its yardstick."""
MOST_STAGES = 10
"""Stages that are shown at once; the others are folded."""
STAGES = ("stage", "cells", "noise", "scale", "95 % of the noise", "epsilon", "share")
EVENTS = ("event", "method", "what it protects", "cost", "measured tables", "noise from", "note")
COLUMNS = ("column", "kind", "cells", "may be missing", "role")
SOURCES = {"secure": "the operating system", "seeded": "a fixed seed"}


def public_report(
    document: ReleaseDocument, schema: Schema, tables: Tables, statements: Sequence[QualityStatement] = ()
) -> str:
    """Return the page that goes into the bundle; with ``statements``, the one that also shows bought numbers."""
    return _render(document, schema, data_section(document, schema, tables), None, statements=statements)


def custodian_report(
    document: ReleaseDocument,
    schema: Schema,
    tables: Tables,
    table: Table,
    method: Method,
    confidential: Mapping[str, Any] | None = None,
) -> str:
    """Return the custodian's copy: true values beside the released ones, and numbers about the private rows."""
    own = statistic_texts(confidential or {})
    if isinstance(method, HasTrueValues):
        some = (schema.releasable[0],)
        shown = data_section(document, schema, tables, method.true_values(table))
        return _render(document, schema, shown, int(table.marginals([some])[some].sum()), own)
    sets = marginals_for_true_counts(document, schema, tables)
    truth = table.marginals(sets)
    return _render(document, schema, data_section(document, schema, tables, truth), int(truth[sets[0]].sum()), own)


def _render(
    document: ReleaseDocument,
    schema: Schema,
    shown: Mapping[str, Any],
    true_rows: int | None,
    confidential: Sequence[StatisticText] = (),
    statements: Sequence[QualityStatement] = (),
) -> str:
    return render_page(
        "report.html.j2",
        version=document.versions["sfumato"],
        document=document,
        private=true_rows is not None,
        banners=warnings_of(document, true_rows),
        sheet=print_margins(document),
        confidential=confidential,
        say=format_number,
        **first_screen(document, schema, statements),
        **shown,
        **fine_print(document, schema),
    )


class MeasuredLine(NamedTuple):
    """One number in large type, the words behind it, and its interval."""

    number: str
    words: str
    interval: str


class QualityCard(NamedTuple):
    """One statement: its numbers in large type with the words behind them, and what all of it means."""

    lines: tuple[MeasuredLine, ...]
    meaning: str
    warning: str
    statement: tuple[str, ...]
    """Its promise, word for word."""


def quality_statement_card(statement: QualityStatement) -> QualityCard:
    """Return a statement in words."""
    meaning = Texts("release")(
        "data.bought",
        day=statement.created_at[:10],
        epsilon=format_fraction(basic_composition(statement.events)[0]),
        level=percent(statement.level, 6),
    )
    stamp = statement.randomness.stamp
    warning = f"{stamp.replace(STAMP, STAMP.upper())}: whoever knows the seed can remove the noise." if stamp else ""
    lines = tuple(_line(each) for each in statement.measures if each.name != GUESS)
    return QualityCard(lines, meaning, warning, tuple(statement.statement.splitlines()))


def _line(each: NoisyMetric) -> MeasuredLine:
    related = each.name.startswith("normal_score_correlation ")
    shown = "{:.2g}".format if related else percent
    beside = RELATED if related else BESIDE.get(each.name)
    words = each.words.partition(";")[0] if related else each.words.removeprefix("share of ")
    yardstick = f" ({beside.format(shown(each.yardstick))})" if beside and each.yardstick is not None else ""
    return MeasuredLine(shown(each.value), f"{words}{yardstick}", f"{shown(each.low)} to {shown(each.high)}")


def first_screen(
    document: ReleaseDocument, schema: Schema, statements: Sequence[QualityStatement] = ()
) -> dict[str, Any]:
    """Return what released_first.html.j2 shows."""
    forecast = replanned_forecast(document, schema)
    return {
        "headline": headline(document),
        "explained": explanation(document, schema),
        "uses": uses_text(document, forecast),
        "good": quality_lines(forecast),
        "unknown": Texts("release")("verdict.unknown"),
        "bought": [quality_statement_card(statement) for statement in statements],
        "promise": guarantee_text(document),
        "sure": main_numbers_table(document, schema),
    }


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
    return [capitalize_first(note).removesuffix(".") + "." for note in document.notes if note not in stated]
