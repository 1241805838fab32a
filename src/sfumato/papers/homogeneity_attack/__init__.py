"""Fang Liu and Xingyuan Zhao: disclosure risk from the homogeneity attack.

Figures 3 to 5, the figure of appendix D and table 1: cell sizes, risk curves with their Poisson variants, total
variation distances, guessing attackers and the printed relations; printed, exact, and why they differ.
"""

from __future__ import annotations

from sfumato.papers.homogeneity_attack.reproduction import parts, reproduce
from sfumato.papers.page import page_of, summary

__all__ = ["page_of", "parts", "reproduce", "summary"]
