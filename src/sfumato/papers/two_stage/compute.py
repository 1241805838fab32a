"""All parts of the reproduction, and how one or all of them are computed."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import PlanError
from sfumato.papers.data import absent, data_folder
from sfumato.papers.parts import require_part
from sfumato.papers.two_stage import beyond_the_paper, figures, mismatch, prices, requirements
from sfumato.papers.two_stage.data import FILES
from sfumato.papers.two_stage.errata import errata
from sfumato.papers.two_stage.one_trial import SEED
from sfumato.papers.two_stage.results import Part, Reproduction
from sfumato.papers.two_stage.shared_results import RUNS, Work
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
    work = Work(runs, folder, deep)
    if only is None:
        made = (*(_part(work, name) for name in ENTRIES), *(build(work) for build in BEYOND))
        return _results(work, made, whole=True)
    require_part("two-stage", only, parts())
    return _results(work, (ENTRIES[only](work),), whole=False)


def _part(work: Work, name: str) -> Part:
    lacking = absent(data_folder(work.folder), FILES) if name in REAL else []
    if lacking:
        return Part(name=name, text=(f"Not computed: no file {', '.join(lacking)}. Set SFUMATO_DATA to their folder.",))
    return ENTRIES[name](work)


def _results(work: Work, made: tuple[Part, ...], whole: bool) -> Reproduction:
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
