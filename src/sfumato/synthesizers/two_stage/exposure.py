"""Two-stage synthesis on a table, as published: inputs blended with synthetic ones, targets learnt and predicted.

Heuristic: no differential privacy. Alpha, lambda, the pairs and all that is measured come from the confidential rows.
Columns of levels are kept as they are: rows are blended within strata of equal levels, and the levels are indicators in
the regression. Small strata are pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.columns import Column
from sfumato.risk.location import interval_disclosure, row_linkage
from sfumato.synthesizers.pseudo.design import Design
from sfumato.synthesizers.pseudo.sequential import into_domain
from sfumato.synthesizers.two_stage.first import make_inputs
from sfumato.synthesizers.two_stage.hybrid import Hybrid, hybrid
from sfumato.synthesizers.two_stage.second import Response, fit_response

Values = dict[str, NDArray[Any]]
Array = NDArray[np.float64]
LEAST_STRATUM = 20
MEASURED = 20_000
"""Rows up to which linkage and membership are measured; beyond, on a sample of so many."""
HELD_OUT = 0.2


@dataclass(frozen=True)
class Settings:
    """What the method asks for."""

    first: str
    second: str
    alpha: float | None
    max_lid: float | None
    tolerance: float
    """Share of each input's public range."""
    matching: str


@dataclass(frozen=True)
class Layout:
    """The columns by their part: numeric inputs, levels that are kept, targets."""

    inputs: tuple[Column, ...]
    levels: tuple[Column, ...]
    targets: tuple[Column, ...]

    @property
    def classes(self) -> bool:
        """Whether the one target is a column of levels."""
        return not self.targets[0].is_ordered

    def tolerances(self, share: float) -> Array:
        """Return the tolerance of each input in its own unit."""
        return np.array([share * (c.numeric_bounds[1] - c.numeric_bounds[0]) for c in self.inputs], float)

    def matrix(self, values: Mapping[str, NDArray[Any]]) -> Array:
        """Return the numeric inputs side by side."""
        return np.column_stack([np.asarray(values[c.name], float) for c in self.inputs])

    def design(self, inputs: Array, values: Mapping[str, NDArray[Any]]) -> Array:
        """Return what the regression sees: the inputs and indicators of the levels."""
        return np.hstack([inputs, Design(self.levels).matrix(values, len(inputs))]) if self.levels else inputs


@dataclass(frozen=True)
class TwoStaged:
    """Released values, in shuffled order, and what is said about them."""

    values: Values
    statistics: dict[str, Any]


def run_two_stage(layout: Layout, values: Mapping[str, NDArray[Any]], settings: Settings,
                  generator: np.random.Generator) -> TwoStaged:  # fmt: skip
    """Blend the inputs within strata, learn the targets from the true rows, predict them for the blended ones."""
    original = layout.matrix(values)
    parts = [(rows, _blend(layout, original[rows], settings, generator)) for rows in _strata(layout, values)]
    aligned = np.empty_like(original)
    for rows, made in parts:
        aligned[rows] = made.aligned
    inputs = {c.name: into_domain(c, aligned[:, i])[0] for i, c in enumerate(layout.inputs)}
    released = layout.matrix(inputs)
    response = _learn(layout, original, values, settings, generator)
    targets = _predict(layout, response, layout.design(released, values))
    order = generator.permutation(len(original))
    kept = {c.name: np.asarray(values[c.name]) for c in layout.levels}
    shuffled = {name: column[order] for name, column in (inputs | kept | targets).items()}
    facts = _measures(layout, original, released, parts, settings, generator) | _learnt(response)
    return TwoStaged(shuffled, facts)


def _strata(layout: Layout, values: Mapping[str, NDArray[Any]]) -> list[NDArray[np.int64]]:
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


def _blend(layout: Layout, rows: Array, settings: Settings, generator: np.random.Generator) -> Hybrid:
    names = tuple(column.name for column in layout.inputs)
    synthetic = make_inputs(settings.first, rows, len(rows), generator, names=names)
    return hybrid(rows, synthetic, tolerance=layout.tolerances(settings.tolerance), generator=generator,
                  alpha=settings.alpha, max_lid=settings.max_lid, matching=settings.matching)  # fmt: skip


def _learn(layout: Layout, original: Array, values: Mapping[str, NDArray[Any]], settings: Settings,
           generator: np.random.Generator) -> Response:  # fmt: skip
    design = layout.design(original, values)
    if layout.classes:
        return fit_response(settings.second, design, values[layout.targets[0].name], generator, classes=True)
    targets = np.column_stack([np.asarray(values[c.name], float) for c in layout.targets])
    return fit_response(settings.second, design, targets, generator)


def _predict(layout: Layout, response: Response, design: Array) -> Values:
    if layout.classes:
        return {layout.targets[0].name: np.asarray(response.labels(design), np.int64)}
    predicted = response.predict(design)
    return {c.name: into_domain(c, predicted[:, i])[0] for i, c in enumerate(layout.targets)}


def _measures(layout: Layout, original: Array, released: Array, parts: Sequence[tuple[NDArray[np.int64], Hybrid]],
              settings: Settings, generator: np.random.Generator) -> dict[str, Any]:  # fmt: skip
    """Measure what the release gives away: nearness in place, linkage, and how far rows moved."""
    some = generator.permutation(len(original))[:MEASURED]
    links = row_linkage(original[some], released[some])
    moved = np.concatenate([made.displacement for _, made in parts])
    return {
        "lid": interval_disclosure(original, released, layout.tolerances(settings.tolerance)).share,
        "tolerance": settings.tolerance, "alignment": "rows in the order of the table; released rows are shuffled",
        "alpha": [float(made.alpha) for _, made in parts], "lid_floor": max(made.floor for _, made in parts),
        "linkage_top_1": links[1], "linkage_top_10": links[10], "least_displacement": float(moved.min()),
        "median_displacement": float(np.median(moved)),
        "membership_auc": _membership(original, settings, _mean_alpha(parts), generator),
    }  # fmt: skip


def _mean_alpha(parts: Sequence[tuple[NDArray[np.int64], Hybrid]]) -> float:
    return float(np.average([made.alpha for _, made in parts], weights=[len(rows) for rows, _ in parts]))


def _membership(original: Array, settings: Settings, alpha: float, generator: np.random.Generator) -> float:
    """Return how well nearness to the outputs tells rows that went in from rows held out, in a run of its own."""
    from scipy.spatial import KDTree
    from scipy.stats import rankdata

    order = generator.permutation(len(original))[:MEASURED]
    cut = max(round(HELD_OUT * len(order)), 1)
    out, inside = original[order[:cut]], original[order[cut:]]
    if len(inside) < LEAST_STRATUM:
        return float("nan")
    spread = np.where(inside.std(axis=0) > 0, inside.std(axis=0), 1.0)
    synthetic = make_inputs(settings.first, inside, len(inside), generator)
    made = hybrid(
        inside, synthetic, tolerance=spread * 1e-3, generator=generator, alpha=alpha, matching=settings.matching
    )
    tree = KDTree(made.rows / spread)
    near = [np.asarray(tree.query(part / spread)[0]) for part in (inside, out)]
    ranks = rankdata(-np.concatenate(near))
    members = len(inside)
    return float((ranks[:members].sum() - members * (members + 1) / 2) / (members * len(out)))


def _learnt(response: Response) -> dict[str, Any]:
    chosen = {
        f"response_{key}": value for key, value in response.report.items() if isinstance(value, str | int | float)
    }
    return chosen | {"chosen_on_private_data": "alpha, pairs, bandwidths, and everything of the response"}
