"""Rules that no row keeps are refused before anything is spent, in one way for every method that draws rows.

Some contradictions are proved on the cells of the public domain. Elsewhere a row that keeps the rules is constructed
from public facts alone, as broken rows are mended later; rules for which that fails are refused too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sfumato.errors import PlanError
from sfumato.rows.rules.candidates import Pool
from sfumato.rows.rules.cells import may_be_kept
from sfumato.rows.rules.clauses import Bundle, bundles_of
from sfumato.rows.rules.mend import Block, loosen, mend
from sfumato.rows.values import Values, draw_values, length, rows_at
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

PROBE_ROWS = 2000
"""Rows drawn from the public domain among which one that keeps the rules is looked for."""


def refuse_impossible_rules(schema: Schema, names: Iterable[str]) -> None:
    """Refuse rules between the named columns that no row keeps, all of them at once."""
    here = set(names)
    columns = {column.name: column for column in schema}
    faults = {rule: _fault(rule, columns) for rule in schema.rules if set(rule.columns) <= here}
    problems = [fault for fault in faults.values() if fault]
    rest = bundles_of(schema, [rule for rule, fault in faults.items() if not fault], here)
    problems += [_named(_smallest_conflict(bundle)) for bundle in rest if has_no_row(bundle)]
    if problems:
        raise _contradiction(problems)


def _constructed(bundle: Bundle) -> Values:
    """Return rows that keep the bundle, drawn from the public domain and mended; the same ones each time."""
    generator = np.random.default_rng(0)
    columns = bundle.columns.items()
    codes = {name: generator.integers(0, column.size, PROBE_ROWS) for name, column in columns}
    values = {name: draw_values(column, codes[name], generator) for name, column in columns}
    block = Block.of(bundle, values)
    pool = Pool.of(rows_at(values, np.arange(PROBE_ROWS)), generator)
    mend(block, pool)
    if not block.whole.any():
        loosen(block, pool)
    return rows_at(block.values, np.flatnonzero(block.whole))


def public_donors(bundle: Bundle) -> Values:
    """Return rows that keep the bundle, from public facts alone: a run finds what its plan has found."""
    donors = _constructed(bundle)
    if length(donors):
        return donors
    raise _contradiction([_named(_smallest_conflict(bundle))])


def _fault(rule: Rule, columns: Mapping[str, Column]) -> str | None:
    """Return what is wrong with a rule by itself, as far as the cells of the public domain tell."""
    try:
        return None if may_be_kept(rule, columns) else _named([rule])
    except TypeError:
        return f"{rule.check!r} compares a text with a number"


def has_no_row(bundle: Bundle) -> bool:
    """Tell whether no row that keeps the bundle can be constructed from public facts."""
    return not length(_constructed(bundle))


def _smallest_conflict(bundle: Bundle) -> Sequence[Rule]:
    """Return rules that leave no row together, none of which can be left out."""
    needed = list(bundle.rules)
    for rule in bundle.rules:
        others = [other for other in needed if other != rule]
        parts = bundles_of(bundle.columns.values(), others, bundle.columns)
        if any(has_no_row(part) for part in parts):
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
