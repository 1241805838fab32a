"""Replacement values for a column of a row that breaks a rule, each with a cost.

For an ordered column every comparison of its rules is solved for that column. The solutions cut its bins into pieces
on which the rules say one thing (as long as the column enters them linearly), and one value is drawn in each piece,
weighted by its length: so a value is drawn again inside its own bin wherever the rules leave room there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.constraints.clauses import ClauseGroup
from sfumato.sampling.values import Values, bins_of, codes_of, decimals, draw_values, row_count, rows_at
from sfumato.sampling.written_forms import is_writable, written_form_of
from sfumato.schema.column import Column
from sfumato.schema.functional_dependence import DependenceMap
from sfumato.schema.rule_backends import ArrayBackend

POOL = 4096
MISSING_COST = 4.0
"""More than any present value costs: a value goes missing only where no present one keeps the rule."""
POINT_WEIGHT = 1e-9
"""Weight of a single number against an interval of one bin: chosen only where no interval is left."""
UNSEEN_WEIGHT = 0.01
STRANGE_COST = 3.0
"""More than any value in the form of the column costs, such as a multiple of its step."""
ALIKE = 8
"""Values of the same bin, from other rows, that a value may become: the shape inside the bin stays as it was."""
ALIKE_WEIGHT = 1e9
MOST_TURNS = 64
"""Turns of a map that are offered to a row; one that needs another takes values of a row that keeps the rules."""


class ReplacementOptions(NamedTuple):
    """Values (rows or 1, options), which of them are missing, and what each costs (infinite: not to be taken)."""

    values: NDArray[Any]
    missing: NDArray[np.bool_]
    cost: NDArray[np.float64]


class AllowedForms(NamedTuple):
    """What a column may become beside a value in its own form: missing, or any number."""

    missing: bool
    strange: bool


@dataclass
class DonorSample:
    """A sample of the synthetic table, from which values that were missing and rare choices are drawn."""

    values: Values
    generator: np.random.Generator
    shares: dict[str, NDArray[np.float64]] = field(default_factory=dict[str, NDArray[np.float64]])

    @classmethod
    def of(cls, values: Values, generator: np.random.Generator) -> DonorSample:
        """Sample a pool from rows."""
        rows = row_count(values)
        return cls(rows_at(values, generator.integers(0, rows, min(rows, POOL))), generator)

    def present(self, column: Column, rows: int) -> NDArray[Any]:
        """Return present values of a column, drawn from the pool or, where it has none, from the public domain."""
        data, missing = self.values[column.name]
        there = data[~missing]
        if len(there):
            return there[self.generator.integers(0, len(there), rows)]
        return draw_values(column, self.generator.integers(0, column.present_size, rows), self.generator)[0]

    def weights(self, column: Column) -> NDArray[np.float64]:
        """Return how often each level stands in the pool; a level that does not may still be chosen."""
        if column.name not in self.shares:
            data, missing = self.values[column.name]
            codes = codes_of(column, data, missing)
            counts = np.bincount(codes, minlength=column.size)[: column.present_size]
            self.shares[column.name] = counts.astype(np.float64) + UNSEEN_WEIGHT
        return self.shares[column.name]

    def alike(self, column: Column, here: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of an ordered column that lie in the bin of the given ones (rows, 1); NaN where none does."""
        data, missing = self.values[column.name]
        there = np.append(np.sort(data[~missing].astype(float)), np.nan)
        bins = bins_of(column, there[:-1])
        first, last = (np.searchsorted(bins, bins_of(column, here), side=side) for side in ("left", "right"))
        places = first + np.floor(self.generator.random((len(here), ALIKE)) * (last - first)).astype(np.int64)
        return np.where(last > first, there[places], np.nan)


