"""Propose rules between columns: candidates from a sample, verified on all rows.

Candidates come from a sample of rows; every proposed rule holds in all of them, and would hardly hold by chance.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.schema import Rule, Schema
from sfumato.schema.column import Column
from sfumato.schema.rules import format_literal, quote_column, rule_fingerprint
from sfumato.table.check import find_broken_dependences
from sfumato.table.column_expressions import cast_to_kind, select_as
from sfumato.table.drafting.row_sample import MAX_LOG_CHANCE, RowSample, row_sample
from sfumato.table.engines.engine import run_aggregates
from sfumato.table.sources import Source

MOST_RULES = 30
"""Rules that a draft proposes: nobody reads more."""
MAX_VERIFIED = 200
"""Candidates that are asked of all rows."""


def propose_rules(opened: Source, columns: Sequence[Column]) -> tuple[Rule, ...]:
    """Return the rules that the rows keep and that are worth a question, marked as drafted."""
    released = [column for column in columns if column.role != "identifier"]
    if len(released) < 2:
        return ()
    sample = row_sample(opened, released)
    if sample.rows < FEWEST_ROWS:
        return ()
    added, ordered, absent = sum_candidates(sample), order_candidates(sample), missing_value_rules(sample)
    missing_checks = [check for absence in absent for check in (absence.check, absence.converse)]
    kept = _kept(opened, released, [*missing_checks, *map(_sum, added), *map(_order, ordered)])
    added = [one for one in added if _sum(one) in kept]
    ordered = transitive_reduction(
        [pair for pair in ordered if _order(pair) in kept and not _follows(pair, added, sample)]
    )
    checks = [_dependence(pair) for pair in _verified(opened, released, dependence_candidates(sample))]
    checks += [*map(_sum, added), *(check for absence in absent for check in absence.rules(kept))]
    checks += map(_order, ordered)
    return tuple(Rule(check, drafted=rule_fingerprint(check)) for check in checks[:MOST_RULES])


def _order(pair: Pair) -> str:
    return f"{quote_column(pair[0])} <= {quote_column(pair[1])}"


def _sum(one: Sum) -> str:
    return f"{' + '.join(map(quote_column, one[0]))} == {quote_column(one[1])}"


def _dependence(pair: Pair) -> str:
    return f"{quote_column(pair[0])} determines {quote_column(pair[1])}"


def _follows(pair: Pair, added: Sequence[Sum], sample: RowSample) -> bool:
    """Whether an order follows from a sum of columns that are never negative."""
    return any(pair[0] in parts and pair[1] == total and _not_negative(parts, sample) for parts, total in added)


def _not_negative(names: Sequence[str], sample: RowSample) -> bool:
    return all((sample.columns[name].bounds or (-1,))[0] >= 0 for name in names)


def _kept(opened: Source, columns: Sequence[Column], checks: Sequence[str]) -> set[str]:
    """Return the rules that no row breaks."""
    table, by_name = opened.engine.table, {column.name: column for column in columns}
    rules = {
        check: rule for check in checks[:MAX_VERIFIED] if (rule := Rule(check)) and set(rule.columns) <= set(by_name)
    }
    names = dict.fromkeys(name for rule in rules.values() for name in rule.columns)
    values = select_as(table, {name: cast_to_kind(table[name], by_name[name]) for name in names}) if names else table
    counts = [(check, rule.breaks(values, by_name).sum()) for check, rule in rules.items()]
    broken = run_aggregates(opened.engine, values, {"rules": counts})
    return {check for check, rows in broken.get("rules", {}).items() if not rows}


def _verified(opened: Source, columns: Sequence[Column], pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the dependences that all rows keep: one query each, for as many as a draft proposes."""
    rules = {pair: Rule(_dependence(pair)) for pair in pairs}
    by_name = {column.name: column for column in columns}
    holding = (
        pair
        for pair, rule in rules.items()
        if rule.dependence == pair
        and not find_broken_dependences(
            opened.engine, Schema("draft", tuple(by_name[name] for name in pair), rules=(rule,))
        )
    )
    yield from islice(holding, MOST_RULES)


