"""Random 64-bit words from AES-256 in counter mode, with a fresh key per call.

A key is never kept between calls, so that neither a fork nor a second thread can meet a stream twice. Differential
privacy is then computational, as with any generator that stretches a seed: whoever tells the words from fair bits
breaks AES-256.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

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
