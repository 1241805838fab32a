"""Layers of one column: what they are, that least squares is right, and that the second cut follows the mass."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.mechanisms.hierarchical_histogram import (
    MOST_EQUAL,
    SHARES,
    HierarchicalHistogram,
    HistogramLayer,
    blocks_of,
    equal_cells,
    finest_cells,
    layer_cells,
    measure_flat,
    measure_layers,
    parts_of,
    pooled_total,
    shared_totals,
    uses_layers,
)
from sfumato.schema.column import Column

PRICE = Column("price", "number", bounds=(0.0, 900.0), bins=32, missing=True)
COUNT = Column("count", "integer", bounds=(-597, 1057))
FEW = Column("few", "integer", bounds=(0, 30))
DAY = Column("day", "number", bounds=(0.0, 1.0), bins=500)


def exact(counts, share):
    return counts.astype(float), 1.0 / float(share) ** 0.5


def counts_of(column, values):
    finest = finest_cells(column)
    codes = np.searchsorted(finest.starts, values, side="right") - 1
    return np.bincount(codes, minlength=finest.size)


@pytest.mark.parametrize(("column", "layered"), [(PRICE, True), (COUNT, True), (FEW, False), (DAY, True)])
def test_only_columns_of_many_values_are_layered(column, layered):
    assert uses_layers(column) is layered


@pytest.mark.parametrize("column", [PRICE, COUNT, DAY])
def test_each_layer_is_a_union_of_the_finer_one_and_no_larger_than_the_plan_says(column):
    finest, equal = finest_cells(column), equal_cells(column)
    assert equal.present_size <= MOST_EQUAL
    assert set(equal.starts) <= set(finest.starts)
    blocks, cells, most = layer_cells(column)
    drawn = []

    def noisy(counts, share):
        drawn.append((len(counts), share))
        return exact(counts, share)

    values = np.random.default_rng(0).exponential(float(finest.numeric_bounds[1]) / 40, 5000)
    measured = measure_layers(column, counts_of(column, np.minimum(values, finest.numeric_bounds[1])), noisy)
    assert [share for _, share in drawn] == list(SHARES) and sum(SHARES) == Fraction(1)
    assert drawn[0][0] == blocks == blocks_of(equal)[-1] + 1 and drawn[1][0] == cells == equal.size
    assert drawn[2][0] == measured.column.size <= most
    assert set(equal.starts) <= set(measured.column.starts) <= set(finest.starts)


def test_cells_are_cut_again_where_the_mass_is():
    values = np.random.default_rng(1).uniform(100, 130, 20_000)
    cut = measure_layers(PRICE, counts_of(PRICE, values), exact).column
    inside = np.count_nonzero((cut.starts >= 90) & (cut.starts < 140))
    assert inside > 40
    assert cut.present_size - equal_cells(PRICE).present_size >= 32


def test_whole_numbers_are_never_cut_below_one():
    values = np.random.default_rng(1).integers(7, 10, 20_000)
    cut = measure_layers(COUNT, counts_of(COUNT, values), exact).column
    assert (cut.starts == np.floor(cut.starts)).all() and (np.diff(cut.starts) >= 1).all()
    assert {7.0, 8.0, 9.0} <= set(cut.starts)


def test_least_squares_is_that_of_the_whole_system():
    """Against the textbook solution of all equations at once; the flat form is the same in closed form."""
    generator = np.random.default_rng(3)
    parts = np.arange(12) // 4
    above, below = (
        HistogramLayer(parts, generator.normal(40, 5, 3), 2.0),
        HistogramLayer(np.arange(12), generator.normal(10, 5, 12), 3.0),
    )
    for layers in ((above, below), (below,)):
        column = Column("x", "integer", bounds=(0, 11))
        found = HierarchicalHistogram(column, layers).estimate(130.0, 25.0)
        rows = [np.eye(layer.parts.max() + 1)[:, layer.parts] / layer.sigma for layer in layers]
        system = np.vstack([*rows, np.ones((1, 12)) / 5.0])
        right = np.concatenate([*(layer.counts / layer.sigma for layer in layers), [130.0 / 5.0]])
        wanted, *_ = np.linalg.lstsq(system, right, rcond=None)
        assert np.allclose(found.counts, wanted)
        assert np.allclose(found.covariance, np.linalg.inv(system.T @ system))
        assert found.total == pytest.approx((wanted.sum(), np.linalg.inv(system.T @ system).sum()))


def test_the_covariance_is_what_repeated_noise_shows():
    """n = 4,000 repetitions; a prefix of half the cells, alpha about 1e-6 at 5 standard errors of a variance."""
    column, generator = Column("x", "integer", bounds=(0, 15)), np.random.default_rng(5)
    parts, sums = np.arange(16) // 4, []
    for _ in range(4000):
        layers = (
            HistogramLayer(parts, generator.normal(0, 2, 4), 2.0),
            HistogramLayer(np.arange(16), generator.normal(0, 3, 16), 3.0),
        )
        sums.append(HierarchicalHistogram(column, layers).estimate().counts[:8].sum())
    told = HierarchicalHistogram(column, layers).estimate().covariance[:8, :8].sum()
    assert abs(np.var(sums) / told - 1) < 5 * (2 / 4000) ** 0.5
    assert abs(np.var(sums) / (8 * 9.0) - 1) > 5 * (2 / 4000) ** 0.5, "mutant: flat noise"


def test_thousands_of_levels_need_no_matrix():
    many = Column("code", "category", values=tuple(f"c{i}" for i in range(50_000)))
    measured = measure_flat(many, np.ones(50_000, np.int64), exact)
    assert measured.estimate(60_000.0, 1.0).counts.sum() == pytest.approx(60_000, rel=1e-3)


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=5), st.floats(0.1, 100))
def test_columns_share_their_totals_by_precision(totals, sigma):
    column = Column("x", "integer", bounds=(0, 3))
    each = [
        HierarchicalHistogram(column, (HistogramLayer(np.arange(4), np.full(4, total / 4), sigma),)) for total in totals
    ]
    total, others = shared_totals([one.estimate() for one in each])
    assert total == pytest.approx(np.mean(totals))
    assert len(others) == len(totals)
    if len(totals) == 1:
        assert np.isinf(others[0][1])
    known, estimates = pooled_total(each, None)
    assert known == pytest.approx(total)
    assert all(one.counts.sum() == pytest.approx(total, rel=1e-6) for one in estimates)


def test_a_public_number_of_rows_is_kept():
    measured = [measure_flat(FEW, np.full(FEW.size, 7), exact)]
    total, (estimate,) = pooled_total(measured, 500)
    assert total == 500 and estimate.counts.sum() == pytest.approx(500, abs=12)


def test_parts_of_put_missing_last():
    equal = equal_cells(PRICE)
    assert parts_of(finest_cells(PRICE), equal)[-1] == equal.present_size
