"""The page of the reproduction and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.range_restriction.charts import panel
from sfumato.papers.range_restriction.results import Reproduction
from sfumato.papers.range_restriction.simulation import beside_the_paper
from sfumato.papers.reproduction_page import PageTable, ReproductionPage, errata_section, sections_of, summary_of

LEAD = (
    "The paper weights each record's likelihood by its risk and counts only a sensitive range around each value. Its "
    "epsilon is asymptotic, local and draw-based: not differential privacy. Every figure is recomputed here in closed "
    "form, without MCMC. The paper prints almost no numbers, so its statements are checked, with the reason where ours "
    "differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = sections_of(results, panel, errata_section(results.errata))
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
    return summary_of(results)
