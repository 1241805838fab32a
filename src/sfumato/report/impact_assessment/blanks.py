"""Blanks of the form that only people can fill in."""

from __future__ import annotations

from sfumato.report.blocks import BulletList, Paragraphs
from sfumato.report.texts import Texts

DOTS = "...................."
say = Texts("impact_assessment")


def blank_names() -> tuple[str, ...]:
    """Return what people fill in, in the order of the form."""
    return tuple(name for group in say.table("blanks").values() for name in group)


def dotted_lines(group: str) -> tuple[str, ...]:
    """Return the lines of one group of blanks.

    >>> dotted_lines("measures")[-1]
    'Next review: .................... (date, or what will start one)'
    """
    return tuple(f"{name}: {DOTS} ({asks})" for name, asks in say.table("blanks")[group].items())


def to_fill_in(group: str) -> tuple[Paragraphs, BulletList]:
    """Return one group of blanks for a section."""
    return Paragraphs((say("to_fill"),)), BulletList(dotted_lines(group))
