"""Reproduction of the K-means geometry paper: noisy centroids and radii, with epsilon chosen by a Rand index.

Figures 1 to 5 and tables 1 to 4: printed, ours, and why they differ. The mechanism itself is in the library
(``sfumato.methods.cluster_geometry.published``), labelled as a heuristic; here it runs on rows like the paper's.
"""

from __future__ import annotations

from sfumato.papers.kmeans_geometry.compute import parts, reproduce
from sfumato.papers.kmeans_geometry.data import illustrative
from sfumato.papers.kmeans_geometry.page import page_of, summary
from sfumato.papers.kmeans_geometry.results import Reproduction

__all__ = ["Reproduction", "illustrative", "page_of", "parts", "reproduce", "summary"]
