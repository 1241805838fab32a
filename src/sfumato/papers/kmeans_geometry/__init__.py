"""Robby, Sukmana and Chendra (2026): synthetic data from the geometry of k-means clusters.

Figures 1 to 5 and tables 1 to 4: printed, ours, and why they differ. The mechanism as printed is in ``published``,
labelled as a heuristic; here it runs on rows like the paper's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.papers.kmeans_geometry.published.algorithm import ColumnBounds as ColumnBounds
    from sfumato.papers.kmeans_geometry.published.algorithm import coordinate_noise as coordinate_noise
    from sfumato.papers.kmeans_geometry.published.algorithm import nonprivate_geometry as nonprivate_geometry
    from sfumato.papers.kmeans_geometry.published.algorithm import published_geometry as published_geometry
    from sfumato.papers.kmeans_geometry.published.method import ClusterGeometryAsPublished as ClusterGeometryAsPublished
    from sfumato.papers.kmeans_geometry.reproduction import parts as parts
    from sfumato.papers.kmeans_geometry.reproduction import reproduce as reproduce
    from sfumato.papers.kmeans_geometry.simulation import illustrative_rows as illustrative_rows
    from sfumato.papers.page import page_of as page_of
    from sfumato.papers.page import summary as summary

__getattr__, __dir__ = lazy_names(__name__)
