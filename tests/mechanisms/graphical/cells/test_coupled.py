"""Places that are drawn together give correlations back and change no count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms.graphical.domain_compression import Grouping
from sfumato.mechanisms.graphical.within_group_values import (
    GroupQuantiles,
    WithinGroupDependence,
    correlation,
    fine_cells_at,
    values_in_groups,
    within_group_dependence,
)
from sfumato.sampling.fine_cells import fine_column, refined_column
from sfumato.schema.column import Column

CELLS = 64


@dataclass(frozen=True)
class Rows:
    """A model that knows the counts of given rows exactly."""

    codes: np.ndarray
    sizes: tuple[int, ...]

    def marginals(self, wanted: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], np.ndarray]:
        return {clique: self.count(clique) for clique in wanted}

    def count(self, clique: tuple[int, ...]) -> np.ndarray:
        shape = tuple(self.sizes[column] for column in clique)
        cells = np.ravel_multi_index(self.codes[:, list(clique)].T, shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(float)


@dataclass(frozen=True)
class Case:
    """Rows as groups, with shares from the rows themselves."""

    groupings: tuple[Grouping, ...]
    codes: np.ndarray

    @property
    def coupling(self) -> WithinGroupDependence:
        return within_group_dependence(
            self.groupings, Rows(self.codes, tuple(grouping.size for grouping in self.groupings))
        )

    def values(self, coupling: WithinGroupDependence, rounding: bool = True, seed: int = 0) -> np.ndarray:
        """Columns of values; NaN where missing."""
        generator = np.random.default_rng(seed)
        places = coupling.places(self.codes, generator, rounding)
        found = values_in_groups(self.groupings, self.codes, generator, rounding, places)
        return np.array([np.where(missing, np.nan, data.astype(float)) for data, missing in found.values()])


def grouped(
    values: np.ndarray, groups: int, name: str = "x", missing: np.ndarray | None = None
) -> tuple[Grouping, np.ndarray]:
    """A column of numbers cut into equal fine cells and groups of about equal mass, and the group of every row."""
    absent = np.zeros(len(values), bool) if missing is None else missing
    column = Column(name, "number", bounds=(-6.0, 6.0), missing=missing is not None)
    fine = refined_column(column, np.linspace(-6, 6, CELLS + 1)[:-1])
    cells = np.clip(((values + 6) / 12 * CELLS).astype(int), 0, CELLS - 1)
    counts = np.bincount(cells[~absent], minlength=CELLS) + 1e-6
    numbers = np.minimum((np.cumsum(counts) - counts / 2) / counts.sum() * groups, groups - 1e-9).astype(int)
    numbers = np.unique(numbers, return_inverse=True)[1]
    shares = counts / np.bincount(numbers, counts)[numbers]
    codes = np.where(absent, numbers.max() + 1, numbers[cells])
    if missing is not None:
        numbers, shares = np.append(numbers, numbers.max() + 1), np.append(shares, 1.0)
    return Grouping(fine, numbers.astype(np.int32), shares, int(numbers.max()) + 1), codes


def case_of(columns: Sequence[np.ndarray], groups: int, missing: Sequence[np.ndarray | None] = ()) -> Case:
    absent = [*missing, *[None] * (len(columns) - len(missing))]
    parts = [grouped(values, groups, f"x{i}", absent[i]) for i, values in enumerate(columns)]
    return Case(tuple(grouping for grouping, _ in parts), np.column_stack([codes for _, codes in parts]))


def normal(correlations: np.ndarray, rows: int, seed: int) -> np.ndarray:
    deviations = np.random.default_rng(seed).normal(size=(rows, len(correlations)))
    return (deviations @ np.linalg.cholesky(correlations).T).T


def pair(r: float, rows: int = 20_000, seed: int = 0) -> np.ndarray:
    return normal(np.array([[1, r], [r, 1]]), rows, seed)


def counts_of(case: Case, coupling: WithinGroupDependence, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each coupled column how often each fine cell is drawn, and what its share says."""
    places = coupling.places(case.codes, np.random.default_rng(seed))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for number, inside in places.items():
        grouping, codes = case.groupings[number], case.codes[:, number]
        fine, _ = fine_cells_at(grouping, codes, inside)
        assert np.array_equal(grouping.groups[fine], codes)
        expected = grouping.shares * np.bincount(codes, minlength=grouping.size)[grouping.groups]
        found.append((np.bincount(fine, minlength=len(expected)), expected))
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("r", [-0.95, -0.8, -0.5, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("rounding", [True, False])
def test_a_normal_pair_regains_its_correlation_from_four_groups(r: float, rounding: bool):
    """n = 20,000 rows: the error of a correlation is at most 1 / sqrt(n) = .007, at alpha = 1e-6 4.9 times that, .035.

    The first-order formula for r overstates strong correlations, by .045 at most here. So .08 is allowed; columns that
    draw their places on their own are wrong by more than .09 in the same direction each time (the mutant).
    """
    case, truth = case_of(columns := pair(r), 4), float(np.corrcoef(columns)[0, 1])
    coupled, alone = (
        float(np.corrcoef(case.values(coupling, rounding))[0, 1])
        for coupling in (case.coupling, WithinGroupDependence())
    )
    assert abs(coupled - truth) < 0.08
    assert (truth - alone) * np.sign(r) > 0.09


@pytest.mark.statistical
def test_three_columns_regain_every_correlation():
    """A chain whose ends are tied through the middle, and one negative tie. n = 20,000, tolerance .08 as above."""
    truth = np.array([[1, 0.7, -0.5], [0.7, 1, -0.35], [-0.5, -0.35, 1.0]])
    case = case_of(normal(truth, 20_000, 3), 4)
    off = np.triu_indices(3, 1)
    assert case.coupling.columns == (0, 1, 2)
    assert np.abs(np.corrcoef(case.values(case.coupling)) - truth)[off].max() < 0.08
    assert np.abs(np.corrcoef(case.values(WithinGroupDependence())) - truth)[off].max() > 0.1


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(-0.99, 0.99), st.integers(1, 9), st.integers(2, 2000))
def test_coupling_changes_no_count(seed, r, groups, rows):
    case = case_of(pair(r, rows, seed), groups)
    for counts, expected in counts_of(case, case.coupling, seed):
        assert np.abs(counts - expected).max() < 1 + 1e-6


def test_values_are_coupled_inside_a_single_wide_cell():
    """Two groups of one fine cell each: only the place within the cell can carry the dependence."""
    columns = pair(0.8)
    codes = (columns > 0).T.astype(int)
    halves = [refined_column(Column(name, "number", bounds=(-6.0, 6.0)), np.array([-6.0, 0.0])) for name in "ab"]
    case = Case(tuple(Grouping(c, np.arange(2, dtype=np.int32), np.ones(2), 2) for c in halves), codes)
    inside = np.mod(case.values(case.coupling), 6.0)
    assert np.corrcoef(inside)[0, 1] > 0.3 > np.corrcoef(np.mod(case.values(WithinGroupDependence()), 6.0))[0, 1]


def test_missing_values_stay_missing_and_the_others_are_coupled():
    columns, absent = pair(0.9), np.random.default_rng(1).random(20_000) < 0.3
    case = case_of(columns, 4, [absent, None])
    values = case.values(case.coupling)
    assert np.array_equal(np.isnan(values[0]), absent)
    assert abs(np.corrcoef(values[:, ~absent])[0, 1] - 0.9) < 0.08
    for counts, expected in counts_of(case, case.coupling, 0):
        assert np.abs(counts - expected).max() < 1 + 1e-6
    alone = values[1, absent]
    assert abs(np.corrcoef(alone, columns[1, absent])[0, 1]) > 0.7, "groups are kept where the other column is missing"


def test_a_column_that_is_always_missing_is_left_alone():
    case = case_of(pair(0.9, 500), 4, [np.ones(500, bool), None])
    assert case.coupling.columns == ()
    assert np.isnan(case.values(case.coupling)[0]).all()


def test_atoms_come_back_exactly():
    """Half of the rows pile up on zero, which has a point cell and a group of its own."""
    columns = pair(0.9)
    fine = fine_column(Column("pile", "number", bounds=(0.0, 6.0)), 40)
    piled = np.maximum(columns[0], 0.0)
    cells = np.searchsorted(fine.starts, piled, "right") - 1
    groups = np.where(np.arange(fine.size) == 0, 0, 1 + (np.arange(fine.size) > 10)).astype(np.int32)
    counts = np.bincount(cells, minlength=fine.size) + 1e-6
    pile = Grouping(fine, groups, counts / np.bincount(groups, counts)[groups], 3)
    other, codes = grouped(columns[1], 4)
    case = Case((pile, other), np.column_stack([groups[cells], codes]))
    values = case.values(case.coupling)
    assert np.array_equal(values[0] == 0, piled == 0)
    truth = np.corrcoef(piled, columns[1])[0, 1]
    assert (
        abs(np.corrcoef(values)[0, 1] - truth) < 0.08 < truth - np.corrcoef(case.values(WithinGroupDependence()))[0, 1]
    )


def test_columns_without_order_are_not_coupled():
    case = case_of(pair(0.9, 500), 4)
    level = Column("level", "ordinal", values=(1, 2))
    plain = Grouping(level, np.arange(2, dtype=np.int32), np.ones(2), 2)
    mixed = Case((plain, *case.groupings), np.column_stack([case.codes[:, 0] > 1, case.codes]).astype(int))
    assert mixed.coupling.columns == (1, 2)
    assert set(mixed.coupling.places(mixed.codes, np.random.default_rng(0))) == {1, 2}


def test_independent_columns_are_not_coupled():
    assert case_of(pair(0.0, 5000), 4).coupling.columns == ()
    assert case_of(pair(0.9, 5000)[:1], 4).coupling.columns == ()


@pytest.mark.parametrize(
    "table",
    [np.zeros((2, 2)), np.array([[5.0, 5.0], [0, 0]]), np.array([[5.0, 0], [0, 0]]), np.full((2, 2), -1.0)],
    ids=["no rows", "one group", "one cell", "negative"],
)
def test_a_table_that_says_nothing_has_no_correlation(table: np.ndarray):
    assert correlation(table, np.array([-0.8, 0.8]), np.array([-0.8, 0.8])) == 0.0


def test_groups_without_mass_break_nothing():
    """The model may draw a row from a group to which it gives no mass, at the ends or in the middle."""
    case = case_of(pair(0.9, 2000), 4)
    coupling = case.coupling
    for empty in ([0], [3], [1, 2], [0, 1, 2]):
        counts = np.where(np.isin(np.arange(4), empty), 0.0, 10.0)
        quantiles = GroupQuantiles.of(case.groupings[0], counts)
        assert np.isfinite(quantiles.means).all()
        assert np.isfinite(quantiles.scores(case.codes[:, 0], 0.5)).all()
        drawn = quantiles.drawn(case.codes[:, 0], np.full(2000, 3.0), 0.1, np.full(2000, 0.5))
        assert np.isfinite(drawn).all()
    nothing = GroupQuantiles.of(case.groupings[0], np.zeros(4))
    assert nothing.low.tolist() == [0, 0.25, 0.5, 0.75] and coupling.columns == (0, 1)


def test_a_group_far_from_what_the_others_say_is_drawn_freely():
    quantiles = GroupQuantiles.of(case_of(pair(0.9, 2000), 4).groupings[0], np.ones(4))
    uniform = np.linspace(0.01, 0.99, 50)
    codes = np.zeros(50, int)
    far = quantiles.drawn(codes, np.full(50, 8.0), 0.1, uniform)
    assert np.array_equal(far, quantiles.scores(codes, uniform))
    near = quantiles.drawn(codes, np.full(50, -1.0), 0.1, uniform)
    assert np.abs(near + 1.0).max() < 0.3 and not np.allclose(near, far)


def test_pairs_that_no_law_has_together_are_brought_to_one():
    """x with y and y with z at .99, but x against z: no such law exists, and rows are drawn all the same."""

    class Contradiction:
        def marginals(self, wanted: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], np.ndarray]:
            same = np.array([[50.0, 0.0], [0.0, 50.0]])
            tables = {(0, 1): same, (1, 2): same, (0, 2): same[::-1]}
            return {clique: tables.get(clique, np.array([50.0, 50.0])) for clique in wanted}

    groupings = case_of(np.abs(normal(np.eye(3), 500, 0)), 2).groupings
    coupling = within_group_dependence(groupings, Contradiction())
    assert coupling.columns == (0, 1, 2)
    assert all(np.isfinite(link.deviation) and link.deviation > 0.05 for link in coupling.links)
    places = coupling.places(np.random.default_rng(0).integers(0, 2, (300, 3)), np.random.default_rng(0))
    assert all(((inside >= 0) & (inside < 1)).all() for inside in places.values())


def test_no_rows_have_no_places():
    case = case_of(pair(0.9, 500), 4)
    places = case.coupling.places(np.zeros((0, 2), int), np.random.default_rng(0))
    assert [len(inside) for inside in places.values()] == [0, 0]