LEAST_COVERED = 0.5
"""Share of the missing values that a condition must explain."""
MOST_LISTED = 8
"""Levels that a condition lists."""


@dataclass(frozen=True)
class MissingCondition:
    """A condition on another column, and its opposite where it is a threshold."""

    words: str
    opposite: str | None
    rows: NDArray[np.bool_]


@dataclass(frozen=True)
class MissingRule:
    """A condition under which a column is always missing."""

    target: str
    condition: MissingCondition

    @property
    def check(self) -> str:
        """The rule that says when the column is missing."""
        return f"{self.condition.words} implies missing({quote_column(self.target)})"

    @property
    def converse(self) -> str:
        """The rule that says that it is missing only then."""
        return f"missing({quote_column(self.target)}) implies {self.condition.words}"

    def rules(self, kept: Container[str]) -> list[str]:
        """Return the rules to propose of those that all rows keep."""
        if self.check not in kept or self.converse not in kept:
            return [self.check] if self.check in kept else []
        opposite = self.condition.opposite
        there = f"not missing({quote_column(self.target)}) implies {opposite}" if opposite else self.check
        return [there, self.converse]


def missing_value_rules(sample: RowSample) -> list[MissingRule]:
    """Return for each column with missing values the condition that explains most of them, if one does."""
    rules = [_best(sample, name) for name in sample.columns if 0 < sample.missing[name].sum() < sample.rows]
    return [absence for absence in rules if absence]


def _best(sample: RowSample, target: str) -> MissingRule | None:
    missing = sample.missing[target]
    least = max(LEAST_COVERED * missing.sum(), MAX_LOG_CHANCE / np.log(missing.mean()))
    best: tuple[float, MissingCondition] | None = None
    for name, column in sample.columns.items():
        if name == target or sample.missing[name].any():
            continue
        for condition in _conditions(sample, column, missing):
            # Of two that explain the same, the threshold reads better than the list.
            score = condition.rows.sum() + (0.5 if column.is_ordered else 0.0)
            if score >= least and (best is None or score > best[0]):
                best = score, condition
    return MissingRule(target, best[1]) if best else None


def _conditions(sample: RowSample, column: Column, missing: NDArray[np.bool_]) -> Iterator[MissingCondition]:
    name = quote_column(column.name)
    if column.is_ordered:
        yield from _thresholds(name, sample.numbers[column.name], missing) if column.kind != "date" else ()
        return
    codes = sample.codes[column.name]
    always = np.bincount(codes, weights=~missing) == 0
    levels = [sample.values[column.name][i] for i in np.flatnonzero(always).tolist()]
    if 0 < len(levels) <= MOST_LISTED:
        yield MissingCondition(_one_of(name, column, levels), None, always[codes])


def _thresholds(name: str, values: FloatArray, missing: NDArray[np.bool_]) -> Iterator[MissingCondition]:
    """Yield the ranges below and above which nothing is known, as tight as the missing values allow."""
    below, above = values < values[~missing].min(), values > values[~missing].max()
    if below.any():
        top = values[below].max()
        whole, cut = float(top).is_integer(), format_literal(top + 1 if float(top).is_integer() else top)
        yield MissingCondition(
            *((f"{name} < {cut}", f"{name} >= {cut}") if whole else (f"{name} <= {cut}", f"{name} > {cut}")), below
        )
    if above.any():
        cut = format_literal(values[above].min())
        yield MissingCondition(f"{name} >= {cut}", f"{name} < {cut}", above)


def _one_of(name: str, column: Column, levels: list[object]) -> str:
    if column.kind == "boolean":
        return name if levels[0] else f"not {name}"
    if len(levels) == 1:
        return f"{name} == {format_literal(levels[0])}"
    return f"{name} in [{', '.join(format_literal(level) for level in sorted(levels, key=str))}]"


