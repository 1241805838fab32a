"""Regressors and classifiers by name: kernel ridge, Nadaraya-Watson, AdaBoost, random forest.

``krr`` is the paper's; ``nadaraya-watson`` (with a Gaussian kernel), ``adaboost`` and ``forest`` are the other public
models and rivals. Several targets are learnt together. Classes are learnt as one-hot targets; predictions are then
probabilities. The bandwidth of Nadaraya-Watson is chosen by leave-one-out for every target together. Distances are
shifted by the nearest row's, so that far from all rows the answer tends to the nearest row's target and not to 0 / 0.

No differential privacy here: the function, lambda, reach and bandwidth are all learnt from the real rows, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import MissingExtra, PlanError, TableError
from sfumato.papers.two_stage.learners.radial_kernels import (
    FloatArray,
    KernelName,
    RadialKernel,
    blocks,
    wendland_power,
)
from sfumato.papers.two_stage.learners.ridge_solvers import (
    EIGEN_ROWS,
    LAMBDAS,
    InputRange,
    KernelFit,
    KernelSpace,
    Landmarks,
    PenaltyChoice,
    TargetScaler,
    checked_grid,
    choose_landmarks,
    fit_exact,
    fit_nystrom,
    landmark_count,
    least_error,
)
from sfumato.system import free_memory

LEAST_ROWS = 20
# From 2^-8 to 2 in units of the input ranges, by factors of the square root of 2: halving h^2 squares the weights.
BANDWIDTHS = tuple(2.0 ** (1 - step / 2) for step in range(19))
QUERY_ROWS = 1000
ANCHOR_ROWS = 20_000
# The published kernel has reach 1 on scaled inputs. Others are tried: with many inputs 1 leaves every row alone.
REACHES = (0.5, 1.0, 2.0, 4.0, 8.0)
REACH_ROWS = 500
REACH_ROWS_ON_LANDMARKS = 20_000
REACH_LANDMARKS = 300
# Above these the exact solve takes longer than all other steps together, and landmarks lose a few per cent of error.
EXACT_ROWS = {"cpu": 5000, "jax": 50_000}
CHOOSING_LANDMARKS = 500


class Regressor(Protocol):
    """What every second stage returns."""

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Return one column per target."""
        ...


@dataclass(frozen=True, eq=False)
class FittedRegressor:
    """A learnt response: predictions, and a report of what was chosen on the private rows."""

    name: str
    model: Regressor
    report: dict[str, Any]
    classes: NDArray[Any] | None = None

    def predict(self, inputs: ArrayLike) -> FloatArray:
        """Return one column per target, or the probability of every class."""
        rows = np.asarray(inputs, dtype=float)
        values = self.model.predict(rows[:, None] if rows.ndim == 1 else rows)
        return values if self.classes is None else _probabilities(values)

    def labels(self, inputs: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of every row."""
        if self.classes is None:
            raise PlanError("this response has no classes", next_step="fit it with classes=True")
        return self.classes[np.argmax(self.predict(inputs), axis=1)]


def fit_regressor(
    name: str,
    inputs: ArrayLike,
    targets: ArrayLike,
    generator: np.random.Generator,
    classes: bool = False,
    **options: Any,
) -> FittedRegressor:
    """Learn targets from inputs by the method of that name; with ``classes`` the targets are labels."""
    if name not in SECOND_STAGES:
        raise PlanError(f"second stage {name!r} is unknown", next_step=f"choose one of {', '.join(SECOND_STAGES)}")
    labels, values = _one_hot(targets) if classes else (None, targets)
    rows, outputs = checked(inputs, values)
    model, report = SECOND_STAGES[name](rows, outputs, generator, **options)
    report = {"name": name, "rows": len(rows), **report}
    return FittedRegressor(name, model, report, labels)


def checked(inputs: ArrayLike, targets: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return inputs and targets as tables of numbers, or say all that is wrong with them."""
    rows, values = np.asarray(inputs, dtype=float), np.asarray(targets, dtype=float)
    rows, values = (part[:, None] if part.ndim == 1 else part for part in (rows, values))
    problems: list[str] = []
    if rows.ndim != 2 or values.ndim != 2 or len(rows) != len(values):
        problems.append(f"inputs of shape {rows.shape} do not go with targets of shape {values.shape}")
    elif len(rows) < LEAST_ROWS:
        problems.append(f"{len(rows)} rows; at least {LEAST_ROWS} are needed")
    for what, part in (("inputs", rows), ("targets", values)):
        if part.shape[-1] == 0:
            problems.append(f"{what}: no column")
        if not np.all(np.isfinite(part)):
            problems.append(f"{what}: {int(np.sum(~np.isfinite(part)))} values are missing or infinite")
    if problems:
        raise TableError("the response cannot be learnt from these rows", problems, "correct the table")
    return np.ascontiguousarray(rows), np.ascontiguousarray(values)


def _one_hot(labels: ArrayLike) -> tuple[NDArray[Any], FloatArray]:
    """Return the classes in order and one column of 0 and 1 for each."""
    found, codes = np.unique(np.asarray(labels).ravel(), return_inverse=True)
    if len(found) < 2:
        raise TableError("the target has one class only", next_step="choose another target")
    return found, np.eye(len(found))[codes]


def _probabilities(values: FloatArray) -> FloatArray:
    """Return values cut to [0, 1] with row sums 1; rows without any become uniform."""
    cut = np.clip(values, 0.0, 1.0)
    total = cut.sum(axis=1, keepdims=True)
    return np.where(total > 0, cut / np.where(total > 0, total, 1.0), 1.0 / values.shape[1])


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
    inputs: FloatArray, targets: FloatArray, generator: np.random.Generator, **options: Any
) -> tuple[KernelFit, dict[str, Any]]:
    """Fit kernel ridge regression with the settings of :class:`KernelRidge`, and say what was chosen."""
    asked = KernelRidge(**options)
    grid, exact = checked_grid(asked.lambdas), asked.is_exact(len(inputs))
    reach = _chosen_reach(asked, inputs, targets, grid, generator) if asked.reach == "auto" else float(asked.reach)
    space = KernelSpace.of(RadialKernel(asked.kernel, reach, inputs.shape[1]), inputs, targets)
    if exact and len(inputs) <= EIGEN_ROWS:
        choice = least_error(grid, space.leave_one_out(inputs, targets, grid), "leave-one-out")
        fit = None
    else:
        count = asked.landmarks_of(len(inputs), exact)
        anchors = choose_landmarks(space.kernel, space.box.scaled(inputs), count, asked.landmarks_by, generator)
        fit, choice = fit_nystrom(space, inputs, targets, grid, anchors, generator)
    if exact or fit is None:
        fit = _fit_exact(space, inputs, targets, choice.penalty, asked.device)
    return fit, _report(fit, choice, asked, exact)


