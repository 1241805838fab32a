"""All parts of the reproduction, and how one or all of them are computed."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import PlanError
from sfumato.papers.kmeans_geometry import beyond_the_paper, figures, tables
from sfumato.papers.kmeans_geometry.errata import errata
from sfumato.papers.kmeans_geometry.results import Part, Reproduction
from sfumato.papers.kmeans_geometry.simulation import RUNS, SEED, Work
from sfumato.papers.parts import require_part
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
    work = Work(runs)
    if only is None:
        made = (*(build(work) for build in ENTRIES.values()), *(build(work) for build in BEYOND))
        return _results(work, made, whole=True)
    require_part("kmeans-geometry", only, parts())
    return _results(work, (ENTRIES[only](work),), whole=False)


def _results(work: Work, made: tuple[Part, ...], whole: bool) -> Reproduction:
    return Reproduction(
        paper="kmeans-geometry",
        title=TITLE,
        sfumato=__version__,
        seed=SEED,
        runs=work.runs,
        parts=made,
        errata=errata(work) if whole else (),
    )
