"""Columns that are functions of others: ``a determines b``, where it holds in all rows and hardly by chance.

Both directions are proposed where both hold: rows that are made match two such columns one to one only if both are
said. What follows from two others (a determines b, b determines c) is not said again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from sfumato.schema.column import Column
from sfumato.table.drafting.sampling import UNLIKELY, Sample

ROWS_EACH = 10
"""Rows per value of the first column, at least: values that hardly repeat determine everything."""
MOST_VALUES = 1000
FEWEST_ROWS = 100
MOST_PAIRS = 200
GLANCE = 200
"""Rows that exclude most pairs."""

Pair = tuple[str, str]


def dependences(sample: Sample) -> list[Pair]:
    """Return the pairs of columns, the first of which determines the second in the sample, without what follows."""
    if sample.rows < FEWEST_ROWS:
        return []
    names = [name for name, column in sample.columns.items() if _has_values(column) and sample.levels(name) > 1]
    codes = np.stack([sample.codes[name] for name in names]) if names else np.empty((0, sample.rows), dtype=np.int64)
    sources = [i for i, name in enumerate(names) if ROWS_EACH * sample.levels(name) <= sample.rows]
    found = ((names[a], names[b]) for a in sources for b in _targets(codes, a))
    return reduced(list(islice(found, MOST_PAIRS)))


def _has_values(column: Column) -> bool:
    """Whether cells are single values, so that one value can determine another."""
    if column.kind == "integer" and column.bounds is not None:
        return column.bounds[1] - column.bounds[0] < MOST_VALUES and column.size >= column.bounds[1] - column.bounds[0]
    return column.kind in ("category", "ordinal", "boolean")


def _targets(codes: np.ndarray, source: int) -> Iterator[int]:
    """Yield the columns that have one value for each value of the source."""
    some = codes[:, :GLANCE]
    left = np.flatnonzero((some == some[:, _first_rows(some[source])]).all(axis=1))
    chosen = codes[left]
    held = left[(chosen == chosen[:, _first_rows(codes[source])]).all(axis=1)]
    sizes = np.bincount(codes[source])
    yield from (int(b) for b in held if b != source and _chance(sizes, codes[b]) < UNLIKELY)


def _first_rows(codes: np.ndarray) -> np.ndarray:
    """Return for each row the first row that has the same value."""
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return first[which]


def _chance(sizes: np.ndarray, target: np.ndarray) -> float:
    """Return the logarithm of the chance that rows with one source agree on the target if the two are independent."""
    shares = np.bincount(target) / len(target)
    agreed = np.power.outer(shares[shares > 0], sizes[sizes > 1]).sum(axis=0)
    return float(np.log(np.maximum(agreed, 1e-300)).sum())


def reduced(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs from which all others follow along chains.

    >>> reduced([("a", "b"), ("b", "c"), ("a", "c")])
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
    seen = {start}
    edge = {start}
    while edge:
        edge = {b for a, b in pairs if a in edge} - seen
        seen |= edge
    return seen
