"""Structural zeros of the model: groups in which no row can keep the rules.

A group of cells is forbidden only where every cell in it is (:mod:`sfumato.constraints.structural_zeros`), so no row
that keeps the rules is ever lost; what groups cannot tell is mended in the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from sfumato.constraints.clauses import clauses_of
from sfumato.constraints.structural_zeros import (
    FINE_CELLS,
    BoolArray,
    IntervalCells,
    cells_of,
    feasible_cells,
    interval_hulls,
)
from sfumato.mechanisms.graphical.domain_compression import Grouping
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import StructuralZeros
from sfumato.schema import Schema
from sfumato.schema.rules import Rule


def structural_zeros(
    schema: Schema, groupings: Sequence[Grouping], most_cells: int
) -> tuple[list[StructuralZeros], list[Rule]]:
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
    held = {clause for clique, clauses in cliques.items() if tables[clique] is not None for clause in clauses}
    alone = [rule for rule, clauses in parts.items() if not held.issuperset(clauses)]
    return [table for table in tables.values() if table is not None], alone


def _support(
    clique: tuple[int, ...],
    clauses: Sequence[Rule],
    groupings: Sequence[Grouping],
    most_cells: int,
) -> StructuralZeros | None:
    members = [groupings[number] for number in clique]
    if math.prod(member.size for member in members) > most_cells:
        return None
    hulled = _axes_to_hull(members)
    if hulled is None:
        return None
    cells = [(member.column.name, _cells(member, hull)) for member, hull in zip(members, hulled, strict=True)]
    columns = {member.column.name: member.column for member in members}
    allowed = reduce(np.logical_and, [feasible_cells(clause, columns, cells) for clause in clauses])
    for axis, (member, hull) in enumerate(zip(members, hulled, strict=True)):
        allowed = allowed if hull else _any_in_group(allowed, member, axis)
    return None if allowed.all() else StructuralZeros(clique, np.ascontiguousarray(allowed))


def _axes_to_hull(members: Sequence[Grouping]) -> list[bool] | None:
    """Return which ordered columns are taken as hulls, the finest first, until the table is small enough."""
    sizes = [member.column.size for member in members]
    hulled = [False] * len(members)
    for axis in sorted(range(len(members)), key=lambda axis: -members[axis].column.size):
        if math.prod(sizes) > FINE_CELLS and members[axis].column.is_ordered:
            sizes[axis], hulled[axis] = members[axis].size, True
    return hulled if math.prod(sizes) <= FINE_CELLS else None


def _cells(grouping: Grouping, hull: bool) -> IntervalCells:
    cells = cells_of(grouping.column)
    return interval_hulls(cells, grouping.groups, grouping.size) if hull else cells


def _any_in_group(allowed: BoolArray, grouping: Grouping, axis: int) -> BoolArray:
    return np.logical_or.reduceat(allowed.take(grouping.order, axis=axis), grouping.first, axis=axis)
