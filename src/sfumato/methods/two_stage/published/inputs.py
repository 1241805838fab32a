"""First stage: synthetic inputs that know nothing of single rows but the marginals and how columns go together.

* ``lhs``: Latin hypercube midpoints through the quantiles of each column's kernel density, put in an order that
  reproduces how the columns go together. ``step`` says how:

  - ``rank`` (Iman and Conover): columns keep their values exactly and only change places, so that normal scores get
    the correlation of the original ones. The default;
  - ``correlation``: correlated normal scores go through the normal distribution function. Nearly as good;
  - ``covariance``: as published, with the covariance of the raw columns in the place of a correlation. Erratum: it
    distorts every marginal, by an amount that depends on the unit of the table. Kept to reproduce, not to use;
  - ``independent``: no step, the columns are dealt on their own (algorithm 2).
* ``random``, ``weibull``, ``cauchy``: the paper's blind baselines U(0, 1), Weibull(scale 1, shape 8), Cauchy(0, 1).
  With ``unit="range"`` the unit interval stands for the range of each column, with ``unit="published"`` for itself.
* ``gan``, ``diffusion``: networks, see :mod:`sfumato.methods.two_stage.published.deep`. They need the extra ``[deep]``.

Heuristic: no differential privacy. All but the blind baselines in published units read the confidential rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import Array
from sfumato.errors import PlanError, TableError
from sfumato.methods.two_stage.published.deep import diffusion, gan
from sfumato.methods.two_stage.published.densities import FEWEST_ROWS, fit_marginal

Step = Literal["rank", "correlation", "covariance", "independent"]
Unit = Literal["range", "published"]
STEPS: tuple[str, ...] = get_args(Step)
UNITS: tuple[str, ...] = get_args(Unit)
SAME = 1e-10
"""Columns whose correlation is this near to 1 or -1 are one column twice."""
WEIBULL_SHAPE = 8.0


def make_inputs(
    name: str,
    inputs: ArrayLike,
    rows: int,
    generator: np.random.Generator,
    *,
    names: Sequence[str] = (),
    **options: Any,
) -> Array:
    """Return ``rows`` synthetic rows of inputs by the first stage of that name; ``names`` are for messages.

    >>> generator = np.random.default_rng(1)
    >>> x = generator.normal(5.0, 2.0, (500, 2))
    >>> made = make_inputs("lhs", x, 300, generator)
    >>> made.shape, bool(np.abs(made.mean(axis=0) - x.mean(axis=0)).max() < 0.05)
    ((300, 2), True)
    """
    if name not in FIRST_STAGES:
        raise PlanError(f"first stage {name!r} is unknown", next_step=f"use one of {', '.join(FIRST_STAGES)}")
    if isinstance(rows, bool) or rows < 2:
        raise PlanError(f"rows must be at least 2, found {rows!r}", next_step="use for example the rows of the table")
    try:
        return FIRST_STAGES[name](checked_inputs(inputs, names), rows, generator, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise PlanError(f"first stage {name!r}: {error}", next_step="leave that option out") from error


def latin_hypercube(
    inputs: Array, rows: int, generator: np.random.Generator, *, step: str = "rank", bandwidths: ArrayLike | None = None
) -> Array:
    """Return Latin hypercube rows with the marginals of the inputs, ordered by ``step``."""
    if step not in STEPS:
        raise PlanError(f"step {step!r} is unknown", next_step=f"use one of {', '.join(STEPS)}")
    if step != "independent" and rows <= inputs.shape[1]:
        raise PlanError(
            f"{rows} rows cannot carry the correlation of {inputs.shape[1]} columns",
            next_step="ask for more rows, or use step='independent'",
        )
    shares = midpoints(rows, inputs.shape[1], generator)
    placed = _ordered(shares, inputs, step)
    columns = [
        fit_marginal(column, bandwidths).quantile(share) for column, share in zip(inputs.T, placed.T, strict=True)
    ]
    return np.column_stack(columns)


def midpoints(rows: int, columns: int, generator: np.random.Generator) -> Array:
    """Return the middle of each of ``rows`` equal strata of (0, 1), shuffled in every column."""
    strata = np.tile((np.arange(rows) + 0.5) / rows, (columns, 1))
    return generator.permuted(strata, axis=1).T


def normal_scores(values: Array) -> Array:
    """Return the normal quantile of each value's rank in its column; equal values share theirs."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(values, axis=0) - 0.5) / len(values)), np.float64)


