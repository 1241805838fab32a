"""What a printed page carries on every sheet: the table, the day, the fingerprint, and its number among all sheets."""

from __future__ import annotations

import re

from markupsafe import Markup

from sfumato.report.document import ReleaseDocument

PLAIN = re.compile(r"[^A-Za-z0-9 .,:_-]")
LONGEST = 60
SHORT = 16
"""Digits of the fingerprint that stand on a sheet; the sheet with the signatures has all of them."""
SHEET = """
@page {{
  @top-left {{ content: "Sfumato release: {table}"; }}
  @top-right {{ content: "{stamp}{day}"; }}
  @bottom-left {{ content: "fingerprint {fingerprint}"; }}
}}
"""


def sheet(document: ReleaseDocument) -> Markup:
    """Return the rules for the margins of paper; the stylesheet adds the page numbers."""
    stamp = f"{document.randomness.stamp}; " if document.randomness.stamp else ""
    return Markup(  # noqa: S704  every text in it was escaped for a stylesheet
        SHEET.format(
            table=in_stylesheet(document.table[:LONGEST]),
            stamp=in_stylesheet(stamp.upper()),
            day=in_stylesheet(document.created_at[:10]),
            fingerprint=document.fingerprint[:SHORT],
        )
    )


def in_stylesheet(text: str) -> str:
    """Return text that can stand between the quotes of a stylesheet inside a page, whatever is in it.

    >>> in_stylesheet('a"b</style>')
    'a\\\\22 b\\\\3c \\\\2f style\\\\3e '
    """
    return PLAIN.sub(lambda found: f"\\{ord(found.group()):x} ", text)
