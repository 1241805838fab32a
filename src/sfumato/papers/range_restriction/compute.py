"""All parts of the reproduction, and how one or all of them are computed."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import PlanError
from sfumato.papers.data import require_files
from sfumato.papers.parts import Entry, require_part
from sfumato.papers.range_restriction import equal_epsilon, fatigue, repeated_samples, wider_tail_ranges
from sfumato.papers.range_restriction.data import FATIGUE, Sources
from sfumato.papers.range_restriction.errata import errata
from sfumato.papers.range_restriction.results import Part, Reproduction
from sfumato.papers.range_restriction.simulation import CONTRACTION_SEED, FIRST_SEED, REPEATS, Work
from sfumato.version import __version__

TITLE = "Privacy amplification for synthetic data using range restriction"


ENTRIES: tuple[Entry[Work, Part], ...] = (
    Entry("figure 1", repeated_samples.figure_1),
    Entry("figure 2", repeated_samples.figure_2),
    Entry("figure 3", repeated_samples.figure_3),
    Entry("figure 4", repeated_samples.figure_4),
    Entry("figure 5", repeated_samples.figure_5),
    Entry("figure 6", equal_epsilon.figure_6),
    Entry("figure 7", equal_epsilon.figure_7),
    Entry("figure 8", equal_epsilon.figure_8),
    Entry("figure 9", equal_epsilon.figure_9),
    Entry("figure 10", equal_epsilon.figure_10),
    Entry("figure 11", wider_tail_ranges.figure_11),
    Entry("figure 12", wider_tail_ranges.figure_12),
    Entry("figure 13", wider_tail_ranges.figure_13),
    Entry("figure 14", wider_tail_ranges.figure_14),
    Entry("figure 15", fatigue.figure_15, (FATIGUE,)),
    Entry("figure 16", fatigue.figure_16, (FATIGUE,)),
    Entry("figure 17", wider_tail_ranges.figure_17),
    Entry("figure 18", wider_tail_ranges.figure_18),
    Entry("figure 19", fatigue.figure_19, (FATIGUE,)),
    Entry("figure 20", fatigue.figure_20, (FATIGUE,)),
    Entry("table 1", fatigue.table_1, (FATIGUE,)),
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
    work = Work(Sources.find(folder), samples)
    if only is None:
        made = tuple(_build(entry, work) for entry in ENTRIES)
        return _results(work, made, whole=True)
    require_part("range-restriction", only, parts())
    entry = next(each for each in ENTRIES if each.name == only)
    require_files(work.sources.folder, entry.needs)
    return _results(work, (_build(entry, work),), whole=False)


def _build(entry: Entry[Work, Part], work: Work) -> Part:
    missing = entry.missing(work.sources.present)
    return Part(name=entry.name, missing=missing) if missing else entry.build(work)


def _results(work: Work, made: tuple[Part, ...], whole: bool) -> Reproduction:
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
