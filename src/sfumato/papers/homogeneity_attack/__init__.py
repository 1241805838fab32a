"""Reproduction of the paper on homogeneity attacks against differentially private frequency tables.

Figures 3 to 5, the figure of appendix D and table 1: cell sizes, risk curves with their Poisson variants, total
variation distances, guessing attackers and the printed relations; printed, exact, and why they differ.
"""

from __future__ import annotations

from sfumato.papers.homogeneity_attack.compute import parts, reproduce
from sfumato.papers.homogeneity_attack.page import page_of, summary
from sfumato.papers.homogeneity_attack.results import Reproduction

__all__ = ["Reproduction", "page_of", "parts", "reproduce", "summary"]
