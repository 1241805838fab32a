"""Draw exact discrete Laplace and Gaussian noise and add it to counts without overflow.

Discrete Laplace: P(k) proportional to exp(-|k| / scale). Discrete Gaussian: P(k) proportional to exp(-k^2 / 2 sigma^2).
The guarantees are those of :mod:`sfumato.privacy.noise`; the proofs that these draws have exactly that law, given fair
bits, stand in :mod:`sfumato.privacy.noise.inversion.cdf_tables` and
:mod:`sfumato.privacy.noise.inversion.large_scales`.

The search takes the same steps for every draw, so that its time does not tell the size of the noise. What the time of
cached memory tells is not covered: release whole vectors only.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import LARGEST_INVERTED_SCALE, Counts, as_counts
from sfumato.errors import PlanError
from sfumato.privacy.noise.inversion import numba_loops
from sfumato.privacy.noise.inversion.cdf_tables import (
    BITS,
    GaussianMagnitude,
    LaplaceMagnitude,
    MagnitudeDistribution,
    invert_table,
)
from sfumato.privacy.noise.inversion.large_scales import coarse_gaussian, digit_laplace
from sfumato.privacy.noise.inversion.random_bits import CHUNK, BitSource, bit_source
from sfumato.privacy.randomness import Randomness

DrawFunction = Callable[[int, BitSource, int], Counts]
"""Noise for a number of counts, from words of which so many bits are read at first."""
LARGEST_LAPLACE_TABLE = 64
LARGEST_GAUSSIAN_TABLE = 2048
MOST_THREADS = 8
SEGMENT = 1 << 20
"""Counts that one thread takes at a time."""
LARGEST = np.iinfo(np.int64).max


def add_laplace_by_inversion(
    counts: ArrayLike, scale: Fraction | float, randomness: Randomness | None = None, bits: int = BITS
) -> Counts:
    """Return the counts with discrete Laplace noise.

    A float scale means its exact binary value. Fewer ``bits`` cost time and leave the law as it is: tests use them.

    >>> int(add_laplace_by_inversion([100], 0.001)[0])
    100
    """
    exact = _exact_scale(scale, "scale")
    if exact <= LARGEST_LAPLACE_TABLE:
        return _noisy(counts, partial(_by_table, LaplaceMagnitude(exact)), randomness, bits)
    return _noisy(counts, partial(digit_laplace, exact), randomness, bits)


def add_gaussian_by_inversion(
    counts: ArrayLike, sigma: Fraction | float, randomness: Randomness | None = None, bits: int = BITS
) -> Counts:
    """Return the counts with discrete Gaussian noise of parameter sigma, a float meaning its exact binary value.

    >>> int(add_gaussian_by_inversion([100], 0.001)[0])
    100
    """
    exact = _exact_scale(sigma, "sigma")
    if exact <= LARGEST_GAUSSIAN_TABLE:
        return _noisy(counts, partial(_by_table, GaussianMagnitude(exact * exact)), randomness, bits)
    return _noisy(counts, partial(coarse_gaussian, exact), randomness, bits)


def _by_table(law: MagnitudeDistribution, size: int, source: BitSource, bits: int) -> Counts:
    words = source.words(size)
    noise = invert_table(law, words, source, bits)
    numba_loops.apply_signs(noise, words)
    return noise


def _noisy(counts: ArrayLike, sampler: DrawFunction, randomness: Randomness | None, bits: int) -> Counts:
    if not 1 <= bits <= BITS:
        raise PlanError(f"a word gives 1 to {BITS} bits, found {bits}", next_step="leave bits as it is")
    array = as_counts(counts)
    flat = array.ravel()
    noisy = np.empty_like(flat)
    if flat.size <= SEGMENT or (randomness is not None and randomness.mode == "seeded"):
        _fill(flat, noisy, sampler, bit_source(randomness), bits)
    else:
        _fill_in_threads(flat, noisy, sampler, bits)
    return noisy.reshape(array.shape)


def _fill_in_threads(flat: Counts, noisy: Counts, sampler: DrawFunction, bits: int) -> None:
    """Fill segments on all cores, each under its own fresh key."""

    def fill(start: int) -> None:
        part = slice(start, start + SEGMENT)
        _fill(flat[part], noisy[part], sampler, bit_source(None), bits)

    with ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as pool:
        list(pool.map(fill, range(0, flat.size, SEGMENT)))


def _fill(flat: Counts, noisy: Counts, sampler: DrawFunction, source: BitSource, bits: int) -> None:
    for start in range(0, flat.size, CHUNK):
        chunk = flat[start : start + CHUNK]
        numba_loops.add_clamped(chunk, sampler(chunk.size, source, bits), noisy[start : start + CHUNK])


def _exact_scale(value: Fraction | float, what: str) -> Fraction:
    """Read a scale as the exact number it is: 0.1 is the float nearest to one tenth, as the ledger has it."""
    if isinstance(value, bool | str) or not (math.isfinite(value) and 0 < value <= LARGEST_INVERTED_SCALE):
        raise PlanError(
            f"{what} must be a number above 0 and at most 2^50, found {value!r}",
            next_step=f"give {what} such as 1.0",
        )
    return Fraction(value)
