"""Reproduction of the range-restriction paper: pseudo posterior synthesizers whose epsilon counts a sensitive range.

Figures 1 to 20 and table 1: printed, ours, and why they differ. The mechanism itself is in the library
(``sfumato.methods.pseudo_posterior``); here it only runs on the paper's data.
"""

from __future__ import annotations

from sfumato.papers.range_restriction.compute import parts, reproduce
from sfumato.papers.range_restriction.page import page_of, summary
from sfumato.papers.range_restriction.results import Reproduction

__all__ = ["Reproduction", "page_of", "parts", "reproduce", "summary"]
