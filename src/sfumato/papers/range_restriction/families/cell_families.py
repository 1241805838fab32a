"""Families over cells of coarse predictors: gamma posteriors of rates, Dirichlet posteriors of categories.

Counts are Poisson with mean rate times exposure; waiting times are exponential with the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaln, logsumexp

from sfumato.errors import PlanError, TableError
from sfumato.papers.range_restriction.families.interface import (
    ALL,
    Codes,
    FloatArray,
    Kind,
    RecordPosterior,
    RecordsInCells,
    Rows,
    StandardRandomNumbers,
    cell_numbers,
    checked_weights,
    whole_numbers,
)
from sfumato.papers.range_restriction.families.log_probabilities import log_count_range, log_gamma_quantile


@dataclass(frozen=True, eq=False)
class Rates(RecordsInCells):
    """Values in cells, with exposures (1 for waiting times) and the shape and rate of a gamma prior."""

    name: str
    values: FloatArray
    exposure: FloatArray
    cells: Codes
    groups: int
    prior: tuple[float, float]

    by_record: ClassVar = ("values", "exposure", "cells")

    @property
    def kind(self) -> Kind:
        """Counts have ranges of whole numbers; waiting times have intervals."""
        return "counts" if self.name == "counts" else "continuous"

    def numbers(self, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw one uniform per cell."""
        return StandardRandomNumbers.drawn(draws, 0, self.groups, generator)

    def posterior(self, weights: ArrayLike) -> RatePosterior:
        """Return the gamma posteriors: events onto the shape, time at risk onto the rate."""
        exact = checked_weights(np.asarray(weights, float), len(self.values))
        events = self.values if self.name == "counts" else np.ones(len(self.values))
        time = self.exposure if self.name == "counts" else self.values
        shape = np.asarray(self.prior[0] + np.bincount(self.cells, exact * events, self.groups), float)
        rate = np.asarray(self.prior[1] + np.bincount(self.cells, exact * time, self.groups), float)
        if (shape <= 0).any() or (rate <= 0).any():
            raise _improper(self.name, np.flatnonzero((shape <= 0) | (rate <= 0)))
        return RatePosterior(self, shape, rate)

    def with_record(self, value: float, predictors: Any = None) -> Rates:
        """Return the same family and one more record, last, of exposure 1; its cell defaults to the most frequent."""
        return self.joined_by(value, 1.0, self.cell_at(predictors))

    def outlier(self, residual: float, predictors: Any = None) -> float:
        """Return the value ``residual`` standard deviations above the mean of its cell, at exposure 1."""
        fit, cell = self.posterior(np.ones(len(self.values))), self.cell_at(predictors)
        rate = float(fit.shape[cell] / fit.rate[cell])
        if self.name == "counts":
            return float(np.ceil(rate + residual * np.sqrt(rate)))
        return (1 + residual) / rate


def make_rates(
    name: str, values: Any, design: Any, prior: tuple[float, float] | None, exposure: Any, groups: int | None
) -> Rates:
    """Return a family of counts or waiting times, or refuse the values.

    The default priors are flat in the log of the rate up to half an event: Gamma(1/2, 0) for counts, Gamma(0, 0) for
    waiting times. Both need some weight in every cell.
    """
    exact = np.asarray(whole_numbers(values, "counts") if name == "counts" else values, float)
    if exact.ndim != 1 or not len(exact) or not np.isfinite(exact).all():
        raise TableError(f"the values of the {name} family must be one column of finite numbers")
    if name == "exponential" and (exact <= 0).any():
        problem = f"{int((exact <= 0).sum())} of {len(exact)} values are 0 or below"
        raise TableError("a waiting time must be above 0", [problem], "leave these records out, or use another family")
    default = (0.5, 0.0) if name == "counts" else (0.0, 0.0)
    cells, count = cell_numbers(design, len(exact), groups)
    return Rates(name, exact, _exposures(name, exposure, len(exact)), cells, count, _prior(prior or default))


def _exposures(name: str, exposure: Any, records: int) -> FloatArray:
    if exposure is None:
        return np.ones(records)
    exact = np.broadcast_to(np.asarray(exposure, float), (records,))
    if name != "counts" or not (np.isfinite(exact).all() and (exact > 0).all()):
        raise PlanError("exposures belong to counts, and must be finite and above 0")
    return np.array(exact)


def _prior(prior: tuple[float, float]) -> tuple[float, float]:
    shape, rate = float(prior[0]), float(prior[1])
    if not (0 <= shape < np.inf and 0 <= rate < np.inf):
        raise PlanError("a gamma prior is a pair (shape, rate), both finite and at least 0")
    return shape, rate


