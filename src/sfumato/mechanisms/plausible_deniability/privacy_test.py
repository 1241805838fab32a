"""Privacy test of one record: theorem, pass probability and exact output distribution.

One record. Draw a seed s uniformly from the table D, a candidate y from the seed's proposal p_s, and let a privacy
test decide. For a fixed y the seeds fall into cells: I_s(y) = i when gamma^-(i+1) < p_s(y) <= gamma^-i, so that two
seeds of one cell differ by a factor of at most gamma (a seed with p_s(y) = 0 lies in no cell). With C the cell of s,
the test passes when |C| + L >= k, where L is discrete Laplace noise of parameter epsilon0.

**Theorem** (one attempt, a record y was released). Let epsilon = epsilon0 + ln(1 + gamma/t) for some 1 <= t < k, and
delta = exp(-epsilon0 (k - t)). Write q(D, y) for the sum over seeds of p_s(y) times the probability of passing. Adding
a record d' to D changes one cell for each y, that of d'. *Up:* q(D) <= q(D'), as cells grow. *Down:* where that cell
held t or more seeds, its passing probability grows by a factor of at most e^epsilon0 and its sum of p_s(y) by a factor
of at most 1 + gamma/t, so q(D', y) <= e^epsilon q(D, y). Where it held fewer, it now holds at most t, its passing
probability is at most P(L >= k - t) <= delta, and the sum over all such y of what it contributes is at most
delta times the number of seeds.

Cells come from floating point where the seed model adds up its logarithms, in an order that is public; where the kernel
model adds them up, from whole numbers (:mod:`sfumato.mechanisms.plausible_deniability.seed_counting`). Either way
the cell of a seed is a function of seed and candidate alone: no other record can move it.

**Repair**. A failed test must not show: not as a missing row, not as a retry, not as time. So a failure is answered by
a draw from a public prior pi, and with probability lambda the prior answers without an attempt at all. The seed is
drawn from N = max(|D|, k) places; a place without a record fails. Then *every* output is (epsilon, delta)-DP, whatever
the size of the table, when lambda / (1 - lambda) >= 1 / (k (e^epsilon - 1)):

- N grows from n to n + 1 (n >= k). Up: q(D)/n <= (1 + 1/n) q(D')/(n+1), and 1 + 1/n <= 1 + gamma/t. A seed's own
  probability of failing falls by a factor of at most e^epsilon0, so fail(D) <= (1 + 1/n) e^epsilon0 fail(D'). Down:
  q(D')/(n+1) <= e^epsilon q(D)/n + delta, and fail(D') <= fail(D) + 1/(n+1): the new record can fail, all others fail
  less. The surplus (1 - lambda) pi / (n + 1) is at most (e^epsilon - 1) lambda pi.
- N = k stays (n < k). Down: q(D')/k <= e^epsilon q(D)/k + delta and fail(D') <= fail(D). Up: q(D) <= q(D'), and
  fail(D) <= e^epsilon0 fail(D') + 1/k: the empty place that d' takes. The surplus is at most (e^epsilon - 1) lambda pi.

**Replacing** a record costs the same (epsilon, delta), not twice: with E the common part, N is the same for E + d and
E + d', so q(E + d)/N <= e^epsilon q(E)/N + delta <= e^epsilon q(E + d')/N + delta, as adding d' only raises q; and
fail(E + d) <= e^epsilon0 fail(E + d') + 1/N, which lambda pays for.

Public: k, gamma, epsilon0, t, the prior, the proposals as functions of a seed, and the number of rows to make.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import FloatArray
from sfumato.core.parameters import number_problems
from sfumato.errors import PlanError
from sfumato.privacy.exact import Number, fraction_to_text, to_fraction

CELL_SHIFT = 1e-9
"""Moves the ends of the cells, so that exact powers of gamma fall into the cell that the rule gives them. All cells
move alike: the ratio within a cell stays at most gamma."""
ROUNDING = 1e-12
"""Relative slack on gamma for proposals computed in floating point."""
MOST_SEEDS = 10**12
LEAST_GAMMA, MOST_GAMMA = 1.000001, 1e9
LEAST_NOISE, MOST_NOISE = 1e-9, 1e3
"""Parameters beyond these are slips of the pen: no table has that many rows, no cell is that narrow."""
NEXT = "see the page 'Plausible deniability' for the meaning of k, t, gamma and epsilon0"


@dataclass(frozen=True)
class PrivacyTest:
    """The test of one record: k plausible seeds wanted, cells of ratio gamma, noise of parameter epsilon0.

    >>> best = PrivacyTest.best(k=50, gamma=4, epsilon0=1, delta=1e-6)
    >>> best.t, round(best.epsilon, 12)
    (36, 1.105360515658)
    """

    k: int
    gamma: float
    epsilon0: float
    t: int

    def __post_init__(self) -> None:
        problems = parameter_problems(self.k, self.gamma, self.epsilon0)
        if not 1 <= self.t < max(self.k, 2):
            problems.append(f"t must be at least 1 and below k = {self.k} (at t = k delta is 1), found {self.t}")
        if problems:
            raise PlanError("these parameters of the privacy test give no guarantee", problems, NEXT)

    @classmethod
    def best(cls, k: int, gamma: float, epsilon0: float, delta: float) -> PrivacyTest:
        """Return the test with the largest t, and so the smallest epsilon, that a delta per record allows."""
        problems = parameter_problems(k, gamma, epsilon0)
        if not 0 < delta < 1:
            problems.append(f"delta must lie between 0 and 1, found {delta}")
        if not problems and (t := math.floor(k - math.log(1 / delta) / epsilon0)) >= 1:
            return cls(k, float(gamma), float(epsilon0), t)
        least = "" if problems else f"k must be at least {math.ceil(1 + math.log(1 / delta) / epsilon0)}"
        raise PlanError(
            f"k = {k}, gamma = {gamma}, epsilon0 = {epsilon0} cannot give delta {delta} per record",
            problems or [f"at this epsilon0 and delta {least}"],
            NEXT,
        )

    @property
    def epsilon(self) -> float:
        """Epsilon of one record."""
        return self.epsilon0 + math.log1p(self.gamma * (1 + ROUNDING) / self.t)

    @property
    def delta(self) -> float:
        """Delta of one record."""
        return math.exp(-self.epsilon0 * (self.k - self.t))


def parameter_problems(k: float, gamma: float, epsilon0: float) -> list[str]:
    """Return what is wrong with the parameters of a privacy test."""
    problems: list[str] = []
    if isinstance(k, bool) or not (math.isfinite(k) and k == int(k) and 1 <= k <= MOST_SEEDS):
        problems.append(f"k must be a whole number from 1 to {MOST_SEEDS:,}, found {k}")
    if not LEAST_GAMMA <= gamma <= MOST_GAMMA:
        problems.append(
            f"gamma must be above 1 (from {LEAST_GAMMA} to {MOST_GAMMA:g}): seeds of one cell may differ by a factor "
            f"of gamma, found {gamma}"
        )
    if not LEAST_NOISE <= epsilon0 <= MOST_NOISE:
        problems.append(f"epsilon0 must be above 0 (from {LEAST_NOISE:g} to {MOST_NOISE:g}), found {epsilon0}")
    return problems


def stated_problems(**stated: Number | None) -> list[str]:
    """Return what is wrong with k, gamma, epsilon0 and t as somebody stated them; None is not stated.

    >>> stated_problems(k="50.5", gamma="3/2", t=None)
    ["k must be a whole number from 1 to 1,000,000,000,000, found '50.5'"]
    """
    limits = {
        "k": (1, MOST_SEEDS),
        "gamma": (LEAST_GAMMA, MOST_GAMMA),
        "epsilon0": (LEAST_NOISE, MOST_NOISE),
        "t": (1, MOST_SEEDS),
    }
    problems: list[str] = []
    for name, value in stated.items():
        ends = limits[name] if name in ("k", "t") else map(fraction_to_text, map(to_fraction, limits[name]))
        problems += [] if value is None else number_problems(value, name, *ends, whole=name in ("k", "t"))
    return problems


def pass_probability(seeds_in_cell: ArrayLike, k: int, epsilon0: float) -> FloatArray:
    """Return the probability that the test passes: P(L >= k - seeds) for discrete Laplace L.

    >>> pass_probability([47, 50, 52], k=50, epsilon0=0.5).round(6).tolist()
    [0.138889, 0.622459, 0.861111]
    """
    lacking = k - np.asarray(seeds_in_cell, dtype=float)
    ratio = math.exp(-epsilon0)
    tail = ratio ** np.maximum(np.where(lacking >= 1, lacking, 1 - lacking), 0.0) / (1 + ratio)
    return np.where(lacking >= 1, tail, 1 - tail)


def cell_index(log_proposals: FloatArray, gamma: float) -> FloatArray:
    """Return the index of the cell of each log p_s(y); infinite where p_s(y) is 0, which lies in no cell."""
    with np.errstate(invalid="ignore"):
        return np.floor(-np.asarray(log_proposals) / math.log(gamma) + CELL_SHIFT)


def prior_share(k: int, gamma: float, epsilon0: float) -> float:
    """Return lambda: how often the prior answers without an attempt. It suffices for every t: epsilon is least at k."""
    least = epsilon0 + math.log1p(gamma / k)
    return 1 / (1 + k * math.expm1(least))


def output_distribution(
    seeds: Sequence[int] | NDArray[np.int64],
    proposals: ArrayLike,
    *,
    k: int,
    gamma: float,
    epsilon0: float,
    prior: ArrayLike | None = None,
) -> FloatArray:
    """Return the exact law of one released record, for universes small enough to list.

    ``seeds`` are row numbers into ``proposals``, a matrix whose row s is p_s(y) over all records y. With a ``prior``
    this is the repaired mechanism. Without one it is a single attempt, and the last entry is the failure mass.

    >>> law = output_distribution([0] * 6, [[.8, .1, .1], [.1, .8, .1], [.1, .1, .8]], k=6, gamma=2, epsilon0=1)
    >>> law.round(8).tolist()
    [0.58484686, 0.07310586, 0.07310586, 0.26894142]
    """
    matrix, rows = _universe(seeds, proposals, k, gamma, epsilon0)
    released = _attempt(matrix[rows], k, gamma, epsilon0)
    if prior is None:
        released = released / len(rows)
        return np.append(released, max(1 - released.sum(), 0.0))
    public = _distribution(prior, matrix.shape[1])
    released = released / max(len(rows), k)
    share = prior_share(k, gamma, epsilon0)
    return (1 - share) * (released + (1 - released.sum()) * public) + share * public


def pass_rate(
    seeds: Sequence[int] | NDArray[np.int64], proposals: ArrayLike, *, k: int, gamma: float, epsilon0: float
) -> float:
    """Return the exact probability that one attempt passes its test, for universes small enough to list.

    It is a fact about the seeds: of a private table it may not leave. Tables of many columns are estimated instead, by
    :func:`~sfumato.mechanisms.plausible_deniability.pass_rates.pass_rates`.

    >>> round(pass_rate([0] * 6, [[.8, .1, .1], [.1, .8, .1], [.1, .1, .8]], k=6, gamma=2, epsilon0=1), 8)
    0.73105858
    """
    return float(1 - output_distribution(seeds, proposals, k=k, gamma=gamma, epsilon0=epsilon0)[-1])


def _attempt(proposals: FloatArray, k: int, gamma: float, epsilon0: float) -> FloatArray:
    """Return q(D, y) for every y: the sum over seeds of p_s(y) times the probability of passing."""
    with np.errstate(divide="ignore"):
        cells = cell_index(np.log(proposals), gamma)
    released = np.zeros(proposals.shape[1])
    for y in range(proposals.shape[1]):
        _, where, sizes = np.unique(cells[:, y], return_inverse=True, return_counts=True)
        released[y] = (proposals[:, y] * pass_probability(sizes[where], k, epsilon0)).sum()
    return released


def hockey_stick_divergence(first: ArrayLike, second: ArrayLike, epsilon: float) -> float:
    """Return the exact smallest delta at ``epsilon`` of two output laws, in both directions."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    factor = math.exp(epsilon)
    return float(max(np.maximum(a - factor * b, 0).sum(), np.maximum(b - factor * a, 0).sum()))


