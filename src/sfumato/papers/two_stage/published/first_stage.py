"""First stage as printed: Latin hypercube inputs with kernel-density marginals.

The bandwidth is ``h = c 1.06 sd n^(-1/5)`` with c between 0.1 and 3, so that it follows the unit of the column. The
published grid 0.05, 0.10, ..., 2 does not: it inflates a column with a standard deviation of 0.1 by 12 %, and nearly
copies the points of a column of incomes. c has the largest leave-one-out likelihood, where a value that stands alone
counts with a floor, so that one outlier does not choose. Values are put on a fine grid first and the kernel is applied
by fast Fourier transform, so that the cost hardly depends on the rows.

The density adds h^2 to the variance of the column. It is fitted to confidential values without noise.

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
* ``gan``, ``diffusion``: networks, see :mod:`sfumato.papers.two_stage.published.deep_generators`. They need the
extra ``[deep]``.

Heuristic: no differential privacy. All but the blind baselines in published units read the confidential rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError, TableError
from sfumato.papers.two_stage.published.deep_generators import diffusion, gan

FEWEST_ROWS = 20
FACTORS = np.geomspace(0.1, 3.0, 40)
"""Values of c that are tried."""
PUBLISHED_BANDWIDTHS = np.arange(1, 41) * 0.05
"""The grid of the paper, in the unit of the column: not scale-free."""
STEPS_PER_BANDWIDTH = 4
LARGEST_GRID = 2**22
REACH = 6.0
"""Largest bandwidths by which the grid goes beyond the extremes, so that the transform does not wrap round."""
TAIL = 5.0
"""Chosen bandwidths by which the density goes beyond the extremes: 3 in 10 million of a kernel lie farther out."""


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """A kernel density of one column, held on a grid."""

    grid: FloatArray
    density: FloatArray
    cumulated: FloatArray
    bandwidth: float
    scores: FloatArray
    """Mean leave-one-out log-likelihood of each bandwidth tried."""
    tried: FloatArray
    """The bandwidths tried."""

    def cdf(self, values: ArrayLike) -> FloatArray:
        """Return the share of the density at or below each value."""
        return np.interp(np.asarray(values, np.float64), self.grid, self.cumulated)

    def quantile(self, shares: ArrayLike) -> FloatArray:
        """Return the value below which each share of the density lies.

        >>> made = fit_kernel_density(np.arange(101.0))
        >>> float(made.quantile([0.5])[0].round(6))
        50.0
        """
        return np.interp(np.asarray(shares, np.float64), self.cumulated, self.grid)


def fit_kernel_density(values: ArrayLike, bandwidths: ArrayLike | None = None) -> KernelDensity:
    """Fit the density of a column; ``bandwidths`` replaces the scale-free candidates, in the unit of the column."""
    column = checked_column(values)
    tried = scale_free_bandwidths(column) if bandwidths is None else _checked_bandwidths(bandwidths)
    grid = _grid(column, tried)
    weights = _binned(column, grid)
    transform = _Transform(weights, float(grid[1] - grid[0]))
    scores = np.array([transform.leave_one_out(float(h)) for h in tried])
    chosen = float(tried[int(np.argmax(scores))])
    return _marginal(grid, transform.density(chosen), chosen, scores, tried, column)


def scale_free_bandwidths(column: FloatArray) -> FloatArray:
    """Return ``c 1.06 sd n^(-1/5)`` for every c that is tried."""
    return FACTORS * 1.06 * float(column.std()) * len(column) ** -0.2


def checked_column(values: ArrayLike) -> FloatArray:
    """Return a column of at least 20 finite numbers that are not all the same, or say what is wrong."""
    column = np.asarray(values, np.float64)
    problems: list[str] = []
    if column.ndim != 1:
        problems.append(f"must be one column, found shape {column.shape}")
    elif len(column) < FEWEST_ROWS:
        problems.append(f"{len(column)} rows are too few, at least {FEWEST_ROWS} are needed")
    if column.size and not np.isfinite(column).all():
        problems.append(f"{int((~np.isfinite(column)).sum()):,} values are missing or infinite")
    elif column.size and np.ptp(column) == 0:
        problems.append(f"all values are {float(column.flat[0]):g}")
    if problems:
        raise TableError("the column has no density", problems, "fill or drop missing values, drop constant columns")
    return column


def _marginal(
    grid: FloatArray, density: FloatArray, chosen: float, scores: FloatArray, tried: FloatArray, column: FloatArray
) -> KernelDensity:
    """Cut the grid where the chosen density ends, so that shares of 0 and 1 are the ends of the tails."""
    kept = (grid >= column.min() - TAIL * chosen) & (grid <= column.max() + TAIL * chosen)
    grid, density = grid[kept], density[kept]
    cumulated = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    area = float(cumulated[-1] * (grid[1] - grid[0]))
    return KernelDensity(grid, density / area, cumulated / cumulated[-1], chosen, scores, tried)


class _Transform:
    """Binned values and their Fourier transform, from which every bandwidth costs two products and one inverse."""

    def __init__(self, weights: FloatArray, step: float) -> None:
        from scipy.fft import rfft

        self.weights, self.step = weights, step
        # A power of two: the transform of a grid whose length is a large prime would be slow.
        self.size = 1 << (len(weights) - 1).bit_length()
        self.rows = float(weights.sum())
        self.transformed = np.asarray(rfft(weights, self.size), np.complex128)
        self.frequency = 2 * math.pi * np.fft.rfftfreq(self.size, step)
        self.filled = np.flatnonzero(weights)

    def density(self, bandwidth: float) -> FloatArray:
        """Return the density at the grid points."""
        from scipy.fft import irfft

        kernel = np.exp(-0.5 * (self.frequency * bandwidth) ** 2)
        made = np.asarray(irfft(self.transformed * kernel, self.size), np.float64)[: len(self.weights)]
        return np.maximum(made, 0.0) / (self.rows * self.step)

    def leave_one_out(self, bandwidth: float) -> float:
        """Return the mean log-likelihood of each value under the density of all the others."""
        own = 1 / (bandwidth * math.sqrt(2 * math.pi))
        others = (self.rows * self.density(bandwidth)[self.filled] - own) / (self.rows - 1)
        # A lone value has no likelihood without itself; the floor lets a few such values be outvoted.
        floor = own * 1e-4 / self.rows
        return float(self.weights[self.filled] @ np.log(np.maximum(others, floor))) / self.rows


def _checked_bandwidths(bandwidths: ArrayLike) -> FloatArray:
    tried = np.atleast_1d(np.asarray(bandwidths, np.float64))
    if not tried.size or not (np.isfinite(tried) & (tried > 0)).all():
        raise PlanError("bandwidths must be numbers above 0", next_step="leave them out to have them chosen")
    return tried


def _grid(column: FloatArray, tried: FloatArray) -> FloatArray:
    """Return equal steps, four to the smallest bandwidth, with room for the tails of the largest."""
    low, high = column.min() - REACH * tried.max(), column.max() + REACH * tried.max()
    steps = math.ceil(STEPS_PER_BANDWIDTH * (high - low) / tried.min())
    if steps > LARGEST_GRID:
        raise PlanError(
            f"a bandwidth of {tried.min():g} is too small for values from {column.min():g} to {column.max():g}",
            next_step="leave bandwidths out, or transform the column (for example by its logarithm)",
        )
    return np.linspace(low, high, steps + 1)


def _binned(column: FloatArray, grid: FloatArray) -> FloatArray:
    """Share each value between the two grid points around it, so that means are kept."""
    place = (column - grid[0]) / (grid[1] - grid[0])
    below = np.minimum(place.astype(np.int64), len(grid) - 2)
    upper = place - below
    parts = np.bincount(below, 1 - upper, len(grid)), np.bincount(below + 1, upper, len(grid))
    return np.asarray(parts, np.float64).sum(axis=0)


Step = Literal["rank", "correlation", "covariance", "independent"]
Unit = Literal["range", "published"]
STEPS: tuple[str, ...] = get_args(Step)
UNITS: tuple[str, ...] = get_args(Unit)
SAME = 1e-10
"""Columns whose correlation is this near to 1 or -1 are one column twice."""
WEIBULL_SHAPE = 8.0


def synthesise_inputs(
    name: str,
    inputs: ArrayLike,
    rows: int,
    generator: np.random.Generator,
    *,
    names: Sequence[str] = (),
    **options: Any,
) -> FloatArray:
    """Return ``rows`` synthetic rows of inputs by the first stage of that name; ``names`` are for messages.

    >>> generator = np.random.default_rng(1)
    >>> x = generator.normal(5.0, 2.0, (500, 2))
    >>> made = synthesise_inputs("lhs", x, 300, generator)
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
    inputs: FloatArray,
    rows: int,
    generator: np.random.Generator,
    *,
    step: str = "rank",
    bandwidths: ArrayLike | None = None,
) -> FloatArray:
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
        fit_kernel_density(column, bandwidths).quantile(share) for column, share in zip(inputs.T, placed.T, strict=True)
    ]
    return np.column_stack(columns)


