"""Parts and settings of the range-restriction reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.compute import PaperParts, PartEntry, require_repeats
from sfumato.papers.data import data_folder
from sfumato.papers.range_restriction import fatigue, figures
from sfumato.papers.range_restriction.errata import errata
from sfumato.papers.range_restriction.simulation import (
    CONTRACTION_SEED,
    FATIGUE,
    FIRST_SEED,
    REPEATS,
    SharedResults,
    beside_the_paper,
)
from sfumato.papers.result import Reproduction

TAIL = "with wider ranges in the tail"
PARTS = PaperParts[SharedResults](
    paper="range-restriction",
    title="Privacy amplification for synthetic data using range restriction",
    lead="The paper weights each record's likelihood by its risk and counts only a sensitive range around each value. "
    "Its epsilon is asymptotic, local and draw-based: not differential privacy. Every figure is recomputed here in "
    "closed form, without MCMC. The paper prints almost no numbers, so its statements are checked, with the reason "
    "where ours differ.",
    entries=(
        PartEntry("figure 1", "Lipschitz bounds of the records of one sample", figures.figure_1),
        PartEntry("figure 2", "epsilon over repeated samples", figures.figure_2),
        PartEntry("figure 3", "ECDF mean squared difference over repeated samples", figures.figure_3),
        PartEntry("figure 4", "90 % quantiles over repeated samples", figures.figure_4),
        PartEntry("figure 5", "epsilon at four sample sizes", figures.figure_5),
        PartEntry("figure 6", "Lipschitz bounds at equal epsilon", figures.figure_6),
        PartEntry("figure 7", "weights at equal epsilon", figures.figure_7),
        PartEntry("figure 8", "means at equal epsilon", figures.figure_8),
        PartEntry("figure 9", "medians at equal epsilon", figures.figure_9),
        PartEntry("figure 10", "90 % quantiles at equal epsilon", figures.figure_10),
        PartEntry("figure 11", f"epsilon {TAIL}", figures.figure_11),
        PartEntry("figure 12", f"ECDF maximum difference {TAIL}", figures.figure_12),
        PartEntry("figure 13", f"medians {TAIL}", figures.figure_13),
        PartEntry("figure 14", f"90 % quantiles {TAIL}", figures.figure_14),
        PartEntry("figure 15", "Lipschitz bounds of the fatigue records", fatigue.figure_15, (FATIGUE,)),
        PartEntry("figure 16", "fatigue: synthetic values", fatigue.figure_16, (FATIGUE,)),
        PartEntry("figure 17", f"ECDF mean squared difference {TAIL}", figures.figure_17),
        PartEntry("figure 18", f"means {TAIL}", figures.figure_18),
        PartEntry("figure 19", "fatigue: probabilities outside the range", fatigue.figure_19, (FATIGUE,)),
        PartEntry("figure 20", "fatigue: weights", fatigue.figure_20, (FATIGUE,)),
        PartEntry("table 1", "fatigue: mean, median and 90 % quantile", fatigue.table_1, (FATIGUE,)),
    ),
    errata=errata,
)
parts = PARTS.parts


def reproduce(folder: Path | None = None, only: str | None = None, repeats: int | None = None) -> Reproduction:
    """Compute every part, or ``only`` one; parts whose data are absent are left out and say so.

    A part that is asked for by name needs its data: without them this is an error. ``repeats`` is the number of
    repeated samples: 30 by default, where the paper has 100; time grows with it.
    """
    work = SharedResults(folder, require_repeats(repeats, REPEATS))
    samples = f"{beside_the_paper(work.repeats)}, seeds from {FIRST_SEED}, contraction from {CONTRACTION_SEED}"
    facts = (
        ("repeated samples", samples),
        ("data", "simulated as in section 4; fatigue data of the R package BayesLN, rows 1, 13 and 22 held out"),
        ("not known", "the code of this mechanism: weights and eq. 15 are inferred from the figures"),
    )
    return PARTS.compute(work, only, data_folder(folder), facts, FIRST_SEED, work.repeats)
