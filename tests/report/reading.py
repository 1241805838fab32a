"""What a reader of a page reads: its words without its elements."""

from __future__ import annotations

import html
import re


def words_of(page: str) -> str:
    """Return the words of a page; a linked word reads as any other."""
    return html.unescape(re.sub(r"</?(?:a|abbr|dfn)\b[^>]*>", "", page))
