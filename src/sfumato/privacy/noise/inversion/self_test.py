"""Self-test of the noise sampler on this machine: cipher, keys and compiled kernels."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.arrays import IntArray
from sfumato.privacy.noise.inversion import random_bits
from sfumato.privacy.noise.inversion.cdf_tables import (
    BITS,
    GUARD_BITS,
    GaussianMagnitude,
    LaplaceMagnitude,
    MagnitudeDistribution,
    cdf_table,
    enclose_exp,
    padded_table,
)
from sfumato.privacy.noise.inversion.draw import CLOSE
from sfumato.privacy.noise.inversion.random_bits import SeededBits, SystemBits

# The first block of the published example F.5.5 of NIST SP 800-38A: AES-256 in counter mode.
KEY = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
COUNTER = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
PLAIN = "6bc1bee22e409f96e93d7e117393172a"
ENCRYPTED = "601ec313775789a5b7a7f504bbf3d228"
WORDS = 4096
RUN_BITS, VARIANCE = 6, Fraction(3000) ** 2
"""The coarse sampler at sigma 3000: runs of 64 values."""
FAR = 1 << 40
"""Units of 2^-63 at which floats must decide; up to 2^20 units they must leave the decision to exact arithmetic."""


@dataclass(frozen=True)
class SelfTestResult:
    """One part of the self-test: the property it checks, and the problem where it fails."""

    name: str
    problem: str | None = None


def self_test_problems() -> list[str]:
    """Return the problems of table inversion on this machine; an empty list allows its use.

    >>> self_test_problems()
    []
    """
    return [check.problem for check in self_test() if check.problem is not None]


def self_test() -> list[SelfTestResult]:
    """Run every check and return all of them, passed or not."""
    checks: list[tuple[str, str, Callable[[], bool]]] = [
        ("the cipher gives the published answer", "the cipher does not give the published answer", _cipher_is_right),
        ("two calls draw under two keys", "two calls drew the same words", _keys_are_fresh),
        (
            "the compiled search inverts tables",
            "the compiled search differs from whole-number bisection",
            _search_is_right,
        ),
        ("signs and digits are joined", "the compiled signs or digits are wrong", _joining_is_right),
        (
            "proposals are kept or refused rightly",
            "the compiled rejection differs from exact arithmetic",
            _rejection_is_right,
        ),
        ("count and noise are clamped, not wrapped", "the sum of count and noise is not clamped", _sum_is_right),
    ]
    return [_run(*check) for check in checks]


def _run(name: str, problem: str, passes: Callable[[], bool]) -> SelfTestResult:
    """Run one check; one that breaks down has failed, and the other sampler takes over."""
    try:
        return SelfTestResult(name, None if passes() else problem)
    except Exception as error:  # noqa: BLE001  compilers and ciphers fail in ways of their own
        return SelfTestResult(name, f"{problem} ({type(error).__name__}: {error})")


def _cipher_is_right() -> bool:
    encryptor = Cipher(algorithms.AES256(bytes.fromhex(KEY)), modes.CTR(bytes.fromhex(COUNTER))).encryptor()
    return encryptor.update(bytes.fromhex(PLAIN)).hex() == ENCRYPTED


def _keys_are_fresh() -> bool:
    """Equal by chance with probability 2^-256."""
    first, second = (SystemBits().words(4).tolist() for _ in range(2))
    return first != second


def _search_is_right() -> bool:
    laws: list[MagnitudeDistribution] = [LaplaceMagnitude(Fraction(20)), GaussianMagnitude(Fraction(25))]
    return all(_inverts(law) for law in laws)


def _inverts(law: MagnitudeDistribution) -> bool:
    """Compare random words and those next to every entry; an entry itself must be left undecided."""
    table = cdf_table(law, BITS)
    near = [entry + shift for entry in table[:-1] for shift in (-1, 0, 1)]
    prefixes = near + [int(word) >> 1 & (1 << BITS) - 1 for word in _words(WORDS)]
    words = _as_words(prefixes)
    outcomes, undecided = np.empty_like(words), np.empty_like(words)
    waiting = random_bits.invert(words, BITS, padded_table(law, BITS), outcomes, undecided)
    entries = set(table)
    expected = [i for i, prefix in enumerate(prefixes) if prefix in entries]
    return undecided[:waiting].tolist() == expected and outcomes.tolist() == [bisect_left(table, p) for p in prefixes]


def _joining_is_right() -> bool:
    tops, rests, words = np.array([0, 1, 2, 7, 7]), np.array([9, 1, 256, 3, 3]), np.array([1, 1, 0, -1, -2])
    noise = tops.copy()
    random_bits.join_digits(noise, rests, 256)
    random_bits.apply_signs(noise, words)
    return noise.tolist() == [0, -1, 512, -1539, 1539]


def _rejection_is_right() -> bool:
    """Put uniform numbers at, near and far from the exact threshold of random proposals, and (-, 0) at the end."""
    shifts = np.tile([0, 1 << 20, -(1 << 20), FAR, -FAR], 20)
    coarse, signs, low = _words(101)[:100] & 255 | 1, _words(102)[:100], _words(103)[:100] | 1
    coarse[-1], signs[-1], low[-1] = 0, 1, 0
    rest = low & ((1 << RUN_BITS) - 1)
    size = (coarse << RUN_BITS) + rest
    edges = [_threshold(int(s), int(r)) for s, r in zip(size, rest, strict=True)]
    uniform = _as_words([edge + int(shift) for edge, shift in zip(edges, shifts, strict=True)])
    noise, verdict = np.empty_like(size), np.empty(100, dtype=np.int8)
    rate = 0.5 / float(VARIANCE)
    random_bits.propose_gaussian(coarse, signs, low, uniform, RUN_BITS, BITS, rate, CLOSE, noise, verdict)
    decided = np.where(shifts < 0, random_bits.KEPT, random_bits.REFUSED)
    expected = np.where(np.abs(shifts) < FAR, random_bits.UNSURE, decided)
    expected[-1] = random_bits.REFUSED
    return bool((noise == np.where(signs & 1, -size, size)).all() and (verdict == expected).all())


def _threshold(size: int, rest: int) -> int:
    """Return 2^63 exp(-g) of a proposal, rounded down."""
    return enclose_exp((2 * size - rest) * rest / (2 * VARIANCE), BITS + GUARD_BITS)[0] >> GUARD_BITS


def _sum_is_right() -> bool:
    ends = np.array([random_bits.LARGEST, random_bits.SMALLEST, 5], dtype=np.int64)
    total = np.empty_like(ends)
    random_bits.add_clamped(ends, np.array([7, -7, -7], dtype=np.int64), total)
    return total.tolist() == [random_bits.LARGEST, random_bits.SMALLEST, -2]


def _words(size: int) -> IntArray:
    """Return the same words in every run: the self-test compares, it releases nothing."""
    return SeededBits(np.random.default_rng(size)).words(size)


def _as_words(prefixes: list[int]) -> IntArray:
    return (np.array(prefixes, dtype=np.uint64) << np.uint64(1)).view(np.int64)
