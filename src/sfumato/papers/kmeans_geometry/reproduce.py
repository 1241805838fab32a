"""Parts, title, lead and run settings of the k-means geometry reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import PlanError
from sfumato.papers.compute import require_part
from sfumato.papers.kmeans_geometry import beyond_the_paper, figures, tables
from sfumato.papers.kmeans_geometry.charts import panel
from sfumato.papers.kmeans_geometry.errata import errata
from sfumato.papers.kmeans_geometry.results import Part, Reproduction
from sfumato.papers.kmeans_geometry.simulation import RUNS, SEED, SharedResults
from sfumato.papers.page import (
    PageTable,
    ReproductionPage,
    errata_section,
    part_sections,
    summary_table,
)
from sfumato.version import __version__

TITLE = "Geometry-based synthetic tabular data via K-means clustering"

ENTRIES = {
    "figure 1": figures.figure_1,
    "figure 2": figures.figure_2,
    "figure 3": figures.figure_3,
    "figure 4": figures.figure_4,
    "figure 5": figures.figure_5,
    "table 1": tables.table_1,
    "table 2": tables.table_2,
    "table 3": tables.table_3,
    "table 4": tables.table_4,
}

"""Every figure and table of the paper, in the order of the page."""

BEYOND = (beyond_the_paper.copied_labels, beyond_the_paper.recovered_labels, beyond_the_paper.with_a_guarantee)

"""What the whole reproduction adds."""


def parts() -> tuple[str, ...]:
    """Return the names of the figures and tables that can be asked for one by one.

    >>> parts()[0], parts()[-1]
    ('figure 1', 'table 4')
    """
    return tuple(ENTRIES)


def reproduce(folder: Path | None = None, only: str | None = None, repeats: int | None = None) -> Reproduction:
    """Compute every part, or ``only`` one. The rows are simulated, so that no folder is needed.

    ``repeats`` is the number of runs at each epsilon: 40 unless said, where the paper has 30. Time grows with it.
    """
    runs = RUNS if repeats is None else repeats
    if runs < 2:
        raise PlanError(f"{runs} repeats asked for", next_step="ask for at least 2")
    work = SharedResults(runs)
    if only is None:
        made = (*(build(work) for build in ENTRIES.values()), *(build(work) for build in BEYOND))
        return _results(work, made, whole=True)
    require_part("kmeans-geometry", only, parts())
    return _results(work, (ENTRIES[only](work),), whole=False)


def _results(work: SharedResults, made: tuple[Part, ...], whole: bool) -> Reproduction:
    return Reproduction(
        paper="kmeans-geometry",
        title=TITLE,
        sfumato=__version__,
        seed=SEED,
        runs=work.runs,
        parts=made,
        errata=errata(work) if whole else (),
    )


LEAD = (
    "The paper adds Laplace noise to k-means centroids and to the distances of rows from them, and chooses epsilon by "
    "an adjusted Rand index. Its mechanism is a heuristic: no differential privacy. Every figure and table stands here "
    "as printed, as we get it, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = part_sections(results, panel, errata_section(results.errata))
    facts = (
        ("seed", f"{results.seed}, for the rows and every run"),
        ("runs", f"{results.runs} for each epsilon, five times as many at 1.6"),
        (
            "data",
            "own rows around the printed centroids: the paper's are not available; wine and breast cancer of "
            "scikit-learn",
        ),
        ("not known", "the authors' code: initialisation of k-means, the unit of the reclustering and the grid"),
    )
    return ReproductionPage(results.title, LEAD, sections, facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    return summary_table(results)
