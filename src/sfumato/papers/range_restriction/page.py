"""The page of the reproduction and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.data import DATA_VARIABLE
from sfumato.papers.range_restriction.charts import panel
from sfumato.papers.range_restriction.results import Erratum, Part, Reproduction, Values
from sfumato.report.reproduction_page import PageFigure, PageSection, PageTable, ReproductionPage, comparison_table

LEAD = (
    "The paper weights each record's likelihood by its risk and counts only a sensitive range around each value. Its "
    "epsilon is asymptotic, local and draw-based: not differential privacy. Every figure is recomputed here in closed "
    "form, without MCMC. The paper prints almost no numbers, so its statements are checked, with the reason where ours "
    "differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = [_section(part, results.folder) for part in results.parts]
    if results.errata:
        sections.insert(0, _errata(results.errata))
    first, contraction = results.seeds
    facts = (
        ("repeated samples", f"{results.repeats} instead of the paper's 100, seeds from {first}, "
                             f"contraction from {contraction}"),
        ("data", "simulated as in section 4; fatigue data of the R package BayesLN, rows 1, 13 and 22 held out"),
        ("not known", "the authors' code for this mechanism: weights and eq. 15 are inferred from their figures"),
    )  # fmt: skip
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
    rows = [part.charts[i : i + part.charts_a_row] for i in range(0, len(part.charts), part.charts_a_row)]
    return tuple(
        PageFigure(f"{part.label}, continued" if i else part.label, tuple(map(panel, row)))
        for i, row in enumerate(rows)
    )


def _missing(part: Part, folder: str) -> tuple[str, ...]:
    if not part.missing:
        return ()
    files = " and ".join(part.missing)
    return (f"Left out: {files} is not in {folder!r}. Set {DATA_VARIABLE} to the folder that holds it.",)


def _page_table(values: Values) -> PageTable:
    return PageTable(values.title, values.header, values.rows, values.numbers)


def _errata(errata: tuple[Erratum, ...]) -> PageSection:
    rows = tuple((e.name, e.paper, e.measured, e.instead) for e in errata)
    text = "What the paper says, what we measure, and what Sfumato does. Every number is computed here."
    header = ("", "the paper", "measured", "what Sfumato does")
    return PageSection("Errata", (text,), (PageTable("", header, rows),))
