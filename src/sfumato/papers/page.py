"""Page of a reproduction: printed, recomputed, and the reason they differ.

One section for each part, and one for the errata: text, tables and figures. It is made from typed results alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from sfumato.papers.charts import Chart, drawing
from sfumato.papers.data import DATA_VARIABLE
from sfumato.papers.result import Erratum, Part, Reproduction, ValueTable, value_table
from sfumato.report import ChartBlock, Page, Paragraphs, Section, TableBlock
from sfumato.report.charts import figure_html
from sfumato.version import __version__

SMALL, LARGE = 240, 300
"""Heights of charts side by side, and of one that has the width of the page."""
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
ABOUT_ERRATA = "What the paper says, what we measure, and what Sfumato does. Every number is computed here."


def page_of(results: Reproduction) -> Page:
    """Return the whole page, or that of one part: the errata, where they were checked, and a section for each part."""
    contents = [("Errata", _errata(results.errata), "")] if results.errata else []
    contents += [(part.title, tuple(_blocks(part, results.folder)), part.short) for part in results.parts]
    sections = tuple(Section(f"section-{number}", *each) for number, each in enumerate(contents, 1))
    facts = "".join(f"{name}: {value}. " for name, value in results.facts)
    tab, footer = f"{results.title}: reproduction", f"{facts}sfumato {__version__}."
    return Page(results.title, results.lead, (), sections, "Sfumato reproduction", footer, tab)


def summary(results: Reproduction) -> ValueTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    rows: list[tuple[str, ...]] = []
    for part in results.parts:
        rows += [(part.label, row.what, row.printed, row.ours) for row in part.comparisons]
        rows += [(part.label, "not recomputed", "", f"{file} is missing; set {DATA_VARIABLE}") for file in part.missing]
    return value_table("Printed and ours", ("part", "what", "printed", "ours"), rows, words=4)


def _errata(errata: Sequence[Erratum]) -> tuple[Paragraphs, TableBlock]:
    """Return what the paper says, what holds and what Sfumato does."""
    columns = {title: [str(getattr(each, field)) for each in errata] for title, field in ERRATA_COLUMNS.items()}
    shown = {title: cells for title, cells in columns.items() if any(cells)}
    return Paragraphs((ABOUT_ERRATA,)), TableBlock(tuple(shown), tuple(zip(*shown.values(), strict=True)))


def _blocks(part: Part, folder: str) -> Iterator[Paragraphs | TableBlock | ChartBlock]:
    """Yield paragraphs, then tables, then the charts, a full row in each figure."""
    if text := (*_missing(part, folder), *part.text):
        yield Paragraphs(text)
    if part.comparisons:
        rows = tuple((each.what, each.printed, each.ours, each.why) for each in part.comparisons)
        yield TableBlock(("what", "printed", "ours", "why they differ"), rows)
    for each in part.values:
        table = TableBlock(each.header, each.rows, each.numbers, "" if each.folded else each.title)
        yield ChartBlock("", (), tables=(table,), unfold=each.title) if each.folded else table
    a_row = part.charts_a_row or max(len(part.charts), 1)
    for start in range(0, len(part.charts), a_row):
        picture = _panels(part.charts[start : start + a_row])
        yield ChartBlock(f"{part.label}, continued" if start else "", () if start else part.notes, picture)


def _panels(charts: Sequence[Chart]) -> Markup:
    """Return charts with their titles: several stand side by side, one has the page.

    The main numbers of a chart stand in its words for those who cannot see it.
    """
    narrow, panels = len(charts) > 1, Markup("")
    for chart in charts:
        figure, title = drawing(chart), Markup("<h4>{}</h4>").format(chart.title) if chart.title else ""
        words = f"{chart.label.rstrip('.')}. {figure.spoken()}"
        drawn = figure_html(figure, words, SMALL if narrow else LARGE, narrow)
        panels += Markup('<div class="panel">{}{}</div>').format(title, drawn)
    return Markup('<div class="panels several">{}</div>').format(panels)


def _missing(part: Part, folder: str) -> tuple[str, ...]:
    if not part.missing:
        return ()
    what = "Left out" if not part.comparisons else "Shown without what needs data"
    files, are, it = " and ".join(part.missing), *(("is", "it") if len(part.missing) == 1 else ("are", "them"))
    return (f"{what}: {files} {are} not in {folder!r}. Set {DATA_VARIABLE} to the folder that holds {it}.",)
