"""One self-contained page about the reproduction of a paper: printed, ours, and why.

A page is a title and sections; a section is text, tables and figures: one for each part, and one for the errata. It
is rendered from typed results alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.papers.data import DATA_VARIABLE
from sfumato.papers.results import Erratum, PartOf, ReproductionOf
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


Draw = Callable[[Any], Panel]
"""Draws one chart of a paper."""


def sections_of(results: ReproductionOf[Any], draw: Draw, errata: PageSection | None) -> tuple[PageSection, ...]:
    """Return the errata, where the whole paper was run, and a section for each part."""
    parts = [_section(part, results.folder, draw) for part in results.parts]
    return (*([errata] if errata is not None else []), *parts)


def errata_section(errata: Sequence[Erratum]) -> PageSection | None:
    """Return what the paper says, what we measure and what Sfumato does; None where nothing was checked."""
    if not errata:
        return None
    rows = tuple((e.name, e.paper, e.measured, e.instead) for e in errata)
    text = "What the paper says, what we measure, and what Sfumato does. Every number is computed here."
    header = ("", "the paper", "measured", "what Sfumato does")
    return PageSection("Errata", (text,), (PageTable("", header, rows),))


def summary_of(results: ReproductionOf[Any]) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    rows: list[tuple[str, ...]] = []
    for part in results.parts:
        rows += [(part.label, row.what, row.printed, row.ours) for row in part.comparisons]
        rows += [(part.label, "not recomputed", "", f"{file} is missing; set {DATA_VARIABLE}") for file in part.missing]
    return PageTable("Printed and ours", ("part", "what", "printed", "ours"), tuple(rows))


def _section(part: PartOf[Any], folder: str, draw: Draw) -> PageSection:
    tables = [PageTable(values.title, values.header, values.rows, values.numbers) for values in part.values]
    if part.comparisons:
        rows = tuple((c.what, c.printed, c.ours, c.why) for c in part.comparisons)
        tables.insert(0, comparison_table("", rows))
    return PageSection(part.title, (*_missing(part, folder), *part.text), tuple(tables), _figures(part, draw))


def _figures(part: PartOf[Any], draw: Draw) -> tuple[PageFigure, ...]:
    """Return the charts, a full row in each figure."""
    title, a_row = part.label, part.charts_a_row
    rows = [part.charts[start : start + a_row] for start in range(0, len(part.charts), a_row)]
    return tuple(
        PageFigure(f"{title}, continued" if i else title, tuple(map(draw, row)), () if i else part.notes)
        for i, row in enumerate(rows)
    )


def _missing(part: PartOf[Any], folder: str) -> tuple[str, ...]:
    if not part.missing:
        return ()
    what = "Left out" if not part.comparisons else "Shown without what needs data"
    files, are, it = " and ".join(part.missing), *(("is", "it") if len(part.missing) == 1 else ("are", "them"))
    return (f"{what}: {files} {are} not in {folder!r}. Set {DATA_VARIABLE} to the folder that holds {it}.",)


def render(page: ReproductionPage) -> str:
    """Return the page as HTML that loads nothing from anywhere."""
    specs = {
        f"chart-{s}-{f}-{p}": panel.spec
        for s, section in enumerate(page.sections, 1)
        for f, figure in enumerate(section.figures, 1)
        for p, panel in enumerate(figure.panels, 1)
    }
    return render_template("reproduction.html.j2", specs, version=__version__, banners=(), page=page)
