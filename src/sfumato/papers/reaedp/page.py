"""The page of the reproduction, its charts and its summary, from saved results alone."""

from __future__ import annotations

from typing import Any

import altair as alt

from sfumato.papers.charts import HEIGHT, Axes, Line, lines, side_by_side
from sfumato.papers.reaedp.results import Chart, Erratum, Reproduction
from sfumato.papers.reproduction_page import PageSection, PageTable, ReproductionPage, sections_of, summary_of
from sfumato.report.charts import PAGE, Palette, Panel, Spec, finished

LEAD = (
    "REAEDP combines noisy histograms judged by their entropy, synthetic records that must pass a privacy test, a "
    "private mean of curves, and attacks. Every figure and table that can be recomputed stands here as printed, as we "
    "get it, and with the reason where the two differ."
)
MANY_PLACES = 15
"""With more bars than this, only every fifth is named."""


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


def panel(chart: Chart, palette: Palette = PAGE) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, spec(chart, palette))


def spec(chart: Chart, palette: Palette = PAGE) -> Spec:
    """Return the specification of a chart."""
    if chart.kind == "image":
        return _image(chart)
    if chart.kind == "bars":
        return _bars(chart, palette)
    drawn = [Line(s.name, s.x, s.y, faint=s.faint) for s in chart.series]
    axes = Axes(chart.x, chart.y, chart.top, chart.bottom, chart.logarithmic)
    return lines(drawn, axes, palette, chart.muted_first, chart.rules)


def _bars(chart: Chart, palette: Palette) -> Spec:
    made = side_by_side(chart.places, [(s.name, s.y) for s in chart.series], chart.x, chart.y, palette)
    if not chart.muted_first:
        made["encoding"]["color"]["scale"]["range"] = list(palette.series[: len(chart.series)])
    if len(chart.places) > MANY_PLACES:
        made["encoding"]["x"]["axis"]["values"] = list(chart.places[4::5])
    return made


def _image(chart: Chart) -> Spec:
    """Return a square grey picture, one rectangle a pixel."""
    pixels: Any = alt.Chart(alt.InlineData(values=[int(value) for value in chart.series[0].y]))
    side = round(len(chart.series[0].y) ** 0.5)
    placed = pixels.transform_window(place="row_number()").transform_calculate(
        i=f"(datum.place - 1) % {side}", j=f"floor((datum.place - 1) / {side})"
    )
    grey = alt.Scale(domain=[0, 255], range=["black", "white"], interpolate="rgb")
    drawn = placed.mark_rect(strokeWidth=1).encode(
        x=alt.X("i:O", axis=None),
        y=alt.Y("j:O", axis=None),
        color=alt.Color("data:Q", scale=grey, legend=None),
        stroke=alt.Stroke("data:Q", scale=grey, legend=None),  # else hair lines show between pixels
    )
    return finished(drawn, HEIGHT)
