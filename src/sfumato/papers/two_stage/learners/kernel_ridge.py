"""Kernel ridge regression: choice of solver, length scale and penalty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.errors import MissingExtra, PlanError
from sfumato.papers.two_stage.learners.radial_kernels import FloatArray, KernelName, RadialKernel, wendland_power
from sfumato.papers.two_stage.learners.ridge_solvers import (
    EIGEN_ROWS,
    LAMBDAS,
    InputRange,
    KernelFit,
    Landmarks,
    PenaltyChoice,
    TargetScaler,
    checked_grid,
    choose_landmarks,
    fit_exact,
    fit_nystrom,
    landmark_count,
    least_error,
    leave_one_out,
)
from sfumato.system import free_memory

# The published kernel has reach 1 on scaled inputs. Others are tried: with many inputs 1 leaves every row alone.
REACHES = (0.5, 1.0, 2.0, 4.0, 8.0)
REACH_ROWS = 500
REACH_ROWS_ON_LANDMARKS = 20_000
REACH_LANDMARKS = 300
# Above these the exact solve takes longer than all other steps together, and landmarks lose a few per cent of error.
EXACT_ROWS = {"cpu": 5000, "jax": 50_000}
CHOOSING_LANDMARKS = 500


@dataclass(frozen=True)
class KernelRidge:
    """What is asked of kernel ridge regression.

    ``method="auto"`` is exact up to ``exact_rows`` rows and on landmarks above; ``"exact"`` solves exactly whatever
    fits the memory. ``device="jax"`` does so on an accelerator.
    """

    kernel: KernelName = "wendland"
    reach: float | Literal["auto"] = "auto"
    lambdas: Sequence[float] = LAMBDAS
    method: Literal["auto", "exact", "nystrom"] = "auto"
    landmarks: int | None = None
    landmarks_by: Landmarks = "uniform"
    exact_rows: int | None = None
    device: Literal["cpu", "jax"] = "cpu"

    def __post_init__(self) -> None:
        if self.method not in ("auto", "exact", "nystrom") or self.device not in ("cpu", "jax"):
            raise PlanError(
                f"method {self.method!r} on device {self.device!r} is unknown",
                next_step="methods: auto, exact, nystrom; devices: cpu, jax",
            )

    def is_exact(self, rows: int) -> bool:
        """Say whether to solve exactly; refuse what does not fit the memory."""
        exact = self.method == "exact" or (
            self.method == "auto" and rows <= (self.exact_rows or EXACT_ROWS[self.device])
        )
        needed, free = 8.0 * rows * rows, free_memory() or math.inf
        if exact and self.device == "cpu" and needed > 0.8 * free:
            found = f"the kernel of {rows} rows needs {needed / 1e9:.1f} GB; {free / 1e9:.1f} GB are free"
            raise PlanError("the exact solve does not fit this machine", [found], "choose method='nystrom'")
        return exact

    def landmarks_of(self, rows: int, exact: bool) -> int:
        """Return how many landmarks to take; where they only choose lambda, few are enough."""
        few = min(CHOOSING_LANDMARKS, landmark_count(rows)) if exact else landmark_count(rows)
        return min(self.landmarks or few, rows)


def fit_kernel_ridge(
    inputs: FloatArray, targets: FloatArray, generator: np.random.Generator, asked: KernelRidge
) -> tuple[KernelFit, dict[str, Any]]:
    """Fit kernel ridge regression, and say what was chosen."""
    grid = checked_grid(asked.lambdas)
    exact = asked.is_exact(len(inputs))
    box, standard = InputRange.of(inputs), TargetScaler.of(targets)
    reach = choose_reach(asked, box, inputs, targets, grid, generator)
    shape = RadialKernel(asked.kernel, reach, inputs.shape[1])
    if exact and len(inputs) <= EIGEN_ROWS:
        rows = box.scaled(inputs)
        errors = leave_one_out(shape.gram(rows, rows), standard.forward(targets), grid)
        fit, choice = None, least_error(grid, errors, "leave-one-out")
    else:
        scaled = box.scaled(inputs)
        count = asked.landmarks_of(len(inputs), exact)
        anchors = choose_landmarks(shape, scaled, count, asked.landmarks_by, generator)
        del scaled
        fit, choice = fit_nystrom(shape, box, standard, inputs, targets, grid, anchors, generator)
    if exact or fit is None:
        fit = _fit_exact(shape, box, standard, inputs, targets, choice, asked.device)
    return fit, _report(fit, choice, asked, exact)


def choose_reach(
    asked: KernelRidge,
    box: InputRange,
    inputs: FloatArray,
    targets: FloatArray,
    grid: FloatArray,
    generator: np.random.Generator,
) -> float:
    """Return the given reach, or the one that predicts best on a sample of rows."""
    if asked.reach != "auto":
        return float(asked.reach)
    from threadpoolctl import threadpool_limits

    shapes = [RadialKernel(asked.kernel, candidate, inputs.shape[1]) for candidate in REACHES]
    few = len(inputs) <= EIGEN_ROWS
    sample = generator.permutation(len(inputs))[: REACH_ROWS if few else REACH_ROWS_ON_LANDMARKS]
    rows, values = inputs[sample], targets[sample]
    score = _few_rows_error if few else _landmark_error
    # Several threads gain little on tables this small, and on a busy machine they wait for each other.
    with threadpool_limits(1):
        errors = [score(shape, box, rows, values, grid, generator) for shape in shapes]
    return REACHES[int(np.argmin(errors))]


def _few_rows_error(
    shape: RadialKernel,
    box: InputRange,
    rows: FloatArray,
    values: FloatArray,
    grid: FloatArray,
    generator: np.random.Generator,
) -> float:
    """Return the least leave-one-out error of the grid."""
    scaled = box.scaled(rows)
    return float(leave_one_out(shape.gram(scaled, scaled), TargetScaler.of(values).forward(values), grid).min())


def _landmark_error(
    shape: RadialKernel,
    box: InputRange,
    rows: FloatArray,
    values: FloatArray,
    grid: FloatArray,
    generator: np.random.Generator,
) -> float:
    """Return the least cross-validated error of the grid on a few landmarks; the first rows are a sample already."""
    landmarks = box.scaled(rows[:REACH_LANDMARKS])
    return fit_nystrom(shape, box, TargetScaler.of(values), rows, values, grid, landmarks, generator)[1].error


def _fit_exact(
    shape: RadialKernel,
    box: InputRange,
    standard: TargetScaler,
    inputs: FloatArray,
    targets: FloatArray,
    choice: PenaltyChoice,
    device: str,
) -> KernelFit:
    """Solve exactly, on the processor or with JAX on whatever device it finds."""
    if device == "cpu":
        return fit_exact(shape, box, standard, inputs, targets, choice.penalty)
    from sfumato.papers.two_stage.learners.ridge_solver_jax import solve_in_tiles

    anchors, power = box.scaled(inputs), wendland_power(shape.inputs)
    try:
        answer = solve_in_tiles(anchors, standard.forward(targets), choice.penalty, shape.name, shape.reach, power)
    except ImportError as error:
        raise MissingExtra("device='jax' needs JAX", next_step="pip install 'sfumato[deep]'") from error
    return KernelFit(shape, box, standard, anchors, answer)


def _report(fit: KernelFit, choice: PenaltyChoice, asked: KernelRidge, exact: bool) -> dict[str, Any]:
    """Say what was chosen. ``cv_error`` is in the targets' own units, averaged over them."""
    return {
        "method": "exact" if exact else "nystrom",
        "device": asked.device if exact else "cpu",
        "kernel": fit.kernel.name,
        "reach": fit.kernel.reach,
        "lambda": choice.penalty,
        "lambda_by": choice.by,
        "lambda_at_end_of_grid": choice.at_end_of_grid,
        "landmarks": None if exact else len(fit.anchors),
        "landmarks_by": None if exact else asked.landmarks_by,
        "relative_cv_error": choice.error,
        "cv_error": choice.error * float(np.mean(fit.standard.sd**2)),
    }
