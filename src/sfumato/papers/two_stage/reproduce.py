"""Parts, title, lead and run settings of the two-stage reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import PlanError
from sfumato.papers.compute import require_part
from sfumato.papers.data import data_folder, missing_files
from sfumato.papers.page import (
    ChartAxes,
    PageTable,
    Panel,
    ReproductionPage,
    curves,
    errata_section,
    part_sections,
    summary_table,
)
from sfumato.papers.two_stage import beyond_the_paper, figures, mismatch, prices, requirements
from sfumato.papers.two_stage.data import FILES
from sfumato.papers.two_stage.errata import errata
from sfumato.papers.two_stage.results import Chart, Part, Reproduction
from sfumato.papers.two_stage.shared_results import RUNS, SharedResults
from sfumato.papers.two_stage.trial import SEED
from sfumato.report.charts import Bars, BarSeries, Figure, LineMark
from sfumato.version import __version__

TITLE = "Two-stage data synthesization: a statistics-driven restricted trade-off between privacy and prediction"

ENTRIES = {
    "figure 4": figures.figure_4,
    "figure 5": figures.figure_5,
    "figure 6": figures.figure_6,
    "figure 7": figures.figure_7,
    "figure 8": figures.figure_8,
    "table 4": prices.table_4,
    "figure 9": prices.figure_9,
    "figure 10": requirements.figure_10,
    "figure 11": requirements.figure_11,
    "figure 12": mismatch.figure_12,
    "figure 13": mismatch.figure_13,
    "table 7": requirements.table_7,
    "table 8": prices.table_8,
}

"""Figures and tables with numbers, in the order of the paper."""

REAL = ("figure 10", "figure 11", "table 7")

"""Parts that need the real tables."""

WITH_NETWORKS = ("figure 4", "figure 6", "figure 7")

"""Parts that show GAN and diffusion."""

BEYOND = (beyond_the_paper.linkage, beyond_the_paper.as_printed)

"""What the whole reproduction adds."""


def parts() -> tuple[str, ...]:
    """Return the names of the figures and tables that can be asked for one by one.

    >>> parts()[0], parts()[-1]
    ('figure 4', 'table 8')
    """
    return tuple(ENTRIES)


def reproduce(
    folder: Path | None = None, only: str | None = None, *, repeats: int | None = None, deep: bool = False
) -> Reproduction:
    """Compute every part, or ``only`` one. Without the real tables the whole says which files it lacks.

    ``repeats`` are the trials on simulated data, 3 unless said. GAN and diffusion come from the kept results of an
    accelerator; with ``deep`` they are trained anew, in as many trials: minutes there and hours on a processor.
    """
    runs = RUNS if repeats is None else repeats
    if runs < 2:
        raise PlanError(f"{runs} repeats asked for", next_step="ask for at least 2")
    work = SharedResults(runs, folder, deep)
    if only is None:
        made = (*(_part(work, name) for name in ENTRIES), *(build(work) for build in BEYOND))
        return _results(work, made, whole=True)
    require_part("two-stage", only, parts())
    return _results(work, (ENTRIES[only](work),), whole=False)


def _part(work: SharedResults, name: str) -> Part:
    lacking = missing_files(data_folder(work.folder), FILES) if name in REAL else []
    if lacking:
        return Part(name=name, text=(f"Not computed: no file {', '.join(lacking)}. Set SFUMATO_DATA to their folder.",))
    return ENTRIES[name](work)


def _results(work: SharedResults, made: tuple[Part, ...], whole: bool) -> Reproduction:
    return Reproduction(
        paper="two-stage",
        title=TITLE,
        sfumato=__version__,
        seed=SEED,
        runs=work.runs,
        networks=figures.network_note(work) if any(part.name in WITH_NETWORKS for part in made) else "",
        parts=made,
        errata=errata() if whole else (),
    )


LEAD = (
    "The paper makes inputs by Latin hypercube sampling, blends each with an original row, and predicts their outputs "
    "by kernel ridge regression. It is a heuristic: no differential privacy. Figures 4 to 13 and tables 4, 7 and 8 "
    "stand here as printed, as we get them, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = part_sections(results, panel, errata_section(results.errata))
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
    return summary_table(results)


def panel(chart: Chart) -> Panel:
    """Return a chart with its title and the words for those who cannot see it."""
    return Panel(chart.title, chart.label, drawing(chart))


def drawing(chart: Chart) -> Figure:
    """Return what is drawn of a chart."""
    if chart.kind == "bars":
        heights = [BarSeries(each.name, each.y) for each in chart.series]
        return Bars(chart.labels, heights, chart.x, chart.y, yardstick=True)
    drawn = [LineMark(each.name, each.x, each.y) for each in chart.series]
    axes = ChartAxes(chart.x, chart.y, top=None, logarithmic=False)
    return curves(drawn, axes, printed_first=False, rules=chart.rules)