def midpoints(rows: int, columns: int, generator: np.random.Generator) -> FloatArray:
    """Return the middle of each of ``rows`` equal strata of (0, 1), shuffled in every column."""
    strata = np.tile((np.arange(rows) + 0.5) / rows, (columns, 1))
    return generator.permuted(strata, axis=1).T


def normal_scores(values: FloatArray) -> FloatArray:
    """Return the normal quantile of each value's rank in its column; equal values share theirs."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(values, axis=0) - 0.5) / len(values)), np.float64)


def checked_inputs(inputs: ArrayLike, names: Sequence[str] = ()) -> FloatArray:
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


def _column_problems(values: FloatArray, labels: Sequence[str]) -> list[str]:
    problems: list[str] = []
    for label, column in zip(labels, values.T, strict=True):
        missing = int((~np.isfinite(column)).sum())
        if missing:
            problems.append(f"{label}: {missing:,} values are missing or infinite")
        elif len(column) and np.ptp(column) == 0:
            problems.append(f"{label}: all values are {float(column[0]):g}")
    return problems


def _twins(values: FloatArray, labels: Sequence[str]) -> list[str]:
    correlation = np.atleast_2d(np.corrcoef(values, rowvar=False))
    pairs = np.argwhere(np.triu(np.abs(correlation) > 1 - SAME, 1))
    return [f"{labels[i]} and {labels[j]} are the same up to unit and sign" for i, j in pairs]


def _ordered(shares: FloatArray, inputs: FloatArray, step: str) -> FloatArray:
    """Return the shares with the dependence that ``step`` gives them."""
    from scipy.special import ndtr, ndtri

    if step == "independent" or (inputs.shape[1] == 1 and step != "covariance"):
        return shares
    scores = np.asarray(ndtri(shares), np.float64)
    if step == "rank":
        wanted = _match_correlation(scores, _correlation(normal_scores(inputs)), _correlation(scores))
        places = np.argsort(np.argsort(wanted, axis=0, kind="stable"), axis=0, kind="stable")
        return np.take_along_axis(np.sort(shares, axis=0), places, axis=0)
    measure = _correlation if step == "correlation" else _covariance
    return np.asarray(ndtr(_match_correlation(scores, measure(inputs), measure(scores))), np.float64)


def _match_correlation(scores: FloatArray, target: FloatArray, own: FloatArray) -> FloatArray:
    """Return ``scores (P Q^-1)^T`` for the Cholesky factors P of the target and Q of the scores' own matrix."""
    factor = np.linalg.solve(_factor(own).T, _factor(target).T)
    return scores @ factor


