"""Confidence intervals for ratios of sums with Laplace noise (Fieller test inversion). Post-processing, so free.

A share p = x / y of two sums is tested by T(p) = x - p y, whose noise is a known sum of independent Laplace terms: all
p that the noisy T(p) does not reject at level a are the interval (Fieller's idea, with the exact law of this noise in
place of a normal one). It holds p with probability 1 - a whatever the rows are; m intervals at a = 0.05 / m hold
together with probability 95 % (Bonferroni), although they share noise.

The noise is discrete. P(|Z| >= z) lies between exp(-z / b) and exp(-(z - 1/2) / b), so that a coupling with Laplace
noise of the same scale moves each term by at most one of its steps: the test gives way by one step of every term. What
is counted in steps was rounded down, which moves it by less than a step once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

LEVEL = 0.95
ROUNDED = 2.0
"""Steps by which a term can differ from Laplace noise on what was rounded down."""
REACH, NODES = 60.0, 1 << 12
"""Where the integral over the characteristic function ends, in units of 1 over the largest scale, and its nodes."""
FAR = 30.0
"""From so many scales on a sum of a few Laplace terms is never seen: exp(-30) times a small power of 30."""
GRID = 65
BISECTIONS = 30


class NoiseTerm(NamedTuple):
    """Noise in a test of p: its scale, its weight at p = 0, what that gains with p, and the step of its lattice."""

    scale: float
    start: float
    gain: float
    step: float

    def weight(self, p: float) -> float:
        """Return the weight of the noise in the test of p."""
        return abs(self.start + p * self.gain)


@dataclass(frozen=True)
class LinearTest:
    """T(p) = at zero + p slope: two noisy sums, and the Laplace terms of their noise."""

    at_zero: float
    slope: float
    terms: tuple[NoiseTerm, ...]

    def value(self, p: float) -> float:
        """Return the noisy test of p."""
        return self.at_zero + p * self.slope

    def scales(self, p: float) -> list[float]:
        """Return the scales of the noise of the test of p."""
        return [term.scale * term.weight(p) for term in self.terms]

    def chance(self, p: float) -> float:
        """Return the probability of noise at least as large as what is seen, if p is the truth."""
        slack = ROUNDED * sum(term.weight(p) * term.step for term in self.terms)
        return laplace_sum_tail(abs(self.value(p)) - slack, self.scales(p))


def laplace_sum_tail(distance: float, scales: Sequence[float]) -> float:
    """Return P(|sum of independent Laplace noise| > distance), by inverting its characteristic function.

    >>> round(laplace_sum_tail(4.6051702, [1.0]), 4), round(laplace_sum_tail(6.0, [1.0, 1.0]), 4)
    (0.01, 0.0099)
    """
    largest = max(scales, default=0.0)
    if distance <= 0 or largest <= 0:
        return float(distance <= 0)
    if distance > FAR * largest:
        return 0.0
    t, relative = distance / largest, np.array([scale / largest for scale in scales if scale > 0])
    s = np.linspace(0.0, REACH, NODES + 1)
    law = 1 / np.prod(1 + np.square(relative[:, None] * s), axis=0)
    inside = t * np.sinc(t * s / math.pi) * law
    step = REACH / NODES
    total = step / 3 * (inside[0] + inside[-1] + 4 * inside[1:-1:2].sum() + 2 * inside[2:-1:2].sum())
    rest = _beyond(t, float(law[-1]))
    return float(np.clip(1 - 2 / math.pi * (total + rest), 0.0, 1.0))


def _beyond(t: float, last: float) -> float:
    """Return the first term of what the integral of sin(ts) / s times the law gives beyond its end."""
    return last * math.cos(t * REACH) / (t * REACH) if t > 0 else 0.0


def ratio_interval(test: LinearTest, alpha: float) -> tuple[float, float, float]:
    """Return the share that fits best, and the ends of the interval of those that are not rejected, inside [0, 1]."""
    best = -test.at_zero / test.slope if test.slope < 0 else 1.0
    best = float(np.clip(best, 0.0, 1.0))
    grid = np.unique(np.append(np.linspace(0.0, 1.0, GRID), best))
    kept = [p for p in grid if test.chance(float(p)) >= alpha]
    low, high = (min(kept), max(kept)) if kept else (best, best)
    below, above = grid[grid < low], grid[grid > high]
    holds: Callable[[float], bool] = lambda p: test.chance(p) >= alpha  # noqa: E731
    low = float(low if not len(below) else _edge(float(low), float(below[-1]), holds))
    high = float(high if not len(above) else _edge(float(high), float(above[0]), holds))
    return best, low, high


def _edge(inside: float, outside: float, holds: Callable[[float], bool]) -> float:
    """Return where the interval ends between a share that it holds and one that it does not: on the outer side."""
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return outside