def _chosen_reach(
    asked: KernelRidge, inputs: FloatArray, targets: FloatArray, grid: FloatArray, generator: np.random.Generator
) -> float:
    """Return the reach that predicts a sample of rows best: by leave-one-out, or on landmarks where rows are many."""
    from threadpoolctl import threadpool_limits

    few = len(inputs) <= EIGEN_ROWS
    sample = generator.permutation(len(inputs))[: REACH_ROWS if few else REACH_ROWS_ON_LANDMARKS]
    rows, values, box = inputs[sample], targets[sample], InputRange.of(inputs)

    def error(reach: float) -> float:
        space = KernelSpace(RadialKernel(asked.kernel, reach, inputs.shape[1]), box, TargetScaler.of(values))
        if few:
            return float(space.leave_one_out(rows, values, grid).min())
        # The first rows are a sample already.
        return fit_nystrom(space, rows, values, grid, box.scaled(rows[:REACH_LANDMARKS]), generator)[1].error

    # Several threads gain little on tables this small, and on a busy machine they wait for each other.
    with threadpool_limits(1):
        return REACHES[int(np.argmin([error(reach) for reach in REACHES]))]


def _fit_exact(space: KernelSpace, inputs: FloatArray, targets: FloatArray, penalty: float, device: str) -> KernelFit:
    """Solve exactly, on the processor or with JAX on whatever device it finds."""
    if device == "cpu":
        return fit_exact(space, inputs, targets, penalty)
    from sfumato.papers.two_stage.learners.ridge_solver_jax import solve_in_tiles

    anchors, kernel = space.box.scaled(inputs), space.kernel
    power = wendland_power(kernel.inputs)
    try:
        answer = solve_in_tiles(anchors, space.standard.forward(targets), penalty, kernel.name, kernel.reach, power)
    except ImportError as error:
        raise MissingExtra("device='jax' needs JAX", next_step="pip install 'sfumato[deep]'") from error
    return KernelFit(space, anchors, answer)


def _report(fit: KernelFit, choice: PenaltyChoice, asked: KernelRidge, exact: bool) -> dict[str, Any]:
    """Say what was chosen. ``cv_error`` is in the targets' own units, averaged over them."""
    return {
        "method": "exact" if exact else "nystrom",
        "device": asked.device if exact else "cpu",
        "kernel": fit.space.kernel.name,
        "reach": fit.space.kernel.reach,
        "lambda": choice.penalty,
        "lambda_by": choice.by,
        "lambda_at_end_of_grid": choice.at_end_of_grid,
        "landmarks": None if exact else len(fit.anchors),
        "landmarks_by": None if exact else asked.landmarks_by,
        "relative_cv_error": choice.error,
        "cv_error": choice.error * float(np.mean(fit.space.standard.sd**2)),
    }


