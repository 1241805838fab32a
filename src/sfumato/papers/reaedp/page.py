"""The page of the reproduction and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.data import DATA_VARIABLE
from sfumato.papers.reaedp.charts import panel
from sfumato.papers.reaedp.results import Erratum, Part, Reproduction, Values
from sfumato.report.reproduction_page import PageFigure, PageSection, PageTable, ReproductionPage, comparison_table

LEAD = (
    "REAEDP combines noisy histograms judged by their entropy, synthetic records that must pass a privacy test, a "
    "private mean of curves, and attacks. Every figure and table that can be recomputed stands here as printed, as we "
    "get it, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = [_section(part, results.folder) for part in results.parts]
    if results.errata:
        sections.insert(0, _errata(results.errata))
    facts = (
        ("seed of every simulation", f"{results.seed}, as in the paper"),
        ("data", "House Prices (SalePrice) and US unemployment (UNRATE); public columns, simulated releases"),
    )
    return ReproductionPage(results.title, LEAD, tuple(sections), facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    rows: list[tuple[str, ...]] = []
    for part in results.parts:
        rows += [(part.label, row.what, row.printed, row.ours) for row in part.comparisons]
        rows += [(part.label, "not recomputed", "", f"{file} is missing; set {DATA_VARIABLE}") for file in part.missing]
    return PageTable("Printed and ours", ("part", "what", "printed", "ours"), tuple(rows))


def _section(part: Part, folder: str) -> PageSection:
    tables = [_page_table(values) for values in part.values]
    if part.comparisons:
        rows = tuple((c.what, c.printed, c.ours, c.why) for c in part.comparisons)
        tables.insert(0, comparison_table("", rows))
    return PageSection(part.title, (*_missing(part, folder), *part.text), tuple(tables), _figures(part))


def _figures(part: Part) -> tuple[PageFigure, ...]:
    """Return the charts, a full row in each figure."""
    title, a_row = part.label, part.charts_a_row
    rows = [part.charts[start : start + a_row] for start in range(0, len(part.charts), a_row)]
    return tuple(
        PageFigure(f"{title}, continued" if i else title, tuple(map(panel, row)), () if i else part.notes)
        for i, row in enumerate(rows)
    )


def _missing(part: Part, folder: str) -> tuple[str, ...]:
    if not part.missing:
        return ()
    what = "Left out" if not part.comparisons else "Shown without what needs data"
    files, are, it = " and ".join(part.missing), *(("is", "it") if len(part.missing) == 1 else ("are", "them"))
    return (f"{what}: {files} {are} not in {folder!r}. Set {DATA_VARIABLE} to the folder that holds {it}.",)


def _page_table(values: Values) -> PageTable:
    return PageTable(values.title, values.header, values.rows, values.numbers)


def _errata(errata: tuple[Erratum, ...]) -> PageSection:
    rows = tuple((str(e.number), e.paper, e.verdict, e.instead) for e in errata)
    header = ("", "the paper", "verdict", "what stands instead")
    text = "What software must do differently, in the order of the paper's argument. Numbers are computed here."
    return PageSection("Errata", (text,), (PageTable("", header, rows, (0,)),))
