"""Repair broken rows column by column, by construction: a fixed number of passes, never a draw until it fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.constraints.clauses import ClauseGroup, columns_tested_for_missing
from sfumato.constraints.replacement_values import AllowedForms, DonorSample, options_of
from sfumato.sampling.values import RowIndices, Values, overwrite_rows, row_count, rows_at
from sfumato.sampling.written_forms import as_written
from sfumato.schema.functional_dependence import DependenceMap
from sfumato.schema.rules import Rule

PASSES = 3
"""Times that the clauses of a bundle are walked, for mending one may make room for another."""
CHUNK = 1 << 17
BROKEN_COST = 8.0
"""Cost of each clause that stays broken: more than any change of a value."""
MOST_LOOSENED = 256
"""Rows for which one column is first moved elsewhere, so that the others can follow."""
LEVELS_TRIED = 4


@dataclass
class RowsUnderRepair:
    """Rows under repair, and which clauses (first axis) each of them keeps."""

    bundle: ClauseGroup
    values: Values
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, bundle: ClauseGroup, values: Values) -> RowsUnderRepair:
        """Take rows under repair; they are changed in place."""
        return cls(bundle, values, bundle.kept(values))

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which rows keep every clause."""
        return np.asarray(self.kept.all(axis=0))


def repair_columns(block: RowsUnderRepair, pool: DonorSample) -> None:
    """Mend rows in place. Values in the wrong order are swapped; else the column that a clause names last changes.

    Fixed columns of the bundle never change. A column goes missing only where the clause asks about it, or, in a second
    round, where nothing else helps; then it may also take a value that is not in its form.
    """
    _swap_in_order(block)
    turns = _turns(block.bundle)
    for anywhere in (False, True):
        for _ in range(PASSES):
            for turn in turns:
                _change(block, turn, AllowedForms(missing=anywhere or turn.asked, strange=anywhere), pool)


class RepairStep(NamedTuple):
    """One column, and the clauses for whose sake it changes at this turn; ``asked``: they ask whether it is missing."""

    name: str
    asked: bool
    clauses: NDArray[np.int64]


def _turns(bundle: ClauseGroup) -> list[RepairStep]:
    """Return the turns: what clauses name last comes first, and all clauses that share a turn are served at once."""
    clauses_by_step: dict[tuple[int, str, bool], list[int]] = {}
    for index, clause in enumerate(bundle.clauses):
        asked = columns_tested_for_missing(clause)
        free = [name for name in reversed(clause.columns) if name not in bundle.fixed]
        for rank, name in enumerate(free):
            clauses_by_step.setdefault((rank, name, name in asked), []).append(index)
    ranked = sorted(clauses_by_step.items(), key=lambda item: item[0][0])
    return [RepairStep(name, asked, np.array(clauses)) for (_, name, asked), clauses in ranked]


