"""ClusterGeometry: synthetic rows from noisy cluster centres, shares and radii."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import lazy_names

if TYPE_CHECKING:
    from sfumato.mechanisms.cluster_geometry.geometry import PrivateGeometry as PrivateGeometry
    from sfumato.mechanisms.cluster_geometry.method import ClusterGeometry as ClusterGeometry
    from sfumato.mechanisms.cluster_geometry.plan import GeometryPlan as GeometryPlan
    from sfumato.mechanisms.cluster_geometry.run import release_geometry as release_geometry

__getattr__, __dir__ = lazy_names(__name__)
