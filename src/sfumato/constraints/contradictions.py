"""Refuse rules that no row can keep, before anything is spent.

Some contradictions are proved on the cells of the public domain. Elsewhere a row that keeps the rules is constructed
from public facts alone, as broken rows are mended later; rules for which that fails are refused too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sfumato.constraints.clauses import ClauseGroup, clause_groups
from sfumato.constraints.repair_rows import RowsUnderRepair, repair_columns, repair_two_columns
from sfumato.constraints.replacement_values import DonorSample
from sfumato.constraints.structural_zeros import is_satisfiable
from sfumato.errors import PlanError
from sfumato.sampling.values import Values, draw_values, row_count, rows_at
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

PROBE_ROWS = 2000
"""Rows drawn from the public domain among which one that keeps the rules is looked for."""


def refuse_contradictions(schema: Schema, names: Iterable[str]) -> None:
    """Refuse rules between the named columns that no row keeps, all of them at once."""
    here = set(names)
    columns = {column.name: column for column in schema}
    faults = {rule: _fault(rule, columns) for rule in schema.rules if set(rule.columns) <= here}
    problems = [fault for fault in faults.values() if fault]
    rest = clause_groups(schema, [rule for rule, fault in faults.items() if not fault], here)
    problems += [_named(_smallest_conflict(bundle)) for bundle in rest if is_infeasible(bundle)]
    if problems:
        raise _contradiction(problems)


def feasible_rows(bundle: ClauseGroup) -> Values:
    """Return rows that keep the bundle, drawn from the public domain and mended; the same ones each time."""
    generator = np.random.default_rng(0)
    columns = bundle.columns.items()
    codes = {name: generator.integers(0, column.size, PROBE_ROWS) for name, column in columns}
    values = {name: draw_values(column, codes[name], generator) for name, column in columns}
    block = RowsUnderRepair.of(bundle, values)
    pool = DonorSample.of(rows_at(values, np.arange(PROBE_ROWS)), generator)
    repair_columns(block, pool)
    if not block.whole.any():
        repair_two_columns(block, pool)
    return rows_at(block.values, np.flatnonzero(block.whole))


def public_feasible_rows(bundle: ClauseGroup) -> Values:
    """Return rows that keep the bundle, from public facts alone: a run finds what its plan has found."""
    donors = feasible_rows(bundle)
    if row_count(donors):
        return donors
    raise _contradiction([_named(_smallest_conflict(bundle))])


def _fault(rule: Rule, columns: Mapping[str, Column]) -> str | None:
    """Return what is wrong with a rule by itself, as far as the cells of the public domain tell."""
    try:
        return None if is_satisfiable(rule, columns) else _named([rule])
    except TypeError:
        return f"{rule.check!r} compares a text with a number"


def is_infeasible(bundle: ClauseGroup) -> bool:
    """Tell whether no row that keeps the bundle can be constructed from public facts."""
    return not row_count(feasible_rows(bundle))


def _smallest_conflict(bundle: ClauseGroup) -> Sequence[Rule]:
    """Return rules that leave no row together, none of which can be left out."""
    needed = list(bundle.rules)
    for rule in bundle.rules:
        others = [other for other in needed if other != rule]
        parts = clause_groups(bundle.columns.values(), others, bundle.columns)
        if any(is_infeasible(part) for part in parts):
            needed = others
    return needed


def _named(rules: Sequence[Rule]) -> str:
    texts = " and ".join(repr(rule.check) for rule in rules)
    return f"no row keeps {texts}" if len(rules) == 1 else f"no row keeps {texts} at once"


def _contradiction(problems: Sequence[str]) -> PlanError:
    return PlanError(
        "the rules leave no row that this method can build",
        problems,
        "relax or correct these rules, or leave the columns that they bind out of the release",
    )