def _change(block: RowsUnderRepair, turn: RepairStep, allowed: AllowedForms, pool: DonorSample) -> None:
    """Change one column where a clause of the turn is broken, if some value keeps that clause and breaks no other."""
    broken = np.flatnonzero(~block.kept[turn.clauses].all(axis=0))
    step = max(CHUNK // len(block.kept), 256)
    for start in range(0, len(broken), step):
        rows = broken[start : start + step]
        target = turn.clauses[block.kept[np.ix_(turn.clauses, rows)].argmin(axis=0)]
        _change_rows(block, turn.name, rows, target, allowed, pool)


def _change_rows(
    block: RowsUnderRepair, name: str, rows: RowIndices, target: RowIndices, allowed: AllowedForms, pool: DonorSample
) -> None:
    near = rows_at(block.values, rows[:, None])
    options = options_of(block.bundle, near, name, allowed, pool)
    concerned = np.flatnonzero(block.bundle.naming(name))
    after = block.bundle.kept({**near, name: (options.values, options.missing)}, naming=name)
    after = np.broadcast_to(after, (len(concerned), *options.cost.shape))
    before = block.kept[np.ix_(concerned, rows)][:, :, None]
    each = np.arange(len(rows))
    harmless = (after | ~before).all(axis=0) & after[np.searchsorted(concerned, target), each]
    score = np.where(harmless, (~after).sum(axis=0) * BROKEN_COST + options.cost, np.inf)
    best = score.argmin(axis=1)
    possible = np.flatnonzero(np.isfinite(score[each, best]))
    changed, choice = rows[possible], best[possible]
    data, missing = block.values[name]
    data[changed] = np.broadcast_to(options.values, score.shape)[possible, choice]
    missing[changed] = np.broadcast_to(options.missing, score.shape)[possible, choice]
    block.kept[np.ix_(concerned, changed)] = after[:, possible, choice]


class OrderedPair(NamedTuple):
    """One column that a clause wants below another."""

    clause: Rule
    lower: str
    upper: str


class _Orders:
    """An algebra that finds comparisons of one column with another."""

    def column(self, name: str) -> Any:
        return name

    def literal(self, value: Any) -> Any: ...
    def arithmetic(self, operator: str, left: Any, right: Any) -> Any: ...

    def compare(self, operator: str, left: Any, right: Any) -> Any:
        if left is None or right is None or operator in ("==", "!="):
            return []
        return [(left, right) if operator.startswith("<") else (right, left)]

    def conjunction(self, left: Any, right: Any) -> Any:
        return left + right

    def disjunction(self, left: Any, right: Any) -> Any:
        return left + right

    def negation(self, operand: Any) -> Any:
        return []  # a premise: what follows from it is to be mended, not the premise

    def is_missing(self, operand: Any) -> Any:
        return []

    def determined(self, lookup: DependenceMap) -> Any:
        return []


def _edges(bundle: ClauseGroup) -> Iterator[OrderedPair]:
    for clause in bundle.clauses:
        for lower, upper in clause.evaluate(_Orders(), bundle.columns):
            kinds = {(c.kind, c.step, c.decimals) for c in (bundle.columns[lower], bundle.columns[upper])}
            if len(kinds) == 1 and bundle.columns[lower].is_ordered and not {lower, upper} & bundle.fixed:
                yield OrderedPair(clause, lower, upper)


def _swap_in_order(block: RowsUnderRepair) -> None:
    """Swap values that stand in the wrong order, along chains too: within a shared cell that is the right law.

    Two values drawn alike from one cell, sorted, are two values drawn from that cell given their order.
    """
    edges = list(_edges(block.bundle))
    if not edges:
        return
    swapped = {name: (data.copy(), missing.copy()) for name, (data, missing) in block.values.items()}
    for _ in edges:
        for edge in edges:
            _swap(block.bundle, swapped, edge)
    kept = block.bundle.kept(swapped)
    better = (kept | ~block.kept).all(axis=0) & (kept & ~block.kept).any(axis=0)
    block.kept[:, better] = kept[:, better]
    places = np.flatnonzero(better)
    overwrite_rows(block.values, places, rows_at(swapped, places))


def _swap(bundle: ClauseGroup, values: Values, edge: OrderedPair) -> None:
    (lower, lower_missing), (upper, upper_missing) = values[edge.lower], values[edge.upper]
    wrong = ~edge.clause.keeps(values, bundle.columns) & (lower > upper) & ~lower_missing & ~upper_missing
    wrong &= upper >= bundle.columns[edge.lower].numeric_bounds[0]
    wrong &= lower <= bundle.columns[edge.upper].numeric_bounds[1]
    lower[wrong], upper[wrong] = upper[wrong], lower[wrong]


def repair_two_columns(block: RowsUnderRepair, pool: DonorSample) -> None:
    """Mend rows in which two columns must change: one is set elsewhere, and the others are mended around it."""
    rows = np.flatnonzero(~block.whole)[:MOST_LOOSENED]
    if not len(rows) or block.bundle.fixed.issuperset(block.bundle.columns):
        return
    trials = list(_trials(block.bundle, rows_at(block.values, rows), pool))
    for trial in trials:
        repair_columns(trial, pool)
    whole = np.stack([trial.whole for trial in trials])
    first = whole.argmax(axis=0)
    for number, trial in enumerate(trials):
        here = np.flatnonzero(whole.any(axis=0) & (first == number))
        overwrite_rows(block.values, rows[here], rows_at(trial.values, here))
        block.kept[:, rows[here]] = True


def _trials(bundle: ClauseGroup, rows: Values, pool: DonorSample) -> Iterator[RowsUnderRepair]:
    """Yield copies of the rows with one column at a bound, at another level, or missing."""
    count = row_count(rows)
    free = (column for name, column in bundle.columns.items() if name not in bundle.fixed)
    for column in free:
        if column.is_ordered:
            tried = as_written(column, np.array(column.numeric_bounds)).tolist()
        else:
            chosen = pool.generator.permutation(len(column.levels))[:LEVELS_TRIED]
            tried = [column.levels[int(i)] for i in chosen]
        for value in (*tried, *([None] if column.missing else [])):
            copied = rows_at(rows, np.arange(count))
            data, missing = copied[column.name]
            data[:] = data if value is None else value
            missing[:] = value is None
            yield RowsUnderRepair.of(bundle, copied)
