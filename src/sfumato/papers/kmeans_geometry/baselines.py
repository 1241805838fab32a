"""The two methods that the paper sets beside cluster geometry. Neither gives differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sfumato.methods.cluster_geometry import (
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
from sfumato.utility.clusters import STARTS, kmeans


def nonprivate_geometry(
    rows: ArrayLike,
    clusters: int,
    low: Sequence[float] | None,
    high: Sequence[float] | None,
    discrete: Sequence[bool] | None,
    generator: np.random.Generator,
    *,
    rounding: Rounding = "published",
    starts: int = STARTS,
) -> PublishedGeometry:
    """Return the paper's first baseline: the same reconstruction without any noise."""
    return published_geometry(
        rows, clusters, math.inf, low, high, discrete, generator, rounding=rounding, starts=starts
    )


def coordinate_noise(
    rows: ArrayLike,
    clusters: int,
    epsilon: float,
    low: Sequence[float] | None,
    high: Sequence[float] | None,
    discrete: Sequence[bool] | None,
    generator: np.random.Generator,
    *,
    rounding: Rounding = "published",
    starts: int = STARTS,
) -> Numbers:
    """Return the paper's second baseline: Laplace noise of scale Delta / epsilon on every value. Also no guarantee."""
    values, bounds = checked_table(rows, clusters, low, high, discrete)
    require_choices(epsilon, "single", rounding)
    standard = Standard.of(values, bounds.low, bounds.high)
    scaled = standard.forward(values)
    delta = largest_distance(kmeans(scaled, clusters, int(generator.integers(2**31)), starts).centroids)
    noisy = scaled + laplace(generator, delta / epsilon, scaled.shape)
    return finish(standard.back(np.clip(noisy, standard.low, standard.high)), bounds, rounding, generator)
