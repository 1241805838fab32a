"""Integer noise on integer counts, drawn inside the measurement.

Discrete Laplace (Ghosh, Roughgarden and Sundararajan 2009). Adjacency: any two count vectors whose L1 distance is
at most ``sensitivity``. Theorem: adding noise with P(k) proportional to exp(-|k| epsilon / sensitivity) to every
count is epsilon-DP. Public: the number of counts, epsilon, sensitivity.

Discrete Gaussian (Canonne, Kamath and Steinke 2020). Adjacency: L2 distance at most D. Theorem: noise with P(k)
proportional to exp(-k^2 / 2 sigma^2) is (D^2 / 2 sigma^2)-zCDP.

Why inside: OpenDP takes the counts, adds the noise in arbitrary precision and clamps to the integer range. Drawing
noise at zero and adding it in machine arithmetic is another mechanism: near the ends of the range it wraps, and on
floats it gives counts away.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError
from sfumato.privacy.exact import Number, positive, round_up
from sfumato.privacy.randomness import Randomness

Counts = NDArray[np.int64]
CHUNK = 1 << 16
"""Counts handed to OpenDP at once: it copies them into lists, and the noise of each count is independent."""
LARGEST = np.iinfo(np.int64).max


def laplace_scale(epsilon: Number, sensitivity: int = 1) -> float:
    """Return the scale of the discrete Laplace noise, rounded up so that the cost never exceeds epsilon."""
    return round_up(positive(sensitivity, "sensitivity") / positive(epsilon))


def add_laplace(counts: ArrayLike, epsilon: Number, sensitivity: int = 1, randomness: Randomness | None = None,
                ) -> Counts:  # fmt: skip
    """Return the counts with discrete Laplace noise: epsilon-DP for an L1 sensitivity.

    >>> int(add_laplace([100], epsilon=1000.0)[0])
    100
    """
    return add_laplace_scale(counts, laplace_scale(epsilon, sensitivity), randomness)


def add_laplace_scale(counts: ArrayLike, scale: float, randomness: Randomness | None = None) -> Counts:
    """Return the counts with discrete Laplace noise of a scale that was computed, and recorded, beforehand."""
    return _add(counts, scale, "laplace", randomness)


def add_gaussian(counts: ArrayLike, sigma: float, randomness: Randomness | None = None) -> Counts:
    """Return the counts with discrete Gaussian noise of parameter sigma."""
    return _add(counts, round_up(positive(sigma, "sigma")), "gaussian", randomness)


def _add(counts: ArrayLike, scale: float, law: str, randomness: Randomness | None) -> Counts:
    array = as_counts(counts)
    if randomness is not None and randomness.mode == "seeded":
        return _saturating_add(array, _SEEDED[law](scale, array.size, randomness.generator).reshape(array.shape))
    measure = _measurement(law, scale)
    flat = array.ravel()
    noisy = np.empty_like(flat)
    for start in range(0, flat.size, CHUNK):
        noisy[start : start + CHUNK] = measure(flat[start : start + CHUNK].tolist())
    return noisy.reshape(array.shape)


def as_counts(counts: ArrayLike) -> Counts:
    """Return whole counts as 64-bit integers, or refuse what is no count."""
    array = np.asarray(counts)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "u" and array.max() > LARGEST):
        raise PlanError(
            f"noise is added to whole counts only, found values of type {array.dtype}",
            next_step="quantise real values to a public lattice first (sfumato.privacy.lattice)",
        )
    return array.astype(np.int64)


@lru_cache(maxsize=64)
def _measurement(law: str, scale: float) -> Callable[[list[int]], list[int]]:
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64))
    if law == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T=dp.i64), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=dp.f64), scale=scale)


def privacy_map(law: str, scale: float, distance: float) -> float:
    """Return OpenDP's own privacy map: epsilon for Laplace at an L1 distance, rho for Gaussian at an L2 distance."""
    measurement: Any = _measurement(law, scale)
    return float(measurement.map(int(distance) if law == "laplace" else float(distance)))


def _saturating_add(counts: Counts, noise: Counts) -> Counts:
    """Add and clamp to the integer range: wrapping around would reveal large counts."""
    total = counts + noise
    overflow = (counts >= 0) & (noise > LARGEST - np.maximum(counts, 0))
    underflow = (counts < 0) & (noise < -LARGEST - 1 - np.minimum(counts, 0))
    return np.where(overflow, LARGEST, np.where(underflow, -LARGEST - 1, total))


def _seeded_laplace(scale: float, size: int, generator: np.random.Generator) -> Counts:
    success = -math.expm1(-1 / scale)
    draws = generator.geometric(success, (2, size))
    return (draws[0] - draws[1]).astype(np.int64)


def _seeded_gaussian(sigma: float, size: int, generator: np.random.Generator) -> Counts:
    """Rejection from the discrete Laplace of scale floor(sigma) + 1 (Canonne, Kamath and Steinke, algorithm 3)."""
    scale = math.floor(sigma) + 1
    noise = np.empty(size, dtype=np.int64)
    waiting = np.arange(size)
    while waiting.size:
        proposal = _seeded_laplace(scale, waiting.size, generator)
        log_accept = -((np.abs(proposal) - sigma**2 / scale) ** 2) / (2 * sigma**2)
        accepted = np.log(generator.random(waiting.size)) < log_accept
        noise[waiting[accepted]] = proposal[accepted]
        waiting = waiting[~accepted]
    return noise


_SEEDED = {"laplace": _seeded_laplace, "gaussian": _seeded_gaussian}
