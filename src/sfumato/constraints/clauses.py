"""Split rules into clauses, and group clauses that share columns.

A rule is broken only where it is false, and three-valued logic distributes as the two-valued one does. So a rule is
kept exactly where all clauses of its conjunctive form are kept, and each clause can be mended by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from sfumato.sampling.values import Values, row_count
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

MOST_CLAUSES = 32
"""A part of a rule that would fall into more clauses than this stays whole."""


def keeps_rules(schema: Schema, values: Values) -> NDArray[np.bool_]:
    """Return which rows keep all rules that concern the given columns."""
    columns = {column.name: column for column in schema}
    kept = np.ones(row_count(values), dtype=bool)
    for rule in schema.rules:
        if set(rule.columns) <= set(values):
            kept &= rule.keeps(values, columns)
    return kept


def clauses_of(rule: Rule) -> tuple[Rule, ...]:
    """Return rules that are all kept exactly where the given one is kept.

    >>> [clause.check for clause in clauses_of(Rule("a < 3 implies 1 <= b <= 2"))]
    ['not a < 3 or 1 <= b', 'not a < 3 or b <= 2']

    A dependence with its map is one clause; without it, it says nothing about a row.
    """
    if rule.dependence is not None:
        return () if rule.lacks_map else (rule,)
    return tuple(Rule(ast.unparse(node)) for node in _conjuncts(rule.tree, positive=True))


def _conjuncts(node: ast.expr, positive: bool) -> list[ast.expr]:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _conjuncts(operand, not positive)
        case ast.BoolOp(op=op, values=values):
            return _joined(node, isinstance(op, ast.And), values, positive)
        case ast.Compare(left=left, ops=ops, comparators=rights) if len(ops) > 1:
            links = zip([left, *rights], ops, rights, strict=False)
            return _joined(node, True, [ast.Compare(a, [op], [b]) for a, op, b in links], positive)
        case _:
            return [node if positive else ast.UnaryOp(ast.Not(), node)]


def _joined(whole: ast.expr, conjunction: bool, parts: Sequence[ast.expr], positive: bool) -> list[ast.expr]:
    taken = [_conjuncts(part, positive) for part in parts]
    if conjunction == positive:
        return list(chain.from_iterable(taken))
    if np.prod([len(part) for part in taken]) > MOST_CLAUSES:
        return [whole if positive else ast.UnaryOp(ast.Not(), whole)]
    return [ast.BoolOp(ast.Or(), list(options)) for options in product(*taken)]


def columns_tested_for_missing(rule: Rule) -> frozenset[str]:
    """Return the columns of which the rule itself asks whether they are missing."""
    if rule.dependence is not None:
        sides = zip(*(rule.map or ()), strict=True)
        return frozenset(name for name, side in zip(rule.columns, sides, strict=False) if None in side)
    calls = (node for node in ast.walk(rule.tree) if isinstance(node, ast.Call))
    asked = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "missing")
    return frozenset(name for call in asked for name in Rule(ast.unparse(call)).columns)


@dataclass(frozen=True)
class ClauseGroup:
    """Clauses that share columns, directly or through others; rows may be mended bundle by bundle."""

    rules: tuple[Rule, ...]
    clauses: tuple[Rule, ...]
    columns: Mapping[str, Column]
    fixed: frozenset[str] = frozenset()
    """Columns whose values are given and never change."""

    def kept(self, values: Values, naming: str | None = None) -> NDArray[np.bool_]:
        """Return which clauses (first axis) the rows keep; with ``naming`` only clauses that name the column."""
        shape = np.broadcast_shapes(*(missing.shape for _, missing in values.values()))
        chosen = [clause for clause in self.clauses if naming is None or naming in clause.columns]
        kept = np.empty((len(chosen), *shape), dtype=bool)
        for index, clause in enumerate(chosen):
            kept[index] = clause.keeps(values, self.columns)
        return kept

    def naming(self, name: str) -> NDArray[np.bool_]:
        """Return which clauses name the column."""
        return np.array([name in clause.columns for clause in self.clauses])


def clause_groups(
    columns: Iterable[Column], rules: Sequence[Rule], names: Iterable[str], fixed: Iterable[str] = ()
) -> list[ClauseGroup]:
    """Return the rules between the named columns, in bundles that share no column; fixed ones never change."""
    known = {column.name: column for column in columns}
    here = set(names)
    bound = [rule for rule in rules if rule.columns and not rule.lacks_map and set(rule.columns) <= here]
    groups: list[list[Rule]] = []
    for rule in bound:
        touching = [group for group in groups if any(set(other.columns) & set(rule.columns) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([*chain.from_iterable(touching), rule])
    return [_bundle(known, group, frozenset(fixed)) for group in groups]


def _bundle(known: Mapping[str, Column], rules: Sequence[Rule], fixed: frozenset[str]) -> ClauseGroup:
    ordered = dict.fromkeys(rules)
    clauses = dict.fromkeys(clause for rule in ordered for clause in clauses_of(rule))
    names = dict.fromkeys(name for rule in ordered for name in rule.columns)
    return ClauseGroup(tuple(ordered), tuple(clauses), {name: known[name] for name in names}, fixed & set(names))
