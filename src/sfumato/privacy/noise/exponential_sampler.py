"""Sample exactly with probabilities proportional to exp(-score): the exponential mechanism's sampler.

The weight of an item is exp(-(w / units) * deficit) with a whole deficit and a rational w. Items are sorted into
levels: level k = floor((w / units) * deficit / ln 2), so that 2^-k is at least the weight and less than twice as large
(a level may be lower than that, never higher; beyond LAST_LEVEL all share the last). A level is chosen by whole-number
arithmetic, an item in it uniformly, and the item is kept with probability weight * 2^k: rejection sampling. A uniform
number is compared with exp(-t) by reading as many of its bits, and computing as many digits of exp(-t), as it takes.
So the law is the stated one exactly, given uniform bits; machine rounding decides nothing but the running time.
"""

from __future__ import annotations

import decimal
import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.noise.noise_recorder import Deficits, active_recorder
from sfumato.privacy.randomness import UniformSource

WORD = 53
"""Random bits in one uniform number of 64-bit floats."""
LAST_LEVEL = 250
"""A share of 2^-250 is not worth a finer level; what lies deeper is kept accordingly less often."""
ROUGH = 1e-12
"""Relative error of machine arithmetic that is allowed for, thousands of times what it is."""
GUARD = 15
"""Digits that exp may lose: the exponent itself has at most 10 before the point."""


def uniform_bits(uniform: UniformSource, words: int = 1) -> int:
    """Return ``words`` * 53 random bits as a whole number."""
    value = 0
    for number in uniform.random(words):
        value = (value << WORD) | int(float(number) * 2**WORD)
    return value


def uniform_below(total: int, uniform: UniformSource) -> int:
    """Return a whole number that is uniform on 0 .. total - 1, by rejection."""
    bits = max(total - 1, 0).bit_length()
    words = -(-bits // WORD)
    while True:
        value = uniform_bits(uniform, words) >> (words * WORD - bits)
        if value < total:
            return value


def bernoulli_exp(exponent: Fraction, doublings: int, uniform: UniformSource) -> bool:
    """Return true with probability exp(-exponent) * 2^doublings exactly, which must be at most 1."""
    bits, read = uniform_bits(uniform), WORD
    low, high = _roughly(exponent, doublings)
    while True:
        if bits + 1 <= low * (1 << read):
            return True
        if bits >= high * (1 << read):
            return False
        low, high = _enclosed(exponent, doublings, read)
        bits, read = (bits << WORD) | uniform_bits(uniform), read + WORD


def _roughly(exponent: Fraction, doublings: int) -> tuple[float, float]:
    """Return numbers that surely enclose exp(-exponent) * 2^doublings, fast: they decide nearly every comparison."""
    value = math.exp(min(0.0, doublings * math.log(2) - float(exponent)))
    slack = ROUGH * value * (1 + float(exponent)) + math.ulp(0.0)
    return value - slack, value + slack


def _enclosed(exponent: Fraction, doublings: int, bits: int) -> tuple[Fraction, Fraction]:
    """Return numbers around exp(-exponent) * 2^doublings that are closer than the bits can tell."""
    digits = (bits + WORD) // 3 + 2 * GUARD
    context = decimal.Context(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    argument = context.divide(decimal.Decimal(-exponent.numerator), decimal.Decimal(exponent.denominator))
    value = Fraction(context.exp(argument)) * (1 << doublings)
    slack = value / 10 ** (digits - GUARD)
    return value - slack, value + slack


def weight_levels(deficits: NDArray[np.float64], strength: Fraction, units: float) -> NDArray[np.int64]:
    """Return the level of each deficit, never above the true one."""
    rate = float(strength) / (units * math.log(2)) * (1 - 1e-12)
    return np.minimum(np.floor(deficits * rate), LAST_LEVEL).astype(np.int64)


def cumulative_weights(counts: Sequence[int]) -> list[int]:
    """Return the running totals of count * 2^-level over the levels, as whole numbers."""
    return list(accumulate(count << (LAST_LEVEL - level) for level, count in enumerate(counts)))


def sample_level(totals: Sequence[int], uniform: UniformSource) -> tuple[int, int]:
    """Return a level with probability proportional to its weight, and a uniform place among its items."""
    at = uniform_below(totals[-1], uniform)
    level = bisect_right(totals, at)
    return level, (at - (totals[level - 1] if level else 0)) >> (LAST_LEVEL - level)


def sample_index(deficits: Deficits, rate: Fraction, uniform: UniformSource) -> int:
    """Return a place with probability proportional to exp(-rate * deficit), exactly, for whole deficits of 0 or more.

    >>> sample_index([0, 10**6], Fraction(1), np.random.default_rng(1))
    0
    """
    heard = active_recorder()
    return (
        _chosen(deficits, rate, uniform)
        if heard is None
        else heard.choice(deficits, rate, partial(_chosen, deficits, rate))
    )


def _chosen(deficits: Deficits, rate: Fraction, uniform: UniformSource) -> int:
    """Return the place by levels and rejection."""
    level = weight_levels(np.array(deficits, dtype=float), rate, 1.0)
    counts: list[int] = np.bincount(level).tolist()
    firsts, by_level = [0, *accumulate(counts)], np.argsort(level.astype(np.uint8), kind="stable")
    totals = cumulative_weights(counts)
    while True:
        at, place = sample_level(totals, uniform)
        candidate = int(by_level[firsts[at] + place])
        if bernoulli_exp(rate * int(deficits[candidate]), at, uniform):
            return candidate
