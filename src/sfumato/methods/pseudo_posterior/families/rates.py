"""Counts and waiting times with weights: one gamma posterior of the rate per cell of coarse predecessors.

Counts are Poisson with mean rate times exposure; waiting times are exponential with the rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import PlanError, TableError
from sfumato.methods.pseudo_posterior.families.cells import Codes, as_cells, whole_numbers
from sfumato.methods.pseudo_posterior.families.interface import Array, Kind, Numbers, checked_weights
from sfumato.methods.pseudo_posterior.families.rate_posterior import RatePosterior


@dataclass(frozen=True, eq=False)
class Rates:
    """Values in cells, with exposures (1 for waiting times) and the shape and rate of a gamma prior."""

    name: str
    values: Array
    exposure: Array
    cells: Codes
    groups: int
    prior: tuple[float, float]

    @property
    def kind(self) -> Kind:
        """Counts have ranges of whole numbers; waiting times have intervals."""
        return "counts" if self.name == "counts" else "continuous"

    @property
    def parameters(self) -> int:
        """Nothing beyond a positive weight in every cell is needed, and not even that with a proper prior."""
        return 0

    def numbers(self, draws: int, generator: np.random.Generator) -> Numbers:
        """Draw one uniform per cell."""
        return Numbers.drawn(draws, 0, self.groups, generator)

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

    def without(self, index: int) -> Rates:
        """Return the same family less one record."""
        keep = np.arange(len(self.values)) != index
        return replace(self, values=self.values[keep], exposure=self.exposure[keep], cells=self.cells[keep])

    def with_record(self, value: float, predictors: Any = None) -> Rates:
        """Return the same family and one more record, last, of exposure 1; its cell defaults to the most frequent."""
        return replace(
            self,
            values=np.append(self.values, value),
            exposure=np.append(self.exposure, 1.0),
            cells=np.append(self.cells, self._cell(predictors)),
        )

    def outlier(self, residual: float, predictors: Any = None) -> float:
        """Return the value ``residual`` standard deviations above the mean of its cell, at exposure 1."""
        fit, cell = self.posterior(np.ones(len(self.values))), self._cell(predictors)
        rate = float(fit.shape[cell] / fit.rate[cell])
        if self.name == "counts":
            return float(np.ceil(rate + residual * np.sqrt(rate)))
        return (1 + residual) / rate

    def _cell(self, predictors: Any) -> int:
        if predictors is None:
            return int(np.bincount(self.cells, minlength=1).argmax())
        return int(as_cells(np.atleast_1d(predictors), 1, self.groups)[0][0])


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
    cells, count = as_cells(design, len(exact), groups)
    return Rates(name, exact, _exposures(name, exposure, len(exact)), cells, count, _prior(prior or default))


def _exposures(name: str, exposure: Any, records: int) -> Array:
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
        "use fewer cells, raise the scale or the target epsilon, or give a proper prior (shape, rate)",
    )
