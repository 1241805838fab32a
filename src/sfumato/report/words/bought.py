"""Quality numbers that were bought from the confidential table: with noise, intervals, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sfumato.privacy.accounting.accountant import basic
from sfumato.privacy.exact import show
from sfumato.privacy.randomness import STAMP
from sfumato.report.words.numbers import percent

if TYPE_CHECKING:
    from sfumato.quality.document import QualityDocument
    from sfumato.quality.result import NoisyMeasure

BESIDE = {"tvd_1": "as many rows drawn afresh: {}", "tvd_2": "as many rows drawn afresh: {}", "prediction": "guess: {}"}
RELATED = "in the released rows: {}"
"""What the yardstick of a measure is."""
GUESS = "guess"
"""A measure that stands beside another, as its yardstick."""


class Line(NamedTuple):
    """One number in large type, its interval, and the words behind it."""

    number: str
    interval: str
    words: str


class Bought(NamedTuple):
    """One statement: its numbers in large type with the words behind them, and what all of it means."""

    lines: tuple[Line, ...]
    meaning: str
    warning: str
    statement: tuple[str, ...]
    """Its promise, word for word."""


def bought(said: QualityDocument) -> Bought:
    """Return a statement in words."""
    meaning = (
        f"Measured on the confidential table on {said.created_at[:10]}, with noise, for epsilon "
        f"{show(basic(said.events)[0])} of their own. All intervals hold together with probability "
        f"{100 * said.level:g} %."
    )
    stamp = said.randomness.stamp
    warning = f"{stamp.replace(STAMP, STAMP.upper())}: whoever knows the seed can remove the noise." if stamp else ""
    lines = tuple(_line(each) for each in said.measures if each.name != GUESS)
    return Bought(lines, meaning, warning, tuple(said.statement.splitlines()))


def _line(each: NoisyMeasure) -> Line:
    related = each.name.startswith("correlation ")
    shown = "{:.2g}".format if related else percent
    beside = RELATED if related else BESIDE.get(each.name)
    words = each.words.partition(";")[0] if related else each.words.removeprefix("share of ")
    told = f" ({beside.format(shown(each.yardstick))})" if beside and each.yardstick is not None else ""
    return Line(shown(each.value), f"{shown(each.low)} to {shown(each.high)}", f"{words}{told}")
