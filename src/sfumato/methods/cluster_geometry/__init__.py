"""Synthetic rows from noisy centres, shares and radii: the formal method, and what the paper printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.cluster_geometry.geometry import PrivateGeometry as PrivateGeometry
    from sfumato.methods.cluster_geometry.method import ClusterGeometry as ClusterGeometry
    from sfumato.methods.cluster_geometry.plan import GeometryPlan as GeometryPlan
    from sfumato.methods.cluster_geometry.published.algorithm import Bounds as Bounds
    from sfumato.methods.cluster_geometry.published.algorithm import Numbers as Numbers
    from sfumato.methods.cluster_geometry.published.algorithm import PublishedGeometry as PublishedGeometry
    from sfumato.methods.cluster_geometry.published.algorithm import Reflection as Reflection
    from sfumato.methods.cluster_geometry.published.algorithm import Rounding as Rounding
    from sfumato.methods.cluster_geometry.published.algorithm import Standard as Standard
    from sfumato.methods.cluster_geometry.published.algorithm import checked_table as checked_table
    from sfumato.methods.cluster_geometry.published.algorithm import finish as finish
    from sfumato.methods.cluster_geometry.published.algorithm import in_balls as in_balls
    from sfumato.methods.cluster_geometry.published.algorithm import laplace as laplace
    from sfumato.methods.cluster_geometry.published.algorithm import largest_distance as largest_distance
    from sfumato.methods.cluster_geometry.published.algorithm import published_geometry as published_geometry
    from sfumato.methods.cluster_geometry.published.algorithm import reflect as reflect
    from sfumato.methods.cluster_geometry.published.algorithm import reflection_failure as reflection_failure
    from sfumato.methods.cluster_geometry.published.algorithm import require_choices as require_choices
    from sfumato.methods.cluster_geometry.published.algorithm import round_randomly as round_randomly
    from sfumato.methods.cluster_geometry.published.baselines import coordinate_noise as coordinate_noise
    from sfumato.methods.cluster_geometry.published.baselines import nonprivate_geometry as nonprivate_geometry
    from sfumato.methods.cluster_geometry.published.method import (
        ClusterGeometryAsPublished as ClusterGeometryAsPublished,
    )
    from sfumato.methods.cluster_geometry.run import release_geometry as release_geometry

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bounds": "sfumato.methods.cluster_geometry.published.algorithm",
        "ClusterGeometry": "sfumato.methods.cluster_geometry.method",
        "ClusterGeometryAsPublished": "sfumato.methods.cluster_geometry.published.method",
        "GeometryPlan": "sfumato.methods.cluster_geometry.plan",
        "Numbers": "sfumato.methods.cluster_geometry.published.algorithm",
        "PrivateGeometry": "sfumato.methods.cluster_geometry.geometry",
        "PublishedGeometry": "sfumato.methods.cluster_geometry.published.algorithm",
        "Reflection": "sfumato.methods.cluster_geometry.published.algorithm",
        "Rounding": "sfumato.methods.cluster_geometry.published.algorithm",
        "Standard": "sfumato.methods.cluster_geometry.published.algorithm",
        "checked_table": "sfumato.methods.cluster_geometry.published.algorithm",
        "coordinate_noise": "sfumato.methods.cluster_geometry.published.baselines",
        "finish": "sfumato.methods.cluster_geometry.published.algorithm",
        "in_balls": "sfumato.methods.cluster_geometry.published.algorithm",
        "laplace": "sfumato.methods.cluster_geometry.published.algorithm",
        "largest_distance": "sfumato.methods.cluster_geometry.published.algorithm",
        "nonprivate_geometry": "sfumato.methods.cluster_geometry.published.baselines",
        "published_geometry": "sfumato.methods.cluster_geometry.published.algorithm",
        "reflect": "sfumato.methods.cluster_geometry.published.algorithm",
        "reflection_failure": "sfumato.methods.cluster_geometry.published.algorithm",
        "release_geometry": "sfumato.methods.cluster_geometry.run",
        "require_choices": "sfumato.methods.cluster_geometry.published.algorithm",
        "round_randomly": "sfumato.methods.cluster_geometry.published.algorithm",
    },
)
