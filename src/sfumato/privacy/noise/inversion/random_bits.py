"""Random 64-bit words from AES-256 in counter mode, fresh key per call, and compiled loops that use them.

A key is never kept between calls, so that neither a fork nor a second thread can meet a stream twice. Differential
privacy is then computational, as with any generator that stretches a seed: whoever tells the words from fair bits
breaks AES-256.

The loops of table inversion take the same steps whatever the noise is, and release the GIL. All numbers stay in signed
64-bit integers: mixed signs would turn into floats.
"""

from __future__ import annotations

import math
import os
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.jit import jit
from sfumato.privacy.randomness import Randomness

Words = NDArray[np.int64]
CHUNK = 1 << 16
"""Words drawn at once: half a megabyte, where the cipher runs at full speed and the words stay in the cache."""
BLOCK_BYTES = 16


class BitSource(Protocol):
    """A source of 64-bit words of fair bits, kept in signed integers."""

    def words(self, size: int) -> Words:
        """Return independent words."""
        ...

    def more_bits(self) -> int:
        """Return 64 further bits, as a whole number, for a draw that its word did not decide."""
        ...


class SystemBits:
    """Words from a fresh key of the operating system."""

    def __init__(self) -> None:
        cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(bytes(BLOCK_BYTES)))
        self._encryptor = cipher.encryptor()

    def words(self, size: int) -> Words:
        """Return independent words: the key stream itself, which is the encryption of zeros."""
        stream = np.empty(8 * size + BLOCK_BYTES, dtype=np.uint8)
        self._encryptor.update_into(bytes(8 * size), stream.data)
        return stream[: 8 * size].view(np.int64)

    def more_bits(self) -> int:
        """Return 64 further bits straight from the operating system."""
        return int.from_bytes(os.urandom(8), "little")


class SeededBits:
    """Repeatable words for runs that are never released."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def words(self, size: int) -> Words:
        """Return the next words of the seeded stream."""
        return self._generator.integers(0, 1 << 64, size, dtype=np.uint64, endpoint=False).view(np.int64)

    def more_bits(self) -> int:
        """Return the next 64 bits of the seeded stream."""
        return int(self._generator.integers(0, 1 << 64, dtype=np.uint64, endpoint=False))


def bit_source(randomness: Randomness | None) -> BitSource:
    """Return words under a fresh key, or those of the seed."""
    if randomness is not None and randomness.mode == "seeded":
        return SeededBits(randomness.generator)
    return SystemBits()


BLOCK = 512
"""Draws that are searched side by side: each step of the search is one loop over the block, in the nearest cache."""
LARGEST = np.iinfo(np.int64).max
SMALLEST = np.iinfo(np.int64).min
REFUSED, KEPT, UNSURE = 0, 1, 2
"""What became of a proposal."""


@jit
def invert(words: Any, bits: int, table: Any, outcomes: Any, undecided: Any) -> int:
    """Write how many table entries lie below the first ``bits`` bits of each word; return how many are undecided.

    The table is padded to 2^m - 1 entries, so that every search takes m steps. A word that equals an entry decides
    nothing: its place is written to ``undecided``.
    """
    prefixes = np.empty(BLOCK, np.int64)
    shift, mask = np.int64(64 - bits), np.int64((np.int64(1) << np.int64(bits)) - 1)
    size, waiting = words.shape[0], 0
    for start in range(0, size, BLOCK):
        length = min(BLOCK, size - start)
        block = outcomes[start : start + length]
        for i in range(length):
            prefixes[i] = (words[start + i] >> shift) & mask
            block[i] = 0
        step = (table.shape[0] + 1) // 2
        while step > 0:
            for i in range(length):
                block[i] += step if table[block[i] + step - 1] < prefixes[i] else 0
            step //= 2
        for i in range(length):
            undecided[waiting] = start + i
            waiting += 1 if table[block[i]] == prefixes[i] else 0
    return waiting


@jit
def add_clamped(counts: Any, noise: Any, total: Any) -> None:
    """Add and clamp to the integer range: wrapping around would reveal large counts."""
    for i in range(counts.shape[0]):
        above, below = max(counts[i], np.int64(0)), min(counts[i], np.int64(0))
        fitting = min(max(noise[i], SMALLEST - below), LARGEST - above)
        total[i] = counts[i] + fitting


@jit
def apply_signs(sizes: Any, words: Any) -> None:
    """Turn sizes negative where the last bit of the word is 1; the sign of 0 is not read."""
    for i in range(sizes.shape[0]):
        sizes[i] *= 1 - 2 * (words[i] & 1)


@jit
def join_digits(noise: Any, rest: Any, run: int) -> None:
    """Turn outcomes of the top into sizes: 0 stays 0, and 1 + q becomes q run + rest, clamped to 64 bits."""
    most = LARGEST // run - 1
    for i in range(noise.shape[0]):
        noise[i] = min(noise[i] - 1, most) * run + rest[i] if noise[i] > 0 else 0


@jit
def propose_gaussian(
    coarse: Any,
    signs: Any,
    low: Any,
    uniform: Any,
    run_bits: int,
    bits: int,
    rate: float,
    close: float,
    noise: Any,
    verdict: Any,
) -> None:
    """Write coarse 2^run_bits + low bits with its sign, and whether a uniform number keeps it."""
    run_mask = (np.int64(1) << np.int64(run_bits)) - np.int64(1)
    mask = np.int64((np.int64(1) << np.int64(bits)) - 1)
    unit = 0.5**bits
    most = (LARGEST >> np.int64(run_bits)) - np.int64(1)
    for i in range(coarse.shape[0]):
        rest = low[i] & run_mask
        size = (min(coarse[i], most) << np.int64(run_bits)) + rest
        noise[i] = size * (1 - 2 * (signs[i] & 1))
        keep = math.exp(-(2.0 * size - rest) * rest * rate)
        gap = keep - ((uniform[i] >> np.int64(64 - bits)) & mask) * unit
        sure = UNSURE if abs(gap) < close else (KEPT if gap > 0 else REFUSED)
        verdict[i] = REFUSED if size == 0 and (signs[i] & 1) == 1 else sure
