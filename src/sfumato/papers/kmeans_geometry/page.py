"""The page of the reproduction and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.kmeans_geometry.charts import panel
from sfumato.papers.kmeans_geometry.results import Reproduction
from sfumato.papers.reproduction_page import PageTable, ReproductionPage, errata_section, sections_of, summary_of

LEAD = (
    "The paper adds Laplace noise to k-means centroids and to the distances of rows from them, and chooses epsilon by "
    "an adjusted Rand index. Its mechanism is a heuristic: no differential privacy. Every figure and table stands here "
    "as printed, as we get it, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = sections_of(results, panel, errata_section(results.errata))
    facts = (
        ("seed", f"{results.seed}, for the rows and every run"),
        ("runs", f"{results.runs} for each epsilon, five times as many at 1.6"),
        (
            "data",
            "own rows around the printed centroids: the paper's are not available; wine and breast cancer of "
            "scikit-learn",
        ),
        ("not known", "the authors' code: initialisation of k-means, the unit of the reclustering and the grid"),
    )
    return ReproductionPage(results.title, LEAD, sections, facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    return summary_of(results)
