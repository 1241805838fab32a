"""Rules as structural zeros: which cells of a table of groups hold at least one row that keeps the rule.

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

from sfumato.methods.graphical.cells.groups import Grouping
from sfumato.methods.graphical.tree.model import Support
from sfumato.rows.rules.clauses import clauses_of
from sfumato.schema import Schema
from sfumato.schema.column import Column, day_number
from sfumato.schema.rules import APPLY, Rule

FINE_CELLS = 1 << 22
"""Rules are evaluated on fine cells up to this many, and on the hulls of groups beyond."""
Flags = NDArray[np.bool_]
FLIPPED = {">": "<", ">=": "<="}


class Cells(NamedTuple):
    """Values that cells may hold: closed intervals, and whether a value or a missing one may stand there."""

    low: NDArray[Any]
    high: NDArray[Any]
    present: Flags
    absent: Flags


class Possible(NamedTuple):
    """What a statement may be in each cell."""

    true: Flags
    false: Flags
    unknown: Flags


def cells_of(column: Column) -> Cells:
    """Return the codes of a column as cells."""
    low, high = _ordered_ends(column) if column.is_ordered else (_level_points(column),) * 2
    absent = np.zeros(column.size, dtype=bool)
    if column.missing:
        low, high = np.append(low, low[:1]), np.append(high, high[:1])
        absent[-1] = True
    return Cells(low, high, ~absent, absent)


def _ordered_ends(column: Column) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    high = column.ends.copy()
    if not column.is_discrete:  # only the last bin of a number holds its upper end
        high[:-1] = np.nextafter(high[:-1], -np.inf)
    return column.starts, high


def _level_points(column: Column) -> NDArray[Any]:
    numeric = all(isinstance(level, int) for level in column.levels)
    return np.array(column.levels, dtype=float if numeric else object)


def _hulls(cells: Cells, groups: NDArray[np.int32], size: int) -> Cells:
    """Return each group of ordered cells as one cell: the hull of its intervals."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    there = cells.present
    np.minimum.at(low, groups[there], cells.low[there])
    np.maximum.at(high, groups[there], cells.high[there])
    present, absent = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    present[groups[there]] = True
    absent[groups[cells.absent]] = True
    return Cells(np.where(present, low, 0.0), np.where(present, high, 0.0), present, absent)


