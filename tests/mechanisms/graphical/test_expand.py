"""Rows come back from groups as valid values that follow the released shares."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Schema, read
from sfumato.mechanisms.graphical.domain_compression import Grouping, compress_column, identity_grouping
from sfumato.mechanisms.graphical.within_group_values import (
    fine_cells_at,
    positions_in_groups,
    values_in_fine_cells,
    values_in_groups,
)
from sfumato.sampling.fine_cells import fine_column
from sfumato.sampling.values import rows_table
from sfumato.schema.column import Column, day_number

COLUMNS = (
    Column("region", "category", values=("n", "e", "s", "w", "x", "y"), missing=True),
    Column("level", "ordinal", values=(1, 2, 3, 4, 5)),
    Column("insured", "boolean", missing=True),
    Column("gain", "integer", bounds=(0, 99_999), missing=True),
    Column("hours", "integer", bounds=(0, 99), edges=(0, 10, 40, 99)),
    Column("wage", "number", bounds=(-250.0, 1e6), missing=True),
    Column("rate", "number", bounds=(0.0, 1.0), edges=(0.0, 0.1, 1.0), outside="clamp"),
    Column("born", "date", bounds=(dt.date(1920, 1, 1), dt.date(2020, 12, 31)), missing=True),
)
SCHEMA = Schema("t", COLUMNS)


def expanded(
    grouping: Grouping, codes: np.ndarray, generator: np.random.Generator, rounding: bool = True
) -> np.ndarray:
    """A fine code for each group code."""
    return fine_cells_at(grouping, codes, positions_in_groups(codes, grouping.size, generator, rounding))[0]


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([16, 64, 128, 300]), st.none() | st.integers(1, 20), st.booleans())
def test_every_expanded_value_is_valid_under_the_schema(seed, fine_cells, most, rounding):
    generator = np.random.default_rng(seed)
    groupings: list[Grouping] = []
    for column in COLUMNS:
        fine = fine_column(column, fine_cells)
        noisy = np.rint(generator.exponential(60, fine.size) + generator.normal(0, 30, fine.size)).astype(np.int64)
        groupings.append(compress_column(fine, noisy, 30.0, float(noisy.sum()), most_groups=most))
    codes = np.column_stack([generator.integers(0, g.size, 300) for g in groupings]).astype(np.int32)
    values = values_in_groups(groupings, codes, generator, rounding)
    table = rows_table(SCHEMA, values)
    assert table.num_rows == 300 and table.column_names == list(SCHEMA.names)
    assert read(table, SCHEMA).check() == ()
    for place, grouping in enumerate(groupings):
        numbers, missing = values[grouping.column.name]
        assert np.array_equal(missing, (codes[:, place] == grouping.size - 1) & grouping.column.missing)
        if grouping.column.is_ordered:
            assert in_group(grouping, codes[:, place], numbers)[~missing].all(), grouping.column.name


def in_group(grouping: Grouping, codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Whether each value lies in a cell of its own group."""
    found = np.searchsorted(grouping.column.starts, numbers.astype(float), "right") - 1
    return grouping.groups[found] == codes


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 12), st.integers(0, 3000))
def test_rounded_counts_follow_the_shares_within_one(seed, cells, most_groups, rows):
    generator = np.random.default_rng(seed)
    groups = np.sort(generator.integers(0, min(most_groups, cells), cells))
    groups = np.unique(groups, return_inverse=True)[1].astype(np.int32)
    size = int(groups.max()) + 1
    weights = generator.exponential(1, cells) * (generator.random(cells) < 0.6) + 1e-300
    shares = weights / np.bincount(groups, weights)[groups]
    column = Column("x", "category", values=tuple(range(cells)))
    permuted = generator.permutation(cells)
    grouping = Grouping(column, groups[permuted], shares[permuted], size)
    codes = generator.integers(0, size, rows)
    fine = expanded(grouping, codes, generator)
    assert np.array_equal(grouping.groups[fine], codes)
    expected = grouping.shares * np.bincount(codes, minlength=size)[grouping.groups]
    assert np.all(np.abs(np.bincount(fine, minlength=cells) - expected) < 1 + 1e-6)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 500), st.booleans())
def test_places_of_a_group_are_given_out_in_the_wanted_order(seed, size, rows, rounding):
    generator = np.random.default_rng(seed)
    codes, wanted = generator.integers(0, size, rows), generator.normal(size=rows)
    places = positions_in_groups(codes, size, generator, rounding, wanted)
    assert ((places >= 0) & (places < 1)).all()
    for group in np.unique(codes):
        here = codes == group
        assert np.array_equal(np.argsort(places[here]), np.argsort(wanted[here]))
        if rounding:
            assert np.allclose(np.diff(np.sort(places[here])), 1 / here.sum())


def test_a_place_is_split_into_a_cell_and_a_place_within_it():
    column = Column("x", "category", values=tuple("abcd"))
    grouping = Grouping(column, np.array([0, 0, 1, 1], np.int32), np.array([0.25, 0.75, 1.0, 0.0]), 2)
    fine, within = fine_cells_at(grouping, np.array([0, 0, 0, 1, 1]), np.array([0.0, 0.125, 0.625, 0.0, 0.875]))
    assert fine.tolist() == [0, 0, 1, 2, 2]
    assert within.tolist() == [0.0, 0.5, 0.5, 0.0, 0.875]


