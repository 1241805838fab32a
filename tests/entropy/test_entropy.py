"""Entropies and their sensitivities: brute force over all tables, and the golden values."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.entropy import (
    continuity_bound,
    renyi,
    sensitivity,
    shannon,
)
from sfumato.errors import PlanError
from sfumato.papers.reaedp.published import published_bound, published_renyi_bound

ORDERS = [0.5, 0.75, 1, 1.5, 2, 3, 10, math.inf]


@lru_cache
def tables(n: int, cells: int) -> tuple[tuple[int, ...], ...]:
    """All count vectors up to order: partitions of n into at most ``cells`` parts."""

    def parts(left: int, slots: int, largest: int):
        if slots == 0:
            if left == 0:
                yield ()
            return
        for first in range(min(left, largest), -1, -1):
            for rest in parts(left - first, slots - 1, first):
                yield (first, *rest)

    return tuple(parts(n, cells, n))


@lru_cache
def brute_force(n: int, cells: int, order: float, adjacency: str) -> float:
    best = 0.0
    for table in tables(n, cells):
        here = renyi(table, order)
        for to in range(cells):
            added = [c + (i == to) for i, c in enumerate(table)]
            if adjacency == "add-remove":
                best = max(best, abs(renyi(added, order) - here))
                continue
            for source in range(cells):
                if table[source] and source != to:
                    moved = [c - (i == source) for i, c in enumerate(added)]
                    best = max(best, abs(renyi(moved, order) - here))
    return best


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize(("n", "cells"), [(1, 2), (2, 3), (7, 2), (12, 3), (15, 5), (24, 4), (40, 2), (40, 3)])
def test_sensitivity_equals_enumeration(order: float, adjacency: str, n: int, cells: int):
    found = sensitivity(n, cells, order, adjacency)
    assert found.exact
    assert found == pytest.approx(brute_force(n, cells, order, adjacency), rel=1e-9, abs=1e-12)


SHANNON = {50: 0.141440543, 100: 0.080793136, 200: 0.045414692, 500: 0.020814071, 1000: 0.011407758, 5000: 0.002746053}
PRINTED = {50: 0.294608148, 1000: 0.023374264, 5000: 0.005603624}


def test_shannon_goldens():
    for n, value in SHANNON.items():
        assert sensitivity(n, 10) == pytest.approx(value, abs=6e-10)
    for n, value in PRINTED.items():
        assert published_bound(n) == pytest.approx(value, abs=6e-10)
        assert 2 < published_bound(n) / sensitivity(n, 10) < 2.1


RENYI = [
    (0.5, 100, 5, 0.261829),
    (0.5, 1000, 2, 0.088432),
    (0.75, 1000, 9, 0.028055),
    (1.5, 1000, 35, 0.008715),
    (2, 1000, 11, 0.005998),
    (2, 1000, 30, 0.009191),
    (3, 1000, 6, 0.004621),
    (5, 1000, 30, 0.017464),
    (10, 1000, 3, 0.003543),
    (math.inf, 1000, 30, 0.041820),
]


@pytest.mark.parametrize(("order", "n", "cells", "value"), RENYI)
def test_renyi_goldens_exceed_the_printed_bound(order, n, cells, value):
    assert sensitivity(n, cells, order) == pytest.approx(value, abs=6e-7)
    assert sensitivity(n, cells, order) > published_renyi_bound(n, order), "the printed bound is false here"


def test_printed_renyi_goldens():
    assert published_renyi_bound(1000, 0.5) == pytest.approx(0.002885, abs=6e-7)
    assert published_renyi_bound(1000, 1.5) == pytest.approx(0.008656, abs=6e-7)
    assert published_renyi_bound(1000, 10) == pytest.approx(0.003206, abs=6e-7)


@pytest.mark.parametrize("order", [1.5, 2, 3, 10])
@pytest.mark.parametrize(("n", "cells"), [(200, 2), (600, 30), (1500, 7)])
def test_the_bound_for_large_tables_holds_where_the_exact_value_is_known(order, n, cells):
    from sfumato.entropy.sensitivity import _bound_above_one

    assert _bound_above_one(n, cells, order) >= sensitivity(n, cells, order) * (1 - 1e-12)
    large = sensitivity(5000, cells, order)
    assert not large.exact
    assert large > 0


def test_real_entropies(shared_data):
    prices = pd.read_csv(shared_data / "house_prices.csv")["SalePrice"]
    rates = pd.read_csv(shared_data / "unrate.csv").iloc[:, 1]
    assert shannon(np.histogram(prices, 30)[0]) == pytest.approx(3.4873, abs=6e-5)
    assert shannon(np.histogram(rates, 30)[0]) == pytest.approx(4.0457, abs=6e-5)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.sampled_from([0, 0.5, 1, 2, 7, math.inf]))
def test_renyi_is_between_zero_and_log_of_the_cells_and_falls_with_the_order(counts, order):
    value = renyi(counts, order)
    assert -1e-12 <= value <= math.log2(len(counts)) + 1e-9
    if sum(counts):
        assert renyi(counts, order + 0.5) <= value + 1e-9


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=8), st.lists(st.floats(0.001, 1), min_size=2, max_size=8))
def test_continuity_bound_holds(p, q):
    size = min(len(p), len(q))
    a, b = np.array(p[:size]) / sum(p[:size]), np.array(q[:size]) / sum(q[:size])
    distance = float(np.abs(a - b).sum() / 2)
    assert abs(shannon(a) - shannon(b)) <= continuity_bound(min(distance, 1.0), size) + 1e-9


@pytest.mark.parametrize(
    "call",
    [
        lambda: shannon([-1, 2]),
        lambda: renyi([1, 2], -1),
        lambda: renyi([1], math.nan),
        lambda: sensitivity(0, 3),
        lambda: sensitivity(5, 0),
        lambda: sensitivity(5, 3, adjacency="sideways"),
        lambda: sensitivity(2.5, 3),
        lambda: continuity_bound(2, 3),
        lambda: published_renyi_bound(10, 1),
    ],
)
def test_senseless_questions_are_refused_by_name(call):
    with pytest.raises(PlanError):
        call()