def _factor(matrix: FloatArray) -> FloatArray:
    """Return a Cholesky factor; a matrix that is singular to rounding gets the least ridge that mends it."""
    ridge = 0.0
    size = float(np.trace(matrix)) / len(matrix)
    while True:
        try:
            return np.asarray(np.linalg.cholesky(matrix + ridge * np.eye(len(matrix))), np.float64)
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, 1e-12 * size)


def _correlation(values: FloatArray) -> FloatArray:
    return np.atleast_2d(np.corrcoef(values, rowvar=False))


def _covariance(values: FloatArray) -> FloatArray:
    return np.atleast_2d(np.cov(values, rowvar=False))


def _blind(draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray]) -> Callable[..., FloatArray]:
    """Return a first stage that draws every value alike, whatever the rows say."""

    def stage(inputs: FloatArray, rows: int, generator: np.random.Generator, *, unit: str = "range") -> FloatArray:
        if unit not in UNITS:
            raise PlanError(f"unit {unit!r} is unknown", next_step=f"use one of {', '.join(UNITS)}")
        drawn = draw(generator, (rows, inputs.shape[1]))
        low, width = inputs.min(axis=0), np.ptp(inputs, axis=0)
        return drawn if unit == "published" else low + width * drawn

    return stage


FIRST_STAGES: dict[str, Callable[..., FloatArray]] = {
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
