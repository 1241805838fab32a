"""Repair rows that break a rule, column by column, in a fixed number of passes.

What a model cannot tell (``start <= end`` inside one bin, rules between too many columns, any rule at all where the
model knows none) is mended here. All of it reads synthetic rows and public facts only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import BoolArray
from sfumato.constraints.clauses import ClauseGroup, clause_groups
from sfumato.constraints.contradictions import public_feasible_rows
from sfumato.constraints.repair_rows import RowsUnderRepair, repair_columns, repair_two_columns
from sfumato.constraints.replacement_values import DonorSample
from sfumato.constraints.structural_zeros import cells_of, feasible_cells
from sfumato.sampling.values import (
    RowIndices,
    Values,
    codes_of,
    distinct_rows,
    overwrite_rows,
    row_count,
    rows_at,
    writable_copy,
)
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

DONORS = 256
"""Kept rows among which a row that could not be mended looks for the one that agrees with it most."""
MOST_FLAGS = 1 << 26
"""Rows times clauses, or rows times donors, that are looked at together."""
MOST_LEVEL_CELLS = 1 << 20
MANY_REPLACED = 0.05
"""Share of rows with values of others from which a release says so in words."""
MANY_MENDED = 0.25
"""Share of rows that broke one rule as drawn from which a release says so in words."""
MOST_JUDGED = 20_000
"""Rows that are compared with each other: all are drawn alike, so the first ones tell."""


@dataclass(frozen=True)
class RepairedRows:
    """Rows that keep every rule; how many broke each rule as drawn, and how many took values of another row."""

    values: Values
    repaired: Mapping[str, int]
    replaced: int
    broken: frozenset[int] = frozenset()
    """The rows that still break a rule: none, unless columns were fixed."""


def repair(schema: Schema, values: Values, generator: np.random.Generator, fixed: Iterable[str] = ()) -> RepairedRows:
    """Return the rows with every rule between their columns kept; the rows given are left as they are.

    A broken row changes as little as its rules allow: values in the wrong order are swapped, values are drawn again
    inside their own bin where there is room, and else take the nearest bin or level that keeps the rules. A row that
    a fixed number of passes does not mend takes the bound columns of a kept row that agrees with it in most of them.
    Fixed columns stay as they are; rows that then cannot be mended stay broken and are named.
    """
    mended = dict(values)
    broke: dict[str, int] = {}
    replaced: set[int] = set()
    broken: set[int] = set()
    for bundle in clause_groups(schema, schema.rules, values, fixed):
        own = {name: writable_copy(schema[name], values[name]) for name in bundle.columns}
        bad = _broken(bundle, own, broke)
        left = _repair_rows(bundle, own, bad, generator)
        if bundle.fixed:
            broken.update(left.tolist())
        else:
            _take_from_donors(bundle, own, left, generator)
            replaced.update(left.tolist())
        mended |= own
    return RepairedRows(mended, broke, len(replaced), frozenset(broken))


def count_repairs(repaired: Mapping[str, int], mapped: Mapping[str, int]) -> dict[str, int]:
    """Return how many rows were mended for each rule: those that broke it, and those that a map moved."""
    return {check: count + mapped.get(check, 0) for check, count in repaired.items()}


def repair_notes(schema: Schema, drawn: Values, kept: Values, mended: RepairedRows) -> tuple[str, ...]:
    """Say where the rules cost a table its variety or its truth: few different rows, or many that were mended.

    ``drawn`` are rows as the model gave them, or the first of them; ``kept`` are those that keep the rules.

    >>> schema = Schema("t", (Column("a", "integer", bounds=(0, 99)),), rules=(Rule("a <= 6"),))
    >>> drawn, kept = ({"a": (np.arange(100) % high, np.zeros(100, dtype=bool))} for high in (100, 7))
    >>> repair_notes(schema, drawn, kept, RepairedRows(kept, {"a <= 6": 20}, 0))
    ('the rules leave few different rows: of 100 rows 100 differed as drawn, and 7 differ now that all keep the rules',)
    """
    if not any(set(rule.columns) <= set(kept) for rule in schema.rules):
        return ()
    rows, judged = row_count(kept), min(row_count(drawn), row_count(kept), MOST_JUDGED)
    before, after = (distinct_rows(schema, rows_at(values, np.arange(judged))) for values in (drawn, kept))
    few = (
        f"the rules leave few different rows: of {judged:,} rows {before:,} differed as drawn, and {after:,} differ "
        "now that all keep the rules"
    )
    many = f"{mended.replaced:,} of {rows:,} rows could not be mended to keep the rules: they took values of other rows"
    notes = {few: 2 * after < before, many: mended.replaced > MANY_REPLACED * rows}
    return (*(note for note, holds in notes.items() if holds), *_mended_often(schema, mended))


def _mended_often(schema: Schema, mended: RepairedRows) -> tuple[str, ...]:
    """Name the rules that most rows did not keep by themselves: there the rows show the mending, not the table.

    >>> columns = (Column("a", "integer", bounds=(0, 9)), Column("b", "integer", bounds=(0, 9)))
    >>> ten = {"a": (np.arange(10), np.zeros(10, dtype=bool))}
    >>> _mended_often(Schema("t", columns, rules=(Rule("a <= b"),)), RepairedRows(ten, {"a <= b": 7}, 0))
    ("7 of 10 rows broke 'a <= b' as drawn and were mended: do not trust what the rows say about a and b together",)
    """
    rows = row_count(mended.values)
    counts = [(rule, mended.repaired.get(rule.check, 0)) for rule in schema.rules]
    return tuple(
        f"{count:,} of {rows:,} rows broke {rule.check!r} as drawn and were mended: do not trust what the rows say "
        f"about {_all_of(rule.columns)}"
        for rule, count in counts
        if count > MANY_MENDED * rows
    )


def _all_of(columns: Sequence[str]) -> str:
    return f"{', '.join(columns[:-1])} and {columns[-1]} together" if len(columns) > 1 else columns[0]


def _broken(bundle: ClauseGroup, values: Values, broke: dict[str, int]) -> RowIndices:
    """Return the rows that break a rule of the bundle, and note how many break each."""
    kept = np.ones(row_count(values), dtype=bool)
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
    bundle: ClauseGroup, columns: Sequence[Column], rules: Sequence[Rule], values: Values, broke: dict[str, int]
) -> BoolArray:
    """Return which rows keep rules between levels, evaluated on cells, not rows: a dependency is a rule per level."""
    shape = tuple(column.size for column in columns)
    rows = np.ravel_multi_index([codes_of(column, *values[column.name]) for column in columns], shape)
    counts = np.bincount(rows, minlength=math.prod(shape))
    cells = [(column.name, cells_of(column)) for column in columns]
    kept = np.ones(len(counts), dtype=bool)
    for rule in rules:
        keeps = feasible_cells(rule, bundle.columns, cells).ravel()  # exact: levels are points
        broke[rule.check] = int(counts[~keeps].sum())
        kept &= keeps
    return kept[rows]


def _repair_rows(bundle: ClauseGroup, values: Values, bad: RowIndices, generator: np.random.Generator) -> RowIndices:
    """Mend the bad rows in place; return those for which it did not succeed."""
    if not len(bad):
        return bad
    pool = DonorSample.of(values, generator)
    step = max(MOST_FLAGS // len(bundle.clauses), 1)
    return np.concatenate([_mend_rows(bundle, values, bad[i : i + step], pool) for i in range(0, len(bad), step)])


def _mend_rows(bundle: ClauseGroup, values: Values, bad: RowIndices, pool: DonorSample) -> RowIndices:
    """Mend rows in place; return those for which it did not succeed."""
    block = RowsUnderRepair.of(bundle, rows_at(values, bad))
    repair_columns(block, pool)
    repair_two_columns(block, pool)
    overwrite_rows(values, bad, block.values)
    return bad[~block.whole]


def _take_from_donors(bundle: ClauseGroup, values: Values, left: RowIndices, generator: np.random.Generator) -> None:
    """Give rows the bound columns of others that keep the rules: synthetic ones, or else rows from public facts."""
    if not len(left):
        return
    good = np.setdiff1d(np.arange(row_count(values)), left)
    donors = rows_at(values, generator.choice(good, DONORS)) if len(good) else public_feasible_rows(bundle)
    overwrite_rows(values, left, _nearest_donor(bundle, rows_at(values, left), donors, generator))


def _nearest_donor(bundle: ClauseGroup, rows: Values, donors: Values, generator: np.random.Generator) -> Values:
    """Return the nearest neighbour of each row among the donors: most bound columns agree; ties fall at random."""
    offered = [(codes_of(column, *donors[name]), name, column) for name, column in bundle.columns.items()]
    step = max(MOST_FLAGS // row_count(donors), 1)
    best: list[RowIndices] = []
    for first in range(0, row_count(rows), step):
        part = rows_at(rows, np.arange(first, min(first + step, row_count(rows))))
        score = generator.random((row_count(part), row_count(donors)), dtype=np.float32)
        for codes, name, column in offered:
            score += codes_of(column, *part[name])[:, None] == codes
        best.append(score.argmax(axis=1))
    return rows_at(donors, np.concatenate(best))