def checked_inputs(inputs: ArrayLike, names: Sequence[str] = ()) -> Array:
    """Return rows of numbers that a first stage can learn from, or list all that is wrong with them."""
    values = np.asarray(inputs, np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not values.shape[1]:
        raise TableError(f"inputs must be rows and columns, found shape {values.shape}", next_step="name input columns")
    labels = tuple(names) or tuple(f"column {place + 1}" for place in range(values.shape[1]))
    problems = (
        [f"{len(values)} rows are too few, at least {FEWEST_ROWS} are needed"] if len(values) < FEWEST_ROWS else []
    )
    problems += _column_problems(values, labels)
    if not problems:
        problems = _twins(values, labels)
    if problems:
        raise TableError(
            "the inputs cannot be synthesized",
            problems,
            "fill or drop missing values, and drop constant and duplicate columns",
        )
    return values


def _column_problems(values: Array, labels: Sequence[str]) -> list[str]:
    problems: list[str] = []
    for label, column in zip(labels, values.T, strict=True):
        missing = int((~np.isfinite(column)).sum())
        if missing:
            problems.append(f"{label}: {missing:,} values are missing or infinite")
        elif len(column) and np.ptp(column) == 0:
            problems.append(f"{label}: all values are {float(column[0]):g}")
    return problems


def _twins(values: Array, labels: Sequence[str]) -> list[str]:
    correlation = np.atleast_2d(np.corrcoef(values, rowvar=False))
    pairs = np.argwhere(np.triu(np.abs(correlation) > 1 - SAME, 1))
    return [f"{labels[i]} and {labels[j]} are the same up to unit and sign" for i, j in pairs]


def _ordered(shares: Array, inputs: Array, step: str) -> Array:
    """Return the shares with the dependence that ``step`` gives them."""
    from scipy.special import ndtr, ndtri

    if step == "independent" or (inputs.shape[1] == 1 and step != "covariance"):
        return shares
    scores = np.asarray(ndtri(shares), np.float64)
    if step == "rank":
        wanted = _carried(scores, _correlation(normal_scores(inputs)), _correlation(scores))
        places = np.argsort(np.argsort(wanted, axis=0, kind="stable"), axis=0, kind="stable")
        return np.take_along_axis(np.sort(shares, axis=0), places, axis=0)
    measure = _correlation if step == "correlation" else _covariance
    return np.asarray(ndtr(_carried(scores, measure(inputs), measure(scores))), np.float64)


def _carried(scores: Array, target: Array, own: Array) -> Array:
    """Return ``scores (P Q^-1)^T`` for the Cholesky factors P of the target and Q of the scores' own matrix."""
    factor = np.linalg.solve(_factor(own).T, _factor(target).T)
    return scores @ factor


def _factor(matrix: Array) -> Array:
    """Return a Cholesky factor; a matrix that is singular to rounding gets the least ridge that mends it."""
    ridge = 0.0
    size = float(np.trace(matrix)) / len(matrix)
    while True:
        try:
            return np.asarray(np.linalg.cholesky(matrix + ridge * np.eye(len(matrix))), np.float64)
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, 1e-12 * size)


def _correlation(values: Array) -> Array:
    return np.atleast_2d(np.corrcoef(values, rowvar=False))


def _covariance(values: Array) -> Array:
    return np.atleast_2d(np.cov(values, rowvar=False))


def _blind(draw: Callable[[np.random.Generator, tuple[int, int]], Array]) -> Callable[..., Array]:
    """Return a first stage that draws every value alike, whatever the rows say."""

    def stage(inputs: Array, rows: int, generator: np.random.Generator, *, unit: str = "range") -> Array:
        if unit not in UNITS:
            raise PlanError(f"unit {unit!r} is unknown", next_step=f"use one of {', '.join(UNITS)}")
        drawn = draw(generator, (rows, inputs.shape[1]))
        low, width = inputs.min(axis=0), np.ptp(inputs, axis=0)
        return drawn if unit == "published" else low + width * drawn

    return stage


FIRST_STAGES: dict[str, Callable[..., Array]] = {
    "lhs": latin_hypercube,
    "random": _blind(lambda generator, shape: generator.random(shape)),
    "weibull": _blind(lambda generator, shape: generator.weibull(WEIBULL_SHAPE, shape)),
    "cauchy": _blind(lambda generator, shape: generator.standard_cauchy(shape)),
    "gan": gan,
    "diffusion": diffusion,
}
"""First stages by name."""
DEEP = ("gan", "diffusion")
"""Those that train a network, for minutes."""
