"""Parts and settings of the homogeneity-attack reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.compute import PaperParts, PartEntry, require_repeats
from sfumato.papers.data import data_folder
from sfumato.papers.homogeneity_attack import figures
from sfumato.papers.homogeneity_attack.errata import errata
from sfumato.papers.homogeneity_attack.marginal_tvd import DRAWS, SEED
from sfumato.papers.homogeneity_attack.shared_results import SharedResults
from sfumato.papers.result import Reproduction

PARTS = PaperParts[SharedResults](
    paper="homogeneity-attack",
    title="Disclosure risk from homogeneity attack in differentially private tables",
    lead="A neighbour knows someone's identifiers and looks the cell up in a noisy cross table. Where one sensitive "
    "value alone survives the noise, he reads it off: the homogeneity attack. Every number of the paper's experiments "
    "is shown beside the exact value, with the reason where they differ.",
    entries=(
        PartEntry("figure 3", "cells", figures.figure_3),
        PartEntry("figure 4", "risk against epsilon", figures.figure_4),
        PartEntry("figure 5", "utility", figures.figure_5),
        PartEntry("figure D", "guessing attackers", figures.figure_d),
        PartEntry("table 1", "risks and mechanisms", figures.table_1),
    ),
    beyond=(PartEntry("beyond 1", "choosing epsilon", figures.choosing_epsilon),),
    errata=lambda work: errata(work.tables),
)
parts = PARTS.parts
"""Figures 1 and 2 hold no numbers, an example and a diagram; ``figure D`` is that of appendix D."""


def reproduce(
    folder: Path | None = None, only: str | None = None, repeats: int | None = None, seed: int = SEED
) -> Reproduction:
    """Compute every figure of merit, or ``only`` one part.

    The tables are those in ``folder`` (SFUMATO_DATA, else ../shared/data). ``repeats`` and ``seed`` are for the
    simulated distances of figure 5.
    """
    work = SharedResults(folder, require_repeats(repeats, DRAWS), seed)
    facts = (
        ("seed of the simulated distances", f"{seed}, {work.draws} draws"),
        ("data", "Adult and Qualitative Bankruptcy, UCI Machine Learning Repository"),
    )
    return PARTS.compute(work, only, data_folder(folder), facts, seed, work.draws)
