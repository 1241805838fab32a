"""A self-test of the fast sampler on this machine: the cipher, the compiled search, the clamped sum."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.privacy import fast_kernel
from sfumato.privacy.fast_inversion import BITS, padded_table
from sfumato.privacy.fast_tables import GaussianSize, LaplaceSize, SizeLaw, thresholds
from sfumato.privacy.fast_words import SeededWords

# The first block of the published example F.5.5 of NIST SP 800-38A: AES-256 in counter mode.
KEY = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
COUNTER = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
PLAIN = "6bc1bee22e409f96e93d7e117393172a"
ENCRYPTED = "601ec313775789a5b7a7f504bbf3d228"
WORDS = 4096


def sampler_problems() -> list[str]:
    """Return what is wrong with the fast sampler here: an empty list where it may be used.

    >>> sampler_problems()
    []
    """
    checks: dict[str, Callable[[], bool]] = {
        "the cipher does not give the published answer": _cipher_is_right,
        "the compiled search differs from whole-number bisection": _search_is_right,
        "the sum of count and noise is not clamped": _sum_is_right,
    }
    return [problem for problem, passes in checks.items() if not passes()]


def _cipher_is_right() -> bool:
    encryptor = Cipher(algorithms.AES256(bytes.fromhex(KEY)), modes.CTR(bytes.fromhex(COUNTER))).encryptor()
    return encryptor.update(bytes.fromhex(PLAIN)).hex() == ENCRYPTED


def _search_is_right() -> bool:
    laws: list[SizeLaw] = [LaplaceSize(Fraction(20)), GaussianSize(Fraction(25))]
    return all(_inverts(law) for law in laws)


def _inverts(law: SizeLaw) -> bool:
    """Compare random words and those next to every entry; an entry itself must be left undecided."""
    table = thresholds(law, BITS)
    near = [entry + shift for entry in table[:-1] for shift in (-1, 0, 1)]
    drawn = [int(word) >> 1 & (1 << BITS) - 1 for word in SeededWords(np.random.default_rng(1)).words(WORDS)]
    prefixes = near + drawn
    words = (np.array(prefixes, dtype=np.uint64) << np.uint64(1)).view(np.int64)
    found, undecided = np.empty_like(words), np.empty_like(words)
    waiting = fast_kernel.invert(words, BITS, padded_table(law, BITS), found, undecided)
    entries = set(table)
    expected = [i for i, prefix in enumerate(prefixes) if prefix in entries]
    return undecided[:waiting].tolist() == expected and found.tolist() == [bisect_left(table, p) for p in prefixes]


def _sum_is_right() -> bool:
    ends = np.array([fast_kernel.LARGEST, fast_kernel.SMALLEST, 5], dtype=np.int64)
    total = np.empty_like(ends)
    fast_kernel.add_clamped(ends, np.array([7, -7, -7], dtype=np.int64), total)
    return total.tolist() == [fast_kernel.LARGEST, fast_kernel.SMALLEST, -2]
