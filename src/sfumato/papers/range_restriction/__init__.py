"""Hu, Williams and Savitsky (2026): privacy amplification by range restriction.

Figures 1 to 20 and table 1: printed, ours, and why they differ. The mechanism itself is in the library
(``sfumato.mechanisms.pseudo_posterior``); here it only runs on the paper's data.
"""

from __future__ import annotations

from sfumato.papers.range_restriction.reproduce import page_of, parts, reproduce, summary
from sfumato.papers.range_restriction.results import Reproduction

__all__ = ["Reproduction", "page_of", "parts", "reproduce", "summary"]
