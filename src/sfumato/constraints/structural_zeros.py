"""Structural zeros: cells of the public domain in which no row can keep a rule.

Every cell is an interval (a level is a point), and a rule is evaluated on intervals: what may be true, what may be
false, what may be unknown. A cell is forbidden only where the rule is false for every value in it, so no row that
keeps the rules is ever lost; single comparisons are decided exactly.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import BoolArray
from sfumato.constraints.clauses import clauses_of
from sfumato.schema.column import Column, day_number
from sfumato.schema.functional_dependence import DependenceMap
from sfumato.schema.rule_backends import OPERATORS
from sfumato.schema.rules import Rule

FINE_CELLS = 1 << 22
"""Rules are evaluated on the cells of the public domain up to this many."""
FLIPPED = {">": "<", ">=": "<="}


class IntervalCells(NamedTuple):
    """Values that cells may hold: closed intervals, and whether a value or a missing one may stand there."""

    low: NDArray[Any]
    high: NDArray[Any]
    present: BoolArray
    absent: BoolArray


class PossibleTruth(NamedTuple):
    """What a statement may be in each cell."""

    true: BoolArray
    false: BoolArray
    unknown: BoolArray


def cells_of(column: Column) -> IntervalCells:
    """Return the codes of a column as cells."""
    low, high = _ordered_ends(column) if column.is_ordered else (_level_points(column),) * 2
    absent = np.zeros(column.size, dtype=bool)
    if column.missing:
        low, high = np.append(low, low[:1]), np.append(high, high[:1])
        absent[-1] = True
    return IntervalCells(low, high, ~absent, absent)


def _ordered_ends(column: Column) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    high = column.ends.copy()
    if not column.is_discrete:  # only the last bin of a number holds its upper end
        high[:-1] = np.nextafter(high[:-1], -np.inf)
    return column.starts, high


def _level_points(column: Column) -> NDArray[Any]:
    numeric = all(isinstance(level, int) for level in column.levels)
    return np.array(column.levels, dtype=float if numeric else object)


def interval_hulls(cells: IntervalCells, groups: NDArray[Any], size: int) -> IntervalCells:
    """Return each group of ordered cells as one cell: the hull of its intervals."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    there = cells.present
    np.minimum.at(low, groups[there], cells.low[there])
    np.maximum.at(high, groups[there], cells.high[there])
    present, absent = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    present[groups[there]] = True
    absent[groups[cells.absent]] = True
    return IntervalCells(np.where(present, low, 0.0), np.where(present, high, 0.0), present, absent)


