"""The glossary of pages and documentation; its terms are in glossary.toml.

docs/glossary.md is made from it, and :mod:`~sfumato.report.page` links each word at its first use on a page.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from sfumato.report.texts import text_file


class Term(NamedTuple):
    """A word, what it means in a sentence or two, and other forms of it that are linked as well."""

    name: str
    meaning: str
    others: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The name of its anchor.

        >>> Term("Cramér's V", "").place
        'word-cramers-v'
        """
        plain = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode().replace("'", "")
        return f"word-{re.sub(r'[^a-z0-9]+', '-', plain.lower()).strip('-')}"


terms = tuple(Term(name, each["meaning"], tuple(each.get("also", ()))) for name, each in text_file("glossary").items())
"""Every term, by its name."""


def as_markdown() -> str:
    """Return docs/glossary.md; docs/make_glossary.py writes it."""
    lead = "The words of the reports and of these pages. Every report explains those that it uses at its end."
    lines = ["# Glossary", "", lead, "", "## Words"]
    for term in terms:
        also = f" Also: {', '.join(term.others)}." if term.others else ""
        lines += ["", f"### {term.name}", "", f"{term.meaning}{also}"]
    return "\n".join([*lines, ""])
