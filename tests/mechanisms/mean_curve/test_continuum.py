"""Between the points of a grid: the bound holds, says something, and belongs to the release."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.errors import PlanError
from sfumato.mechanisms.mean_curve import best_rho, discretisation_error, interpolate_curve
from sfumato.mechanisms.mean_curve.curve_kernels import KERNELS, basis, even_positions
from sfumato.mechanisms.mean_curve.expected_error import slope_bound

FINE = (np.arange(4000) + 0.5) / 4000
UNEVEN = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.55, 0.7, 0.9, 1.0)


def wiener_error(grid, rho: float, j: int) -> tuple[float, float]:
    """S of the theorem, and the largest difference, for the mean sqrt(2) sin(w t) / w, whose kernel norm is 1."""
    w, grid = (j - 0.5) * math.pi, np.array(grid)
    x, shrunk = math.sqrt(2) * np.sin(w * FINE) / w, 1 / (1 + rho * w * w)
    on_grid = basis(grid).smooth(math.sqrt(2) * np.sin(w * grid) / w, rho)
    slopes = np.append(np.diff(np.append(0, on_grid)) / np.diff(np.append(0, grid)), 0.0)
    gap = interpolate_curve(on_grid, FINE, positions=list(grid)) - shrunk * x
    slope = slopes[np.searchsorted(grid, FINE)] - shrunk * math.sqrt(2) * np.cos(w * FINE)
    return math.sqrt((gap**2).mean() + rho * (slope**2).mean()), float(np.abs(gap).max())


@pytest.mark.parametrize(("steps", "rho"), [*itertools.product((20, 80), (0.3, 0.02))])
def test_the_bound_holds_and_is_not_vacuous(steps, rho):
    """Exact for the eigenfunctions of the Wiener kernel; a bound a tenth as large would be refuted."""
    bound = discretisation_error(rho, smoothness=1, steps=steps)
    found = [wiener_error(even_positions(steps), rho, j) for j in range(1, 15)]
    worst, largest = (max(pair[i] for pair in found) for i in (0, 1))
    assert bound.root_mean_square / 10 < worst < bound.root_mean_square < 0.2 < 1
    assert largest < bound.largest and bound.spacing == pytest.approx(1 / steps)


def test_uneven_grids_are_covered():
    bound = discretisation_error(0.3, smoothness=1, positions=UNEVEN)
    assert all(wiener_error(UNEVEN, 0.3, j)[0] < bound.root_mean_square < 1 for j in range(1, 12))
    assert bound.spacing == pytest.approx(0.2)  # four of ten points lie up to 0.2


@pytest.mark.parametrize("kernel", ["exponential", "gaussian", "matern-3/2"])
def test_the_bound_of_the_other_kernels_holds(kernel):
    """The continuum is a grid of 600 points here; means are kernel functions, whose norm is sqrt(K(t, t)) = 1."""
    fine, rho, length = tuple((np.arange(600) + 0.5) / 600), 0.2, 0.4
    on, coarse = np.array(fine), (np.arange(80) + 1) / 80
    whole = basis(fine, kernel, length)
    bound = discretisation_error(rho, smoothness=1, steps=80, kernel=kernel, length_scale=length)
    for t in (0.0, 0.3, 1.0):
        mean = [KERNELS[kernel](places, np.array([t]), length)[:, 0] for places in (on, coarse)]
        on_grid = basis(tuple(coarse), kernel, length).smooth(mean[1], rho)
        gap = interpolate_curve(on_grid, on, kernel=kernel, length_scale=length) - whole.smooth(mean[0], rho)
        assert 0.01 * bound.root_mean_square < math.sqrt((gap**2).mean()) < bound.root_mean_square < 0.2
        assert np.abs(gap).max() < bound.largest
        slope = np.diff(mean[0]) * 600
        assert math.sqrt((slope**2).mean()) <= slope_bound(kernel, length)


def test_noise_between_the_points_is_at_most_the_kernels_own():
    grid, at = np.array(UNEVEN), np.linspace(0, 1, 41)
    for kernel, length in (("wiener", None), ("exponential", 0.3)):
        carried = between_matrix(grid, at, kernel, length)
        gram = KERNELS[kernel](grid, grid, length or 1.0)
        own = np.diag(KERNELS[kernel](at, at, length or 1.0))
        assert (np.diag(carried @ gram @ carried.T) <= own + 1e-9).all()


def between_matrix(grid, at, kernel: str, length: float | None) -> np.ndarray:
    how = {"positions": list(grid), "kernel": kernel, "length_scale": length}
    return np.column_stack([interpolate_curve(unit, at, **how) for unit in np.eye(len(grid))])


def test_a_curve_between_its_points_is_the_smoothest_one():
    assert interpolate_curve([1.0, 3.0], [0.0, 0.25, 0.5, 0.75, 1.0]).tolist() == pytest.approx([0, 0.5, 1, 2, 3])
    grid = list(UNEVEN)
    for kernel in ("exponential", "matern-3/2", "gaussian"):
        curve = basis(tuple(grid), kernel).smooth(np.sin(3 * np.array(grid)), 0.01)
        assert interpolate_curve(curve, grid, positions=grid, kernel=kernel) == pytest.approx(curve, abs=1e-6)


def test_a_grid_too_coarse_for_its_rho_says_so():
    coarse = discretisation_error(1e-4, steps=20)
    assert math.isinf(coarse.root_mean_square) and "too coarse" in coarse.statement()
    chosen = best_rho(10_000, 1, 1, 1e-6, steps=80)
    assert "at most" in discretisation_error(chosen.rho, steps=80).statement()
    with pytest.raises(PlanError) as caught:
        discretisation_error(0, smoothness=-1, kernel="wiener", length_scale=2)
    assert len(caught.value.problems) == 3
    with pytest.raises(PlanError, match="between 0 and 1"):
        interpolate_curve([1.0], [2.0])
