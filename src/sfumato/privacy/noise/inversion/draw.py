"""Draw exact discrete Laplace and Gaussian noise and add it to counts without overflow.

Discrete Laplace: P(k) proportional to exp(-|k| / scale). Discrete Gaussian: P(k) proportional to exp(-k^2 / 2 sigma^2).
The guarantees are those of :mod:`sfumato.privacy.noise`; the proofs that these draws have exactly that law, given fair
bits, stand in :mod:`sfumato.privacy.noise.inversion.cdf_tables` and, for large scales, below.

The search takes the same steps for every draw, so that its time does not tell the size of the noise. What the time of
cached memory tells is not covered: release whole vectors only.

Large scales, Laplace by digits. Given X != 0, |X| - 1 is geometric, and the digits of a geometric number are
independent: with m = b^L the mass of q m + sum_j d_j b^j is the product of exp(-q m / s) and of the exp(-d_j b^j / s).
Each digit has its own table.

Large scales, Gaussian by a coarse table and rejection. |X| = m q + r with r < m uniform; q is drawn with masses exp(-(m
q)^2 / 2 sigma^2), and the pair is kept with probability exp(-g), g = (2 m q + r) r / 2 sigma^2. A minus sign on 0 is
refused, for 0 has one sign only. The product of both is exp(-x^2 / 2 sigma^2). The uniform number that decides is
compared with a float first. Where they are closer than CLOSE, far above the error of the float (below 2e-15), the exact
value decides, with as many bits as it takes.
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

from sfumato.arrays import LARGEST_INVERTED_SCALE, Counts, IntArray, as_counts
from sfumato.errors import PlanError
from sfumato.privacy.noise.inversion import random_bits
from sfumato.privacy.noise.inversion.cdf_tables import (
    BITS,
    EXTRA_BITS,
    GUARD_BITS,
    GaussianMagnitude,
    LaplaceDigit,
    LaplaceMagnitude,
    MagnitudeDistribution,
    enclose_exp,
    invert_table,
)
from sfumato.privacy.noise.inversion.random_bits import CHUNK, BitSource, bit_source
from sfumato.privacy.randomness import Randomness

BASE = 256
"""Values of one digit of large Laplace noise."""
WIDEST_TOP = 64
"""Runs of m values in one scale, at most: the table of the top then has under 3000 entries."""
NARROWEST = 32
"""Runs of m values in one sigma, at least: g is then below 0.3 within 9 sigma, and one draw in a hundred is refused."""
CLOSE = 1e-12


def digit_laplace(scale: Fraction, size: int, source: BitSource, bits: int) -> IntArray:
    """Return discrete Laplace noise of a large scale."""
    run = 1
    while scale > WIDEST_TOP * run:
        run *= BASE
    signs = source.words(size)
    noise = invert_table(LaplaceMagnitude(scale, run), signs, source, bits)
    rest, place = np.ones_like(noise), 1
    while place < run:
        rest += place * invert_table(LaplaceDigit(scale, place, BASE), source.words(size), source, bits)
        place *= BASE
    random_bits.join_digits(noise, rest, run)
    random_bits.apply_signs(noise, signs)
    return noise


def coarse_gaussian(sigma: Fraction, size: int, source: BitSource, bits: int) -> IntArray:
    """Return discrete Gaussian noise of a large sigma: proposals are drawn until all places are filled."""
    noise, filled = np.empty(size, dtype=np.int64), 0
    while filled < size:
        kept = _accepted(sigma, size - filled, source, bits)
        noise[filled : filled + len(kept)] = kept
        filled += len(kept)
    return noise


def _accepted(sigma: Fraction, size: int, source: BitSource, bits: int) -> IntArray:
    """Return those of ``size`` proposals that were kept, in order."""
    run_bits = (sigma.numerator // (NARROWEST * sigma.denominator)).bit_length() - 1
    run, variance = 1 << run_bits, sigma * sigma
    signs, low, uniform = (source.words(size) for _ in range(3))
    coarse = invert_table(GaussianMagnitude(variance / run**2, fold=1), signs, source, bits)
    noise, verdict = np.empty_like(signs), np.empty(size, dtype=np.int8)
    close = max(CLOSE, 2.0 ** (1 - bits))
    random_bits.propose_gaussian(
        coarse, signs, low, uniform, run_bits, bits, 0.5 / float(variance), close, noise, verdict
    )
    for place in np.flatnonzero(verdict == random_bits.UNSURE):
        rest = abs(int(noise[place])) & (run - 1)
        excess = Fraction((2 * abs(int(noise[place])) - rest) * rest) / (2 * variance)
        prefix = (int(uniform[place]) >> (64 - bits)) & ((1 << bits) - 1)
        verdict[place] = is_below_exp(excess, prefix, source, bits)
    return noise[verdict == random_bits.KEPT]


def is_below_exp(exponent: Fraction, prefix: int, source: BitSource, bits: int) -> bool:
    """Decide whether the uniform number that begins with ``prefix`` lies below exp(-exponent), reading on if needed."""
    while True:
        low, high = enclose_exp(exponent, bits + GUARD_BITS)
        if prefix < low >> GUARD_BITS:
            return True
        if prefix > high >> GUARD_BITS:
            return False
        prefix, bits = prefix << EXTRA_BITS | source.more_bits(), bits + EXTRA_BITS


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
    random_bits.apply_signs(noise, words)
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
        random_bits.add_clamped(chunk, sampler(chunk.size, source, bits), noisy[start : start + CHUNK])


def _exact_scale(value: Fraction | float, what: str) -> Fraction:
    """Read a scale as the exact number it is: 0.1 is the float nearest to one tenth, as the ledger has it."""
    if isinstance(value, bool | str) or not (math.isfinite(value) and 0 < value <= LARGEST_INVERTED_SCALE):
        raise PlanError(
            f"{what} must be a number above 0 and at most 2^50, found {value!r}",
            next_step=f"give {what} such as 1.0",
        )
    return Fraction(value)
