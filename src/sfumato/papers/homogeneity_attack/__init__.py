"""Reproduction of the paper on homogeneity attacks against differentially private frequency tables.

All figures of merit of its section 4 and appendix D: cell sizes (figure 3), risk curves (figure 4), Poisson variants,
total variation distances (figure 5) and guessing attackers; printed, exact, and why they differ.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.homogeneity_attack.compute import reproduce as _reproduce
from sfumato.papers.homogeneity_attack.page import page_of, summary
from sfumato.papers.homogeneity_attack.results import Reproduction

__all__ = ["Reproduction", "page_of", "reproduce", "summary"]


def reproduce(folder: Path | None = None) -> Reproduction:
    """Compute everything from the public tables in ``folder`` (SFUMATO_DATA, else ../shared/data)."""
    return _reproduce(folder)