@dataclass(frozen=True, eq=False)
class NadarayaWatson:
    """Weighted means of the targets of all rows, weights falling with the scaled distance."""

    box: InputRange
    anchors: FloatArray
    targets: FloatArray
    bandwidth: float

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Return one column per target, in blocks of rows."""
        answer = np.empty((len(inputs), self.targets.shape[1]))
        for block in blocks(len(inputs), max(1, (1 << 22) // len(self.anchors))):
            square = _squares(self.box.scaled(inputs[block]), self.anchors)
            weights = np.exp(-(square - square.min(axis=1, keepdims=True)) / (2 * self.bandwidth**2))
            answer[block] = weights @ self.targets / weights.sum(axis=1, keepdims=True)
        return answer


def fit_nadaraya_watson(
    inputs: FloatArray,
    targets: FloatArray,
    generator: np.random.Generator,
    bandwidth: float | None = None,
    anchor_rows: int = ANCHOR_ROWS,
) -> tuple[NadarayaWatson, dict[str, Any]]:
    """Keep the rows (a sample of them above ``anchor_rows``) and choose the bandwidth by leave-one-out."""
    if bandwidth is not None and not (np.isfinite(bandwidth) and bandwidth > 0):
        raise PlanError(f"bandwidth must be positive, not {bandwidth}", next_step="leave it out to have it chosen")
    box = InputRange.of(inputs)
    kept = generator.permutation(len(inputs))[:anchor_rows]
    anchors, values = box.scaled(inputs[kept]), targets[kept]
    errors = _leave_one_out(anchors, TargetScaler.of(values).forward(values))
    best = int(np.argmin(errors))
    model = NadarayaWatson(box, anchors, values, bandwidth or BANDWIDTHS[best])
    return model, {
        "method": "all rows" if len(kept) == len(inputs) else f"{len(kept)} rows",
        "bandwidth": model.bandwidth,
        "bandwidth_by": "given" if bandwidth else "leave-one-out",
        "relative_cv_error": None if bandwidth else float(errors[best]),
    }


def _leave_one_out(anchors: FloatArray, values: FloatArray) -> FloatArray:
    """Return the error of every bandwidth at the first rows, each predicted from all others."""
    queries, errors = min(QUERY_ROWS, len(anchors)), np.zeros(len(BANDWIDTHS))
    for block in blocks(queries, 200):
        square = _squares(anchors[block], anchors)
        square[np.arange(len(square)), np.arange(block.start, block.stop)] = np.inf
        weights = np.exp(-(square - square.min(axis=1, keepdims=True)) / (2 * BANDWIDTHS[0] ** 2))
        for step in range(len(BANDWIDTHS)):
            predicted = weights @ values / weights.sum(axis=1, keepdims=True)
            errors[step] += np.sum((predicted - values[block]) ** 2)
            weights *= weights
    return errors / (queries * values.shape[1])


def _squares(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return squared distances."""
    square = (left * left).sum(axis=1)[:, None] + (right * right).sum(axis=1) - 2 * left @ right.T
    return np.maximum(square, 0.0, out=square)


@dataclass(frozen=True, eq=False)
class SklearnRegressor:
    """One or several fitted scikit-learn models, side by side."""

    fitted: tuple[Any, ...]

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Return one column per target."""
        return np.column_stack([model.predict(inputs) for model in self.fitted])


def fit_forest(
    inputs: FloatArray, targets: FloatArray, generator: np.random.Generator, depth: int = 10, trees: int = 100
) -> tuple[SklearnRegressor, dict[str, Any]]:
    """Fit a random forest; all targets share its trees."""
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(trees, max_depth=depth, n_jobs=-1, random_state=_seed(generator))
    fitted = model.fit(inputs, targets if targets.shape[1] > 1 else targets[:, 0])
    fitted.set_params(n_jobs=1)  # threads add up the trees in any order: predictions would differ in the last bit
    return SklearnRegressor((fitted,)), {"method": "random forest", "depth": depth, "trees": trees}


def fit_adaboost(
    inputs: FloatArray, targets: FloatArray, generator: np.random.Generator, depth: int = 7, trees: int = 60
) -> tuple[SklearnRegressor, dict[str, Any]]:
    """Fit AdaBoost on regression trees, one model per target."""
    from sklearn.ensemble import AdaBoostRegressor
    from sklearn.tree import DecisionTreeRegressor

    base = DecisionTreeRegressor(max_depth=depth)
    fitted = tuple(
        AdaBoostRegressor(base, n_estimators=trees, random_state=_seed(generator)).fit(inputs, column)
        for column in targets.T
    )
    return SklearnRegressor(fitted), {"method": "AdaBoost", "depth": depth, "trees": trees}


def _seed(generator: np.random.Generator) -> int:
    """Draw a seed for scikit-learn."""
    return int(generator.integers(2**31 - 1))


Fitter = Callable[..., tuple[Regressor, dict[str, Any]]]
SECOND_STAGES: dict[str, Fitter] = {
    "krr": fit_kernel_ridge,
    "nadaraya-watson": fit_nadaraya_watson,
    "adaboost": fit_adaboost,
    "forest": fit_forest,
}
