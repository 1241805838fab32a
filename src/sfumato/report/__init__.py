"""Reports of releases, comparisons, attacks and risks: pages, charts and their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.report.page import render_page as render_page

__getattr__, __dir__ = lazy_names(__name__)