def _universe(
    seeds: Sequence[int] | NDArray[np.int64],
    proposals: ArrayLike,
    k: int,
    gamma: float,
    epsilon0: float,
) -> tuple[FloatArray, NDArray[np.int64]]:
    matrix, rows = np.asarray(proposals, dtype=float), np.asarray(seeds, dtype=np.int64).ravel()
    problems = parameter_problems(k, gamma, epsilon0)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all() or matrix.min() < 0:
        problems.append("proposals must be a matrix of probabilities: a row per seed, a column per record")
    elif matrix.sum(axis=1).max() > 1 + 1e-9:
        problems.append(f"a row of proposals sums to {matrix.sum(axis=1).max():.6g}, above 1")
    elif not len(rows) or rows.min() < 0 or rows.max() >= len(matrix):
        problems.append(f"seeds must be row numbers between 0 and {len(matrix) - 1}, at least one")
    if problems:
        raise PlanError("the law of the mechanism cannot be computed", problems, NEXT)
    return matrix, rows


def _distribution(prior: ArrayLike, size: int) -> FloatArray:
    public = np.asarray(prior, dtype=float).ravel()
    if public.shape != (size,) or not np.isfinite(public).all() or public.min() < 0 or abs(public.sum() - 1) > 1e-9:
        raise PlanError(
            f"the prior must be {size} probabilities that sum to 1, found {public.shape[0]} that sum to "
            f"{public.sum():.6g}",
            next_step="give a public distribution over the records, for example uniform",
        )
    return public