def options_of(
    bundle: ClauseGroup, rows: Values, name: str, allowed: AllowedForms, pool: DonorSample
) -> ReplacementOptions:
    """Return what the column could hold instead in each row; ``rows`` are columns of shape (rows, 1)."""
    column = bundle.columns[name]
    options = _ordered(bundle, rows, column, pool) if column.is_ordered else _levels(rows, column, pool)
    if column.is_ordered and not allowed.strange:
        options = options._replace(cost=np.where(options.cost < STRANGE_COST, options.cost, np.inf))
    if not (allowed.missing and column.missing):
        return options
    values = np.concatenate([options.values, options.values[:, :1]], axis=1)
    missing = np.concatenate([options.missing, np.ones((len(options.missing), 1), dtype=bool)], axis=1)
    return ReplacementOptions(values, missing, np.pad(options.cost, ((0, 0), (0, 1)), constant_values=MISSING_COST))


def _levels(rows: Values, column: Column, pool: DonorSample) -> ReplacementOptions:
    """Return every level: the nearest one first where levels are ordered, else drawn as often as the table has it."""
    data, missing = rows[column.name]
    size = column.present_size
    race = _weighted_order(np.broadcast_to(pool.weights(column), (len(data), size)), pool.generator)
    if column.kind == "ordinal":
        here = codes_of(column, data[:, 0], missing[:, 0])[:, None]
        away = np.where(missing, 0, np.abs(np.arange(size) - here))
        race = (away + race / 2) / size
    levels = np.empty((1, size), dtype=object)
    levels[0] = column.levels
    return ReplacementOptions(levels, np.zeros((1, size), dtype=bool), race)


