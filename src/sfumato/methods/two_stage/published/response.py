"""Second stage: learn the response from the real rows, by name, behind one interface.

``krr`` is the paper's; ``nadaraya-watson``, ``adaboost`` and ``forest`` are the other public models and rivals. Several
targets are learnt together. Classes are learnt as one-hot targets; predictions are then probabilities.

No differential privacy here: the function, lambda, reach and bandwidth are all learnt from the real rows, exactly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import MissingExtra, PlanError, TableError
from sfumato.methods.two_stage.published.kernels import Array, Kernel, KernelName, wendland_power
from sfumato.methods.two_stage.published.krr import (
    EIGEN_ROWS,
    LAMBDAS,
    Box,
    Choice,
    KernelFit,
    Standard,
    checked_grid,
    fit_exact,
    leave_one_out,
    pick,
)
from sfumato.methods.two_stage.published.nystrom import Landmarks, choose_landmarks, fit_nystrom, landmark_count
from sfumato.methods.two_stage.published.public_models import Model, fit_adaboost, fit_forest, fit_nadaraya_watson

LEAST_ROWS = 20
# The published kernel has reach 1 on scaled inputs. Others are tried: with many inputs 1 leaves every row alone.
REACHES = (0.5, 1.0, 2.0, 4.0, 8.0)
REACH_ROWS = 500
REACH_ROWS_ON_LANDMARKS = 20_000
REACH_LANDMARKS = 300
# Above these the exact solve takes longer than all other steps together, and landmarks lose a few per cent of error.
EXACT_ROWS = {"cpu": 5000, "jax": 50_000}
CHOOSING_LANDMARKS = 500


@dataclass(frozen=True, eq=False)
class Response:
    """A learnt response: predictions, and a report of what was chosen on the private rows."""

    name: str
    model: Model
    report: dict[str, Any]
    classes: NDArray[Any] | None = None

    def predict(self, inputs: ArrayLike) -> Array:
        """Return one column per target, or the probability of every class."""
        rows = np.asarray(inputs, dtype=float)
        values = self.model.predict(rows[:, None] if rows.ndim == 1 else rows)
        return values if self.classes is None else _probabilities(values)

    def labels(self, inputs: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of every row."""
        if self.classes is None:
            raise PlanError("this response has no classes", next_step="fit it with classes=True")
        return self.classes[np.argmax(self.predict(inputs), axis=1)]


def fit_response(
    name: str,
    inputs: ArrayLike,
    targets: ArrayLike,
    generator: np.random.Generator,
    classes: bool = False,
    **options: Any,
) -> Response:
    """Learn targets from inputs by the method of that name; with ``classes`` the targets are labels."""
    if name not in SECOND_STAGES:
        raise PlanError(f"second stage {name!r} is unknown", next_step=f"choose one of {', '.join(SECOND_STAGES)}")
    labels, values = _one_hot(targets) if classes else (None, targets)
    rows, outputs = checked(inputs, values)
    model, report = SECOND_STAGES[name](rows, outputs, generator, **options)
    report = {"name": name, "rows": len(rows), **report}
    return Response(name, model, report, labels)


def checked(inputs: ArrayLike, targets: ArrayLike) -> tuple[Array, Array]:
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
        raise TableError("the response cannot be learnt from these rows", problems, "mend the table")
    return np.ascontiguousarray(rows), np.ascontiguousarray(values)


def fit_krr(
    inputs: Array,
    targets: Array,
    generator: np.random.Generator,
    kernel: KernelName = "wendland",
    reach: float | Literal["auto"] = "auto",
    lambdas: Sequence[float] = LAMBDAS,
    method: Literal["auto", "exact", "nystrom"] = "auto",
    landmarks: int | None = None,
    landmarks_by: Landmarks = "uniform",
    exact_rows: int | None = None,
    device: Literal["cpu", "jax"] = "cpu",
) -> tuple[KernelFit, dict[str, Any]]:
    """Fit kernel ridge regression, exactly up to ``exact_rows`` rows and on landmarks above.

    ``method="exact"`` solves exactly whatever fits the memory. ``device="jax"`` does so on an accelerator.
    """
    grid = checked_grid(lambdas)
    exact = _is_exact(method, len(inputs), exact_rows, device)
    box, standard = Box.of(inputs), Standard.of(targets)
    shape = Kernel(kernel, choose_reach(kernel, box, inputs, targets, grid, reach, generator), inputs.shape[1])
    most = landmarks or (min(CHOOSING_LANDMARKS, landmark_count(len(inputs))) if exact else landmark_count(len(inputs)))
    if exact and len(inputs) <= EIGEN_ROWS:
        rows = box.scaled(inputs)
        errors = leave_one_out(shape.gram(rows, rows), standard.forward(targets), grid)
        fit, choice = None, pick(grid, errors, "leave-one-out")
    else:
        scaled = box.scaled(inputs)
        anchors = choose_landmarks(shape, scaled, min(most, len(inputs)), landmarks_by, generator)
        del scaled
        fit, choice = fit_nystrom(shape, box, standard, inputs, targets, grid, anchors, generator)
    if exact or fit is None:
        fit = _exactly(shape, box, standard, inputs, targets, choice, device)
    return fit, _report(fit, choice, exact, landmarks_by, device, standard)


