"""The private mean of curves: rows are paths on a common public grid.

Proof note. Every record becomes an integer vector q of length at most U, by itself: its path, clipped to the public
norm ``clip``, smoothed by the public kernel and penalty, in whitened coordinates
(:mod:`sfumato.methods.mean_curve.sums`).

Replace (the number of rows n is public): the sum of all q moves by at most 2 U. Add-remove: each record also counts
itself with the public weight w, so that the vector (q, w) has length at most sqrt(U^2 + w^2), and the sum of all moves
by at most k times that where a person may hold k rows. The integer sum gets discrete Gaussian noise which
:mod:`sfumato.privacy.accounting.lattice_gaussian` certifies to be (epsilon, delta)-DP at that sensitivity. Everything
after is post-processing: the division by n, or by the noisy count, and the way back to the grid. There the noise is
sigma times a draw from the kernel's own Gaussian process: Brownian motion for the Wiener kernel.

Public: schema, grid, kernel, rho, clip, epsilon, delta. rho does not change the guarantee; it trades noise for bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError
from sfumato.methods.mean_curve.checks import (
    above_zero,
    adjacency_problems,
    column_problems,
    delta_problems,
    grid_problems,
    kernel_problems,
    path_matrix,
    position_problems,
)
from sfumato.methods.mean_curve.error import ErrorSplit as ErrorSplit
from sfumato.methods.mean_curve.error import RhoChoice as RhoChoice
from sfumato.methods.mean_curve.error import best_rho as best_rho
from sfumato.methods.mean_curve.error import bias_per_smoothness, largest_bias
from sfumato.methods.mean_curve.error import error_split as error_split
from sfumato.methods.mean_curve.kernels import (
    Array,
    KernelName,
    basis,
    clipped,
    continuum_reach,
    even_positions,
    wiener_values,
)
from sfumato.methods.mean_curve.kernels import CurveGrid as CurveGrid
from sfumato.methods.mean_curve.sums import CurveLattice, count_weight, longest
from sfumato.privacy.accounting.event import Event, Part
from sfumato.privacy.accounting.lattice_gaussian import lattice_sigma
from sfumato.privacy.exact import Number, exact, text
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Makes, Output
from sfumato.release.parameters import sound_parameters
from sfumato.release.plan import Plan, Stage, event_facts, refuse_memory, unit_of
from sfumato.schema import Schema
from sfumato.table.engine import BATCH_ROWS
from sfumato.table.rows import stream_numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table

KIND = "lattice-gaussian"
KEY = ("mean_curve",)
CLEAR = 5
"""A noisy number of rows below this many of its standard deviations is not clearly above 0."""


def sensitivity(
    n: int,
    rho: float,
    clip: float = 1.0,
    steps: int = 80,
    adjacency: str = "replace",
    continuum: bool = False,
    kernel: str = "wiener",
    length_scale: float | None = None,
) -> float:
    """Return by how much, in kernel norm, one path can move the ridge mean of ``n`` paths.

    (2 clip / n) max sqrt(lambda) / (lambda + rho), with n + 1 in place of n under add-remove (from n to n + 1 paths).
    ``continuum`` takes the eigenvalues of the Wiener kernel itself instead of the grid's: use it where the mean
    is evaluated off the grid. At most clip / (n sqrt(rho)).

    >>> round(sensitivity(50, 0.1), 8), round(sensitivity(50, 0.1, continuum=True), 8)
    (0.0586675, 0.05852698)
    """
    problems = above_zero(n=n, rho=rho, clip=clip, steps=steps) + kernel_problems(kernel, length_scale)
    problems += adjacency_problems(adjacency)
    problems += ["the continuum is known for the Wiener kernel only"] if continuum and kernel != "wiener" else []
    _refuse(problems, "")
    people = n if adjacency == "replace" else n + 1
    return 2 * clip / people * _reach(rho, steps, continuum, kernel, length_scale)


def _reach(rho: float, steps: int, continuum: bool, kernel: str, length_scale: float | None) -> float:
    if continuum:
        return continuum_reach(rho)
    if kernel == "wiener":
        values = wiener_values(steps)
        return float((np.sqrt(values) / (values + rho)).max())
    return basis(even_positions(steps), kernel, length_scale).reach(rho)


def ridge_mean(
    paths: ArrayLike,
    rho: float,
    clip: float = 1.0,
    kernel: str = "wiener",
    length_scale: float | None = None,
    positions: Sequence[float] | None = None,
) -> Array:
    """Return the clipped, smoothed mean of paths, one row each, *without* privacy: for pilots and comparisons."""
    matrix = path_matrix(paths)
    problems = above_zero(rho=rho, clip=clip) + kernel_problems(kernel, length_scale)
    _refuse(problems + position_problems(positions, matrix.shape[1]), "")
    on = basis(positions or even_positions(matrix.shape[1]), kernel, length_scale)
    return on.smooth(clipped(matrix, clip).mean(axis=0), rho)


@dataclass(frozen=True, kw_only=True)
class MeanCurve:
    """The mean of curves, smoothed and with Gaussian noise that has the kernel's own covariance.

    Each row of the table is a path; ``columns`` are its grid points in order (all numeric columns unless stated), at
    ``positions`` in (0, 1] (1/N, 2/N, ... unless stated). ``clip`` is a public bound: paths whose root mean square is
    larger are scaled down to it. ``rho`` is the smoothing penalty: a larger one means less noise and more bias at the
    same guarantee; ``best_rho`` chooses it from public parameters or a pilot.

    Proof: :mod:`sfumato.methods.mean_curve.method`.
    """

    columns: Sequence[str] | None = None
    epsilon: Number
    delta: Number
    rho: Number
    clip: Number
    kernel: KernelName = "wiener"
    length_scale: Number | None = None
    positions: Sequence[Number] | None = None

    name: ClassVar[str] = "mean-curve"
    summary: ClassVar[str] = "the mean of curves (one row is one path), smoothed, with noise of the kernel's covariance"
    about: ClassVar[str] = (
        "The curve is the mean of paths that were clipped to a public norm and smoothed: it has a bias towards smooth, "
        "short curves besides the noise. noise_sd is the standard deviation of the noise at each point; errors of "
        "neighbouring points go together."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "values"

    def __post_init__(self) -> None:
        sound_parameters(self)
        if isinstance(self.columns, str):
            object.__setattr__(self, "columns", (self.columns,))
        problems = above_zero(epsilon=self.epsilon, rho=self.rho, clip=self.clip) + delta_problems(self.delta)
        problems += kernel_problems(self.kernel, self.length_scale)
        problems += position_problems(self.positions, len(self.columns or self.positions or ()))
        _refuse(problems, "")

    def grid(self, schema: Schema) -> tuple[str, ...]:
        """Return the grid columns in order."""
        if self.columns is not None:
            return tuple(self.columns)
        return tuple(name for name in schema.releasable if schema[name].kind in ("integer", "number"))

    def lattice(self, points: int) -> CurveLattice:
        """Return the public lattice for a grid of so many points."""
        read = None if self.positions is None else [float(exact(p)) for p in self.positions]
        length = None if self.length_scale is None else float(exact(self.length_scale))
        on = basis(read or even_positions(points), self.kernel, length)
        return CurveLattice(on, float(exact(self.rho)), float(exact(self.clip)))

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        names = self.grid(schema)
        _refuse(
            grid_problems(schema, names) + position_problems(self.positions, len(names)), f" on table {schema.name!r}"
        )
        memory = 8 * len(names) * (4 * len(names) + 3 * BATCH_ROWS)
        refuse_memory(memory, f"{len(names):,} grid points", "use fewer grid columns")
        part = self._part(schema, len(names))
        cost: Any = {"epsilon": text(exact(self.epsilon)), "delta": text(exact(self.delta))}
        shown = part.scale * self.lattice(len(names)).step / (schema.rows or 1)
        stage = Stage(
            name=part.stage,
            cells=part.cells,
            noise="discrete gaussian, on a lattice",
            scale=shown,
            epsilon=cost["epsilon"],
            share="1",
        )
        event = Event(kind=KIND, parts=(part,), **event_facts(self.name, schema, randomness), **cost)
        return Plan(
            method=self.name,
            table=schema.name,
            adjacency=schema.adjacency,
            unit=unit_of(schema),
            stages=(stage,),
            events=(event,),
            cells=part.cells,
            memory_bytes=memory,
            **cost,
        )

    def _part(self, schema: Schema, points: int) -> Part:
        replace = schema.adjacency == "replace"
        dimensions, units = points, 2 * longest(points)
        if not replace:
            lattice = self.lattice(points)
            square = longest(points) ** 2 + count_weight(lattice.basis, lattice.rho) ** 2
            dimensions, units = points + 1, schema.rows_per_person * (math.isqrt(square) + 1)
        sigma = lattice_sigma(units, dimensions, self.epsilon, self.delta)
        return Part(
            stage="mean curve" if replace else "mean curve and number of rows",
            cells=dimensions,
            sensitivity=units,
            scale=sigma,
        )

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Sum the paths as integers, add the noise that the plan's event records, and lay out the curve."""
        total, people = self.total(table)
        public = table.schema.rows if table.schema.adjacency == "replace" else None
        return self.measure(total, people, public, plan, randomness)

    def total(self, table: Table) -> tuple[NDArray[np.int64], int]:
        """Return the true integer sum and the number of rows: nothing of them may leave without noise."""
        names = self.grid(table.schema)
        return self.lattice(len(names)).total(stream_numbers(table, names))

    def measure(
        self,
        total: NDArray[np.int64],
        people: int,
        public: int | None,
        plan: Plan,
        randomness: Randomness,
    ) -> Output:
        """Return the noisy curve of a true sum; ``public`` is the number of rows where that is public."""
        lattice, scale = self.lattice(len(total)), plan.events[0].parts[0].scale
        sigma = scale * lattice.step
        if public is not None:
            curve = lattice.mean(add_gaussian(total, scale, randomness), public)
            deviation = sigma / public * np.sqrt(lattice.basis.variances)
            return self._output(lattice, curve, deviation, sigma / public, plan, {"rows": public})
        weight = count_weight(lattice.basis, lattice.rho)
        noisy = add_gaussian(np.append(total, weight * people), scale, randomness)
        counted, error = float(noisy[-1]) / weight, scale / weight
        divisor = max(counted, 1.0)
        curve = lattice.mean(noisy[:-1], divisor)
        deviation = np.sqrt(lattice.basis.variances * sigma**2 + (curve * error) ** 2) / divisor
        facts = {"noisy_rows": counted, "noisy_rows_sd": error}
        return self._output(lattice, curve, deviation, sigma / divisor, plan, facts)

    def _output(
        self, lattice: CurveLattice, curve: Array, deviation: Array, sigma: float, plan: Plan, facts: dict[str, float]
    ) -> Output:
        on, rho, clip = lattice.basis, lattice.rho, lattice.clip
        part = plan.events[0].parts[0]
        statistics: dict[str, Any] = {
            "sigma": sigma,
            "sensitivity": sigma * part.sensitivity / part.scale,
            "noise_rmse": float(np.sqrt((deviation**2).mean())),
            "bias_bound": clip * largest_bias(on, rho),
            "bias_per_kernel_norm": bias_per_smoothness(on, rho),
            "rho": rho,
            "clip": clip,
            "kernel": self.kernel,
            "lattice_step": lattice.step,
            **facts,
        }
        return Output({KEY: _curve_table(on.positions, curve, deviation)}, True, statistics, notes=_notes(facts))

    def true_values(self, table: Table) -> dict[tuple[str, ...], pa.Table]:
        """Return the ridge mean without noise, for the custodian's copy: never for release."""
        total, people = self.total(table)
        lattice = self.lattice(len(total))
        curve = lattice.mean(total, max(people, 1))
        return {KEY: _curve_table(lattice.basis.positions, curve, np.zeros(len(total)))}

    @classmethod
    def example(cls, schema: Schema) -> MeanCurve:
        """Return a small instance that fits a schema."""
        names = [name for name in schema.releasable if not column_problems(schema, name)][:3]
        sizes = [abs(bound) for name in names for bound in schema[name].numeric_bounds]
        return cls(columns=names, epsilon=1.0, delta=1e-6, rho=0.1, clip=float(max(sizes, default=1)) or 1.0)


def _notes(facts: dict[str, float]) -> tuple[str, ...]:
    if "noisy_rows" not in facts or facts["noisy_rows"] >= CLEAR * facts["noisy_rows_sd"]:
        return ()
    return ("the noisy number of rows is not clearly above 0: the curve is a quotient of noise, do not use it",)


def _curve_table(positions: Array, mean: Array, deviation: Array) -> pa.Table:
    import pyarrow as pa

    return pa.table({"position": positions, "mean": mean, "noise_sd": deviation})


def _refuse(problems: Sequence[str], where: str) -> None:
    if problems:
        raise PlanError(
            f"cannot plan mean-curve{where}",
            tuple(dict.fromkeys(problems)),
            "correct the method's parameters; 'sfumato methods' explains them",
        )
