"""Run two-stage synthesis as printed: blend inputs, learn targets, measure disclosure.

Heuristic: no differential privacy. Alpha, lambda, the pairs and all that is measured come from the confidential rows.
What is solved for and measured is about the rows that are released: rounded into their domain, less those that break a
rule. The measures know which released row was made from which true one; the released rows are shuffled. Columns of
levels are kept as they are: rows are blended within strata of equal levels, and the levels are
indicators in the regression. Small strata are pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.functional_dependence import with_maps_from_rows
from sfumato.errors import RiskError, TableError
from sfumato.mechanisms.two_stage.column_roles import ColumnRoles
from sfumato.metrics.auc import roc_auc
from sfumato.papers.two_stage.learners.regressors import LEAST_ROWS, FittedRegressor, fit_regressor
from sfumato.papers.two_stage.published.blending import OPTIMAL_ROWS, BlendedRows, blend_rows
from sfumato.papers.two_stage.published.first_stage import DEEP, checked_inputs, synthesise_inputs
from sfumato.papers.two_stage.published.network_training import require_deep
from sfumato.risk.interval_disclosure import interval_disclosure, row_linkage
from sfumato.sampling.design_matrix import into_domain
from sfumato.sampling.values import rows_at, rows_table, values_of_column
from sfumato.schema import Schema

Values = dict[str, NDArray[Any]]
LEAST_STRATUM = 20
MEASURED = 20_000
"""Rows up to which linkage and membership are measured; beyond, on a sample of so many."""
HELD_OUT = 0.2
DRAWS = 20
"""Times that synthetic inputs are drawn before a disclosure that one draw could meet is given up."""


@dataclass(frozen=True)
class TwoStageSettings:
    """What the method asks for."""

    first: str
    second: str
    alpha: float | None
    max_lid: float | None
    tolerance: float
    """Share of each input's public range."""
    matching: str
    hybrid: str = "additive"


@dataclass(frozen=True)
class TwoStageOutput:
    """The released rows, in shuffled order, and what was measured on the private rows: for the custodian alone."""

    table: pa.Table
    measured: dict[str, Any]


def require_two_stage(
    layout: ColumnRoles, values: Mapping[str, NDArray[Any]], settings: TwoStageSettings, table: str
) -> None:
    """Refuse rows that the stages cannot learn from, and a disclosure that these rows cannot meet.

    The disclosure is tried with synthetic rows of its own, but for networks, whose training takes minutes: there the
    run itself refuses.
    """
    original = _matrix(layout, values)
    if len(original) < LEAST_ROWS:
        raise TableError(
            f"table {table!r} has {len(original)} rows; at least {LEAST_ROWS} are needed",
            next_step="use a larger table",
        )
    if settings.first in DEEP:
        require_deep(settings.first)
    strata = _strata(layout, values)
    _require_learnable(layout, values, settings, strata)
    for rows in strata:
        checked_inputs(original[rows], [column.name for column in layout.inputs])
        if settings.max_lid is not None and settings.first not in DEEP:
            _blend(layout, original[rows], settings, np.random.default_rng(), draws=1)


def _require_learnable(
    layout: ColumnRoles,
    values: Mapping[str, NDArray[Any]],
    settings: TwoStageSettings,
    strata: Sequence[NDArray[np.int64]],
) -> None:
    constant = [column.name for column in layout.targets if len(np.unique(values[column.name])) < 2]
    problems = [f"target {name!r} has one value only" for name in constant]
    largest = max(len(rows) for rows in strata)
    if settings.matching == "optimal" and largest > OPTIMAL_ROWS:
        problems.append(f"matching='optimal' serves up to {OPTIMAL_ROWS:,} rows of equal levels, found {largest:,}")
    if problems:
        raise TableError("two-stage cannot be run on these rows", problems, "choose another target or matching")


