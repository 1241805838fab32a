"""Robby, Sukmana and Chendra (2026): synthetic data from the geometry of k-means clusters.

Figures 1 to 5 and tables 1 to 4: printed, ours, and why they differ. The mechanism itself is in the library
(``sfumato.papers.kmeans_geometry.published``), labelled as a heuristic; here it runs on rows like the paper's.
"""

from __future__ import annotations

from sfumato.papers.kmeans_geometry.reproduce import page_of, parts, reproduce, summary
from sfumato.papers.kmeans_geometry.results import Reproduction
from sfumato.papers.kmeans_geometry.simulation import illustrative_rows

__all__ = ["Reproduction", "illustrative_rows", "page_of", "parts", "reproduce", "summary"]