ROWS_EACH = 10
"""Rows per value of the first column, at least: values that hardly repeat determine everything."""
MOST_VALUES = 1000
FEWEST_ROWS = 100
MOST_PAIRS = 200
FIRST_ROWS_CHECKED = 200
"""Rows that exclude most pairs."""
Pair = tuple[str, str]


def dependence_candidates(sample: RowSample) -> list[Pair]:
    """Return the pairs of columns, the first of which determines the second in the sample, without what follows."""
    if sample.rows < FEWEST_ROWS:
        return []
    names = [name for name, column in sample.columns.items() if _has_values(column) and sample.levels(name) > 1]
    codes = np.stack([sample.codes[name] for name in names]) if names else np.empty((0, sample.rows), dtype=np.int64)
    sources = [i for i, name in enumerate(names) if ROWS_EACH * sample.levels(name) <= sample.rows]
    pairs = ((names[a], names[b]) for a in sources for b in _targets(codes, a))
    return transitive_reduction(list(islice(pairs, MOST_PAIRS)))


def _has_values(column: Column) -> bool:
    """Whether cells are single values, so that one value can determine another."""
    if column.kind == "integer" and column.bounds is not None:
        return column.bounds[1] - column.bounds[0] < MOST_VALUES and column.size >= column.bounds[1] - column.bounds[0]
    return column.kind in ("category", "ordinal", "boolean")


def _targets(codes: np.ndarray, source: int) -> Iterator[int]:
    """Yield the columns that have one value for each value of the source."""
    some = codes[:, :FIRST_ROWS_CHECKED]
    left = np.flatnonzero((some == some[:, _first_rows(some[source])]).all(axis=1))
    chosen = codes[left]
    held = left[(chosen == chosen[:, _first_rows(codes[source])]).all(axis=1)]
    sizes = np.bincount(codes[source])
    yield from (int(b) for b in held if b != source and _chance(sizes, codes[b]) < MAX_LOG_CHANCE)


def _first_rows(codes: np.ndarray) -> np.ndarray:
    """Return for each row the first row that has the same value."""
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return first[which]


def _chance(sizes: np.ndarray, target: np.ndarray) -> float:
    """Return the logarithm of the chance that rows with one source agree on the target if the two are independent."""
    shares = np.bincount(target) / len(target)
    agreed = np.power.outer(shares[shares > 0], sizes[sizes > 1]).sum(axis=0)
    return float(np.log(np.maximum(agreed, 1e-300)).sum())


