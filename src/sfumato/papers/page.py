"""What the page of every reproduction is made of: a section for each part, the errata, a short table for terminals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sfumato.papers.data import DATA_VARIABLE
from sfumato.papers.reproduction_page import PageFigure, PageSection, PageTable, comparison_table
from sfumato.papers.results import Erratum, PartOf, ReproductionOf

Panel = Callable[[Any], Any]
"""Draws one chart of a paper."""


def sections_of(results: ReproductionOf[Any], panel: Panel, errata: PageSection | None) -> tuple[PageSection, ...]:
    """Return the errata, where the whole paper was run, and a section for each part."""
    parts = [_section(part, results.folder, panel) for part in results.parts]
    return (*([errata] if errata is not None else []), *parts)


def errata_section(errata: Sequence[Erratum]) -> PageSection | None:
    """Return what the paper says, what we measure and what Sfumato does; None where nothing was checked."""
    if not errata:
        return None
    rows = tuple((e.name, e.paper, e.measured, e.instead) for e in errata)
    text = "What the paper says, what we measure, and what Sfumato does. Every number is computed here."
    header = ("", "the paper", "measured", "what Sfumato does")
    return PageSection("Errata", (text,), (PageTable("", header, rows),))


def summary_of(results: ReproductionOf[Any]) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    rows: list[tuple[str, ...]] = []
    for part in results.parts:
        rows += [(part.label, row.what, row.printed, row.ours) for row in part.comparisons]
        rows += [(part.label, "not recomputed", "", f"{file} is missing; set {DATA_VARIABLE}") for file in part.missing]
    return PageTable("Printed and ours", ("part", "what", "printed", "ours"), tuple(rows))


def _section(part: PartOf[Any], folder: str, panel: Panel) -> PageSection:
    tables = [PageTable(values.title, values.header, values.rows, values.numbers) for values in part.values]
    if part.comparisons:
        rows = tuple((c.what, c.printed, c.ours, c.why) for c in part.comparisons)
        tables.insert(0, comparison_table("", rows))
    return PageSection(part.title, (*_missing(part, folder), *part.text), tuple(tables), _figures(part, panel))


def _figures(part: PartOf[Any], panel: Panel) -> tuple[PageFigure, ...]:
    """Return the charts, a full row in each figure."""
    title, a_row = part.label, part.charts_a_row
    rows = [part.charts[start : start + a_row] for start in range(0, len(part.charts), a_row)]
    return tuple(
        PageFigure(f"{title}, continued" if i else title, tuple(map(panel, row)), () if i else part.notes)
        for i, row in enumerate(rows)
    )


def _missing(part: PartOf[Any], folder: str) -> tuple[str, ...]:
    if not part.missing:
        return ()
    what = "Left out" if not part.comparisons else "Shown without what needs data"
    files, are, it = " and ".join(part.missing), *(("is", "it") if len(part.missing) == 1 else ("are", "them"))
    return (f"{what}: {files} {are} not in {folder!r}. Set {DATA_VARIABLE} to the folder that holds {it}.",)
