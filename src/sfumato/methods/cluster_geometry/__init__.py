"""Synthetic rows from noisy centres, shares and radii: the formal form, and the published one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.methods.cluster_geometry.measure import release_geometry as release_geometry
    from sfumato.methods.cluster_geometry.method import ClusterGeometry as ClusterGeometry
    from sfumato.methods.cluster_geometry.plan import GeometryPlan as GeometryPlan
    from sfumato.methods.cluster_geometry.published import Numbers as Numbers
    from sfumato.methods.cluster_geometry.published import PublishedGeometry as PublishedGeometry
    from sfumato.methods.cluster_geometry.published import Rounding as Rounding
    from sfumato.methods.cluster_geometry.published import Standard as Standard
    from sfumato.methods.cluster_geometry.published import checked_table as checked_table
    from sfumato.methods.cluster_geometry.published import finish as finish
    from sfumato.methods.cluster_geometry.published import in_balls as in_balls
    from sfumato.methods.cluster_geometry.published import laplace as laplace
    from sfumato.methods.cluster_geometry.published import largest_distance as largest_distance
    from sfumato.methods.cluster_geometry.published import published_geometry as published_geometry
    from sfumato.methods.cluster_geometry.published import reflect as reflect
    from sfumato.methods.cluster_geometry.published import reflection_failure as reflection_failure
    from sfumato.methods.cluster_geometry.published import require_choices as require_choices
    from sfumato.methods.cluster_geometry.published import round_randomly as round_randomly

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ClusterGeometry": "sfumato.methods.cluster_geometry.method",
        "GeometryPlan": "sfumato.methods.cluster_geometry.plan",
        "PublishedGeometry": "sfumato.methods.cluster_geometry.published",
        "Rounding": "sfumato.methods.cluster_geometry.published",
        "Numbers": "sfumato.methods.cluster_geometry.published",
        "Standard": "sfumato.methods.cluster_geometry.published",
        "checked_table": "sfumato.methods.cluster_geometry.published",
        "finish": "sfumato.methods.cluster_geometry.published",
        "require_choices": "sfumato.methods.cluster_geometry.published",
        "in_balls": "sfumato.methods.cluster_geometry.published",
        "laplace": "sfumato.methods.cluster_geometry.published",
        "largest_distance": "sfumato.methods.cluster_geometry.published",
        "published_geometry": "sfumato.methods.cluster_geometry.published",
        "reflect": "sfumato.methods.cluster_geometry.published",
        "reflection_failure": "sfumato.methods.cluster_geometry.published",
        "release_geometry": "sfumato.methods.cluster_geometry.measure",
        "round_randomly": "sfumato.methods.cluster_geometry.published",
    },
)
