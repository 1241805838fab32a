"""ClusterGeometry: synthetic rows from noisy cluster centres, shares and radii."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.cluster_geometry.geometry import PrivateGeometry as PrivateGeometry
    from sfumato.mechanisms.cluster_geometry.method import ClusterGeometry as ClusterGeometry
    from sfumato.mechanisms.cluster_geometry.plan import GeometryPlan as GeometryPlan
    from sfumato.mechanisms.cluster_geometry.run import release_geometry as release_geometry
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ColumnBounds": "sfumato.papers.kmeans_geometry.published.algorithm",
        "ClusterGeometry": "sfumato.mechanisms.cluster_geometry.method",
        "ClusterGeometryAsPublished": "sfumato.papers.kmeans_geometry.published.method",
        "GeometryPlan": "sfumato.mechanisms.cluster_geometry.plan",
        "Numbers": "sfumato.papers.kmeans_geometry.published.algorithm",
        "PrivateGeometry": "sfumato.mechanisms.cluster_geometry.geometry",
        "PublishedGeometry": "sfumato.papers.kmeans_geometry.published.algorithm",
        "Reflection": "sfumato.papers.kmeans_geometry.published.algorithm",
        "Rounding": "sfumato.papers.kmeans_geometry.published.algorithm",
        "Standardiser": "sfumato.papers.kmeans_geometry.published.algorithm",
        "checked_table": "sfumato.papers.kmeans_geometry.published.algorithm",
        "coordinate_noise": "sfumato.papers.kmeans_geometry.published.algorithm",
        "round_and_clip": "sfumato.papers.kmeans_geometry.published.algorithm",
        "in_balls": "sfumato.papers.kmeans_geometry.published.algorithm",
        "laplace": "sfumato.papers.kmeans_geometry.published.algorithm",
        "largest_distance": "sfumato.papers.kmeans_geometry.published.algorithm",
        "nonprivate_geometry": "sfumato.papers.kmeans_geometry.published.algorithm",
        "published_geometry": "sfumato.papers.kmeans_geometry.published.algorithm",
        "reflect": "sfumato.papers.kmeans_geometry.published.algorithm",
        "reflection_failure": "sfumato.papers.kmeans_geometry.published.algorithm",
        "release_geometry": "sfumato.mechanisms.cluster_geometry.run",
        "require_choices": "sfumato.papers.kmeans_geometry.published.algorithm",
        "round_randomly": "sfumato.papers.kmeans_geometry.published.algorithm",
    },
)