def _improper(name: str, cells: Codes) -> PlanError:
    shown = ", ".join(str(cell) for cell in cells[:8]) + (", ..." if len(cells) > 8 else "")
    return PlanError(
        f"the weighted posterior of the {name} family is improper",
        [f"no weight, or no event, in {len(cells)} cells: {shown}"],
        "use fewer cells, raise the scale or the target claim, or give a proper prior (shape, rate)",
    )


@dataclass(frozen=True, eq=False)
class RatePosterior(RecordPosterior):
    """One Gamma(shape, rate) per cell; draws are the rates themselves."""

    family: Rates
    shape: FloatArray
    rate: FloatArray

    def draw(self, numbers: StandardRandomNumbers) -> FloatArray:
        """Return rates, one per cell, by the quantile function of the gamma."""
        return np.exp(log_gamma_quantile(self.shape, numbers.uniform)) / self.rate

    def log_likelihood(self, draws: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log density, or probability, of each value: draws by records."""
        rates, values = draws[:, self.family.cells[rows]], self.family.values[rows]
        if self.family.name == "exponential":
            return np.log(rates) - rates * values
        expected = rates * self.family.exposure[rows]
        return values * np.log(expected) - expected - gammaln(values + 1)

    def log_range(self, draws: FloatArray, low: FloatArray, high: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log probability of each record's range, exact in both tails: draws by records."""
        rates, exposure = draws[:, self.family.cells[rows]], self.family.exposure[rows]
        if self.family.name != "exponential":
            return log_count_range(np.maximum(np.ceil(low), 0.0), np.floor(high), rates * exposure)
        bottom = np.maximum(low, 0.0)
        with np.errstate(divide="ignore"):
            return -rates * bottom + np.log(-np.expm1(-rates * (np.asarray(high) - bottom)))

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the predictive probability outside each range: negative binomial, or Lomax for waiting times."""
        shape, rate = self.shape[self.family.cells], self.rate[self.family.cells]
        if self.family.name == "exponential":
            below = -np.expm1(-shape * np.log1p(np.maximum(low, 0.0) / rate))
            return np.asarray(below + np.exp(-shape * np.log1p(np.maximum(high, 0.0) / rate)))
        time = self.family.exposure
        first, next_up = np.maximum(np.ceil(low), 0.0), np.floor(high) + 1
        below = np.where(first > 0, betainc(shape, np.maximum(first, 1), rate / (rate + time)), 0.0)
        finite = np.where(np.isinf(next_up), 1.0, np.maximum(next_up, 1.0))
        above = np.where(np.isinf(next_up), 0.0, betainc(finite, shape, time / (rate + time)))
        return np.asarray(below + above)

    def log_density(self, draws: FloatArray) -> FloatArray:
        """Return the normalised log density of all cells' rates together."""
        constant = (self.shape * np.log(self.rate) - gammaln(self.shape)).sum()
        return np.asarray(constant + np.log(draws) @ (self.shape - 1) - draws @ self.rate)

    def surprise(self) -> FloatArray:
        """Return how many standard deviations each value lies from the mean of its cell."""
        rate = (self.shape / self.rate)[self.family.cells]
        if self.family.name == "exponential":
            return np.abs(self.family.values * rate - 1)
        expected = rate * self.family.exposure
        return np.abs(self.family.values - expected) / np.sqrt(expected)

    def synthesise(self, draws: FloatArray, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
        """Return one synthetic column at the given cells, exposure 1, or at the family's own."""
        rates = draws[index, self.family.cells_at(design)]
        if self.family.name == "exponential":
            return generator.exponential(1 / rates)
        return generator.poisson(rates * (self.family.exposure if design is None else 1.0)).astype(float)


@dataclass(frozen=True, eq=False)
class Categorical(RecordsInCells):
    """Codes 0 to k - 1 in cells 0 to ``groups`` - 1; ``prior`` holds one concentration per category."""

    name: str
    codes: Codes
    cells: Codes
    groups: int
    prior: FloatArray

    by_record: ClassVar = ("codes", "cells")

    @property
    def kind(self) -> Kind:
        """Ranges are runs of neighbouring codes."""
        return "codes"

    @property
    def values(self) -> FloatArray:
        """The codes, as numbers."""
        return self.codes.astype(float)

    def numbers(self, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw one uniform per category and cell."""
        return StandardRandomNumbers.drawn(draws, 0, self.groups * len(self.prior), generator)

    def posterior(self, weights: ArrayLike) -> CategoricalPosterior:
        """Return the Dirichlet posteriors: prior plus the weights that fall on each category of each cell."""
        exact = checked_weights(np.asarray(weights, float), len(self.codes))
        k = len(self.prior)
        counts = np.bincount(self.cells * k + self.codes, exact, self.groups * k).reshape(self.groups, k)
        return CategoricalPosterior(self, self.prior + counts)

    def with_record(self, value: float, predictors: Any = None) -> Categorical:
        """Return the same family and one more record, last; its cell defaults to the most frequent one."""
        return self.joined_by(int(value), self.cell_at(predictors))

    def outlier(self, residual: float, predictors: Any = None) -> float:
        """Return the rarest category of the cell: codes have no standard deviations."""
        shares = self.posterior(np.ones(len(self.codes))).concentration[self.cell_at(predictors)]
        return float(np.argmin(shares))


@dataclass(frozen=True, eq=False)
class CategoricalPosterior(RecordPosterior):
    """One Dirichlet per cell; draws are log shares, so that rare categories do not underflow."""

    family: Categorical
    concentration: FloatArray

    def draw(self, numbers: StandardRandomNumbers) -> FloatArray:
        """Return log shares: logs of gamma quantiles, less the log of their sum in each cell."""
        logs = log_gamma_quantile(self.concentration.ravel(), numbers.uniform)
        grouped = logs.reshape(-1, *self.concentration.shape)
        return (grouped - logsumexp(grouped, axis=2, keepdims=True)).reshape(len(logs), -1)

    def log_likelihood(self, draws: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log share of each record's category: draws by records."""
        return draws[:, self.family.cells[rows] * self.concentration.shape[1] + self.family.codes[rows]]

    def log_range(self, draws: FloatArray, low: FloatArray, high: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log of the summed shares of the codes from low to high: draws by records."""
        shares: FloatArray = draws.reshape(len(draws), *self.concentration.shape)
        cells = self.family.cells[rows]
        result = np.empty((len(draws), len(cells)))
        k = shares.shape[2]
        first = np.clip(np.ceil(low), 0, k).astype(np.int64)
        last = np.clip(np.floor(high), -1, k - 1).astype(np.int64)
        for start, end in np.unique(np.column_stack([first, last]), axis=0):
            here = (first == start) & (last == end)
            whole = start == 0 and end == k - 1
            found = 0.0 if whole else logsumexp(shares[:, :, start : end + 1], axis=2)
            sums: FloatArray = np.broadcast_to(np.asarray(found, float), shares.shape[:2])
            result[:, here] = sums[:, cells[here]]
        return result

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the predictive probability of the codes outside each range, added up."""
        codes = np.arange(self.concentration.shape[1])
        shares = self.concentration / self.concentration.sum(axis=1, keepdims=True)
        beyond = (codes < np.asarray(low)[:, None]) | (codes > np.asarray(high)[:, None])
        return (shares[self.family.cells] * beyond).sum(axis=1)

    def log_density(self, draws: FloatArray) -> FloatArray:
        """Return the normalised log density of all cells' shares together."""
        a = self.concentration
        constant = (gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)).sum()
        return np.asarray(constant + draws @ (a.ravel() - 1))

    def surprise(self) -> FloatArray:
        """Return minus the log of each record's predictive share."""
        shares = self.concentration / self.concentration.sum(axis=1, keepdims=True)
        return -np.log(shares[self.family.cells, self.family.codes])

    def synthesise(self, draws: FloatArray, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
        """Return one synthetic column of codes at the given cells, or at the family's own if ``design`` is None."""
        cells = self.family.cells_at(design)
        shares = np.exp(draws[index]).reshape(self.concentration.shape)
        ends = np.cumsum(shares, axis=1)
        ends[:, -1] = np.inf  # rounding must not leave a gap above the last category
        spots = generator.random(len(cells))
        found = np.empty(len(cells))
        for cell in np.unique(cells):
            here = cells == cell
            found[here] = np.searchsorted(ends[cell], spots[here], side="right")
        return found


def make_categorical(
    name: str, values: Any, design: Any, prior: ArrayLike | None, categories: int | None, groups: int | None
) -> Categorical:
    """Return a family of codes, or refuse them; the default prior is uniform: every concentration is 1."""
    codes = whole_numbers(values, f"values of the {name} family")
    count = 2 if name == "binary" else int(codes.max(initial=0)) + 1 if categories is None else categories
    if codes.ndim != 1 or not len(codes) or codes.max() >= count:
        problem = f"{codes.size} values, the largest code is {codes.max(initial=-1)}"
        raise TableError(f"the {name} family needs one column of codes below {count}", [problem])
    concentrations = np.ones(count) if prior is None else np.asarray(prior, float)
    if concentrations.shape != (count,) or not (np.isfinite(concentrations).all() and (concentrations > 0).all()):
        raise PlanError(f"the prior of the {name} family must be {count} concentrations above 0, one per category")
    cells, cell_count = cell_numbers(design, len(codes), groups)
    return Categorical(name, codes, cells, cell_count, concentrations)
