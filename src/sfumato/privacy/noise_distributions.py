"""Exact distributions of rounded and discrete noise on integer counts.

Released counts are whole numbers. Integer noise stays as it is; continuous noise is rounded with the count, so that
every law here is a law on integers given by its distribution function. All laws are symmetric, so upper tails are
read off the lower ones and nothing cancels.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError

NEGLIGIBLE_TAIL = 1e-18
"""Mass beyond which a law's support is cut where sums over it are taken."""


class NoiseLaw(ABC):
    """A symmetric law of rounded noise on the integers: its distribution function, and what follows from it."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
                raise PlanError(
                    f"{name} must be a number above 0, found {value!r}", next_step=f"give {name} such as 1.0"
                )

    @abstractmethod
    def cdf(self, k: ArrayLike) -> FloatArray:
        """Return the probability that the rounded noise is at most ``k``."""

    @abstractmethod
    def _least(self, threshold: float | None) -> float:
        """Return the least rounded sum of count and noise that survives a threshold."""

    def survival(self, counts: ArrayLike, threshold: float | None = None) -> FloatArray:
        """Return the probability that a count survives: by default, that it rounds to at least 1."""
        return self.cdf(np.asarray(counts) - self._least(threshold))

    def vanishing(self, counts: ArrayLike, threshold: float | None = None) -> FloatArray:
        """Return the probability that a count vanishes."""
        return self.cdf(self._least(threshold) - 1 - np.asarray(counts))

    def pmf(self, k: ArrayLike) -> FloatArray:
        """Return the probability that the rounded noise is ``k``."""
        far = -np.abs(np.asarray(k))
        # On the lower side both values are small, so the difference is exact to the last digits.
        return self.cdf(far) - self.cdf(far - 1)

    def reach(self) -> int:
        """Return a bound that the noise exceeds with negligible probability."""
        high = 1
        while float(self.cdf(-high)) > NEGLIGIBLE_TAIL:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if float(self.cdf(-middle)) <= NEGLIGIBLE_TAIL else (middle, high)
        return high


class _Continuous(NoiseLaw):
    """A count survives where count + noise > threshold; 0.5 means that it rounds to at least 1."""

    def _least(self, threshold: float | None) -> float:
        return 1 if threshold is None else threshold + 0.5


class _Discrete(NoiseLaw):
    """A count survives where count + noise >= threshold, a whole number; 1 by default."""

    def _least(self, threshold: float | None) -> float:
        return 1 if threshold is None else math.ceil(threshold)


@dataclass(frozen=True)
class Laplace(_Continuous):
    """Continuous Laplace noise of scale sensitivity / epsilon, rounded with the count.

    >>> float(Laplace(1.0).survival(0)) == float(Laplace(1.0).vanishing(1))
    True
    """

    epsilon: float
    sensitivity: float = 1

    def cdf(self, k: ArrayLike) -> FloatArray:
        """Return the probability that the rounded noise is at most ``k``."""
        x = (np.asarray(k, dtype=float) + 0.5) * (self.epsilon / self.sensitivity)
        tail = 0.5 * np.exp(-np.abs(x))
        return np.where(x < 0, tail, 1 - tail)


@dataclass(frozen=True)
class Geometric(_Discrete):
    """Discrete Laplace noise, what Sfumato releases: P(k) proportional to exp(-abs(k) epsilon / sensitivity)."""

    epsilon: float
    sensitivity: float = 1

    @property
    def ratio(self) -> float:
        """The ratio t = exp(-epsilon / sensitivity) of neighbouring probabilities."""
        return math.exp(-self.epsilon / self.sensitivity)

    def cdf(self, k: ArrayLike) -> FloatArray:
        """Return the probability that the noise is at most ``k``."""
        whole = np.asarray(k, dtype=float)
        rate, normal = self.epsilon / self.sensitivity, 1 + self.ratio
        lower = np.exp(np.minimum(whole, 0) * rate) / normal
        upper = np.exp(-(np.maximum(whole, 0) + 1) * rate) / normal
        return np.where(whole < 0, lower, 1 - upper)


@dataclass(frozen=True)
class Gaussian(_Continuous):
    """Continuous Gaussian noise, rounded with the count."""

    sigma: float

    def cdf(self, k: ArrayLike) -> FloatArray:
        """Return the probability that the rounded noise is at most ``k``."""
        return special.ndtr((np.asarray(k, dtype=float) + 0.5) / self.sigma)


@dataclass(frozen=True)
class DiscreteGaussian(_Discrete):
    """Discrete Gaussian noise: P(k) proportional to exp(-k^2 / 2 sigma^2)."""

    sigma: float

    @cached_property
    def _lower(self) -> FloatArray:
        """Return P(noise <= -k) for k = 0, 1, ...: sums from the far tail inwards lose nothing."""
        reach = np.arange(math.ceil(40 * self.sigma) + 2, dtype=float)
        mass = np.exp(-(reach**2) / (2 * self.sigma**2))
        total = 2 * mass[1:][::-1].sum() + mass[0]
        return np.cumsum(mass[::-1])[::-1] / total

    def cdf(self, k: ArrayLike) -> FloatArray:
        """Return the probability that the noise is at most ``k``."""
        whole = np.asarray(k, dtype=np.int64)
        table = np.append(self._lower, 0.0)
        last = len(table) - 1
        lower = table[np.minimum(np.maximum(-whole, 0), last)]
        upper = table[np.minimum(np.maximum(whole + 1, 0), last)]
        return np.where(whole < 0, lower, 1 - upper)
