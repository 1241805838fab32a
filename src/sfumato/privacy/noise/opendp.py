"""Noise by OpenDP: the reference in tests and the fallback sampler.

OpenDP takes the counts, adds the noise in arbitrary precision and clamps to the integer range. Its scales are floats: a
fraction is rounded up first, which is more noise and never less. It draws from the operating system only, so that a
seeded run cannot use it. It is larger than all that a release usually needs, so it comes with the extra ``[opendp]``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from importlib import util
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import Counts, as_counts
from sfumato.errors import MissingExtra, PlanError
from sfumato.privacy.exact import round_up
from sfumato.privacy.randomness import Randomness

COUNTS_PER_CALL = 1 << 16
"""Counts handed to OpenDP at once: it copies them into lists, and the noise of each count is independent."""
INSTALL = "pip install 'sfumato[opendp]'"


def opendp_laplace(counts: ArrayLike, scale: Fraction | float, randomness: Randomness | None = None) -> Counts:
    """Return the counts with discrete Laplace noise, drawn by OpenDP."""
    return _measured(counts, _measurement("laplace", round_up(Fraction(scale))), randomness)


def opendp_gaussian(counts: ArrayLike, sigma: Fraction | float, randomness: Randomness | None = None) -> Counts:
    """Return the counts with discrete Gaussian noise, drawn by OpenDP."""
    return _measured(counts, _measurement("gaussian", round_up(Fraction(sigma))), randomness)


def privacy_map(law: str, scale: float, distance: float) -> float:
    """Return OpenDP's own privacy map: epsilon for Laplace at an L1 distance, rho for Gaussian at an L2 distance."""
    measurement: Any = _measurement(law, scale)
    return float(measurement.map(int(distance) if law == "laplace" else float(distance)))


def is_installed() -> bool:
    """Say whether OpenDP is there, without loading it: that takes a second."""
    return util.find_spec("opendp") is not None


def require_extra(why: str) -> None:
    """Refuse noise that only OpenDP can draw where it is not installed."""
    if not is_installed():
        raise MissingExtra(f"this noise needs OpenDP: {why}", next_step=f"{INSTALL}; 'sfumato doctor' says more")


def _measured(counts: ArrayLike, measure: Callable[[list[int]], list[int]], randomness: Randomness | None) -> Counts:
    if randomness is not None and randomness.mode == "seeded":
        raise PlanError(
            "a seeded run needs table inversion, and these draws are OpenDP's",
            next_step="run `sfumato doctor`, or leave the seed out",
        )
    array = as_counts(counts)
    flat = array.ravel()
    noisy = np.empty_like(flat)
    for start in range(0, flat.size, COUNTS_PER_CALL):
        noisy[start : start + COUNTS_PER_CALL] = measure(flat[start : start + COUNTS_PER_CALL].tolist())
    return noisy.reshape(array.shape)


@lru_cache(maxsize=64)
def _measurement(law: str, scale: float) -> Callable[[list[int]], list[int]]:
    require_extra(f"{law} noise of scale {scale:g} was asked of it")
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64))
    if law == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T=dp.i64), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=dp.f64), scale=scale)
