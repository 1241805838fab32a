"""Parts, title, lead and run settings of the REAEDP reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.compute import PartEntry, require_part
from sfumato.papers.data import require_files
from sfumato.papers.page import (
    ChartAxes,
    PageSection,
    PageTable,
    Panel,
    ReproductionPage,
    curves,
    part_sections,
    summary_table,
)
from sfumato.papers.reaedp.attacks import figure_7
from sfumato.papers.reaedp.entropy_sensitivity import figure_3, figure_4, table_s1
from sfumato.papers.reaedp.errata import errata
from sfumato.papers.reaedp.histograms import PRICES, SEED, UNRATE, Sources
from sfumato.papers.reaedp.images import figure_s1, figure_s2
from sfumato.papers.reaedp.mean_curves import figure_2
from sfumato.papers.reaedp.noisy_histograms import figure_5, figure_6, figure_8, figure_s4, table_iv, table_s3
from sfumato.papers.reaedp.pass_rate import figure_1
from sfumato.papers.reaedp.results import Chart, Erratum, Part, Reproduction
from sfumato.report.charts import Bars, BarSeries, Figure, ImageMark, LineMark
from sfumato.version import __version__

TITLE = "REAEDP: entropy-calibrated differentially private data release"

ENTRIES: tuple[PartEntry[Sources, Part], ...] = (
    PartEntry("figure 1", figure_1, (PRICES,)),
    PartEntry("figure 2", figure_2),
    PartEntry("figure 3", figure_3),
    PartEntry("figure 4", figure_4),
    PartEntry("figure 5", figure_5, (PRICES,)),
    PartEntry("figure 6", figure_6, (PRICES,)),
    PartEntry("figure 7", figure_7, (PRICES,)),
    PartEntry("figure 8", figure_8, (PRICES,)),
    PartEntry("figure S1", figure_s1),
    PartEntry("figure S2", figure_s2),
    PartEntry("figure S4", figure_s4, (PRICES, UNRATE)),
    PartEntry("table IV", table_iv, (), (PRICES,)),
    PartEntry("table S1", table_s1),
    PartEntry("table S3", table_s3, (), (PRICES, UNRATE)),
)

"""Every figure and table that is reproduced, in the order of the page."""


def parts() -> tuple[str, ...]:
    """Return the names of the figures and tables that can be asked for one by one.

    >>> parts()[0], parts()[-1]
    ('figure 1', 'table S3')
    """
    return tuple(entry.name for entry in ENTRIES)


def reproduce(folder: Path | None = None, only: str | None = None) -> Reproduction:
    """Compute every part, or ``only`` one; parts whose data are absent are left out and say so.

    A part that is asked for by name needs its data: without them this is an error.
    """
    sources = Sources.find(folder)
    if only is None:
        made = tuple(_build(entry, sources) for entry in ENTRIES)
        return _results(sources, made, whole=True)
    require_part("reaedp", only, parts())
    entry = next(each for each in ENTRIES if each.name == only)
    require_files(sources.folder, entry.needs)
    return _results(sources, (_build(entry, sources),), whole=False)


def _build(entry: PartEntry[Sources, Part], sources: Sources) -> Part:
    missing = entry.missing(sources.present)
    if any(name in missing for name in entry.needs):
        return Part(name=entry.name, missing=missing)
    return entry.build(sources).model_copy(update={"missing": missing})


def _results(sources: Sources, made: tuple[Part, ...], whole: bool) -> Reproduction:
    place = str(sources.folder) if any(part.missing for part in made) else ""
    return Reproduction(
        paper="reaedp",
        title=TITLE,
        sfumato=__version__,
        seed=SEED,
        folder=place,
        parts=made,
        errata=errata() if whole else (),
    )


LEAD = (
    "REAEDP combines noisy histograms judged by their entropy, synthetic records that must pass a privacy test, a "
    "private mean of curves, and attacks. Every figure and table that can be recomputed stands here as printed, as we "
    "get it, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = part_sections(results, panel, _errata(results.errata))
    facts = (
        ("seed of every simulation", f"{results.seed}, as in the paper"),
        ("data", "House Prices (SalePrice) and US unemployment (UNRATE); public columns, simulated releases"),
    )
    return ReproductionPage(results.title, LEAD, sections, facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    return summary_table(results)


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


def drawing(chart: Chart) -> Figure:
    """Return what is drawn of a chart."""
    if chart.kind == "image":
        return ImageMark(chart.series[0].y)
    if chart.kind == "bars":
        heights = [BarSeries(s.name, s.y) for s in chart.series]
        return Bars(chart.places, heights, chart.x, chart.y, yardstick=chart.muted_first)
    drawn = [LineMark(s.name, s.x, s.y, faint=s.faint) for s in chart.series]
    axes = ChartAxes(chart.x, chart.y, chart.top, chart.bottom, chart.logarithmic)
    return curves(drawn, axes, printed_first=chart.muted_first, rules=chart.rules)
