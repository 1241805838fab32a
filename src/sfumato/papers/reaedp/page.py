"""The page of the reproduction, its charts and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.charts import Axes, curves
from sfumato.papers.reaedp.results import Chart, Erratum, Reproduction
from sfumato.papers.reproduction_page import PageSection, PageTable, Panel, ReproductionPage, sections_of, summary_of
from sfumato.report.charts import Bars, Drawing, GreyImage, Heights, Line

LEAD = (
    "REAEDP combines noisy histograms judged by their entropy, synthetic records that must pass a privacy test, a "
    "private mean of curves, and attacks. Every figure and table that can be recomputed stands here as printed, as we "
    "get it, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = sections_of(results, panel, _errata(results.errata))
    facts = (
        ("seed of every simulation", f"{results.seed}, as in the paper"),
        ("data", "House Prices (SalePrice) and US unemployment (UNRATE); public columns, simulated releases"),
    )
    return ReproductionPage(results.title, LEAD, sections, facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    return summary_of(results)


def _errata(errata: tuple[Erratum, ...]) -> PageSection | None:
    if not errata:
        return None
    rows = tuple((str(e.number), e.paper, e.verdict, e.instead) for e in errata)
    header = ("", "the paper", "verdict", "what stands instead")
    text = "What software must do differently, in the order of the paper's argument. Numbers are computed here."
    return PageSection("Errata", (text,), (PageTable("", header, rows, (0,)),))


def panel(chart: Chart) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, drawing(chart))


def drawing(chart: Chart) -> Drawing:
    """Return what is drawn of a chart."""
    if chart.kind == "image":
        return GreyImage(chart.series[0].y)
    if chart.kind == "bars":
        heights = [Heights(s.name, s.y) for s in chart.series]
        return Bars(chart.places, heights, chart.x, chart.y, yardstick=chart.muted_first)
    drawn = [Line(s.name, s.x, s.y, faint=s.faint) for s in chart.series]
    axes = Axes(chart.x, chart.y, chart.top, chart.bottom, chart.logarithmic)
    return curves(drawn, axes, printed_first=chart.muted_first, rules=chart.rules)
