"""Synthetic rows that keep every rule, by construction, and rules that no row keeps refused beforehand.

Structural zeros keep most rows right; what cells cannot tell (``start <= end`` inside one bin, rules between too many
columns) is mended here. All of it reads synthetic rows and public facts only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.rows.draw import PROBE_ROWS, Values, draw_values
from sfumato.rows.rules.candidates import Pool, codes_of
from sfumato.rows.rules.clauses import Bundle, bundles_of
from sfumato.rows.rules.mend import Block, mend
from sfumato.rows.rules.zeros import cells_of, may_be_kept, possible_rows
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

DONORS = 256
"""Kept rows among which a row that could not be mended looks for the one that agrees with it most."""
MOST_LOOSENED = 256
"""Rows for which one column is first moved elsewhere, so that the others can follow."""
LEVELS_TRIED = 4
MOST_FLAGS = 1 << 26
"""Rows times clauses that are mended at a time."""
MOST_LEVEL_CELLS = 1 << 20
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Repaired:
    """Rows that keep every rule; how many broke each rule as drawn, and how many took values of another row."""

    values: Values
    repaired: Mapping[str, int]
    replaced: int


def repair(schema: Schema, values: Values, generator: np.random.Generator) -> Repaired:
    """Return the rows with every rule between their columns kept; the rows given are left as they are.

    A broken row changes as little as its rules allow: values in the wrong order are swapped, values are drawn again
    inside their own bin where there is room, and else take the nearest bin or level that keeps the rules. A row that
    a fixed number of passes does not mend takes the bound columns of a kept row that agrees with it in most of them.
    """
    mended = dict(values)
    broke: dict[str, int] = {}
    replaced: set[int] = set()
    for bundle in bundles_of(schema, schema.rules, values):
        own = {name: _owned(schema[name], values[name]) for name in bundle.columns}
        bad = _broken(bundle, own, broke)
        replaced.update(_repair_rows(bundle, own, bad, generator).tolist())
        mended |= own
    return Repaired(mended, broke, len(replaced))


def _owned(column: Column, pair: tuple[NDArray[Any], Flags]) -> tuple[NDArray[Any], Flags]:
    """Return a copy that may be written to; levels as objects, for an array of short texts would cut longer ones."""
    values, missing = pair
    return (values.copy() if column.is_ordered else values.astype(object)), missing.copy()


def _broken(bundle: Bundle, values: Values, broke: dict[str, int]) -> Index:
    """Return the rows that break a rule of the bundle, and note how many break each."""
    kept = np.ones(len(next(iter(values.values()))[1]), dtype=bool)
    together: dict[frozenset[str], list[Rule]] = {}
    for rule in bundle.rules:
        together.setdefault(frozenset(rule.columns), []).append(rule)
    for names, rules in together.items():
        columns = [bundle.columns[name] for name in sorted(names)]
        few_cells = math.prod(column.size for column in columns) <= MOST_LEVEL_CELLS
        if len(rules) > 1 and few_cells and not any(column.is_ordered for column in columns):
            kept &= _kept_by_level(bundle, columns, rules, values, broke)
            continue
        for rule in rules:
            keeps = np.broadcast_to(rule.keeps(values, bundle.columns), kept.shape)
            broke[rule.check] = int(np.count_nonzero(~keeps))
            kept &= keeps
    return np.flatnonzero(~kept)


def _kept_by_level(
    bundle: Bundle, columns: Sequence[Column], rules: Sequence[Rule], values: Values, broke: dict[str, int]
) -> Flags:
    """Return which rows keep rules between levels, evaluated on cells, not rows: a dependency is a rule per level."""
    shape = tuple(column.size for column in columns)
    rows = np.ravel_multi_index([codes_of(column, *values[column.name]) for column in columns], shape)
    counts = np.bincount(rows, minlength=math.prod(shape))
    cells = [(column.name, cells_of(column)) for column in columns]
    kept = np.ones(len(counts), dtype=bool)
    for rule in rules:
        keeps = possible_rows(rule, bundle.columns, cells).ravel()  # exact: levels are points
        broke[rule.check] = int(counts[~keeps].sum())
        kept &= keeps
    return kept[rows]


def _repair_rows(bundle: Bundle, values: Values, bad: Index, generator: np.random.Generator) -> Index:
    """Mend the bad rows in place; return those that took the values of another row."""
    if not len(bad):
        return bad
    pool = Pool.of(values, generator)
    step = max(MOST_FLAGS // len(bundle.clauses), 1)
    left = np.concatenate([_mend_rows(bundle, values, bad[i : i + step], pool) for i in range(0, len(bad), step)])
    if len(left):
        good = np.setdiff1d(np.arange(len(next(iter(values.values()))[1])), left)
        donors = _rows_at(values, generator.choice(good, DONORS)) if len(good) else _public_donors(bundle)
        _write(values, left, _agreeing(bundle, _rows_at(values, left), donors, generator))
    return left


def _mend_rows(bundle: Bundle, values: Values, bad: Index, pool: Pool) -> Index:
    """Mend rows in place; return those for which it did not succeed."""
    block = Block.of(bundle, _rows_at(values, bad))
    mend(block, pool)
    _loosen(block, pool)
    _write(values, bad, block.values)
    return bad[~block.whole]


def _rows_at(values: Values, rows: Index) -> Values:
    return {name: (data[rows], missing[rows]) for name, (data, missing) in values.items()}


def _write(values: Values, rows: Index, fresh: Values) -> None:
    for name, (data, missing) in fresh.items():
        values[name][0][rows] = data
        values[name][1][rows] = missing


def _loosen(block: Block, pool: Pool) -> None:
    """Mend rows in which two columns must change: one is set elsewhere, and the others are mended around it."""
    rows = np.flatnonzero(~block.whole)[:MOST_LOOSENED]
    if not len(rows):
        return
    trials = list(_trials(block.bundle, _rows_at(block.values, rows), pool))
    for trial in trials:
        mend(trial, pool)
    whole = np.stack([trial.whole for trial in trials])
    first = whole.argmax(axis=0)
    for number, trial in enumerate(trials):
        here = np.flatnonzero(whole.any(axis=0) & (first == number))
        _write(block.values, rows[here], _rows_at(trial.values, here))
        block.kept[:, rows[here]] = True


def _trials(bundle: Bundle, rows: Values, pool: Pool) -> Iterator[Block]:
    """Yield copies of the rows with one column at a bound, at another level, or missing."""
    count = len(next(iter(rows.values()))[1])
    for column in bundle.columns.values():
        if column.is_ordered:
            tried = list(column.numeric_bounds)
        else:
            chosen = pool.generator.permutation(len(column.levels))[:LEVELS_TRIED]
            tried = [column.levels[int(i)] for i in chosen]
        for value in (*tried, *([None] if column.missing else [])):
            copied = _rows_at(rows, np.arange(count))
            data, missing = copied[column.name]
            data[:] = data if value is None else value
            missing[:] = value is None
            yield Block.of(bundle, copied)


def _agreeing(bundle: Bundle, rows: Values, donors: Values, generator: np.random.Generator) -> Values:
    """Return, for each row, the donor that agrees with it in most of the bound columns; ties fall at random."""
    count, many = (len(next(iter(part.values()))[1]) for part in (rows, donors))
    score = generator.random((count, many), dtype=np.float32)
    for name, column in bundle.columns.items():
        score += codes_of(column, *rows[name])[:, None] == codes_of(column, *donors[name])
    return _rows_at(donors, score.argmax(axis=1))


def _constructed(bundle: Bundle) -> Values:
    """Return rows that keep the bundle, drawn from the public domain and mended; the same ones each time."""
    generator = np.random.default_rng(0)
    columns = bundle.columns.items()
    codes = {name: generator.integers(0, column.size, PROBE_ROWS) for name, column in columns}
    values = {name: draw_values(column, codes[name], generator) for name, column in columns}
    block = Block.of(bundle, values)
    pool = Pool.of(_rows_at(values, np.arange(PROBE_ROWS)), generator)
    mend(block, pool)
    if not block.whole.any():
        _loosen(block, pool)
    return _rows_at(block.values, np.flatnonzero(block.whole))


def _public_donors(bundle: Bundle) -> Values:
    donors = _constructed(bundle)
    if len(next(iter(donors.values()))[1]):
        return donors
    raise _contradiction([_named(_smallest_conflict(bundle))])


def refuse_contradictory(schema: Schema, names: Iterable[str]) -> None:
    """Refuse rules between the named columns that no row keeps, before anything is spent.

    Some contradictions are proved on the cells of the public domain. Elsewhere a row that keeps the rules is
    constructed from public facts alone, and rules for which that fails are refused too.
    """
    here = set(names)
    columns = {column.name: column for column in schema}
    faults = {rule: _fault(rule, columns) for rule in schema.rules if set(rule.columns) <= here}
    problems = [fault for fault in faults.values() if fault]
    rest = bundles_of(schema, [rule for rule, fault in faults.items() if not fault], here)
    problems += [_named(_smallest_conflict(bundle)) for bundle in rest if _has_no_row(bundle)]
    if problems:
        raise _contradiction(problems)


def _fault(rule: Rule, columns: Mapping[str, Column]) -> str | None:
    """Return what is wrong with a rule by itself, as far as the cells of the public domain tell."""
    try:
        return None if may_be_kept(rule, columns) else _named([rule])
    except TypeError:
        return f"{rule.check!r} compares a text with a number"


def _has_no_row(bundle: Bundle) -> bool:
    return not len(next(iter(_constructed(bundle).values()))[1])


def _smallest_conflict(bundle: Bundle) -> Sequence[Rule]:
    """Return rules that leave no row together, none of which can be left out."""
    needed = list(bundle.rules)
    for rule in bundle.rules:
        others = [other for other in needed if other != rule]
        parts = bundles_of(bundle.columns.values(), others, bundle.columns)
        if any(_has_no_row(part) for part in parts):
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
