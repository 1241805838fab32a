"""Confidence intervals: of a probability, of a mean, and of a measure by the jackknife."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from sfumato.arrays import FloatArray
from sfumato.formatting import percent

LEVEL = 0.95


class FrozenModel(BaseModel):
    """A frozen part of a result; infinite numbers are written as words."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Interval(FrozenModel):
    """An interval, and the probability with which it covers."""

    low: float
    high: float
    level: float = LEVEL

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:.4f} to {self.high:.4f} ({percent(self.level, 6)})"


def binomial_lower(successes: int, trials: int, alpha: float) -> float:
    """Return Clopper and Pearson's one-sided lower bound on a probability, wrong with probability at most alpha."""
    from scipy.special import betaincinv

    return float(betaincinv(successes, trials - successes + 1, alpha)) if successes else 0.0


def binomial_upper(successes: int, trials: int, alpha: float) -> float:
    """Return Clopper and Pearson's one-sided upper bound on a probability, wrong with probability at most alpha."""
    from scipy.special import betaincinv

    return float(betaincinv(successes + 1, trials - successes, 1 - alpha)) if successes < trials else 1.0


def binomial_interval(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Return the interval of Clopper and Pearson: it covers with at least the stated probability.

    >>> print(binomial_interval(5, 10))
    0.1871 to 0.8129 (95 %)
    """
    tail = (1 - level) / 2
    low, high = binomial_lower(successes, trials, tail), binomial_upper(successes, trials, tail)
    return Interval(low=low, high=high, level=level)


def wilson_interval(share: float, trials: int, level: float = LEVEL) -> Interval:
    """Return Wilson's interval for a probability; for the mean of values between 0 and 1 it is conservative.

    >>> print(wilson_interval(0.5, 10))
    0.2366 to 0.7634 (95 %)
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    return Interval(low=max(centre - half, 0.0), high=min(centre + half, 1.0), level=level)


def student_quantile(level: float, values: int) -> float:
    """Return the factor of the standard error in a two-sided interval of Student's t from so many values."""
    from scipy.special import stdtrit

    return float(stdtrit(values - 1, (1 + level) / 2))


def mean_interval(values: Sequence[float] | FloatArray, level: float = LEVEL) -> Interval:
    """Return the interval of Student's t for the mean of at least two independent values.

    >>> print(mean_interval([1.0, 2.0, 3.0]))
    -0.4841 to 4.4841 (95 %)
    """
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))
    half = student_quantile(level, len(values)) * error
    return Interval(low=mean - half, high=mean + half, level=level)


def jackknife_half_width(left_out: FloatArray, level: float = LEVEL) -> float:
    """Return half the width of an interval of a measure, from its values with each group of rows left out once."""
    groups = len(left_out)
    error = float(np.sqrt((groups - 1) / groups * ((left_out - left_out.mean()) ** 2).sum()))
    return student_quantile(level, groups) * error
