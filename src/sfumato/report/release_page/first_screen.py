"""First screen of a report: contents, verdict, quality and guarantee of the release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.bundle.description import replanned_forecast
from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import percent
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.exact import format_fraction
from sfumato.privacy.randomness import STAMP
from sfumato.report.texts import Texts
from sfumato.report.texts.guarantee import guarantee_text
from sfumato.report.texts.headline import explanation, headline
from sfumato.report.texts.main_numbers import main_numbers_table
from sfumato.report.texts.verdict import quality_lines, uses_text
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.bundle.quality_statement import NoisyMetric, QualityStatement

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


class NumberLine(NamedTuple):
    """One number in large type, its interval, and the words behind it."""

    number: str
    interval: str
    words: str


class QualityCard(NamedTuple):
    """One statement: its numbers in large type with the words behind them, and what all of it means."""

    lines: tuple[NumberLine, ...]
    meaning: str
    warning: str
    statement: tuple[str, ...]
    """Its promise, word for word."""


def quality_statement_card(statement: QualityStatement) -> QualityCard:
    """Return a statement in words."""
    meaning = (
        f"Measured on the confidential table on {statement.created_at[:10]}, with noise, for epsilon "
        f"{format_fraction(basic_composition(statement.events)[0])} of their own. All intervals hold together with "
        f"probability "
        f"{percent(statement.level, 6)}."
    )
    stamp = statement.randomness.stamp
    warning = f"{stamp.replace(STAMP, STAMP.upper())}: whoever knows the seed can remove the noise." if stamp else ""
    lines = tuple(_line(each) for each in statement.measures if each.name != GUESS)
    return QualityCard(lines, meaning, warning, tuple(statement.statement.splitlines()))


def _line(each: NoisyMetric) -> NumberLine:
    related = each.name.startswith("normal_score_correlation ")
    shown = "{:.2g}".format if related else percent
    beside = RELATED if related else BESIDE.get(each.name)
    words = each.words.partition(";")[0] if related else each.words.removeprefix("share of ")
    yardstick = f" ({beside.format(shown(each.yardstick))})" if beside and each.yardstick is not None else ""
    return NumberLine(shown(each.value), f"{shown(each.low)} to {shown(each.high)}", f"{words}{yardstick}")


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
