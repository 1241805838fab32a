"""MeanCurve: mean of curves on a public grid, with Gaussian noise of the kernel covariance.

Proof note. Points and gaps become paths by a public rule, each curve by itself; what one person can change then is in
:mod:`sfumato.mechanisms.mean_curve.curves_from_points`, and how far the grid leads from the whole axis in
:mod:`sfumato.mechanisms.mean_curve.expected_error`. Every record becomes an integer vector q of length at most U: its
path, clipped to the public norm ``clip``, smoothed by the public kernel and penalty, in whitened coordinates
(:mod:`sfumato.mechanisms.mean_curve.integer_sums`).

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
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.arrays import FloatArray
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import check_parameters, delta_or_default, word_problems
from sfumato.core.plan import Plan, Stage, event_facts, exact_cost, refuse_memory
from sfumato.errors import TableError
from sfumato.mechanisms.mean_curve.checks import (
    default_problems,
    delta_problems,
    grid_problems,
    kernel_problems,
    path_problems,
    position_problems,
    positive_problems,
    refuse,
)
from sfumato.mechanisms.mean_curve.curve_kernels import KernelBasis, KernelName, basis, even_positions
from sfumato.mechanisms.mean_curve.curves_from_points import (
    RULES,
    LongTable,
    Rule,
    fill_gaps,
    long_problems,
    stream_long,
)
from sfumato.mechanisms.mean_curve.expected_error import bias_per_smoothness, discretisation_error, largest_bias
from sfumato.mechanisms.mean_curve.integer_sums import LARGEST_GRID, CurveLattice, count_weight, largest_norm
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.lattice_gaussian import lattice_sigma
from sfumato.privacy.accounting.sensitivity import curve_sum_sensitivity, vector_sum_sensitivity
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.noise import add_gaussian
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table.column_expressions import cast_to_kind
from sfumato.table.engines.engine import BATCH_ROWS
from sfumato.table.rows import stream_matrices
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.table import Table

KIND = "lattice-gaussian"
KEY = ("mean_curve",)
MEAN_DELTA = "1e-6"
"""The delta of a curve where none is given."""
CLEAR = 5
"""A noisy number of rows below this many of its standard deviations is not clearly above 0."""


@checked_parameters
@dataclass(frozen=True, kw_only=True)
class MeanCurve:
    """The mean of curves, smoothed and with Gaussian noise that has the kernel's own covariance.

    Each row of the table is a path; ``columns`` are its grid points in order (all numeric columns unless stated), at
    ``positions`` in (0, 1] (1/N, 2/N, ... unless stated). ``clip`` is a public bound: paths whose root mean square is
    larger are scaled down to it. ``rho`` is the smoothing penalty: a larger one means less noise and more bias at the
    same guarantee; ``best_rho`` chooses it from public parameters or a pilot. ``delta`` is 1e-6 unless it is given.

    *Gaps:* with ``interpolation`` values may be missing: "linear" (straight lines, level at the ends) or "step" (the
    last value so far). ``default`` is the public curve of somebody without a value: one number for each grid point, or
    one for all, 0 unless stated.

    *Long tables*, where a row is a point: ``time`` and ``value`` name its columns and ``curve`` the one that tells
    curves apart, the person column unless stated. The bounds of ``time`` are the ends of the axis; the grid has
    ``points`` even points, or ``positions``. Gaps are filled as above, linear unless stated. Under replace ``people``
    is the public number of curves.

    Proof: :mod:`sfumato.mechanisms.mean_curve.method`.
    """

    columns: Sequence[str] | None = None
    epsilon: Number
    rho: Number
    clip: Number
    delta: Number | None = None
    kernel: KernelName = "wiener"
    length_scale: Number | None = None
    positions: Sequence[Number] | None = None
    interpolation: Rule | None = None
    default: Sequence[Number] | None = None
    time: str | None = None
    value: str | None = None
    curve: str | None = None
    points: int | None = None
    people: int | None = None

    name: ClassVar[str] = "mean-curve"
    summary: ClassVar[str] = (
        "the mean of curves (a row is a path, or a point), smoothed, with noise of the kernel's covariance"
    )
    about: ClassVar[str] = (
        "The curve is the mean of paths that were clipped to a public norm and smoothed: it has a bias towards smooth, "
        "short curves besides the noise. noise_sd is the standard deviation of the noise at each point; errors of "
        "neighbouring points go together."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "values"

    def __post_init__(self) -> None:
        check_parameters(self)
        problems = positive_problems(epsilon=self.epsilon, rho=self.rho, clip=self.clip) + delta_problems(
            self.spent_delta
        )
        problems += kernel_problems(self.kernel, self.length_scale)
        problems += position_problems(self.positions, len(self.columns or self.positions or ()))
        refuse(problems + self._point_problems(), "")

    def _point_problems(self) -> list[str]:
        """Return what is wrong with the parameters of points and gaps."""
        if (self.time is None) != (self.value is None):
            return ["a long table needs both time and value"]
        wrong = [] if self.interpolation is None else word_problems(self.interpolation, "interpolation", RULES)
        gaps = self.default is not None and self.interpolation is None and self.time is None
        problems = [*wrong, *(["default is for gaps: give interpolation='linear' or 'step' with it"] if gaps else [])]
        long_only = {"curve": self.curve, "points": self.points, "people": self.people}
        if self.time is None:
            return problems + [f"{name} is for long tables: give time and value" for name, v in long_only.items() if v]
        problems += ["columns are the grid of a wide table: leave them out of a long one"] if self.columns else []
        if (self.points is None) == (self.positions is None):
            problems.append("a long table needs its grid: either points (such as 24) or positions")
        whole = {"points": self.points, "people": self.people}
        return problems + [
            f"{name} must be at least 1, found {v}" for name, v in whole.items() if v is not None and v < 1
        ]

    @property
    def spent_delta(self) -> Number:
        """The delta of the release."""
        return delta_or_default(self.delta, MEAN_DELTA)

    def grid(self, schema: Schema) -> tuple[str, ...]:
        """Return the grid columns in order."""
        if self.columns is not None:
            return tuple(self.columns)
        return tuple(name for name in schema.releasable if schema[name].kind in ("integer", "number"))

    def long(self, schema: Schema) -> LongTable | None:
        """Return the columns of a long table, or None where a row is a whole path."""
        if self.time is None or self.value is None:
            return None
        return LongTable(self.curve or schema.person or "", self.time, self.value)

    def size(self, schema: Schema) -> int:
        """Return the number of grid points."""
        if self.time is None:
            return len(self.grid(schema))
        return self.points or len(self.positions or ())

    def lattice(self, points: int) -> CurveLattice:
        """Return the public lattice for a grid of so many points."""
        read = None if self.positions is None else [float(to_fraction(p)) for p in self.positions]
        length = None if self.length_scale is None else float(to_fraction(self.length_scale))
        on = basis(read or even_positions(points), self.kernel, length)
        return CurveLattice(on, float(to_fraction(self.rho)), float(to_fraction(self.clip)))

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        size = self.size(schema)
        refuse(self._table_problems(schema, size), f" on table {schema.name!r}")
        memory = 8 * size * (4 * size + 3 * BATCH_ROWS)
        refuse_memory(memory, f"{size:,} grid points", "use fewer grid points")
        part = self._part(schema, size)
        cost = exact_cost(self.epsilon, self.spent_delta)
        shown = part.scale * self.lattice(size).step / (self._divisor(schema) or 1)
        stage = Stage.of(part, "discrete gaussian, on a lattice", cost["epsilon"], "1", shown)
        event = Event(kind=KIND, parts=(part,), **event_facts(self.name, schema, randomness), **cost)
        return Plan.for_(self.name, schema, (stage,), (event,), memory)

    def _table_problems(self, schema: Schema, size: int) -> list[str]:
        problems = position_problems(self.positions, size) + default_problems(self.default, size)
        long, replaced = self.long(schema), schema.adjacency == "replace"
        if long is None:
            return grid_problems(schema, self.grid(schema), self.interpolation is not None) + problems
        if not long.curve:
            return [*problems, "a long table needs the column that tells curves apart: curve, or person in the schema"]
        problems += long_problems(schema, long)
        problems += [f"a grid has at most {LARGEST_GRID:,} points"] if size > LARGEST_GRID else []
        problems += ["adjacency 'replace' needs the public number of curves: people"] * (replaced and not self.people)
        not_replace = "people is for adjacency 'replace'; here the number of curves is released with noise"
        return problems + [not_replace] * (self.people is not None and not replaced)

    def _divisor(self, schema: Schema) -> int | None:
        """Return the public number of curves, where it is public."""
        if schema.adjacency != "replace":
            return None
        return schema.rows if self.time is None else self.people

    def _sensitivity(self, schema: Schema, points: int) -> int:
        """Return how far, in units, one unit of privacy can move the sum, and the count where that is private."""
        length, lattice, long = largest_norm(points), self.lattice(points), self.long(schema)
        with_count = math.isqrt(length**2 + count_weight(lattice.basis, lattice.rho) ** 2) + 1
        if long is None:
            one = with_count if schema.adjacency == "add-remove" else length
            return vector_sum_sensitivity(schema.adjacency, one, schema.rows_per_person)
        touched = None if long.curve == schema.person else schema.rows_per_person
        return curve_sum_sensitivity(schema.adjacency, length, with_count, touched)

    def _part(self, schema: Schema, points: int) -> EventPart:
        counted = schema.adjacency == "add-remove"
        dimensions, units = points + counted, self._sensitivity(schema, points)
        sigma = lattice_sigma(units, dimensions, self.epsilon, self.spent_delta)
        return EventPart(
            stage="mean curve and number of rows" if counted else "mean curve",
            cells=dimensions,
            sensitivity=units,
            scale=sigma,
        )

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        curves = DataRequest("the sum of all curves", "rows")
        counted = self.long(schema) is not None and self._divisor(schema) is not None
        return (DataRequest("the number of curves", "check"), curves) if counted else (curves,)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Sum the paths as integers, add the noise that the plan's event records, and lay out the curve."""
        total, people = self.total(table)
        return self.measure(total, people, self._divisor(table.schema), plan, randomness)

    def total(self, table: Table) -> tuple[NDArray[np.int64], int]:
        """Return the true integer sum and the number of curves: nothing of them may leave without noise."""
        schema, size = table.schema, self.size(table.schema)
        lattice, long, default = self.lattice(size), self.long(schema), self._default_path(size)
        if long is None and self.interpolation is None:
            return lattice.total(stream_matrices(table, self.grid(schema)))
        rule, grid = self.interpolation or "linear", lattice.basis.positions
        if long is None:
            rows = stream_matrices(table, self.grid(schema), gaps=True)
            return lattice.total(fill_gaps(paths, grid, default, rule) for paths in rows)
        sums, curves = lattice.total(stream_long(table, long, grid, default, rule))
        people = self._divisor(schema)
        if people is None:
            return sums, curves
        return sums + (people - curves) * lattice.quantise(default[None, :])[0], people

    def _default_path(self, size: int) -> FloatArray:
        """Return the public curve of somebody without points."""
        numbers = [float(to_fraction(number)) for number in self.default or (0,)]
        return np.full(size, numbers[0]) if len(numbers) == 1 else np.array(numbers)

    def require_table(self, table: Table, plan: Plan) -> None:
        """Refuse a long table with more curves than the public number of people, before anything is spent."""
        long, people = self.long(table.schema), self._divisor(table.schema)
        if long is None or people is None:
            return
        raw = table.source.engine.table
        count = cast_to_kind(raw[long.curve], table.schema[long.curve]).nunique().as_table()
        curves = int(table.source.engine.aggregate(count).column(0)[0].as_py())
        if curves > people:
            raise TableError(
                f"column {long.curve!r} tells {curves:,} curves apart, and people says {people:,}",
                next_step="give the public number of people; those without points have the default curve",
            )

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
        self,
        lattice: CurveLattice,
        curve: FloatArray,
        deviation: FloatArray,
        sigma: float,
        plan: Plan,
        facts: dict[str, float],
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
            **self._grid_error(on, rho),
            **facts,
        }
        return Output({KEY: _curve_table(on.positions, curve, deviation)}, True, statistics, notes=_notes(facts))

    def _grid_error(self, on: KernelBasis, rho: float) -> dict[str, float]:
        """Return how far the grid leads from the whole axis, where the theorem says anything."""
        length = None if self.length_scale is None else float(to_fraction(self.length_scale))
        error = discretisation_error(
            rho, smoothness=1, positions=on.positions.tolist(), kernel=self.kernel, length_scale=length
        )
        bound = error.root_mean_square
        return {"grid_error_per_kernel_norm": bound} if math.isfinite(bound) else {}

    def true_values(self, table: Table) -> dict[tuple[str, ...], pa.Table]:
        """Return the ridge mean without noise, for the custodian's copy: never for release."""
        total, people = self.total(table)
        lattice = self.lattice(len(total))
        curve = lattice.mean(total, max(people, 1))
        return {KEY: _curve_table(lattice.basis.positions, curve, np.zeros(len(total)))}

    @classmethod
    def example(cls, schema: Schema) -> MeanCurve:
        """Return a small instance that fits a schema."""
        names = [name for name in schema.releasable if not path_problems(schema[name])][:3]
        sizes = [abs(bound) for name in names for bound in schema[name].numeric_bounds]
        return cls(columns=names, epsilon=1.0, delta=1e-6, rho=0.1, clip=float(max(sizes, default=1)) or 1.0)


def _notes(facts: dict[str, float]) -> tuple[str, ...]:
    if "noisy_rows" not in facts or facts["noisy_rows"] >= CLEAR * facts["noisy_rows_sd"]:
        return ()
    return ("the noisy number of rows is not clearly above 0: the curve is a quotient of noise, do not use it",)


def _curve_table(positions: FloatArray, mean: FloatArray, deviation: FloatArray) -> pa.Table:
    import pyarrow as pa

    return pa.table({"position": positions, "mean": mean, "noise_sd": deviation})
