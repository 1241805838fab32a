"""Self-contained HTML page of a reproduction: printed, recomputed, and the reason they differ.

A page is a title and sections; a section is text, tables and figures: one for each part, and one for the errata. It
is rendered from typed results alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sfumato.papers.charts import Chart, drawing
from sfumato.papers.data import DATA_VARIABLE
from sfumato.papers.result import Comparison, Erratum, Part, Reproduction, ValueTable, value_table
from sfumato.report import render_page as render_template
from sfumato.report.charts import Figure, figure_html
from sfumato.version import __version__

SMALL, LARGE = 240, 300
"""Heights of charts side by side, and of one that has the width of the page."""


@dataclass(frozen=True)
class Panel:
    """One chart, with a title where a figure has several, and a sentence on what it shows."""

    title: str
    label: str
    drawing: Figure

    @classmethod
    def of(cls, chart: Chart) -> Panel:
        """Return the panel of a chart."""
        return cls(chart.title, chart.label, drawing(chart))

    def drawn(self, narrow: bool) -> Markup:
        """Return the chart; its main numbers stand in its words for those who cannot see it."""
        label = f"{self.label.rstrip('.')}. {self.drawing.spoken()}"
        return figure_html(self.drawing, label, SMALL if narrow else LARGE, narrow)


@dataclass(frozen=True)
class PageFigure:
    """Charts under one title, with notes."""

    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()

    def charts(self) -> list[tuple[str, Markup]]:
        """Return the charts with their titles: several stand side by side, one has the page."""
        return [(panel.title, panel.drawn(len(self.panels) > 1)) for panel in self.panels]


@dataclass(frozen=True)
class PageSection:
    """One section: paragraphs, then tables, then figures."""

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[ValueTable, ...] = ()
    figures: tuple[PageFigure, ...] = ()
    short: str = ""
    """Its words in the navigation, where they are not the title."""


@dataclass(frozen=True)
class ReproductionPage:
    """A whole page."""

    title: str
    lead: str
    sections: tuple[PageSection, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """What the numbers depend on: seed, draws, data."""


def comparison_table(comparisons: Iterable[Comparison], title: str = "") -> ValueTable:
    """Return the table that every reproduction has: what, printed, ours, why."""
    rows = [(each.what, each.printed, each.ours, each.why) for each in comparisons]
    return value_table(title, ("what", "printed", "ours", "why they differ"), rows, words=4)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part: the errata, where they were checked, and a section for each part."""
    sections = tuple(_section(part, results.folder) for part in results.parts)
    return ReproductionPage(results.title, results.lead, (*errata_sections(results.errata), *sections), results.facts)


ERRATA_COLUMNS = {
    "": "name",
    "the paper": "paper",
    "what holds": "holds",
    "verdict": "verdict",
    "why": "why",
    "what Sfumato does": "instead",
    "the authors' own caveat": "caveat",
}
"""Headings of the table of errata; a column without any words is left out."""


def errata_sections(errata: Sequence[Erratum]) -> tuple[PageSection, ...]:
    """Return what the paper says, what holds and what Sfumato does; nothing where nothing was checked."""
    if not errata:
        return ()
    columns = {title: [str(getattr(each, field)) for each in errata] for title, field in ERRATA_COLUMNS.items()}
    shown = {title: cells for title, cells in columns.items() if any(cells)}
    rows = tuple(zip(*shown.values(), strict=True))
    text = "What the paper says, what we measure, and what Sfumato does. Every number is computed here."
    return (PageSection("Errata", (text,), (value_table("", tuple(shown), rows, words=len(shown)),)),)


def summary(results: Reproduction) -> ValueTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    rows: list[tuple[str, ...]] = []
    for part in results.parts:
        rows += [(part.label, row.what, row.printed, row.ours) for row in part.comparisons]
        rows += [(part.label, "not recomputed", "", f"{file} is missing; set {DATA_VARIABLE}") for file in part.missing]
    return value_table("Printed and ours", ("part", "what", "printed", "ours"), rows, words=4)


def _section(part: Part, folder: str) -> PageSection:
    compared = (comparison_table(part.comparisons),) if part.comparisons else ()
    text, tables = (*_missing(part, folder), *part.text), (*compared, *part.values)
    return PageSection(part.title, text, tables, _figures(part), part.short)


def _figures(part: Part) -> tuple[PageFigure, ...]:
    """Return the charts, a full row in each figure."""
    a_row = part.charts_a_row or max(len(part.charts), 1)
    rows = [part.charts[start : start + a_row] for start in range(0, len(part.charts), a_row)]
    return tuple(
        PageFigure(f"{part.label}, continued" if i else "", tuple(map(Panel.of, row)), () if i else part.notes)
        for i, row in enumerate(rows)
    )


def _missing(part: Part, folder: str) -> tuple[str, ...]:
    if not part.missing:
        return ()
    what = "Left out" if not part.comparisons else "Shown without what needs data"
    files, are, it = " and ".join(part.missing), *(("is", "it") if len(part.missing) == 1 else ("are", "them"))
    return (f"{what}: {files} {are} not in {folder!r}. Set {DATA_VARIABLE} to the folder that holds {it}.",)


def render(page: ReproductionPage) -> str:
    """Return the page as HTML that loads nothing from anywhere."""
    return render_template("reproduction.html.j2", version=__version__, banners=(), page=page)