def test_cells_without_a_share_are_never_drawn():
    column = Column("x", "category", values=tuple("abcde"))
    grouping = Grouping(column, np.array([0, 0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1, 0.0]), 2)
    codes = np.repeat([0, 1], 5000)
    for rounding in (True, False):
        assert set(expanded(grouping, codes, np.random.default_rng(1), rounding)) == {1, 3}


def test_no_rows_expand_to_no_rows():
    grouping = identity_grouping(fine_column(COLUMNS[5], 64))
    values = values_in_groups([grouping], np.zeros((0, 1), np.int32), np.random.default_rng(0))
    assert len(values["wage"][0]) == 0


@pytest.mark.statistical
def test_rows_are_dealt_in_random_order():
    """The first half of a group's rows gets as much of a cell as the second: a dealer in row order is caught.

    n = 4000 rows, share 1/2: the count in the first half is hypergeometric with standard deviation 15.8; alpha = 1e-6
    (4.9 standard deviations, 78 rows). Dealt in order it would be 2000 or 0.
    """
    column = Column("x", "category", values=("a", "b"))
    grouping = Grouping(column, np.zeros(2, np.int32), np.array([0.5, 0.5]), 1)
    fine = expanded(grouping, np.zeros(4000, np.int64), np.random.default_rng(5))
    assert abs(int((fine[:2000] == 0).sum()) - 1000) < 78
    in_order = np.sort(fine)
    assert abs(int((in_order[:2000] == 0).sum()) - 1000) > 78


def test_independent_draws_vary_more_than_dealt_ones():
    column = Column("x", "category", values=("a", "b"))
    grouping = Grouping(column, np.zeros(2, np.int32), np.array([0.3, 0.7]), 1)
    codes = np.zeros(1000, np.int64)
    dealt, drawn = (
        [int((expanded(grouping, codes, np.random.default_rng(s), rounding) == 0).sum()) for s in range(30)]
        for rounding in (True, False)
    )
    assert set(dealt) <= {299, 300, 301} and np.std(drawn) > 5


def test_points_come_back_exactly_and_do_not_lengthen_the_decimals():
    column = fine_column(COLUMNS[5], 128)
    generator = np.random.default_rng(2)
    for number in (-250.0, 0.0, 1e6):
        cell = int(np.searchsorted(column.starts, number, "right")) - 1
        values, missing = values_in_fine_cells(column, np.full(50, cell), generator.random(50))
        assert set(values) == {number} and not missing.any()
    values, _ = values_in_fine_cells(column, np.full(200, 40), generator.random(200))
    assert np.array_equal(values, np.round(values, 2)) and len(set(values)) > 150


@pytest.mark.parametrize("bounds", [(0, 99_999), (-5000, 99_999), (5, 5000)])
def test_whole_piles_at_the_bounds_and_at_zero_come_back(bounds):
    column = fine_column(Column("x", "integer", bounds=bounds), 128)
    for number in {*bounds, 0} if bounds[0] <= 0 else bounds:
        cell = int(np.searchsorted(column.starts, number, "right")) - 1
        assert set(values_in_fine_cells(column, np.full(20, cell), np.random.default_rng(0).random(20))[0]) == {number}


def largest_gap(real: np.ndarray, synthetic: np.ndarray) -> float:
    """Largest distance between two cumulative distributions."""
    grid = np.concatenate([real, synthetic])
    cumulative = [np.searchsorted(np.sort(values), grid, "right") / len(values) for values in (real, synthetic)]
    return float(np.abs(cumulative[0] - cumulative[1]).max())


def released(values: np.ndarray, column: Column, most: int | None, sigma: float, seed: int) -> np.ndarray:
    """One column through a noisy one-way table, groups and back."""
    generator = np.random.default_rng(seed)
    counts = np.bincount(np.searchsorted(column.starts, values, "right") - 1, minlength=column.size)
    noisy = counts + np.rint(generator.normal(0, sigma, column.size)).astype(np.int64)
    grouping = compress_column(column, noisy, sigma, float(len(values)), most_groups=most)
    masses = np.maximum(np.bincount(grouping.groups, noisy, grouping.size), 0)
    codes = generator.choice(grouping.size, len(values), p=masses / masses.sum())
    return values_in_groups([grouping], codes[:, None], generator)[column.name][0].astype(float)


@pytest.mark.parametrize(
    ("file", "name", "column"),
    [
        ("adult.csv.gz", "capital-gain", Column("x", "integer", bounds=(0, 99_999))),
        ("california_housing.csv.gz", "population", Column("x", "integer", bounds=(0, 40_000))),
        ("california_housing.csv.gz", "median_house_value", Column("x", "integer", bounds=(0, 500_001))),
        ("diamonds.csv.gz", "price", Column("x", "integer", bounds=(0, 20_000))),
    ],
)
def test_adaptive_bins_beat_equal_ones_on_heavy_tails(shared_data, file, name, column):
    values = pd.read_csv(shared_data / file)[name].dropna().to_numpy(float)
    adaptive = [largest_gap(values, released(values, fine_column(column, 128), 32, 50.0, seed)) for seed in range(3)]
    equal = [largest_gap(values, released(values, column, None, 50.0, seed)) for seed in range(3)]
    assert np.mean(adaptive) < 0.7 * np.mean(equal) and np.mean(adaptive) < 0.06


def test_dates_keep_their_bounds():
    column = fine_column(COLUMNS[7], 128)
    values, _ = values_in_fine_cells(
        column, np.arange(column.present_size), np.random.default_rng(0).random(column.present_size)
    )
    assert values.min() == day_number(dt.date(1920, 1, 1)) and values.max() == day_number(dt.date(2020, 12, 31))
