"""Sources of randomness: the operating system, or a seed that stamps the output not for release."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

STAMP = "not for release"


class UniformSource(Protocol):
    """A source of uniform numbers in [0, 1)."""

    def random(self, size: int) -> NDArray[np.float64]:
        """Return independent uniform numbers."""
        ...


class SystemUniformSource:
    """Uniform numbers of 53 bits, each straight from the operating system."""

    def random(self, size: int) -> NDArray[np.float64]:
        """Return independent uniform numbers."""
        words = np.frombuffer(os.urandom(8 * size), np.uint64)
        return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class Randomness:
    """Secure randomness, or a seeded generator whose every output is stamped "not for release".

    >>> Randomness.of(None).mode, Randomness.of(7).mode
    ('secure', 'seeded')
    """

    seed: int | None = None

    @classmethod
    def of(cls, seed: int | None) -> Randomness:
        """Return secure randomness for ``None`` and a repeatable stream for a seed."""
        return cls(seed)

    @property
    def mode(self) -> Literal["secure", "seeded"]:
        """How the noise was drawn, as recorded in events and bundles."""
        return "secure" if self.seed is None else "seeded"

    @cached_property
    def generator(self) -> np.random.Generator:
        """A NumPy generator for post-processing, seeded by the operating system unless a seed was given."""
        return np.random.default_rng(self.seed)

    @property
    def uniform(self) -> UniformSource:
        """Uniform numbers for draws on which the guarantee rests: from the operating system unless a seed was given."""
        return SystemUniformSource() if self.seed is None else self.generator

    @property
    def stamp(self) -> str | None:
        """The stamp on every artefact of a seeded run."""
        return None if self.seed is None else f"{STAMP} (seed {self.seed})"
