"""Robby, Sukmana and Chendra (2026): synthetic data from the geometry of k-means clusters.

Figures 1 to 5 and tables 1 to 4: printed, ours, and why they differ. The mechanism itself is in the library
(``sfumato.papers.kmeans_geometry.published``), labelled as a heuristic; here it runs on rows like the paper's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.papers.kmeans_geometry.published.algorithm import ColumnBounds as ColumnBounds
    from sfumato.papers.kmeans_geometry.published.algorithm import Numbers as Numbers
    from sfumato.papers.kmeans_geometry.published.algorithm import PublishedGeometry as PublishedGeometry
    from sfumato.papers.kmeans_geometry.published.algorithm import Reflection as Reflection
    from sfumato.papers.kmeans_geometry.published.algorithm import Rounding as Rounding
    from sfumato.papers.kmeans_geometry.published.algorithm import Standardiser as Standardiser
    from sfumato.papers.kmeans_geometry.published.algorithm import checked_table as checked_table
    from sfumato.papers.kmeans_geometry.published.algorithm import coordinate_noise as coordinate_noise
    from sfumato.papers.kmeans_geometry.published.algorithm import in_balls as in_balls
    from sfumato.papers.kmeans_geometry.published.algorithm import laplace as laplace
    from sfumato.papers.kmeans_geometry.published.algorithm import largest_distance as largest_distance
    from sfumato.papers.kmeans_geometry.published.algorithm import nonprivate_geometry as nonprivate_geometry
    from sfumato.papers.kmeans_geometry.published.algorithm import published_geometry as published_geometry
    from sfumato.papers.kmeans_geometry.published.algorithm import reflect as reflect
    from sfumato.papers.kmeans_geometry.published.algorithm import reflection_failure as reflection_failure
    from sfumato.papers.kmeans_geometry.published.algorithm import require_choices as require_choices
    from sfumato.papers.kmeans_geometry.published.algorithm import round_and_clip as round_and_clip
    from sfumato.papers.kmeans_geometry.published.algorithm import round_randomly as round_randomly
    from sfumato.papers.kmeans_geometry.published.method import ClusterGeometryAsPublished as ClusterGeometryAsPublished
    from sfumato.papers.kmeans_geometry.reproduce import page_of as page_of
    from sfumato.papers.kmeans_geometry.reproduce import parts as parts
    from sfumato.papers.kmeans_geometry.reproduce import reproduce as reproduce
    from sfumato.papers.kmeans_geometry.reproduce import summary as summary
    from sfumato.papers.kmeans_geometry.results import Reproduction as Reproduction
    from sfumato.papers.kmeans_geometry.simulation import illustrative_rows as illustrative_rows

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ClusterGeometryAsPublished": "sfumato.papers.kmeans_geometry.published.method",
        "ColumnBounds": "sfumato.papers.kmeans_geometry.published.algorithm",
        "Numbers": "sfumato.papers.kmeans_geometry.published.algorithm",
        "PublishedGeometry": "sfumato.papers.kmeans_geometry.published.algorithm",
        "Reflection": "sfumato.papers.kmeans_geometry.published.algorithm",
        "Reproduction": "sfumato.papers.kmeans_geometry.results",
        "Rounding": "sfumato.papers.kmeans_geometry.published.algorithm",
        "Standardiser": "sfumato.papers.kmeans_geometry.published.algorithm",
        "checked_table": "sfumato.papers.kmeans_geometry.published.algorithm",
        "coordinate_noise": "sfumato.papers.kmeans_geometry.published.algorithm",
        "illustrative_rows": "sfumato.papers.kmeans_geometry.simulation",
        "in_balls": "sfumato.papers.kmeans_geometry.published.algorithm",
        "laplace": "sfumato.papers.kmeans_geometry.published.algorithm",
        "largest_distance": "sfumato.papers.kmeans_geometry.published.algorithm",
        "nonprivate_geometry": "sfumato.papers.kmeans_geometry.published.algorithm",
        "page_of": "sfumato.papers.kmeans_geometry.reproduce",
        "parts": "sfumato.papers.kmeans_geometry.reproduce",
        "published_geometry": "sfumato.papers.kmeans_geometry.published.algorithm",
        "reflect": "sfumato.papers.kmeans_geometry.published.algorithm",
        "reflection_failure": "sfumato.papers.kmeans_geometry.published.algorithm",
        "reproduce": "sfumato.papers.kmeans_geometry.reproduce",
        "require_choices": "sfumato.papers.kmeans_geometry.published.algorithm",
        "round_and_clip": "sfumato.papers.kmeans_geometry.published.algorithm",
        "round_randomly": "sfumato.papers.kmeans_geometry.published.algorithm",
        "summary": "sfumato.papers.kmeans_geometry.reproduce",
    },
)
