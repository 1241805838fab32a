"""Full products of cases, of which ``make test`` takes a sample: every pair of values meets, the rest is thorough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any

import pytest


def pairwise(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return few cases in which every value of one axis meets every value of each other axis.

    Greedy: a case is taken for the most pairs that are still open, the first in the order of the product.

    >>> len(pairwise("abcd", "xyz", [1, 2]))
    12
    """
    values = [list(axis) for axis in axes]
    places = list(product(*(range(len(axis)) for axis in values)))
    open_pairs = {pair for case in places for pair in _pairs(case)}
    taken: list[tuple[int, ...]] = []
    while open_pairs:
        best = max(places, key=lambda case: len(open_pairs & _pairs(case)))
        open_pairs -= _pairs(best)
        taken.append(best)
    return [tuple(axis[place] for axis, place in zip(values, case, strict=True)) for case in sorted(taken)]


def _pairs(case: Sequence[int]) -> set[tuple[int, int, int, int]]:
    return {(i, case[i], j, case[j]) for i, j in combinations(range(len(case)), 2)}


def sampled(*axes: Iterable[Any]) -> list[Any]:
    """Return the product of axes as parameters; what is not in the pairwise sample is marked thorough."""
    values = [list(axis) for axis in axes]
    kept = pairwise(*values)
    return [pytest.param(*case, marks=() if case in kept else (pytest.mark.thorough,)) for case in product(*values)]
