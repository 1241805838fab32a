"""All parts of the reproduction, and how one or all of them are computed."""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.data import require_files
from sfumato.papers.parts import Entry, require_part
from sfumato.papers.reaedp.attacks import figure_7
from sfumato.papers.reaedp.curves import figure_2
from sfumato.papers.reaedp.data import PRICES, SEED, UNRATE, Sources
from sfumato.papers.reaedp.errata import errata
from sfumato.papers.reaedp.images import figure_s1, figure_s2
from sfumato.papers.reaedp.mechanism import figure_1
from sfumato.papers.reaedp.releases import figure_5, figure_6, figure_8, figure_s4, table_iv, table_s3
from sfumato.papers.reaedp.results import Part, Reproduction
from sfumato.papers.reaedp.sensitivities import figure_3, figure_4, table_s1
from sfumato.version import __version__

TITLE = "REAEDP: entropy-calibrated differentially private data release"


ENTRIES: tuple[Entry[Sources, Part], ...] = (
    Entry("figure 1", figure_1, (PRICES,)),
    Entry("figure 2", figure_2),
    Entry("figure 3", figure_3),
    Entry("figure 4", figure_4),
    Entry("figure 5", figure_5, (PRICES,)),
    Entry("figure 6", figure_6, (PRICES,)),
    Entry("figure 7", figure_7, (PRICES,)),
    Entry("figure 8", figure_8, (PRICES,)),
    Entry("figure S1", figure_s1),
    Entry("figure S2", figure_s2),
    Entry("figure S4", figure_s4, (PRICES, UNRATE)),
    Entry("table IV", table_iv, (), (PRICES,)),
    Entry("table S1", table_s1),
    Entry("table S3", table_s3, (), (PRICES, UNRATE)),
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


def _build(entry: Entry[Sources, Part], sources: Sources) -> Part:
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