def choose_reach(
    kernel: KernelName,
    box: Box,
    inputs: Array,
    targets: Array,
    grid: Array,
    reach: float | Literal["auto"],
    generator: np.random.Generator,
) -> float:
    """Return the given reach, or the one that predicts best on a sample of rows."""
    if reach != "auto":
        return float(reach)
    from threadpoolctl import threadpool_limits

    shapes = [Kernel(kernel, candidate, inputs.shape[1]) for candidate in REACHES]
    few = len(inputs) <= EIGEN_ROWS
    sample = generator.permutation(len(inputs))[: REACH_ROWS if few else REACH_ROWS_ON_LANDMARKS]
    rows, values = inputs[sample], targets[sample]
    score = _few_rows_error if few else _landmark_error
    # Several threads gain little on tables this small, and on a busy machine they wait for each other.
    with threadpool_limits(1):
        errors = [score(shape, box, rows, values, grid, generator) for shape in shapes]
    return REACHES[int(np.argmin(errors))]


def _few_rows_error(
    shape: Kernel, box: Box, rows: Array, values: Array, grid: Array, generator: np.random.Generator
) -> float:
    """Return the least leave-one-out error of the grid."""
    scaled = box.scaled(rows)
    return float(leave_one_out(shape.gram(scaled, scaled), Standard.of(values).forward(values), grid).min())


def _landmark_error(
    shape: Kernel, box: Box, rows: Array, values: Array, grid: Array, generator: np.random.Generator
) -> float:
    """Return the least cross-validated error of the grid on a few landmarks; the first rows are a sample already."""
    landmarks = box.scaled(rows[:REACH_LANDMARKS])
    return fit_nystrom(shape, box, Standard.of(values), rows, values, grid, landmarks, generator)[1].error


def _is_exact(method: str, rows: int, exact_rows: int | None, device: str) -> bool:
    """Say whether to solve exactly; refuse what does not fit the memory."""
    if method not in ("auto", "exact", "nystrom") or device not in ("cpu", "jax"):
        raise PlanError(
            f"method {method!r} on device {device!r} is unknown",
            next_step="methods: auto, exact, nystrom; devices: cpu, jax",
        )
    exact = method == "exact" or (method == "auto" and rows <= (exact_rows or EXACT_ROWS[device]))
    needed, free = 8.0 * rows * rows, float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    if exact and device == "cpu" and needed > 0.8 * free:
        found = f"the kernel of {rows} rows needs {needed / 1e9:.1f} GB; {free / 1e9:.1f} GB are free"
        raise PlanError("the exact solve does not fit this machine", [found], "choose method='nystrom'")
    return exact


def _exactly(
    shape: Kernel, box: Box, standard: Standard, inputs: Array, targets: Array, choice: Choice, device: str
) -> KernelFit:
    """Solve exactly, on the processor or with JAX on whatever device it finds."""
    if device == "cpu":
        return fit_exact(shape, box, standard, inputs, targets, choice.penalty)
    from sfumato.methods.two_stage.published.krr_jax import solve_in_tiles

    anchors, power = box.scaled(inputs), wendland_power(shape.inputs)
    try:
        answer = solve_in_tiles(anchors, standard.forward(targets), choice.penalty, shape.name, shape.reach, power)
    except ImportError as error:
        raise MissingExtra("device='jax' needs JAX", next_step="pip install 'sfumato[deep]'") from error
    return KernelFit(shape, box, standard, anchors, answer)


def _report(
    fit: KernelFit, choice: Choice, exact: bool, landmarks_by: str, device: str, standard: Standard
) -> dict[str, Any]:
    """Say what was chosen. ``cv_error`` is in the targets' own units, averaged over them."""
    return {
        "method": "exact" if exact else "nystrom",
        "device": device if exact else "cpu",
        "kernel": fit.kernel.name,
        "reach": fit.kernel.reach,
        "lambda": choice.penalty,
        "lambda_by": choice.by,
        "lambda_at_end_of_grid": choice.at_end_of_grid,
        "landmarks": None if exact else len(fit.anchors),
        "landmarks_by": None if exact else landmarks_by,
        "relative_cv_error": choice.error,
        "cv_error": choice.error * float(np.mean(standard.sd**2)),
    }


def _one_hot(labels: ArrayLike) -> tuple[NDArray[Any], Array]:
    """Return the classes in order and one column of 0 and 1 for each."""
    found, codes = np.unique(np.asarray(labels).ravel(), return_inverse=True)
    if len(found) < 2:
        raise TableError("the target has one class only", next_step="choose another target")
    return found, np.eye(len(found))[codes]


def _probabilities(values: Array) -> Array:
    """Return values cut to [0, 1] with row sums 1; rows without any become uniform."""
    cut = np.clip(values, 0.0, 1.0)
    total = cut.sum(axis=1, keepdims=True)
    return np.where(total > 0, cut / np.where(total > 0, total, 1.0), 1.0 / values.shape[1])


Fitter = Callable[..., tuple[Model, dict[str, Any]]]
SECOND_STAGES: dict[str, Fitter] = {
    "krr": fit_krr,
    "nadaraya-watson": fit_nadaraya_watson,
    "adaboost": fit_adaboost,
    "forest": fit_forest,
}
