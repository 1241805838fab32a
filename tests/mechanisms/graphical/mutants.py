"""Graphical methods with a mistake in them: what audits must catch."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from sfumato.mechanisms.graphical import (
    domain_compression,
    one_way_marginals,
)
from sfumato.mechanisms.graphical import method as graphical_run
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.privacy.accounting.gaussian_calibration import gaussian_rho
from sfumato.privacy.noise import add_gaussian


def half_noise(self: Budget, counts: np.ndarray, sigma: float, randomness: Any) -> np.ndarray:
    """Mutant: pays for sigma, draws half of it."""
    self.noise.spend(gaussian_rho(sigma, self.squared_sensitivity))
    return add_gaussian(counts * self.units, sigma * self.units / 2, randomness) / self.units


true_one_way, true_groups = graphical_run.measure_one_way_marginals, domain_compression.compress_column


def with_true_total(table: Any, *rest: Any) -> Any:
    """Mutant: the number of rows is the true one."""
    return dataclasses.replace(true_one_way(table, *rest), total=float(number_of_rows(table)))


def with_true_groups(table: Any, *rest: Any) -> Any:
    """Mutant: categories are learned from the table, levels without a row are pooled."""
    counts = table.marginals([(name,) for name in table.schema.names])

    def learned(column: Any, noisy: Any, sigma: float, total: float, *more: Any) -> Any:
        return true_groups(column, counts[(column.name,)], 0.5, total, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_way_marginals, "compress_column", learned)
        return true_one_way(table, *rest)


def number_of_rows(table: Any) -> int:
    return int(table.marginals([(table.schema.names[0],)])[(table.schema.names[0],)].sum())
