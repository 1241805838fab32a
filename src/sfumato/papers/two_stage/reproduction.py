"""Parts and settings of the two-stage reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.compute import PaperParts, PartEntry, require_repeats
from sfumato.papers.data import data_folder
from sfumato.papers.result import Reproduction
from sfumato.papers.two_stage import beyond_the_paper, figures, mismatch, prices, real_tables
from sfumato.papers.two_stage.data import FILES
from sfumato.papers.two_stage.errata import errata
from sfumato.papers.two_stage.shared_results import RUNS, SharedResults
from sfumato.papers.two_stage.trial import SEED

WITH_NETWORKS = ("figure 4", "figure 6", "figure 7")
"""Parts that show GAN and diffusion."""
PARTS = PaperParts[SharedResults](
    paper="two-stage",
    title="Two-stage data synthesization: a statistics-driven restricted trade-off between privacy and prediction",
    lead="The paper makes inputs by Latin hypercube sampling, blends each with an original row, and predicts their "
    "outputs by kernel ridge regression. It is a heuristic: no differential privacy. Figures 4 to 13 and tables 4, 7 "
    "and 8 stand here as printed, as we get them, and with the reason where the two differ.",
    entries=(
        PartEntry("figure 4", "synthesis against hybrid", figures.figure_4),
        PartEntry("figure 5", "privacy and prediction as alpha varies", figures.figure_5),
        PartEntry("figure 6", "two stages against one", figures.figure_6),
        PartEntry("figure 7", "first stages compared", figures.figure_7),
        PartEntry("figure 8", "second stages compared", figures.figure_8),
        PartEntry("table 4", "pricing metrics with and without the release", prices.table_4),
        PartEntry("figure 9", "pricing metrics by the rows that the public holds", prices.figure_9),
        PartEntry("figure 10", "LID and Delta-MSE on five real tables", real_tables.figure_10, FILES),
        PartEntry("figure 11", "predicting from the release alone", real_tables.figure_11, FILES),
        PartEntry("figure 12", "test rows of another distribution", mismatch.figure_12),
        PartEntry("figure 13", "Delta-MSE of every model as alpha varies", mismatch.figure_13),
        PartEntry("table 7", "the requirements of provider and public, checked", real_tables.table_7, FILES),
        PartEntry("table 8", "pricing metrics on the original and on the release", prices.table_8),
    ),
    beyond=(
        PartEntry("beyond 1", "LID and linkage disagree", beyond_the_paper.linkage),
        PartEntry(
            "beyond 2", "the simulated data as printed, and the reach of the kernel", beyond_the_paper.as_printed
        ),
    ),
    errata=lambda _: errata(),
)
parts = PARTS.parts


def reproduce(
    folder: Path | None = None, only: str | None = None, *, repeats: int | None = None, deep: bool = False
) -> Reproduction:
    """Compute every part, or ``only`` one. Without the real tables the whole says which files it lacks.

    ``repeats`` are the trials on simulated data, 3 by default. GAN and diffusion come from the kept results of an
    accelerator; with ``deep`` they are trained anew, in as many trials: minutes there and hours on a processor.
    """
    work = SharedResults(require_repeats(repeats, RUNS), folder, deep)
    shown = only is None or only in WITH_NETWORKS
    facts = (
        ("seed", f"{SEED}; every trial has its own"),
        ("trials", f"{work.runs} on simulated data, {3 * work.runs} on prices, at most two on each real table"),
        *((("networks", figures.network_note(work)),) if shown else ()),
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
    return PARTS.compute(work, only, data_folder(folder), facts, SEED, work.runs)