def run_two_stage(
    layout: ColumnRoles,
    values: Mapping[str, NDArray[Any]],
    settings: TwoStageSettings,
    schema: Schema,
    generator: np.random.Generator,
) -> TwoStageOutput:
    """Blend the inputs within strata, learn the targets from the true rows, predict them for the blended ones."""
    original = _matrix(layout, values)
    draws = 1 if settings.first in DEEP else DRAWS
    parts = [(rows, _blend(layout, original[rows], settings, generator, draws)) for rows in _strata(layout, values)]
    released = np.empty_like(original)
    for rows, made in parts:
        released[rows] = made.aligned
    response = _learn(layout, original, values, settings, generator)
    columns = {c.name: released[:, i] for i, c in enumerate(layout.inputs)}
    columns |= {c.name: np.asarray(values[c.name]) for c in layout.levels}
    columns |= _predict(layout, response, _design(layout, released, values))
    made = {name: values_of_column(schema[name], found) for name, found in columns.items()}
    kept = keeps_rules(with_maps_from_rows(schema, made), made)
    order = generator.permutation(np.flatnonzero(kept))
    table = rows_table(schema, rows_at(made, order))
    facts = _measures(layout, original, released, kept, parts, settings, generator)
    return TwoStageOutput(table, facts | {"rows_left_out_for_rules": int((~kept).sum())} | _learnt(response))


def _strata(layout: ColumnRoles, values: Mapping[str, NDArray[Any]]) -> list[NDArray[np.int64]]:
    """Return the rows of each stratum of equal levels; strata that are too small are pooled."""
    rows = len(values[layout.inputs[0].name])
    if not layout.levels:
        return [np.arange(rows)]
    codes = np.column_stack([values[c.name] for c in layout.levels])
    _, place = np.unique(codes, axis=0, return_inverse=True)
    groups = [np.flatnonzero(place.ravel() == k) for k in range(int(place.max()) + 1)]
    large = [group for group in groups if len(group) >= LEAST_STRATUM]
    small = [group for group in groups if len(group) < LEAST_STRATUM]
    rest = np.concatenate(small) if small else np.zeros(0, np.int64)
    if len(rest) >= LEAST_STRATUM or not large:
        return [*large, *([rest] if len(rest) else [])]
    return [*large[:-1], np.concatenate([large[-1], rest])] if len(rest) else large


def _blend(
    layout: ColumnRoles, rows: FloatArray, settings: TwoStageSettings, generator: np.random.Generator, draws: int
) -> BlendedRows:
    """Return the blended rows of a stratum; where a draw of synthetic rows does not meet the target, draw again."""
    names = tuple(column.name for column in layout.inputs)
    while True:
        draws -= 1
        synthetic = synthesise_inputs(settings.first, rows, len(rows), generator, names=names)
        try:
            return blend_rows(
                rows,
                synthetic,
                tolerance=_tolerances(layout, settings.tolerance),
                generator=generator,
                alpha=settings.alpha,
                max_lid=settings.max_lid,
                matching=settings.matching,
                finish=partial(_finished, layout),
                how=settings.hybrid,
                base=_lowest(layout),
            )
        except RiskError:
            if draws <= 0 or settings.max_lid is None:
                raise


def _learn(
    layout: ColumnRoles,
    original: FloatArray,
    values: Mapping[str, NDArray[Any]],
    settings: TwoStageSettings,
    generator: np.random.Generator,
) -> FittedRegressor:
    design = _design(layout, original, values)
    if layout.classes:
        return fit_regressor(settings.second, design, values[layout.targets[0].name], generator, classes=True)
    targets = np.column_stack([np.asarray(values[c.name], float) for c in layout.targets])
    return fit_regressor(settings.second, design, targets, generator)


def _predict(layout: ColumnRoles, response: FittedRegressor, design: FloatArray) -> Values:
    if layout.classes:
        return {layout.targets[0].name: np.asarray(response.labels(design), np.int64)}
    predicted = response.predict(design)
    return {c.name: into_domain(c, predicted[:, i])[0] for i, c in enumerate(layout.targets)}


