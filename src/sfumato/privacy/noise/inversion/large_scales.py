"""Exact noise of large scale: Laplace by digits, Gaussian by a coarse table and rejection.

Laplace. Given X != 0, |X| - 1 is geometric, and the digits of a geometric number are independent: with m = b^L the
mass of q m + sum_j d_j b^j is the product of exp(-q m / s) and of the exp(-d_j b^j / s). Each digit has its own table.

Gaussian. |X| = m q + r with r < m uniform; q is drawn with masses exp(-(m q)^2 / 2 sigma^2), and the pair is kept with
probability exp(-g), g = (2 m q + r) r / 2 sigma^2. A minus sign on 0 is refused, for 0 has one sign only. The product
of both is exp(-x^2 / 2 sigma^2). The uniform number that decides is compared with a float first. Where they are closer
than CLOSE, far above the error of the float (below 2e-15), the exact value decides, with as many bits as it takes.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.arrays import IntArray
from sfumato.privacy.noise.inversion import numba_loops
from sfumato.privacy.noise.inversion.cdf_tables import (
    EXTRA_BITS,
    GUARD_BITS,
    GaussianMagnitude,
    LaplaceDigit,
    LaplaceMagnitude,
    enclose_exp,
    invert_table,
)
from sfumato.privacy.noise.inversion.random_bits import BitSource

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
    numba_loops.join_digits(noise, rest, run)
    numba_loops.apply_signs(noise, signs)
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
    numba_loops.propose_gaussian(
        coarse, signs, low, uniform, run_bits, bits, 0.5 / float(variance), close, noise, verdict
    )
    for place in np.flatnonzero(verdict == numba_loops.UNSURE):
        rest = abs(int(noise[place])) & (run - 1)
        excess = Fraction((2 * abs(int(noise[place])) - rest) * rest) / (2 * variance)
        prefix = (int(uniform[place]) >> (64 - bits)) & ((1 << bits) - 1)
        verdict[place] = is_below_exp(excess, prefix, source, bits)
    return noise[verdict == numba_loops.KEPT]


def is_below_exp(exponent: Fraction, prefix: int, source: BitSource, bits: int) -> bool:
    """Decide whether the uniform number that begins with ``prefix`` lies below exp(-exponent), reading on if needed."""
    while True:
        low, high = enclose_exp(exponent, bits + GUARD_BITS)
        if prefix < low >> GUARD_BITS:
            return True
        if prefix > high >> GUARD_BITS:
            return False
        prefix, bits = prefix << EXTRA_BITS | source.more_bits(), bits + EXTRA_BITS
