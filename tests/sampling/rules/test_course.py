"""The course of a map: through places by mass, up or down, and at rest where it is not clear."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sfumato.constraints.functional_dependence import interpolate_monotone
from sfumato.constraints.pair_weights import ColumnPartition
from sfumato.schema.column import Column


def cut(name: str, *places: int, missing: bool = False) -> ColumnPartition:
    """Whole numbers from 0 in places of the given sizes, each number with an equal share of its place."""
    ends = np.cumsum([0, *places])
    column = Column(name, "integer", bounds=(0, int(ends[-1]) - 1), missing=missing)
    inner: list[tuple[Any, ...]] = [tuple(range(a, b)) for a, b in pairwise(ends.tolist())]
    keys: list[tuple[Any, ...]] = [tuple((v, v) for v in part) for part in inner]
    shares = [np.full(size, 1 / size) for size in places]
    if missing:
        inner, keys, shares = [*inner, (None,)], [*keys, (None,)], [*shares, np.ones(1)]
    codes = np.repeat(np.arange(len(keys)), [len(part) for part in keys])
    values = tuple(part[len(part) // 2] for part in inner)
    return ColumnPartition(column, codes, tuple(keys), values, tuple(shares), tuple(inner))


def sent(source: ColumnPartition, *targets: int) -> list[Any]:
    return [np.repeat(place, len(keys)) for place, keys in zip(targets, source.keys, strict=True)]


def flat(found: list[list[Any]]) -> list[Any]:
    return [value for part in found for value in part]


@pytest.mark.parametrize("missing", [True, False])
def test_a_copy_comes_out_as_a_copy_and_a_mirror_as_a_mirror(missing: bool):
    a, b = cut("a", 3, 4, 5, missing=missing), cut("b", 3, 4, 5, missing=missing)
    masses = np.array([3.0, 4.0, 5.0, 2.0])[: 3 + missing]
    last = (3,) if missing else ()
    assert flat(interpolate_monotone(a, b, masses, sent(a, 0, 1, 2, *last))) == [
        *range(12),
        *([None] if missing else []),
    ]
    mirrored = cut("b", 5, 4, 3, missing=missing)
    assert flat(interpolate_monotone(a, mirrored, masses, sent(a, 2, 1, 0, *last)))[:12] == list(range(11, -1, -1))


def test_parts_run_through_by_mass():
    """The first place has nine tenths of the mass of the run: it takes nine tenths of the target's place."""
    a, b = cut("a", 2, 2, 1), cut("b", 10, 1)
    found = interpolate_monotone(a, b, np.array([9.0, 1.0, 5.0]), sent(a, 0, 0, 1))
    assert flat(found) == [2, 6, 9, 9, 10]


def test_a_map_rests_where_its_neighbours_do_not_say_where_it_goes():
    a, b = cut("a", 2, 3, 2), cut("b", 4, 5)
    found = interpolate_monotone(a, b, np.ones(3), sent(a, 0, 1, 0))
    assert found[1] == [b.values[1]] * 3, "it rises into the place and falls out of it"
    alone = interpolate_monotone(a, b, np.ones(3), sent(a, 1, 1, 1))
    assert flat(alone) == [b.values[1]] * 7
