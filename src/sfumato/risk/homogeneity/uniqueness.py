"""Exact re-identification risk of people unique in their cell.

A cell is a combination of identifiers. A noisy table shows it with one person when its published counts, those below 0
taken as 0, sum to 1. With p the law of the noise and r(m) the chance that a count m vanishes, a cell with counts n_1,
..., n_K shows one person with probability

    u(n) = sum over k of p(1 - n_k) times the product of r(n_j) over the others,

because exactly one count is published as 1 and all others vanish; these events exclude each other. A table of the
identifiers alone has K = 1, and u(n) = p(1 - n). From u follow, exactly:

- *seen*: the mean of u over the people who are alone. For K = 1 it is p(0): tanh(epsilon / 2) for geometric noise, 1 -
  exp(-epsilon / 2) for rounded Laplace noise, 2 Phi(1 / (2 sigma)) - 1 for rounded Gaussian noise;
- *right*: of the cells that show one person, the share that hold one: sum of u over lonely cells / sum of u over all
  cells of the public domain, empty ones included. By Bayes it is the posterior of an attacker who knows how the sizes
  of cells are distributed, but not whether the target is in the table;
- *known*: of the people whose cell shows one person, the share who are alone: the same with each cell weighted by its
  people. It is the posterior for a target who is known to be in the table.

*seen* and *named* depend on epsilon and K alone, not on the table: an epsilon chosen by them gives nothing away.

For sizes with generating function G and geometric noise, t = exp(-epsilon), the sums are closed too: right = f(1) /
(f(0) t + (G(t) - f(0)) / t) and known = f(1) / G'(t). For Poisson sizes of mean m, known = exp(-m t).
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import Counts, FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.confidence import FrozenModel
from sfumato.privacy.noise_distributions import NoiseLaw
from sfumato.risk.homogeneity.cells import check_counts
from sfumato.risk.homogeneity.epsilon_search import (
    AverageRisk,
    EpsilonChoice,
    Mechanism,
    NoiseOptions,
    feasible_epsilons,
)
from sfumato.risk.homogeneity.expected import SizeLaw


class ReidentificationRisk(FrozenModel):
    """What a noisy table says about people who are alone in their cell."""

    alone: float
    """People who are alone; of a law of sizes: their share among people."""
    baseline: float
    """Share of people who are alone: what an attacker knows of a target in the table without any release."""
    seen: float
    """Chance that a person who is alone is shown as alone."""
    named: float
    """Chance that such a person is shown as alone with the right sensitive value; ``seen`` where there is none."""
    right: float
    """Of the cells that show one person, the share that hold one; 0 where none can."""
    known: float
    """The same for a target who is known to be in the table."""
    shown: float
    """Cells that show one person, in expectation; of a law of sizes: their share."""


def shown_unique(counts: ArrayLike, noise: NoiseLaw) -> FloatArray:
    """Return for every cell the exact probability that the noisy table shows one person in it.

    >>> from sfumato.privacy.noise_distributions import Geometric
    >>> shown_unique([0, 1, 2], Geometric(1.0)).round(4).tolist()
    [0.17, 0.4621, 0.17]
    """
    array = _rows(counts)
    one, none = np.zeros(len(array)), np.ones(len(array))
    for column in array.T:
        vanish = noise.vanishing(column)
        one = one * vanish + none * noise.pmf(1 - column)
        none = none * vanish
    return one


def reidentification(
    counts: ArrayLike, noise: NoiseLaw, empty: float = 0, repeats: ArrayLike | None = None
) -> ReidentificationRisk:
    """Return the re-identification risk of a noisy table of these cells, and of ``empty`` cells that nobody is in.

    ``counts`` are the sizes of the cells where the identifiers alone are published, or a row for each cell with a
    column for each sensitive value. ``repeats`` says how often each row occurs; once by default.

    >>> from sfumato.privacy.noise_distributions import Geometric
    >>> found = reidentification([1, 1, 2, 5], Geometric(2.0), empty=3)
    >>> round(found.seen, 4), round(found.right, 4), round(found.known, 4)
    (0.7616, 0.7869, 0.8801)
    """
    if not empty >= 0:
        raise RiskError(f"the number of empty cells is {empty!r}", next_step="give a number of 0 or more")
    rows = _rows(counts)
    if not rows.any():
        raise RiskError("every cell is empty", next_step="give at least one cell with a record in it")
    often = np.ones(len(rows)) if repeats is None else np.asarray(repeats, float)
    nobody = np.zeros((1, rows.shape[1]), np.int64)
    return _risk(np.vstack([rows, nobody]), np.append(often, float(empty)), noise)


def reidentification_for(sizes: SizeLaw, noise: NoiseLaw) -> ReidentificationRisk:
    """Return the risk of a noisy table of identifiers whose cells have sizes by a public law, empty ones included.

    >>> from sfumato.privacy.noise_distributions import Geometric
    >>> from sfumato.risk.homogeneity import Poisson
    >>> found = reidentification_for(Poisson(0.5), Geometric(1.0))
    >>> round(found.known, 12) == round(float(np.exp(-0.5 * np.exp(-1))), 12)
    True
    """
    whole = np.arange(sizes.largest() + 1)
    return _risk(whole[:, None], sizes.pmf(whole), noise, share=True)


def epsilon_for_uniqueness(
    target: float,
    values: int = 1,
    mechanism: str = "geometric",
    sensitivity: float = 1,
    **noise: Unpack[NoiseOptions],
) -> EpsilonChoice:
    """Return every epsilon at which a person who is alone is shown as alone with a chance of ``target`` at most.

    ``values`` are the sensitive values of the table; 1 where the identifiers alone are published. No table is read.

    >>> choice = epsilon_for_uniqueness(0.5)
    >>> round(choice.epsilon, 5), round(2 * float(np.arctanh(0.5)), 5)
    (1.09861, 1.09861)
    """
    if values < 1:
        raise RiskError(f"{values} sensitive values", next_step="give 1 for a table of the identifiers alone, or more")
    # Each count is published as 0, as 1, or as more. Both limits are vanishing chances, r(m) and r(m - 1), so that
    # each count has twice the slope of one that survives or vanishes.
    row = np.eye(1, values, dtype=np.int64)
    chance = AverageRisk(lambda law: float(shown_unique(row, law)[0]), 2 * values, 2.0 * (1 + 2 * values))
    return feasible_epsilons(target, chance, Mechanism(mechanism, sensitivity=sensitivity, **noise))


def _risk(rows: NDArray[np.int64], weights: FloatArray, noise: NoiseLaw, share: bool = False) -> ReidentificationRisk:
    people, shown = rows.sum(axis=1), shown_unique(rows, noise)
    lonely = people == 1
    alone, everybody = float(weights[lonely].sum()), float(weights @ people)
    found = float((weights * shown)[lonely].sum())
    seen = float(shown[lonely][0]) if lonely.any() else 0.0
    return ReidentificationRisk(
        alone=alone / everybody if share else alone,
        baseline=alone / everybody,
        seen=seen if alone else 0.0,
        named=_named(rows.shape[1], noise) if alone else 0.0,
        right=_ratio(found, float(weights @ shown)),
        known=_ratio(found, float((weights * people) @ shown)),
        shown=float(weights @ shown),
    )


def _named(values: int, noise: NoiseLaw) -> float:
    """Return the chance that a count of 1 stays 1 and every other value of the cell vanishes."""
    return float(noise.pmf(0)) * float(noise.vanishing(0)) ** (values - 1)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _rows(counts: ArrayLike) -> Counts:
    """Return a row for each cell; sizes alone are a column."""
    array = np.asarray(getattr(counts, "counts", counts))
    return check_counts(array[:, None] if array.ndim == 1 else array, fewest=1)
