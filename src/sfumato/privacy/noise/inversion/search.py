"""Inversion of a table by random bits that are extended only where the first word does not decide.

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
from functools import lru_cache

import numpy as np

from sfumato.arrays import Whole
from sfumato.privacy.noise.inversion import kernel
from sfumato.privacy.noise.inversion.tables import SizeLaw, thresholds
from sfumato.privacy.noise.inversion.words import WordSource

BITS = 63
"""Bits of a word that are read; the last one is left for the sign."""
MORE = 64
LARGEST = int(np.iinfo(np.int64).max)


def outcomes(law: SizeLaw, words: Whole, source: WordSource, bits: int = BITS) -> Whole:
    """Return one draw of the law for each word; ``source`` gives further bits to the words that decide nothing."""
    found, undecided = np.empty_like(words), np.empty_like(words)
    waiting = kernel.invert(words, bits, padded_table(law, bits), found, undecided)
    for place in undecided[:waiting]:
        prefix = (int(words[place]) >> (64 - bits)) & ((1 << bits) - 1)
        found[place] = min(extended(law, prefix, source, bits), LARGEST)
    return found


def extended(law: SizeLaw, prefix: int, source: WordSource, bits: int) -> int:
    """Return the draw whose first ``bits`` bits are ``prefix``, reading on until the table decides."""
    while True:
        prefix, bits = prefix << MORE | source.more_bits(), bits + MORE
        table = thresholds(law, bits)
        outcome = bisect_left(table, prefix)
        if table[outcome] != prefix:
            return outcome


@lru_cache(maxsize=64)
def padded_table(law: SizeLaw, bits: int) -> Whole:
    """Return the table with 2^m - 1 entries: those added are never below a word."""
    table = thresholds(law, bits)
    padded = np.full((1 << len(table).bit_length()) - 1, LARGEST, dtype=np.int64)
    padded[: len(table)] = table
    padded.setflags(write=False)
    return padded
