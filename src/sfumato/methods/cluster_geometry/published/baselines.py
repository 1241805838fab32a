"""The two methods that the paper sets beside cluster geometry, for a user's own rows. Neither is private."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sfumato.methods.cluster_geometry.published.algorithm import (
    Bounds,
    Numbers,
    PublishedGeometry,
    Rounding,
    Standard,
    checked_table,
    finish,
    laplace,
    largest_distance,
    published_geometry,
    require_choices,
)
from sfumato.rows.kmeans import STARTS, kmeans


def nonprivate_geometry(
    rows: ArrayLike,
    clusters: int,
    bounds: Bounds | None,
    generator: np.random.Generator,
    *,
    whole_numbers: Rounding = "published",
    starts: int = STARTS,
) -> PublishedGeometry:
    """Return the paper's first baseline: the same reconstruction without any noise."""
    return published_geometry(rows, clusters, math.inf, bounds, generator, whole_numbers=whole_numbers, starts=starts)


def coordinate_noise(
    rows: ArrayLike,
    clusters: int,
    epsilon: float,
    bounds: Bounds | None,
    generator: np.random.Generator,
    *,
    whole_numbers: Rounding = "published",
    starts: int = STARTS,
) -> Numbers:
    """Return the paper's second baseline: Laplace noise of scale Delta / epsilon on every value. Also no guarantee."""
    values, held = checked_table(rows, clusters, bounds)
    require_choices(epsilon, "single", whole_numbers)
    standard = Standard.of(values, held.low, held.high)
    scaled = standard.forward(values)
    delta = largest_distance(kmeans(scaled, clusters, int(generator.integers(2**31)), starts).centroids)
    noisy = scaled + laplace(generator, delta / epsilon, scaled.shape)
    return finish(standard.back(np.clip(noisy, standard.low, standard.high)), held, whole_numbers, generator)
