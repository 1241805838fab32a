"""What the tests of every reproduction share: the charts of a page."""

from __future__ import annotations

import re


def charts_of(page: str) -> list[str]:
    """Return the words of every chart of a page, in order: each panel has one for a phone or a narrow place."""
    return re.findall(r'<svg class="slender"[^>]* role="img" aria-label="([^"]*)"', page)