@dataclass(frozen=True)
class _CellAlgebra:
    """Rules on cells: each connective keeps what either side may be, as if the sides did not hang together."""

    cells: Mapping[str, Cells]

    def column(self, name: str) -> Cells:
        return self.cells[name]

    def literal(self, value: Any) -> Cells:
        if isinstance(value, str):
            point = np.array(value, dtype=object)
        else:
            point = np.array(float(day_number(value) if isinstance(value, dt.date) else value))
        return Cells(point, point, np.array(True), np.array(False))

    def compare(self, operator: str, left: Cells, right: Cells) -> Possible:
        if operator in FLIPPED:
            return self.compare(FLIPPED[operator], right, left)
        if operator == "!=":
            return self.negation(self.compare("==", left, right))
        true, false = _equal(left, right) if operator == "==" else _below(operator, left, right)
        known = left.present & right.present
        return Possible(known & true, known & false, left.absent | right.absent)

    def arithmetic(self, operator: str, left: Cells, right: Cells) -> Cells:
        # Floating sums and products are monotone in each operand, so the corners bound what the values can give.
        apply = APPLY[operator]
        corners = [apply(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = reduce(np.minimum, corners), reduce(np.maximum, corners)
        return Cells(low, high, left.present & right.present, left.absent | right.absent)

    def conjunction(self, left: Possible, right: Possible) -> Possible:
        unknown = (left.unknown & (right.true | right.unknown)) | (left.true & right.unknown)
        return Possible(left.true & right.true, left.false | right.false, unknown)

    def disjunction(self, left: Possible, right: Possible) -> Possible:
        return self.negation(self.conjunction(self.negation(left), self.negation(right)))

    def negation(self, operand: Possible) -> Possible:
        return Possible(operand.false, operand.true, operand.unknown)

    def is_missing(self, operand: Cells) -> Possible:
        return Possible(operand.absent, operand.present, np.zeros_like(operand.present))


def _below(operator: str, left: Cells, right: Cells) -> tuple[Flags, Flags]:
    """Return where left < right (or <=) may be true and may be false."""
    opposite = "<=" if operator == "<" else "<"
    true = np.asarray(APPLY[operator](left.low, right.high), dtype=bool)
    return true, np.asarray(APPLY[opposite](right.low, left.high), dtype=bool)


def _equal(left: Cells, right: Cells) -> tuple[Flags, Flags]:
    same = np.asarray(left.low == right.low, dtype=bool)
    if left.low.dtype == object or right.low.dtype == object:  # texts are points
        return same, ~same
    points = (left.low == left.high) & (right.low == right.high)
    return (left.low <= right.high) & (right.low <= left.high), ~(points & same)


def possible_rows(rule: Rule, columns: Mapping[str, Column], cells: Sequence[tuple[str, Cells]]) -> Flags:
    """Return which cells of the product of the given columns may hold a row that keeps the rule."""
    wide = {name: _on_axis(column, axis, len(cells)) for axis, (name, column) in enumerate(cells)}
    truth: Possible = rule.evaluate(_CellAlgebra(wide), columns)
    return np.broadcast_to(truth.true | truth.unknown, tuple(len(column.low) for _, column in cells))


def _on_axis(cells: Cells, axis: int, axes: int) -> Cells:
    shape = [1] * axes
    shape[axis] = -1
    return Cells(*(part.reshape(shape) for part in cells))


def may_be_kept(rule: Rule, columns: Mapping[str, Column]) -> bool:
    """Tell whether each clause leaves some cell of the public domain; ``False`` proves a contradiction."""
    return all(_leaves_a_cell(clause, columns) for clause in clauses_of(rule))


def _leaves_a_cell(clause: Rule, columns: Mapping[str, Column]) -> bool:
    cells = [(name, cells_of(columns[name])) for name in clause.columns]
    if math.prod(len(column.low) for _, column in cells) > FINE_CELLS:
        return True  # not known; a row is constructed instead
    return bool(possible_rows(clause, columns, cells).any())


def supports_of(schema: Schema, groupings: Sequence[Grouping], most_cells: int) -> tuple[list[Support], list[Rule]]:
    """Return the structural zeros of the rules between the grouped columns, and the rules that repair must watch alone.

    There is one support for each set of columns that a clause of a rule names. A clause whose table has more than
    ``most_cells`` cells, or forbids no cell at these groups, yields none; its rule is in the second list.
    """
    numbers = {grouping.column.name: number for number, grouping in enumerate(groupings)}
    rules = [rule for rule in schema.rules if set(rule.columns) <= set(numbers)]
    parts = {rule: [clause for clause in clauses_of(rule) if clause.columns] for rule in dict.fromkeys(rules)}
    cliques: dict[tuple[int, ...], list[Rule]] = {}
    for clause in dict.fromkeys(clause for clauses in parts.values() for clause in clauses):
        cliques.setdefault(tuple(sorted(numbers[name] for name in clause.columns)), []).append(clause)
    tables = {clique: _support(clique, clauses, groupings, most_cells) for clique, clauses in cliques.items()}
    told = {clause for clique, clauses in cliques.items() if tables[clique] is not None for clause in clauses}
    alone = [rule for rule, clauses in parts.items() if not told.issuperset(clauses)]
    return [table for table in tables.values() if table is not None], alone


def _support(
    clique: tuple[int, ...],
    clauses: Sequence[Rule],
    groupings: Sequence[Grouping],
    most_cells: int,
) -> Support | None:
    members = [groupings[number] for number in clique]
    if math.prod(member.size for member in members) > most_cells:
        return None
    hulled = _axes_to_hull(members)
    if hulled is None:
        return None
    cells = [(member.column.name, _cells(member, hull)) for member, hull in zip(members, hulled, strict=True)]
    columns = {member.column.name: member.column for member in members}
    allowed = reduce(np.logical_and, [possible_rows(clause, columns, cells) for clause in clauses])
    for axis, (member, hull) in enumerate(zip(members, hulled, strict=True)):
        allowed = allowed if hull else _any_in_group(allowed, member, axis)
    return None if allowed.all() else Support(clique, np.ascontiguousarray(allowed))


def _axes_to_hull(members: Sequence[Grouping]) -> list[bool] | None:
    """Return which ordered columns are taken as hulls, the finest first, until the table is small enough."""
    sizes = [member.column.size for member in members]
    hulled = [False] * len(members)
    for axis in sorted(range(len(members)), key=lambda axis: -members[axis].column.size):
        if math.prod(sizes) > FINE_CELLS and members[axis].column.is_ordered:
            sizes[axis], hulled[axis] = members[axis].size, True
    return hulled if math.prod(sizes) <= FINE_CELLS else None


def _cells(grouping: Grouping, hull: bool) -> Cells:
    cells = cells_of(grouping.column)
    return _hulls(cells, grouping.groups, grouping.size) if hull else cells


def _any_in_group(allowed: Flags, grouping: Grouping, axis: int) -> Flags:
    return np.logical_or.reduceat(allowed.take(grouping.order, axis=axis), grouping.first, axis=axis)
