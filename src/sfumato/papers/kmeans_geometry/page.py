"""The page of the reproduction and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.kmeans_geometry.charts import panel
from sfumato.papers.kmeans_geometry.results import Erratum, Part, Reproduction, Values
from sfumato.report.reproduction_page import PageFigure, PageSection, PageTable, ReproductionPage, comparison_table

LEAD = (
    "The paper adds Laplace noise to k-means centroids and to the distances of rows from them, and chooses epsilon by "
    "an adjusted Rand index. Its mechanism is a heuristic: no differential privacy. Every figure and table stands here "
    "as printed, as we get it, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = [_section(part) for part in results.parts]
    if results.errata:
        sections.insert(0, _errata(results.errata))
    facts = (
        ("seed", f"{results.seed}, for the rows and every run"),
        ("runs", f"{results.runs} for each epsilon, five times as many at 1.6"),
        ("data", "own rows around the printed centroids: the paper's are not available; wine and breast cancer of "
                 "scikit-learn"),
        ("not known", "the authors' code: initialisation of k-means, the unit of the reclustering and the grid"),
    )  # fmt: skip
    return ReproductionPage(results.title, LEAD, tuple(sections), facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked."""
    rows = [(part.label, row.what, row.printed, row.ours) for part in results.parts for row in part.comparisons]
    return PageTable("Printed and ours", ("part", "what", "printed", "ours"), tuple(rows))


def _section(part: Part) -> PageSection:
    tables = [_page_table(values) for values in part.values]
    if part.comparisons:
        rows = tuple((c.what, c.printed, c.ours, c.why) for c in part.comparisons)
        tables.insert(0, comparison_table("", rows))
    figures = (PageFigure(part.label, tuple(map(panel, part.charts))),) if part.charts else ()
    return PageSection(part.title, part.text, tuple(tables), figures)


def _page_table(values: Values) -> PageTable:
    return PageTable(values.title, values.header, values.rows, values.numbers)


def _errata(errata: tuple[Erratum, ...]) -> PageSection:
    rows = tuple((e.name, e.paper, e.measured, e.instead) for e in errata)
    text = "What the paper says, what we measure, and what Sfumato does. Every number is computed here."
    header = ("", "the paper", "measured", "what Sfumato does")
    return PageSection("Errata", (text,), (PageTable("", header, rows),))
