"""Numbers and dates that are never larger than others, and whole numbers that add up to others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from sfumato.arrays import Array
from sfumato.table.drafting.dependences import Pair
from sfumato.table.drafting.sampling import UNLIKELY, Sample

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


def orders(sample: Sample) -> list[Pair]:
    """Return the pairs of columns of one kind, the first of which is never larger in the sample."""
    return [pair for kind in ("integer", "number", "date") for pair in _ordered(sample, kind)]


def _ordered(sample: Sample, kind: str) -> Iterator[Pair]:
    names = [n for n, column in sample.columns.items() if column.kind == kind and sample.levels(n) >= LEAST_LEVELS]
    if len(names) < 2:
        return
    values = np.stack([sample.numbers[name] for name in names])
    low, high = np.nanquantile(values, (0.1, 0.95), axis=1)
    for i, name in enumerate(names):
        left = np.flatnonzero((high[i] >= low) & ~(values[i, :LEAST_COMPLETE] > values[:, :LEAST_COMPLETE]).any(axis=1))
        held = left[~(values[i] > values[left]).any(axis=1)]
        yield from ((name, names[j]) for j in held if i != j and _says_something(values[i], values[j]))


def _says_something(smaller: Array, larger: Array) -> bool:
    """Whether many rows would break the order if the columns knew nothing of each other."""
    both = ~np.isnan(smaller) & ~np.isnan(larger)
    rows = int(both.sum())
    if rows < LEAST_COMPLETE:
        return False
    below = np.searchsorted(np.sort(larger[both]), smaller[both], side="left")
    share = float(below.mean()) / rows
    return share >= LEAST_BREAKS and rows * np.log1p(-min(share, 1 - 1e-9)) < UNLIKELY


def sums(sample: Sample) -> list[Sum]:
    """Return the sums of two, three or four whole-numbered columns that hold in the sample and do not follow."""
    found: list[Sum] = []
    whole = [n for n, c in sample.columns.items() if c.kind == "integer" and sample.levels(n) > 2]
    groups: dict[bytes, list[str]] = {}
    for name in whole[:MOST_SUMMED]:
        groups.setdefault(sample.missing[name].tobytes(), []).append(name)
    for names in groups.values():
        known = ~sample.missing[names[0]]
        if len(names) > 2 and known.sum() >= LEAST_COMPLETE:
            found += _new_sums(names, np.stack([sample.numbers[name][known] for name in names]).astype(np.int64))
    return found


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
