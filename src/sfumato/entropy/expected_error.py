"""Expected error of a private entropy, released directly or computed from noisy counts.

Two ways are sound. *Direct*: the entropy itself with noise, at its own cost; its error is the same for every table.
*Counts*: the entropy of a released histogram, free where the histogram is released anyway; its error depends on the
shape of the counts, because noise on small and empty cells pulls the entropy upward. The shape is private, so the
advice is given for public reference shapes; nothing here sees a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.entropy.sensitivity import Adjacency, sensitivity
from sfumato.entropy.values import shannon
from sfumato.errors import PlanError
from sfumato.privacy.accounting.sensitivity import histogram_l1
from sfumato.privacy.exact import Number, to_positive_fraction

Way = Literal["direct", "counts"]
DRAWS = 400
"""Simulated releases behind each predicted error; fixed numbers, so that the advice is repeatable."""
MOST_CELLS = 200_000
"""Cells for which counts are simulated: 400 draws of them take 2.5 GB."""
SPIKE = 0.99
EPSILONS = (1e-4, 1e6)


@dataclass(frozen=True)
class EntropyAdvice:
    """The predicted mean absolute error, in bits, of both ways; ``better`` has the smaller worst one."""

    better: Way
    direct: float
    counts: Mapping[str, float]
    n: int
    cells: int
    epsilon: float
    adjacency: Adjacency

    def __str__(self) -> str:
        wins = [name for name, error in self.counts.items() if error < self.direct]
        where = f"the counts win for {', '.join(wins)} counts" if wins else "the counts win for none of the shapes"
        shapes = ", ".join(f"{name} {error:.4g}" for name, error in self.counts.items())
        return (
            f"{self.better}: predicted mean error in bits at epsilon {self.epsilon:g}, n = {self.n:,}, "
            f"{self.cells:,} cells ({self.adjacency}): direct {self.direct:.4g} for every table; "
            f"from noisy counts {shapes}; {where}. If the counts are released anyway, their entropy is free."
        )


def reference_shapes(cells: int) -> dict[str, NDArray[np.float64]]:
    """Return the public reference shapes: uniform, Zipf, and 99 % in one cell."""
    if cells > MOST_CELLS:
        step = "use the direct way; noisy counts of so many cells are of no use for an entropy"
        raise PlanError(f"the way by counts is simulated for at most {MOST_CELLS:,} cells, found {cells:,}", (), step)
    zipf = 1 / np.arange(1, cells + 1)
    spike = np.full(cells, (1 - SPIKE) / max(cells - 1, 1))
    spike[0] = SPIKE
    return {"uniform": np.full(cells, 1 / cells), "zipf": zipf / zipf.sum(), "spike": spike / spike.sum()}


def advise(
    n: int, cells: int, epsilon: Number, adjacency: Adjacency = "replace", shape: ArrayLike | None = None
) -> EntropyAdvice:
    """Say which way to the Shannon entropy is more accurate for a public n, number of cells and epsilon.

    ``shape`` adds a public guess of the shares, for example last year's published ones; the advice is then for it.

    >>> advise(1000, 100, 1.0).better, advise(1000, 10, 1.0, shape=[0.1] * 10).better
    ('direct', 'counts')
    """
    eps, direct = float(to_positive_fraction(epsilon)), direct_error(n, cells, epsilon, adjacency)
    wanted = reference_shapes(cells) if shape is None else {"given": _shares(shape, cells)}
    counts = {name: counts_error(n, tuple(shares.tolist()), eps, adjacency) for name, shares in wanted.items()}
    better: Way = "direct" if direct <= max(counts.values()) else "counts"
    return EntropyAdvice(better, direct, counts, n, cells, eps, adjacency)


def direct_error(n: int, cells: int, epsilon: Number, adjacency: Adjacency = "replace", order: float = 1.0) -> float:
    """Return the mean absolute error of the direct release: sensitivity over epsilon, for every table."""
    return float(sensitivity(n, cells, order, adjacency)) / float(to_positive_fraction(epsilon))


@lru_cache(maxsize=4096)
def counts_error(n: int, shares: tuple[float, ...], epsilon: float, adjacency: Adjacency = "replace") -> float:
    """Return the mean absolute error of the entropy of noisy counts, simulated on a public shape with fixed numbers."""
    scale = histogram_l1(adjacency) / epsilon
    counts = np.rint(n * np.array(shares))
    uniform = np.random.default_rng(1).random((2, DRAWS, len(shares)))
    success = -math.expm1(-1 / scale)
    steps = np.floor(np.log1p(-uniform) / math.log1p(-success)) if success < 1 else np.zeros_like(uniform)
    noisy = np.maximum(counts + steps[0] - steps[1], 0)
    truth = shannon(counts)
    return float(np.mean([abs(shannon(row) - truth) for row in noisy]))


def epsilon_for_entropy_error(
    target: float,
    n: int,
    cells: int,
    adjacency: Adjacency = "replace",
    way: Way = "direct",
    shape: str | ArrayLike = "zipf",
    order: float = 1.0,
    confidence: float | None = None,
) -> float:
    """Return the epsilon at which the predicted error of the entropy, in bits, meets a target. Touches no data.

    The error is the mean absolute one, or with ``confidence`` the one that is kept with that probability (direct way).
    The counts' way is predicted for a public shape: "uniform", "zipf", "spike", or shares.

    >>> round(epsilon_for_entropy_error(0.01, n=1000, cells=30), 4)
    1.1408
    """
    if not (math.isfinite(target) and target > 0):
        raise PlanError(f"the target must be above 0 bits, found {target}", next_step="give for example 0.05")
    if way == "direct":
        return float(sensitivity(n, cells, order, adjacency)) * _quantile(confidence) / target
    if way != "counts" or order != 1.0 or confidence is not None:
        raise PlanError(
            "the way by counts is predicted for the mean error of the Shannon entropy",
            next_step="use way='direct' for other orders or with a confidence",
        )
    return _search(target, n, tuple(_named_shape(shape, cells).tolist()), adjacency)


def _quantile(confidence: float | None) -> float:
    """Return the Laplace error in units of its scale: the mean, or what is exceeded with probability 1 - confidence."""
    if confidence is None:
        return 1.0
    if not 0 < confidence < 1:
        raise PlanError(f"confidence must lie between 0 and 1, found {confidence}", next_step="give for example 0.95")
    return -math.log1p(-confidence)


def _search(target: float, n: int, shares: tuple[float, ...], adjacency: Adjacency) -> float:
    low, high = EPSILONS
    if counts_error(n, shares, high, adjacency) > target:
        raise PlanError(f"noisy counts reach {target} bits at no epsilon", next_step="give a larger target")
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if counts_error(n, shares, middle, adjacency) <= target else (middle, high)
    return high


def _named_shape(shape: str | ArrayLike, cells: int) -> NDArray[np.float64]:
    if not isinstance(shape, str):
        return _shares(shape, cells)
    if shape not in reference_shapes(cells):
        raise PlanError(f"shape {shape!r} is unknown", next_step="use 'uniform', 'zipf', 'spike' or a list of shares")
    return reference_shapes(cells)[shape]


def _shares(shape: ArrayLike, cells: int) -> NDArray[np.float64]:
    shares = np.asarray(shape, dtype=float).ravel()
    if shares.size != cells or not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
        raise PlanError(
            f"the shape must be {cells} shares of 0 or more, found {shares.size} numbers",
            next_step="give one public share for each cell",
        )
    return shares / shares.sum()