@dataclass(frozen=True)
class _CellAlgebra:
    """Rules on cells: each connective keeps what either side may be, as if the sides did not hang together."""

    cells: Mapping[str, IntervalCells]

    def column(self, name: str) -> IntervalCells:
        return self.cells[name]

    def literal(self, value: Any) -> IntervalCells:
        if isinstance(value, str):
            point = np.array(value, dtype=object)
        else:
            point = np.array(float(day_number(value) if isinstance(value, dt.date) else value))
        return IntervalCells(point, point, np.array(True), np.array(False))

    def compare(self, operator: str, left: IntervalCells, right: IntervalCells) -> PossibleTruth:
        if operator in FLIPPED:
            return self.compare(FLIPPED[operator], right, left)
        if operator == "!=":
            return self.negation(self.compare("==", left, right))
        true, false = _equal(left, right) if operator == "==" else _below(operator, left, right)
        known = left.present & right.present
        return PossibleTruth(known & true, known & false, left.absent | right.absent)

    def arithmetic(self, operator: str, left: IntervalCells, right: IntervalCells) -> IntervalCells:
        # Floating sums and products are monotone in each operand, so the corners bound what the values can give.
        apply = OPERATORS[operator]
        corners = [apply(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = reduce(np.minimum, corners), reduce(np.maximum, corners)
        return IntervalCells(low, high, left.present & right.present, left.absent | right.absent)

    def conjunction(self, left: PossibleTruth, right: PossibleTruth) -> PossibleTruth:
        unknown = (left.unknown & (right.true | right.unknown)) | (left.true & right.unknown)
        return PossibleTruth(left.true & right.true, left.false | right.false, unknown)

    def disjunction(self, left: PossibleTruth, right: PossibleTruth) -> PossibleTruth:
        return self.negation(self.conjunction(self.negation(left), self.negation(right)))

    def negation(self, operand: PossibleTruth) -> PossibleTruth:
        return PossibleTruth(operand.false, operand.true, operand.unknown)

    def is_missing(self, operand: IntervalCells) -> PossibleTruth:
        return PossibleTruth(operand.absent, operand.present, np.zeros_like(operand.present))

    def determined(self, lookup: DependenceMap) -> PossibleTruth:
        source, target = self.cells[lookup.source.name], self.cells[lookup.target.name]
        true = _mapped(lookup, source, target)
        return PossibleTruth(true, np.ones_like(true), np.zeros_like(true))


def _mapped(lookup: DependenceMap, source: IntervalCells, target: IntervalCells) -> BoolArray:
    """Return which cells hold a pair that a map allows, exactly: a cell may cover several places of the map."""
    hits = _hits(lookup, IntervalCells(*(part.ravel() for part in target)))
    until = np.vstack([np.zeros_like(hits[:1], dtype=np.int64), np.cumsum(hits, axis=0)])
    first, last = (lookup.places(end.ravel(), np.zeros(end.size, bool)) for end in (source.low, source.high))
    some = (until[last + 1] > until[first]) & source.present.ravel()[:, None]
    some |= hits[-1] & source.absent.ravel()[:, None]
    sides = [np.arange(part.low.size).reshape(part.low.shape) for part in (source, target)]
    return some[tuple(np.broadcast_arrays(*sides))]


def _hits(lookup: DependenceMap, target: IntervalCells) -> BoolArray:
    """Return which cells of the target hold what the map says at each of its places (first axis)."""
    image = lookup.images[:, None]
    if target.low.dtype == object:
        inside = np.asarray(image == target.low, dtype=bool)
    else:
        inside = np.asarray((image >= target.low) & (image <= target.high), dtype=bool)
    none = lookup.missing[:, None]
    return (~none & inside & target.present) | (none & target.absent)


def _below(operator: str, left: IntervalCells, right: IntervalCells) -> tuple[BoolArray, BoolArray]:
    """Return where left < right (or <=) may be true and may be false."""
    opposite = "<=" if operator == "<" else "<"
    true = np.asarray(OPERATORS[operator](left.low, right.high), dtype=bool)
    return true, np.asarray(OPERATORS[opposite](right.low, left.high), dtype=bool)


def _equal(left: IntervalCells, right: IntervalCells) -> tuple[BoolArray, BoolArray]:
    same = np.asarray(left.low == right.low, dtype=bool)
    if left.low.dtype == object or right.low.dtype == object:  # texts are points
        return same, ~same
    points = (left.low == left.high) & (right.low == right.high)
    return (left.low <= right.high) & (right.low <= left.high), ~(points & same)


def feasible_cells(rule: Rule, columns: Mapping[str, Column], cells: Sequence[tuple[str, IntervalCells]]) -> BoolArray:
    """Return which cells of the product of the given columns may hold a row that keeps the rule."""
    wide = {name: _on_axis(column, axis, len(cells)) for axis, (name, column) in enumerate(cells)}
    truth: PossibleTruth = rule.evaluate(_CellAlgebra(wide), columns)
    return np.broadcast_to(truth.true | truth.unknown, tuple(len(column.low) for _, column in cells))


def _on_axis(cells: IntervalCells, axis: int, axes: int) -> IntervalCells:
    shape = [1] * axes
    shape[axis] = -1
    return IntervalCells(*(part.reshape(shape) for part in cells))


def is_satisfiable(rule: Rule, columns: Mapping[str, Column]) -> bool:
    """Tell whether each clause leaves some cell of the public domain; ``False`` proves a contradiction."""
    return all(_leaves_a_cell(clause, columns) for clause in clauses_of(rule))


def _leaves_a_cell(clause: Rule, columns: Mapping[str, Column]) -> bool:
    cells = [(name, cells_of(columns[name])) for name in clause.columns]
    if math.prod(len(column.low) for _, column in cells) > FINE_CELLS:
        return True  # not known; a row is constructed instead
    return bool(feasible_cells(clause, columns, cells).any())
