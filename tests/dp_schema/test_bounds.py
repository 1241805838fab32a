"""Bounds are round, hold what the counts show, and are rarely widened by noise alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.dp_schema.domains import (
    FALSE_ALARM,
    InferredForm,
    NoisyHistogram,
    date_column,
    frequent_integers,
    histogram_edges,
    number_column,
    occupied_range,
    year_edges,
)
from statistical.laws import ALPHA

SPANS = [(0.0, 1000.0), (100.0, 1000.0), (-1000.0, -100.0), (-100.0, 1000.0), (0.001, 0.01), (0.0, 1e10), (1.0, 10.0)]


@given(st.sampled_from(SPANS), st.booleans(), st.sampled_from([1.0, 9.0, 20.0, 500.0]))
def test_edges_rise_and_hold_the_span(span: tuple[float, float], whole: bool, cells: float):
    edges = histogram_edges(span, whole, cells)
    assert len(edges) >= 2
    assert list(edges) == sorted(set(edges))
    assert not whole or all(edge == int(edge) for edge in edges)
    assert whole or (edges[0] < span[0] < span[1] < edges[-1])
    assert all(float(f"{edge:.4g}") == edge for edge in edges)


def test_a_decade_is_cut_into_equal_cells_where_rows_are_many():
    fine, coarse = histogram_edges((100.0, 1000.0), True, 95), histogram_edges((100.0, 1000.0), True, 3)
    assert {110.0, 120.0, 990.0} <= set(fine)
    assert [e for e in coarse if 100 <= e <= 1000] == [100, 200, 500, 1000]


def exact_cells(values: np.ndarray, edges: tuple[float, ...], sigma: float = 0.5) -> NoisyHistogram:
    return NoisyHistogram(np.histogram(values, edges)[0].astype(np.int64), edges, sigma)


@pytest.mark.parametrize("low, high", [(3, 90), (0, 7), (120, 480)])
def test_without_noise_no_row_lies_beyond_the_bounds(low: int, high: int):
    values = np.arange(low, high + 1).repeat(40)
    edges = histogram_edges((0.0, 1000.0), True, 50)
    column = number_column("x", InferredForm("number", whole=True), exact_cells(values, edges), "b")
    assert column.bounds[0] <= low <= high <= column.bounds[1]
    assert (column.kind, column.outside, column.missing, column.bought) == ("integer", "clamp", True, "b")


def test_bounds_are_widened_by_noise_alone_as_rarely_as_stated():
    """n = 3000 columns of empty cells but one; alpha 1e-6 for more alarms than FALSE_ALARM gives."""
    rng, sigma, alarms, n = np.random.default_rng(3), 20.0, 0, 3000
    for noise in rng.normal(0, sigma, (n, 60)):
        noise[30] += 100 * sigma
        found = occupied_range(np.rint(noise).astype(np.int64), sigma)
        alarms += found is None or found[0] < 15 or found[1] > 46  # a run of 16 cells may hold the full one
    assert alarms <= stats.binom.isf(ALPHA, n, FALSE_ALARM)
    empty = np.rint(rng.normal(0, sigma, (n, 60))).astype(np.int64)
    mutant = sum(occupied_range(row, sigma / 2) is not None for row in empty)  # takes the noise for half of what it is
    assert mutant > stats.binom.isf(ALPHA, n, FALSE_ALARM)


def test_codes_with_gaps_are_listed_and_numbers_without_are_not():
    edges = histogram_edges((1.0, 10.0), True, 50)
    coded = number_column("x", InferredForm("number", whole=True), exact_cells(np.repeat([1, 2, 9], 200), edges), "b")
    assert (coded.kind, coded.values, coded.outside) == ("category", (1, 2, 9), "missing")
    marks = number_column("x", InferredForm("number", whole=True), exact_cells(np.repeat([0, 1], 200), edges), "b")
    assert (marks.kind, marks.bounds) == ("integer", (0, 1))
    assert frequent_integers(np.array([5, 400]), (0.0, 1.0, 2.0), 20.0) == (1,)


def test_dates_are_bounded_by_whole_years():
    edges = year_edges()
    column = date_column("d", exact_cells(np.repeat([1998, 2004], 50), edges), "b")
    assert [day.isoformat() for day in column.bounds] == ["1998-01-01", "2004-12-31"]
    assert date_column("d", NoisyHistogram(np.zeros(len(edges) - 1, np.int64), edges, 3.0), "b") is None


def test_where_the_second_count_shows_nothing_the_decades_of_the_first_stand():
    edges = histogram_edges((10.0, 100.0), False, 1)
    empty = NoisyHistogram(np.zeros(len(edges) - 1, np.int64), edges, 3.0)
    column = number_column("x", InferredForm("number", decimals=2, span=(10.0, 100.0)), empty, "b")
    assert (column.kind, column.bounds, column.decimals) == ("number", (10.0, 100.0), 2)


def test_bounds_go_further_out_only_where_noise_hides_many_rows():
    """Ten times the rows at the same noise, and the same cells tell the bounds as they were counted."""
    edges, form = (
        histogram_edges((1000.0, 10000.0), whole=True, most_cells=9),
        InferredForm("number", whole=True, rows=2_000),
    )
    noisy = np.array([0 if low < 1000 or low >= 10000 else 200 for low in edges[:-1]])
    few = number_column("x", form, NoisyHistogram(noisy, edges, 10.0), "paid")
    many = number_column("x", replace(form, rows=20_000), NoisyHistogram(10 * noisy, edges, 10.0), "paid")
    assert (few.bounds, many.bounds) == ((500, 20000), (1000, 10000))
