"""One self-contained page about the reproduction of a paper: printed, ours, and why.

A page is a title and sections; a section is text, tables and figures. It is rendered from typed results alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.report import render as render_template
from sfumato.report.charts import Panel
from sfumato.version import __version__


@dataclass(frozen=True)
class PageTable:
    """A table in words: a caption, a header and rows; ``numbers`` are the columns that are set to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    folded: bool = False
    """Whether the reader opens it: for long tables."""


@dataclass(frozen=True)
class PageFigure:
    """Charts under one title, with notes."""

    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageSection:
    """One section: paragraphs, then tables, then figures."""

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[PageTable, ...] = ()
    figures: tuple[PageFigure, ...] = ()


@dataclass(frozen=True)
class ReproductionPage:
    """A whole page."""

    title: str
    lead: str
    sections: tuple[PageSection, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """What the numbers depend on: seed, draws, data."""


def comparison_table(title: str, rows: tuple[tuple[str, str, str, str], ...]) -> PageTable:
    """Return the table that every reproduction has: what, printed, ours, why."""
    return PageTable(title, ("what", "printed", "ours", "why they differ"), rows)


def render(page: ReproductionPage) -> str:
    """Return the page as HTML that loads nothing from anywhere."""
    specs = {
        f"chart-{s}-{f}-{p}": panel.spec
        for s, section in enumerate(page.sections, 1)
        for f, figure in enumerate(section.figures, 1)
        for p, panel in enumerate(figure.panels, 1)
    }
    return render_template("reproduction.html.j2", specs, version=__version__, banners=(), page=page)