def transitive_reduction(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs from which all others follow along chains.

    >>> transitive_reduction([("a", "b"), ("b", "c"), ("a", "c")])
    [('a', 'b'), ('b', 'c')]
    """
    kept = list(pairs)
    for pair in sorted(pairs, key=lambda one: -_shared(one, pairs)):
        others = [other for other in kept if other != pair]
        if pair[1] in _reached(pair[0], others):
            kept = others
    return kept


def _shared(pair: Pair, pairs: Sequence[Pair]) -> int:
    """Return how many ways lead around a pair: those with most go first."""
    ahead = {b for a, b in pairs if a == pair[0]}
    return len(ahead & {a for a, b in pairs if b == pair[1]})


def _reached(start: str, pairs: Sequence[Pair]) -> set[str]:
    reached = {start}
    edge = {start}
    while edge:
        edge = {b for a, b in pairs if a in edge} - reached
        reached |= edge
    return reached


LEAST_BREAKS = 0.05
"""Share of rows that would break an order if the two columns were independent; with less it says little."""
LEAST_COMPLETE = 100
LEAST_LEVELS = 8
"""Values that an ordered column takes, at least: codes are not compared."""
MOST_SUMMED = 300
"""Columns among which sums are looked for."""
MOST_FOURS = 60
"""Columns among which sums of four are looked for."""
Sum = tuple[tuple[str, ...], str]
"""Columns, and the one that they add up to."""


def order_candidates(sample: RowSample) -> list[Pair]:
    """Return the pairs of columns of one kind, the first of which is never larger in the sample."""
    return [pair for kind in ("integer", "number", "date") for pair in _ordered(sample, kind)]


def _ordered(sample: RowSample, kind: str) -> Iterator[Pair]:
    names = [n for n, column in sample.columns.items() if column.kind == kind and sample.levels(n) >= LEAST_LEVELS]
    if len(names) < 2:
        return
    values = np.stack([sample.numbers[name] for name in names])
    low, high = np.nanquantile(values, (0.1, 0.95), axis=1)
    for i, name in enumerate(names):
        left = np.flatnonzero((high[i] >= low) & ~(values[i, :LEAST_COMPLETE] > values[:, :LEAST_COMPLETE]).any(axis=1))
        held = left[~(values[i] > values[left]).any(axis=1)]
        yield from ((name, names[j]) for j in held if i != j and _says_something(values[i], values[j]))


def _says_something(smaller: FloatArray, larger: FloatArray) -> bool:
    """Whether many rows would break the order if the columns knew nothing of each other."""
    both = ~np.isnan(smaller) & ~np.isnan(larger)
    rows = int(both.sum())
    if rows < LEAST_COMPLETE:
        return False
    below = np.searchsorted(np.sort(larger[both]), smaller[both], side="left")
    share = float(below.mean()) / rows
    return share >= LEAST_BREAKS and rows * np.log1p(-min(share, 1 - 1e-9)) < MAX_LOG_CHANCE


def sum_candidates(sample: RowSample) -> list[Sum]:
    """Return the sums of two, three or four whole-numbered columns that hold in the sample and do not follow."""
    sums: list[Sum] = []
    whole = [n for n, c in sample.columns.items() if c.kind == "integer" and sample.levels(n) > 2]
    groups: dict[bytes, list[str]] = {}
    for name in whole[:MOST_SUMMED]:
        groups.setdefault(sample.missing[name].tobytes(), []).append(name)
    for names in groups.values():
        known = ~sample.missing[names[0]]
        if len(names) > 2 and known.sum() >= LEAST_COMPLETE:
            sums += _new_sums(names, np.stack([sample.numbers[name][known] for name in names]).astype(np.int64))
    return sums


def _new_sums(names: Sequence[str], values: np.ndarray) -> Iterator[Sum]:
    """Yield sums that do not follow from those before them."""
    rank, rows = 0, np.empty((0, len(names)))
    for parts, total in _all_sums(values):
        row = np.zeros(len(names))
        row[list(parts)], row[total] = 1, -1
        more = np.vstack([rows, row])
        if np.linalg.matrix_rank(more) > rank:
            rank, rows = rank + 1, more
            yield tuple(names[part] for part in parts), names[total]


def _all_sums(values: np.ndarray) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield sums of columns, found by one random number per column: numbers add up where the columns do.

    Whole numbers that wrap around 2^64 add up exactly, so no sum is lost, and hardly one is invented.
    """
    weights = np.random.default_rng(0).integers(1, 2**62, values.shape[1]).astype(np.uint64)
    marks = [int(mark) for mark in (values.astype(np.uint64) * weights).sum(axis=1)]
    columns = [i for i, mark in enumerate(marks) if mark and mark not in marks[:i]]
    places = {marks[i]: i for i in columns}
    pairs = {(marks[i] + marks[j]) % 2**64: (i, j) for i, j in combinations(columns, 2)}
    yield from ((pair, places[mark]) for mark, pair in pairs.items() if mark in places)
    tails = [(k,) for k in columns]
    tails += list(pairs.values()) if len(columns) <= MOST_FOURS else []
    for tail in tails:
        part = sum(marks[k] for k in tail)
        for total in columns:
            head = pairs.get((marks[total] - part) % 2**64)
            if head and total not in (*head, *tail) and not set(head) & set(tail):
                yield tuple(sorted((*head, *tail))), total
