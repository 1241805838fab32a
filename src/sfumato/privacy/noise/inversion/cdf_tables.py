"""Tables of distribution functions with proven entries, and their inversion by random bits.

For a law on 0, 1, 2, ... with distribution function F < 1, the table to b bits holds T[k] = floor(2^b F(k)) up to the
first entry that is 2^b - 1. Each F(k) is enclosed between two whole numbers over 2^p, rounded outwards at every step;
the entry is taken where the floors of both ends agree, else p is doubled and all begins again. So an entry is never
wrong: at worst it is late. (2^b F(k) is no whole number for the laws of exp(-1/s): such an F(k) is transcendental.)

Y >= 0 is an integer with distribution function F; u = 0.b1 b2 b3 ... has independent fair bits. Then
Y = #{k : u >= F(k)} has exactly this law. Let U be the first b bits of u as a whole number and T[k] = floor(2^b F(k)).

    U > T[k-1]  gives  U >= T[k-1] + 1 > 2^b F(k-1),  so u > F(k-1);
    U < T[k]    gives  U + 1 <= T[k] <= 2^b F(k),     so u < F(k).

So T[k-1] < U < T[k] decides Y = k for every continuation of the bits. Where U equals an entry, 64 more bits of the
same u are read and the question is asked of the table to b + 64 bits, until it is decided. No probability is rounded
and no tail is cut. At b = 63 and K entries, a word is undecided with a probability of at most K / 2^63.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from sfumato.arrays import IntArray
from sfumato.privacy.noise.inversion import random_bits
from sfumato.privacy.noise.inversion.random_bits import BitSource

Enclosure = tuple[int, int]
"""A real number x between 0 and 1, as whole numbers low <= 2^p x <= high."""
GUARD_BITS = 128
NEGLIGIBLE = 1 << 32
"""Units of 2^-p below which masses are bounded together instead of one by one."""


class MagnitudeDistribution(Protocol):
    """A law on 0, 1, 2, ... whose distribution function can be enclosed."""

    def enclosures(self, precision: int) -> Iterator[Enclosure]:
        """Yield enclosures of 2^precision F(k) for k = 0, 1, ..., without end or until F is 1."""
        ...


def multiply_enclosures(left: Enclosure, right: Enclosure, precision: int) -> Enclosure:
    """Multiply two numbers, rounded outwards."""
    return left[0] * right[0] >> precision, -(-left[1] * right[1] >> precision)


def divide_enclosures(above: Enclosure, below: Enclosure, precision: int) -> Enclosure:
    """Divide by a number above 0, rounded outwards."""
    return (above[0] << precision) // below[1], -((-above[1] << precision) // below[0])


def enclose_exp(x: Fraction, precision: int) -> Enclosure:
    """Enclose exp(-x) for x >= 0: halve x below 2^-7, sum the alternating series, square back."""
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 7)
    scaled, divisor = x.numerator << precision, x.denominator << halvings
    value = _series((scaled // divisor, -(-scaled // divisor)), precision)
    for _ in range(halvings):
        value = multiply_enclosures(value, value, precision)
    return value


def _series(x: Enclosure, precision: int) -> Enclosure:
    """Sum 1 - x + x^2/2 - ... for x < 1: what is left out is at most the first term left out."""
    one = 1 << precision
    term, low, high, n = (one, one), one, one, 0
    while term[1] > 1:
        n += 1
        product = multiply_enclosures(term, x, precision)
        term = product[0] // n, -(-product[1] // n)
        low, high = (low - term[1], high - term[0]) if n % 2 else (low + term[0], high + term[1])
    return max(low - term[1], 0), min(high + term[1], one)


@dataclass(frozen=True)
class LaplaceMagnitude:
    """The size of discrete Laplace noise, P(Y > k) = 2r / (1 + r) exp(-k step / scale) with r = exp(-1 / scale).

    With ``step`` 1 outcome k is |X| = k. With a larger step outcome 0 is X = 0 and outcome 1 + q says that |X| - 1 lies
    in the q-th run of ``step`` values.
    """

    scale: Fraction
    step: int = 1

    def enclosures(self, precision: int) -> Iterator[Enclosure]:
        """Yield enclosures of the distribution function."""
        one = 1 << precision
        r = enclose_exp(1 / self.scale, precision)
        ratio = enclose_exp(self.step / self.scale, precision)
        tail = divide_enclosures((2 * r[0], 2 * r[1]), (one + r[0], one + r[1]), precision)
        while True:
            yield one - tail[1], one - tail[0]
            tail = multiply_enclosures(tail, ratio, precision)


@dataclass(frozen=True)
class LaplaceDigit:
    """A digit of a geometric number: P(d) proportional to exp(-d place / scale) for d = 0 .. base - 1."""

    scale: Fraction
    place: int
    base: int

    def enclosures(self, precision: int) -> Iterator[Enclosure]:
        """Yield enclosures of (1 - h^(k+1)) / (1 - h^base), and 1 at the last digit."""
        one = 1 << precision
        ratio = enclose_exp(self.place / self.scale, precision)
        last = enclose_exp(self.place * self.base / self.scale, precision)
        power = ratio
        for _ in range(self.base - 1):
            yield divide_enclosures((one - power[1], one - power[0]), (one - last[1], one - last[0]), precision)
            power = multiply_enclosures(power, ratio, precision)
        yield one, one


@dataclass(frozen=True)
class GaussianMagnitude:
    """The size of discrete Gaussian noise: masses 1 at 0 and ``fold`` exp(-q^2 / 2 variance) at q = 1, 2, ..."""

    variance: Fraction
    fold: int = 2

    def enclosures(self, precision: int) -> Iterator[Enclosure]:
        """Yield enclosures of the distribution function; sums beyond the last kept mass are at most the total."""
        sums, rest = self._sums(precision)
        total = sums[-1][0], sums[-1][1] + rest
        for partial in sums:
            yield divide_enclosures(partial, total, precision)
        while True:
            yield divide_enclosures(sums[-1], total, precision)[0], 1 << precision

    def _sums(self, precision: int) -> tuple[list[Enclosure], int]:
        """Return the sums of masses and a bound on all later ones: ratios of neighbours only fall."""
        one = 1 << precision
        mass, sums = (one, one), [(one, one)]
        ratio = enclose_exp(1 / (2 * self.variance), precision)
        fall = multiply_enclosures(ratio, ratio, precision)
        while mass[1] > NEGLIGIBLE:
            mass = multiply_enclosures(mass, ratio, precision)
            ratio = multiply_enclosures(ratio, fall, precision)
            sums.append((sums[-1][0] + self.fold * mass[0], sums[-1][1] + self.fold * mass[1]))
        return sums, self.fold * (mass[1] << precision) // (one - ratio[1]) + 1


@lru_cache(maxsize=64)
def cdf_table(law: MagnitudeDistribution, bits: int) -> tuple[int, ...]:
    """Return floor(2^bits F(k)) for k = 0, 1, ... up to the first that is 2^bits - 1.

    >>> cdf_table(LaplaceMagnitude(Fraction(1)), 4)
    (7, 12, 14, 15)
    """
    precision = bits + GUARD_BITS
    while (table := _attempt(law, bits, precision)) is None:
        precision *= 2
    return table


def _attempt(law: MagnitudeDistribution, bits: int, precision: int) -> tuple[int, ...] | None:
    """Return the table, or nothing where an enclosure was too wide."""
    full, shift = (1 << bits) - 1, precision - bits
    table: list[int] = []
    for low, high in law.enclosures(precision):
        # F(k) < 1, or F(k) = 1 at a last digit, where the words end as well: 2^bits - 1 is then the largest word.
        floor = min(low >> shift, full)
        if floor != min(high >> shift, full):
            return None
        table.append(floor)
        if floor == full:
            break
    return tuple(table)


BITS = 63
"""Bits of a word that are read; the last one is left for the sign."""
EXTRA_BITS = 64
LARGEST = int(np.iinfo(np.int64).max)


def invert_table(law: MagnitudeDistribution, words: IntArray, source: BitSource, bits: int = BITS) -> IntArray:
    """Return one draw of the law for each word; ``source`` gives further bits to the words that decide nothing."""
    outcomes, undecided = np.empty_like(words), np.empty_like(words)
    waiting = random_bits.invert(words, bits, padded_table(law, bits), outcomes, undecided)
    for place in undecided[:waiting]:
        prefix = (int(words[place]) >> (64 - bits)) & ((1 << bits) - 1)
        outcomes[place] = min(invert_with_more_bits(law, prefix, source, bits), LARGEST)
    return outcomes


def invert_with_more_bits(law: MagnitudeDistribution, prefix: int, source: BitSource, bits: int) -> int:
    """Return the draw whose first ``bits`` bits are ``prefix``, reading on until the table decides."""
    while True:
        prefix, bits = prefix << EXTRA_BITS | source.more_bits(), bits + EXTRA_BITS
        table = cdf_table(law, bits)
        outcome = bisect_left(table, prefix)
        if table[outcome] != prefix:
            return outcome


@lru_cache(maxsize=64)
def padded_table(law: MagnitudeDistribution, bits: int) -> IntArray:
    """Return the table with 2^m - 1 entries: those added are never below a word."""
    table = cdf_table(law, bits)
    padded = np.full((1 << len(table).bit_length()) - 1, LARGEST, dtype=np.int64)
    padded[: len(table)] = table
    padded.setflags(write=False)
    return padded
