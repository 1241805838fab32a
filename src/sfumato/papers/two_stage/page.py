"""The page of the reproduction, its charts and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.charts import Axes, curves
from sfumato.papers.reproduction_page import (
    PageTable,
    Panel,
    ReproductionPage,
    errata_section,
    sections_of,
    summary_of,
)
from sfumato.papers.two_stage.results import Chart, Reproduction
from sfumato.report.charts import Bars, Drawing, Heights, Line

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


def panel(chart: Chart) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, drawing(chart))


def drawing(chart: Chart) -> Drawing:
    """Return what is drawn of a chart."""
    if chart.kind == "bars":
        heights = [Heights(each.name, each.y) for each in chart.series]
        return Bars(chart.labels, heights, chart.x, chart.y, yardstick=True)
    drawn = [Line(each.name, each.x, each.y) for each in chart.series]
    axes = Axes(chart.x, chart.y, top=None, logarithmic=False)
    return curves(drawn, axes, printed_first=False, rules=chart.rules)