def _weighted_order(weights: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Return numbers in (0, 1) whose smallest stands at each option with a chance in proportion to its weight."""
    times = generator.exponential(size=weights.shape) / np.maximum(weights, 1e-300)
    return times / (1.0 + times)


def _ordered(bundle: ClauseGroup, rows: Values, column: Column, pool: DonorSample) -> ReplacementOptions:
    data, missing = rows[column.name]
    here = np.where(missing, pool.present(column, len(data))[:, None], data).astype(float)
    roots = _solutions(bundle, rows, column, here)
    points = _points(column, roots)
    lows, highs = _pieces(column, here, roots)
    drawn, lengths = _draw_inside(column, lows, highs, pool.generator)
    unit = 1.0 if column.is_discrete or written_form_of(column) else POINT_WEIGHT * _narrowest(column)
    alike = pool.alike(column, here)
    values = np.concatenate([points, drawn, np.where(np.isnan(alike), here, alike)], axis=1)
    alike_weights = np.where(np.isnan(alike), 0.0, ALIKE_WEIGHT * _widest(column))
    weights = np.concatenate([np.full(points.shape, unit), lengths, alike_weights], axis=1)
    away = np.abs(bins_of(column, values) - bins_of(column, here))
    cost = (away + _weighted_order(weights, pool.generator) / 2) / column.present_size
    cost += np.where(is_writable(column, values), 0.0, STRANGE_COST)
    values = values.astype(np.int64) if column.is_discrete else values
    return ReplacementOptions(values, np.zeros(values.shape, dtype=bool), np.where(weights > 0, cost, np.inf))


def _points(column: Column, roots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the single values at which a comparison turns, and those just beside them."""
    if (form := written_form_of(column)) is not None:
        beside = [*form.around(roots), np.floor(roots) if column.is_discrete else roots]
    elif column.is_discrete:
        beside = [np.floor(roots), np.ceil(roots)]
    else:
        beside = [roots, np.nextafter(roots, -np.inf), np.nextafter(roots, np.inf)]
    return np.clip(np.concatenate(beside, axis=1), *column.numeric_bounds)


def _pieces(
    column: Column,
    here: NDArray[np.float64],
    roots: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the pieces into which the solutions cut the bins around them and around the old value."""
    half = 0.5 if column.is_discrete else 0.0
    low, high = column.numeric_bounds
    around = np.concatenate([here, roots], axis=1)
    below, above = bins_of(column, np.nextafter(around, -np.inf)), bins_of(column, np.nextafter(around, np.inf))
    ends = np.full(here.shape, low - half), np.full(here.shape, high + half)
    cuts = np.concatenate([*ends, roots, column.starts[below] - half, column.ends[above] + half], axis=1)
    cuts.sort(axis=1)
    return cuts[:, :-1], cuts[:, 1:]


def _draw_inside(
    column: Column, lows: NDArray[np.float64], highs: NDArray[np.float64], generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw one value strictly inside each piece; return it and the length of the piece (0: it holds none)."""
    uniform = generator.random(lows.shape)
    if (form := written_form_of(column)) is not None:
        return form.between(np.nextafter(lows, np.inf), highs, uniform)
    if column.is_discrete:
        first = np.floor(lows) + 1
        count = np.maximum(np.ceil(highs) - first, 0)
        return np.clip(first + np.floor(uniform * count), *column.numeric_bounds), count
    drawn = lows + uniform * (highs - lows)
    rounded = np.round(drawn, decimals(_narrowest(column)))
    return np.where((lows < rounded) & (rounded < highs), rounded, drawn), highs - lows


def _narrowest(column: Column) -> float:
    return float(np.min(column.ends - column.starts))


def _widest(column: Column) -> float:
    return float(np.max(column.ends - column.starts)) + 1.0


@dataclass(frozen=True)
class _Differences(ArrayBackend):
    """An algebra that remembers left minus right of every comparison of numbers."""

    found: list[NDArray[np.float64]] = field(default_factory=list[NDArray[np.float64]])

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        if left[0].dtype.kind in "biuf" and right[0].dtype.kind in "biuf":
            self.found.append(left[0].astype(float) - right[0].astype(float))
        return np.array(True), np.array(True)

    def determined(self, lookup: DependenceMap) -> Any:
        """Offer what the map asks of an ordered target, and the turns of the map for an ordered source."""
        source, target = self.values[lookup.source.name], self.values[lookup.target.name]
        if lookup.target.is_ordered:
            self.found.append(target[0].astype(float) - lookup.of(*source)[0])
        if lookup.source.is_ordered:
            turns = lookup.starts[:: len(lookup.starts) // MOST_TURNS + 1]
            self.found.extend(source[0].astype(float) - turn for turn in turns)
        return np.array(True), np.array(True)


def _solutions(bundle: ClauseGroup, rows: Values, column: Column, here: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of the column at which a comparison holds with equality, given the rest of the row."""
    low, high = column.numeric_bounds
    numbers = _as_numbers(bundle, rows)
    at_low, at_high = (_differences(bundle, numbers, column.name, np.full(here.shape, end)) for end in (low, high))
    slopes = (at_high - at_low) / (high - low if high > low else 1.0)
    used = (slopes != 0).any(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = (low - at_low / slopes)[:, used]
        # A second step takes away what rounding left, so that equalities hold to the last digit where they can.
        again = _differences(bundle, numbers, column.name, roots, used)
        roots = roots - again / slopes[:, used]
    roots = np.where(np.isfinite(roots), roots, here)
    whole = np.rint(roots)
    roots = np.where(np.abs(roots - whole) < 1e-6, whole, roots) if column.is_discrete else roots
    return np.clip(roots, low, high)


def _as_numbers(bundle: ClauseGroup, rows: Values) -> Values:
    """Return the rows with every column of numbers, levels too, as floating numbers."""
    texts = {n for n, c in bundle.columns.items() if not c.is_ordered and not all(isinstance(v, int) for v in c.levels)}
    return {n: (data if n in texts else data.astype(float), missing) for n, (data, missing) in rows.items()}


def _differences(
    bundle: ClauseGroup, rows: Values, name: str, values: NDArray[np.float64], used: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return left minus right of each comparison (second axis); column i of several values goes to comparison i."""
    algebra = _Differences({**rows, name: (values, np.zeros(values.shape, dtype=bool))})
    for clause in bundle.clauses:
        if name in clause.columns:
            clause.evaluate(algebra, bundle.columns)
    if used is not None:
        chosen = [part for part, use in zip(algebra.found, used, strict=True) if use]
        parts = [np.broadcast_to(part, values.shape)[:, i] for i, part in enumerate(chosen)]
    else:
        parts = [np.broadcast_to(part, values.shape)[:, 0] for part in algebra.found]
    return np.stack(parts, axis=1) if parts else np.empty((len(values), 0))
