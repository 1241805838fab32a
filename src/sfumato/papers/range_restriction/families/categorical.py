"""Categorical family: one Dirichlet posterior per cell of predictors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from sfumato.errors import PlanError, TableError
from sfumato.papers.range_restriction.families.interface import (
    ALL,
    FloatArray,
    Kind,
    ParameterDraws,
    StandardRandomNumbers,
    checked_weights,
)
from sfumato.papers.range_restriction.families.log_probabilities import log_gamma_quantile
from sfumato.papers.range_restriction.families.predictor_cells import (
    Codes,
    cell_numbers,
    extremes_over_draws,
    whole_numbers,
)


@dataclass(frozen=True, eq=False)
class Categorical:
    """Codes 0 to k - 1 in cells 0 to ``groups`` - 1; ``prior`` holds one concentration per category."""

    name: str
    codes: Codes
    cells: Codes
    groups: int
    prior: FloatArray

    @property
    def kind(self) -> Kind:
        """Ranges are runs of neighbouring codes."""
        return "codes"

    @property
    def values(self) -> FloatArray:
        """The codes, as numbers."""
        return self.codes.astype(float)

    @property
    def parameters(self) -> int:
        """A Dirichlet prior is proper: any weights will do."""
        return 0

    def numbers(self, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw one uniform per category and cell."""
        return StandardRandomNumbers.drawn(draws, 0, self.groups * len(self.prior), generator)

    def posterior(self, weights: ArrayLike) -> CategoricalPosterior:
        """Return the Dirichlet posteriors: prior plus the weights that fall on each category of each cell."""
        exact = checked_weights(np.asarray(weights, float), len(self.codes))
        k = len(self.prior)
        counts = np.bincount(self.cells * k + self.codes, exact, self.groups * k).reshape(self.groups, k)
        return CategoricalPosterior(self, self.prior + counts)

    def without(self, index: int) -> Categorical:
        """Return the same family less one record."""
        return replace(self, codes=np.delete(self.codes, index), cells=np.delete(self.cells, index))

    def with_record(self, value: float, predictors: Any = None) -> Categorical:
        """Return the same family and one more record, last; its cell defaults to the most frequent one."""
        cell = self._cell(predictors)
        return replace(self, codes=np.append(self.codes, int(value)), cells=np.append(self.cells, cell))

    def outlier(self, residual: float, predictors: Any = None) -> float:
        """Return the rarest category of the cell: codes have no standard deviations."""
        shares = self.posterior(np.ones(len(self.codes))).concentration[self._cell(predictors)]
        return float(np.argmin(shares))

    def _cell(self, predictors: Any) -> int:
        if predictors is None:
            return int(np.bincount(self.cells, minlength=1).argmax())
        return int(cell_numbers(np.atleast_1d(predictors), 1, self.groups)[0][0])


@dataclass(frozen=True, eq=False)
class CategoricalPosterior:
    """One Dirichlet per cell; draws are log shares, so that rare categories do not underflow."""

    family: Categorical
    concentration: FloatArray

    def draw(self, numbers: StandardRandomNumbers) -> ParameterDraws:
        """Return log shares: logs of gamma quantiles, less the log of their sum in each cell."""
        logs = log_gamma_quantile(self.concentration.ravel(), numbers.uniform)
        grouped = logs.reshape(-1, *self.concentration.shape)
        return ParameterDraws((grouped - logsumexp(grouped, axis=2, keepdims=True)).reshape(len(logs), -1))

    def log_likelihood(self, draws: ParameterDraws, rows: slice = ALL) -> FloatArray:
        """Return the log share of each record's category: draws by records."""
        return draws.theta[:, self.family.cells[rows] * self.concentration.shape[1] + self.family.codes[rows]]

    def log_range(self, draws: ParameterDraws, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the log of the summed shares of the codes from low to high: draws by records."""
        return self._log_range(draws, self.family.cells, np.asarray(low, float), np.asarray(high, float))

    def extremes(
        self,
        draws: ParameterDraws,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return each record's extremes over the draws; records that agree are worked out once."""
        family, records = self.family, len(self.family.codes)
        scale = np.ones(records) if weights is None else np.asarray(weights, float)
        if low is None or high is None:
            place = family.cells * self.concentration.shape[1] + family.codes
            return scale * draws.theta.min(axis=0)[place], scale * draws.theta.max(axis=0)[place]

        def work(columns: list[FloatArray]) -> FloatArray:
            cells, codes, weight, first, last = columns
            places = (cells * self.concentration.shape[1] + codes).astype(np.int64)
            return weight * draws.theta[:, places] - self._log_range(draws, cells.astype(np.int64), first, last)

        columns = [family.cells.astype(float), family.values, scale, low, high]
        return extremes_over_draws(columns, work, len(draws))

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the predictive probability of the codes outside each range, added up."""
        codes = np.arange(self.concentration.shape[1])
        shares = self.concentration / self.concentration.sum(axis=1, keepdims=True)
        beyond = (codes < np.asarray(low)[:, None]) | (codes > np.asarray(high)[:, None])
        return (shares[self.family.cells] * beyond).sum(axis=1)

    def log_density(self, draws: ParameterDraws) -> FloatArray:
        """Return the normalised log density of all cells' shares together."""
        a = self.concentration
        constant = (gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)).sum()
        return np.asarray(constant + draws.theta @ (a.ravel() - 1))

    def surprise(self) -> FloatArray:
        """Return minus the log of each record's predictive share."""
        shares = self.concentration / self.concentration.sum(axis=1, keepdims=True)
        return -np.log(shares[self.family.cells, self.family.codes])

    def synthesise(self, draws: ParameterDraws, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
        """Return one synthetic column of codes at the given cells, or at the family's own if ``design`` is None."""
        family = self.family
        cells = family.cells if design is None else cell_numbers(design, len(design), family.groups)[0]
        shares = np.exp(draws.theta[index]).reshape(self.concentration.shape)
        ends = np.cumsum(shares, axis=1)
        ends[:, -1] = np.inf  # rounding must not leave a gap above the last category
        spots = generator.random(len(cells))
        found = np.empty(len(cells))
        for cell in np.unique(cells):
            here = cells == cell
            found[here] = np.searchsorted(ends[cell], spots[here], side="right")
        return found

    def _log_range(self, draws: ParameterDraws, cells: Codes, low: FloatArray, high: FloatArray) -> FloatArray:
        shares: FloatArray = draws.theta.reshape(len(draws), *self.concentration.shape)
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
