"""The page of the reproduction and its summary, from saved results alone."""

from __future__ import annotations

from sfumato.papers.page import sections_of, summary_of
from sfumato.papers.reaedp.charts import panel
from sfumato.papers.reaedp.results import Erratum, Reproduction
from sfumato.papers.reproduction_page import PageSection, PageTable, ReproductionPage

LEAD = (
    "REAEDP combines noisy histograms judged by their entropy, synthetic records that must pass a privacy test, a "
    "private mean of curves, and attacks. Every figure and table that can be recomputed stands here as printed, as we "
    "get it, and with the reason where the two differ."
)


def page_of(results: Reproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    sections = sections_of(results, panel, _errata(results.errata))
    facts = (
        ("seed of every simulation", f"{results.seed}, as in the paper"),
        ("data", "House Prices (SalePrice) and US unemployment (UNRATE); public columns, simulated releases"),
    )
    return ReproductionPage(results.title, LEAD, sections, facts)


def summary(results: Reproduction) -> PageTable:
    """Return the short table for the terminal: everything that was checked, and what could not be."""
    return summary_of(results)


def _errata(errata: tuple[Erratum, ...]) -> PageSection | None:
    if not errata:
        return None
    rows = tuple((str(e.number), e.paper, e.verdict, e.instead) for e in errata)
    header = ("", "the paper", "verdict", "what stands instead")
    text = "What software must do differently, in the order of the paper's argument. Numbers are computed here."
    return PageSection("Errata", (text,), (PageTable("", header, rows, (0,)),))
