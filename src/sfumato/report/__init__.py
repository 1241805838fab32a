"""Reports of releases, comparisons, attacks and risks: pages, charts and their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.report.blocks import ChartBlock as ChartBlock
    from sfumato.report.blocks import Page as Page
    from sfumato.report.blocks import Paragraphs as Paragraphs
    from sfumato.report.blocks import Section as Section
    from sfumato.report.blocks import TableBlock as TableBlock
    from sfumato.report.page import to_html as to_html

__getattr__, __dir__ = lazy_names(__name__)
