"""The page of the reproduction, its charts and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.charts import Axes, Line, lines, side_by_side
from sfumato.papers.reproduction_page import PageTable, ReproductionPage, errata_section, sections_of, summary_of
from sfumato.papers.two_stage.results import Chart, Reproduction
from sfumato.report.charts import PAGE, Palette, Panel, Spec

LEAD = (
    "The paper makes inputs by Latin hypercube sampling, blends each with an original row, and predicts their outputs "
    "by kernel ridge regression. It is a heuristic: no differential privacy. Figures 4 to 13 and tables 4, 7 and 8 "
    "stand here as printed, as we get them, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = sections_of(results, panel, errata_section(results.errata))
    facts = (
        ("seed", f"{results.seed}; every trial has its own"),
        ("trials", f"{results.runs} on simulated data, {3 * results.runs} on prices, at most two on each real table"),
        *((("networks", results.networks),) if results.networks else ()),
        (
            "sizes",
            "simulated: 500 rows, 200 public, 500 test, the second row of the paper's table 3; EIA and CHP: 1500 "
            "rows drawn at random, as in the paper",
        ),
        (
            "models",
            "KRR: lambda and reach by leave-one-out; NWK: bandwidth by leave-one-out; AdaBoost 30 trees of "
            "depth 7, RF 40 of depth 10, fixed where the paper cross-validates",
        ),
        ("not known", "values of the figures (only drawn), prices, the noise that was run, unit of the tolerance"),
    )
    return ReproductionPage(results.title, LEAD, sections, facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    return summary_of(results)


def panel(chart: Chart, palette: Palette = PAGE) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, spec(chart, palette))


def spec(chart: Chart, palette: Palette = PAGE) -> Spec:
    """Return the specification of a chart. Losses lie below 0, so that the axis of lines begins where they do."""
    if chart.kind == "bars":
        return side_by_side(chart.labels, [(each.name, each.y) for each in chart.series], chart.x, chart.y, palette)
    drawn = [Line(each.name, each.x, each.y) for each in chart.series]
    low = min((min(each.y) for each in chart.series), default=0.0)
    axes = Axes(chart.x, chart.y, top=None, bottom=low if low < 0 else None, logarithmic=False)
    return lines(drawn, axes, palette, False, chart.rules)
