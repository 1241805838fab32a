"""Parts, title, lead and run settings of the range-restriction reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import PlanError
from sfumato.papers.compute import PartEntry, require_part
from sfumato.papers.data import require_files
from sfumato.papers.page import (
    PageTable,
    ReproductionPage,
    errata_section,
    part_sections,
    summary_table,
)
from sfumato.papers.range_restriction import equal_epsilon, fatigue, repeated_samples, wider_tail_ranges
from sfumato.papers.range_restriction.errata import errata
from sfumato.papers.range_restriction.results import Part, Reproduction
from sfumato.papers.range_restriction.simulation import (
    CONTRACTION_SEED,
    FATIGUE,
    FIRST_SEED,
    REPEATS,
    SharedResults,
    Sources,
    beside_the_paper,
)
from sfumato.papers.range_restriction.violins import panel
from sfumato.version import __version__

TITLE = "Privacy amplification for synthetic data using range restriction"

ENTRIES: tuple[PartEntry[SharedResults, Part], ...] = (
    PartEntry("figure 1", repeated_samples.figure_1),
    PartEntry("figure 2", repeated_samples.figure_2),
    PartEntry("figure 3", repeated_samples.figure_3),
    PartEntry("figure 4", repeated_samples.figure_4),
    PartEntry("figure 5", repeated_samples.figure_5),
    PartEntry("figure 6", equal_epsilon.figure_6),
    PartEntry("figure 7", equal_epsilon.figure_7),
    PartEntry("figure 8", equal_epsilon.figure_8),
    PartEntry("figure 9", equal_epsilon.figure_9),
    PartEntry("figure 10", equal_epsilon.figure_10),
    PartEntry("figure 11", wider_tail_ranges.figure_11),
    PartEntry("figure 12", wider_tail_ranges.figure_12),
    PartEntry("figure 13", wider_tail_ranges.figure_13),
    PartEntry("figure 14", wider_tail_ranges.figure_14),
    PartEntry("figure 15", fatigue.figure_15, (FATIGUE,)),
    PartEntry("figure 16", fatigue.figure_16, (FATIGUE,)),
    PartEntry("figure 17", wider_tail_ranges.figure_17),
    PartEntry("figure 18", wider_tail_ranges.figure_18),
    PartEntry("figure 19", fatigue.figure_19, (FATIGUE,)),
    PartEntry("figure 20", fatigue.figure_20, (FATIGUE,)),
    PartEntry("table 1", fatigue.table_1, (FATIGUE,)),
)

"""Every figure and table, in the order of the page."""


def parts() -> tuple[str, ...]:
    """Return the names of the figures and tables that can be asked for one by one.

    >>> parts()[0], parts()[-1]
    ('figure 1', 'table 1')
    """
    return tuple(entry.name for entry in ENTRIES)


def reproduce(folder: Path | None = None, only: str | None = None, repeats: int | None = None) -> Reproduction:
    """Compute every part, or ``only`` one; parts whose data are absent are left out and say so.

    A part that is asked for by name needs its data: without them this is an error. ``repeats`` is the number of
    repeated samples: 30 unless said, where the paper has 100; time grows with it.
    """
    samples = REPEATS if repeats is None else repeats
    if samples < 2:
        raise PlanError(f"{samples} repeated samples asked for", next_step="ask for at least 2")
    work = SharedResults(Sources.find(folder), samples)
    if only is None:
        made = tuple(_build(entry, work) for entry in ENTRIES)
        return _results(work, made, whole=True)
    require_part("range-restriction", only, parts())
    entry = next(each for each in ENTRIES if each.name == only)
    require_files(work.sources.folder, entry.needs)
    return _results(work, (_build(entry, work),), whole=False)


def _build(entry: PartEntry[SharedResults, Part], work: SharedResults) -> Part:
    missing = entry.missing(work.sources.present)
    return Part(name=entry.name, missing=missing) if missing else entry.build(work)


def _results(work: SharedResults, made: tuple[Part, ...], whole: bool) -> Reproduction:
    place = str(work.sources.folder) if any(part.missing for part in made) else ""
    return Reproduction(
        paper="range-restriction",
        title=TITLE,
        sfumato=__version__,
        repeats=work.repeats,
        seeds=(FIRST_SEED, CONTRACTION_SEED),
        folder=place,
        parts=made,
        errata=errata(work) if whole else (),
    )


LEAD = (
    "The paper weights each record's likelihood by its risk and counts only a sensitive range around each value. Its "
    "epsilon is asymptotic, local and draw-based: not differential privacy. Every figure is recomputed here in closed "
    "form, without MCMC. The paper prints almost no numbers, so its statements are checked, with the reason where ours "
    "differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = part_sections(results, panel, errata_section(results.errata))
    first, contraction = results.seeds
    facts = (
        (
            "repeated samples",
            f"{beside_the_paper(results.repeats)}, seeds from {first}, contraction from {contraction}",
        ),
        ("data", "simulated as in section 4; fatigue data of the R package BayesLN, rows 1, 13 and 22 held out"),
        ("not known", "the authors' code for this mechanism: weights and eq. 15 are inferred from their figures"),
    )
    return ReproductionPage(results.title, LEAD, sections, facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    return summary_table(results)