def _measures(
    layout: ColumnRoles,
    original: FloatArray,
    released: FloatArray,
    kept: NDArray[np.bool_],
    parts: Sequence[tuple[NDArray[np.int64], BlendedRows]],
    settings: TwoStageSettings,
    generator: np.random.Generator,
) -> dict[str, Any]:
    """Measure what the released rows give away about those they were made from; ``kept`` says which are released."""
    near = interval_disclosure(original, released, _tolerances(layout, settings.tolerance)).disclosed
    facts: dict[str, Any] = {
        "lid": float((near & kept).mean()),
        "lid_floor": max(made.floor for _, made in parts),
        "alpha": [float(made.alpha) for _, made in parts],
        "membership_auc": _membership(layout, original, settings, _mean_alpha(parts), generator),
    }
    if not kept.any():
        return facts
    moved = np.empty(len(original))
    for rows, made in parts:
        moved[rows] = made.displacement
    some = generator.permutation(np.flatnonzero(kept))[:MEASURED]
    links = row_linkage(original[some], released[some])
    return facts | {
        "linkage_top_1": links[1],
        "linkage_top_10": links[10],
        "least_displacement": float(moved[kept].min()),
        "median_displacement": float(np.median(moved[kept])),
    }


def _mean_alpha(parts: Sequence[tuple[NDArray[np.int64], BlendedRows]]) -> float:
    return float(np.average([made.alpha for _, made in parts], weights=[len(rows) for rows, _ in parts]))


def _membership(
    layout: ColumnRoles, original: FloatArray, settings: TwoStageSettings, alpha: float, generator: np.random.Generator
) -> float:
    """Return how well nearness to the outputs tells rows that went in from rows held out, in a run of its own."""
    from scipy.spatial import KDTree

    order = generator.permutation(len(original))[:MEASURED]
    cut = max(round(HELD_OUT * len(order)), 1)
    out, inside = original[order[:cut]], original[order[cut:]]
    if len(inside) < LEAST_STRATUM:
        return float("nan")
    spread = np.where(inside.std(axis=0) > 0, inside.std(axis=0), 1.0)
    synthetic = synthesise_inputs(settings.first, inside, len(inside), generator)
    made = blend_rows(
        inside,
        synthetic,
        tolerance=spread * 1e-3,
        generator=generator,
        alpha=alpha,
        matching=settings.matching,
        finish=partial(_finished, layout),
        how=settings.hybrid,
        base=_lowest(layout),
    )
    tree = KDTree(made.rows / spread)
    near = [np.asarray(tree.query(part / spread)[0]) for part in (inside, out)]
    return roc_auc(-near[0], -near[1])


def _learnt(response: FittedRegressor) -> dict[str, Any]:
    """Return what the response chose on the private rows, and how well it fits them."""
    return {f"response_{key}": value for key, value in response.report.items() if isinstance(value, str | int | float)}


def _tolerances(layout: ColumnRoles, share: float) -> FloatArray:
    """Return the tolerance of each input in its own unit."""
    return np.array([share * (c.numeric_bounds[1] - c.numeric_bounds[0]) for c in layout.inputs], float)


def _lowest(layout: ColumnRoles) -> FloatArray:
    """Return the public lower bound of each input: where a multiplicative blend has its 0."""
    return np.array([c.numeric_bounds[0] for c in layout.inputs], float)


def _matrix(layout: ColumnRoles, values: Mapping[str, NDArray[Any]]) -> FloatArray:
    """Return the numeric inputs side by side."""
    return np.column_stack([np.asarray(values[c.name], float) for c in layout.inputs])


def _finished(layout: ColumnRoles, rows: FloatArray) -> FloatArray:
    """Return inputs as they are released: inside their bounds, and rounded where a column is whole."""
    return np.column_stack([into_domain(column, rows[:, i])[0] for i, column in enumerate(layout.inputs)])


def _design(layout: ColumnRoles, inputs: FloatArray, values: Mapping[str, NDArray[Any]]) -> FloatArray:
    """Return what the regression sees: the inputs, and indicators of all levels but the first of each column."""
    indicators = [(np.asarray(values[c.name])[:, None] == np.arange(1, c.size)).astype(float) for c in layout.levels]
    return np.hstack([inputs, *indicators])
