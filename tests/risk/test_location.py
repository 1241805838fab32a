"""Interval disclosure: its definition, the exact blend, the paper's bound and by how much matching breaks it."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato
from sfumato.errors import RiskError
from sfumato.papers.two_stage import match, synthesise_inputs
from sfumato.papers.two_stage.published.disclosure_bounds import (
    blend_for,
    blended,
    corrected_inverse,
    printed_inverse,
    published_bound,
)
from sfumato.risk.interval_disclosure import interval_disclosure, location_risk, row_linkage
from sfumato.schema import Schema
from sfumato.schema.column import Column
from statistical.laws import ALPHA

TOLERANCE = 0.001
ROWS = 1000
SEEDS = 3
GREEDY = {
    1: (77.4, 194, 66.0, 98, (0.51, 0.93)),
    2: (15.7, 20, 8.7, 67, (0.58, 0.93)),
    3: (9.0, 7.6, 4.2, 37, (0.71, 0.97)),
    5: (7.3, 3.7, 4.3, 19, (0.85, 0.99)),
}
"""Checked maths, by columns: LID % at alpha .5, times the bound, LID % at alpha 0, LID % where the corrected inverse
is asked for 5 %, linkage top 1 and top 10 at alpha .5. Uniform rows, n = 1000, greedy matching."""


def matched(columns: int, seed: int, matching: str = "greedy", rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Uniform rows and the Latin hypercube rows that they are matched to."""
    generator = np.random.default_rng([seed, columns])
    original = generator.random((rows, columns))
    synthetic = synthesise_inputs("lhs", original, rows, generator)
    return original, synthetic[match(original, synthetic, matching, generator)]


def lid(original: np.ndarray, paired: np.ndarray, alpha: float) -> float:
    return interval_disclosure(original, blended(original, paired, alpha), TOLERANCE).share


@pytest.mark.parametrize("columns", GREEDY)
def test_matching_breaks_the_published_bound(columns):
    """Seeds 0 to 2. Means over seeds lie within the stated ranges of the checked values."""
    percent, ratio, floor, asked, linkage = GREEDY[columns]
    pairs = [matched(columns, seed) for seed in range(SEEDS)]
    found = 100 * np.mean([lid(*pair, 0.5) for pair in pairs])
    assert found == pytest.approx(percent, rel=0.1, abs=1.5)
    assert found / (100 * published_bound(0.5, columns, TOLERANCE)) == pytest.approx(ratio, rel=0.25)
    assert 100 * np.mean([lid(*pair, 0.0) for pair in pairs]) == pytest.approx(floor, rel=0.1, abs=1.5)
    corrected = corrected_inverse(0.05, columns, TOLERANCE)
    assert 100 * np.mean([lid(*pair, corrected) for pair in pairs]) == pytest.approx(asked, abs=4)
    rates = [row_linkage(x, blended(x, s, 0.5)) for x, s in pairs]
    assert [np.mean([rate[top] for rate in rates]) for top in (1, 10)] == pytest.approx(linkage, abs=0.04)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_other_matchings_break_it_as_well(alpha):
    for matching in ("rounds", "optimal"):
        assert lid(*matched(3, 0, matching), alpha) > 5 * published_bound(alpha, 3, TOLERANCE)


@pytest.mark.statistical
def test_the_bound_holds_for_random_pairs_and_not_for_matched_ones():
    """Binomial test, alpha 1e-6, n = 1000 rows in 5 columns; the mutant (matched rows) must be refused."""
    bound = published_bound(0.5, 5, TOLERANCE)
    counts = [round(ROWS * lid(*matched(5, 7, how), 0.5)) for how in ("random", "rounds")]
    fits = [stats.binom.sf(count - 1, ROWS, bound) > ALPHA for count in counts]
    assert fits == [True, False]


def test_linkage_rises_with_columns_while_disclosure_falls():
    pairs = [matched(columns, 0) for columns in (1, 5)]
    linkage = [row_linkage(x, blended(x, s, 0.5))[1] for x, s in pairs]
    assert linkage[1] > linkage[0] + 0.25 and lid(*pairs[1], 0.5) < lid(*pairs[0], 0.5) - 0.6


def test_linkage_of_the_simulated_table():
    """Checked maths at alpha .2, .5, .8: .41/.76, .54/.88, .81/.99. n = 1000, seeds 0 to 2, noise of x3 .1."""
    rates = []
    for seed in range(SEEDS):
        generator = np.random.default_rng(seed)
        two = generator.random((ROWS, 2))
        x = np.column_stack([two, (two**2).sum(axis=1) + 0.1 * generator.normal(size=ROWS)])
        s = synthesise_inputs("lhs", x, ROWS, generator)
        s = s[match(x, s, "greedy", generator)]
        rates.append([list(row_linkage(x, blended(x, s, alpha)).values()) for alpha in (0.2, 0.5, 0.8)])
    assert np.mean(rates, axis=0) == pytest.approx(np.array([[0.41, 0.76], [0.54, 0.88], [0.81, 0.99]]), abs=0.04)


def test_the_printed_formula_exceeds_one_and_the_corrected_one_inverts_the_bound():
    assert printed_inverse(0.05, 3, 0.001) == pytest.approx(1.012, abs=5e-4)
    for columns, width in ((1, 1.0), (3, 1.0), (5, 4.0)):
        alpha = corrected_inverse(0.05, columns, 0.001, width)
        assert published_bound(alpha, columns, 0.001, width) == pytest.approx(0.05, rel=1e-9)
    assert published_bound(1.0, 2, 0.001) == 1.0 and corrected_inverse(0.0, 2, 0.001) == -np.inf


def test_disclosure_needs_alignment():
    """The verbatim table, shuffled: nearly nothing aligned, everything by the nearest row."""
    generator = np.random.default_rng(3)
    x = generator.random((ROWS, 3))
    shuffled = x[generator.permutation(ROWS)]
    assert interval_disclosure(x, shuffled, TOLERANCE).share < 0.02
    found = interval_disclosure(x, shuffled, TOLERANCE, aligned=False)
    assert (found.share, found.aligned, float(found)) == (1.0, False, 1.0)
    assert interval_disclosure(x, x + 2.01 * TOLERANCE, TOLERANCE).share == 0
    one = np.column_stack([x[:, 0], x[:, 1:] + 1])
    assert interval_disclosure(x, one, TOLERANCE).by_column.tolist() == [1, 0, 0]


def brute_force(max_lid: float, original: np.ndarray, paired: np.ndarray, tolerance: np.ndarray) -> float | None:
    """Measure between every two alphas at which a row becomes disclosed; return the end of the last good stretch."""
    distance = np.abs(original - paired)
    ratios = np.divide(tolerance, distance, where=distance > 0, out=np.full_like(distance, np.inf))
    edges = 1 - ratios.max(axis=1)
    ends = np.unique(np.concatenate([[0.0], edges[edges > 0], [1.0]]))
    good = [
        high
        for low, high in itertools.pairwise(ends)
        if interval_disclosure(original, blended(original, paired, (low + high) / 2), tolerance).share
        <= max_lid + 1e-12
    ]
    return max(good) if good else None


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    target=st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.9, 0.95]),
    scale=st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_the_exact_blend_is_that_of_brute_force(seed, target, scale):
    generator = np.random.default_rng(seed)
    x, s = scale * generator.random((40, 2)), scale * generator.random((40, 2))
    tolerance = scale * np.array([0.01, 0.03])
    best = brute_force(target, x, s, tolerance)
    if best is None:
        with pytest.raises(RiskError, match="no blend"):
            blend_for(target, x, s, tolerance)
        return
    chosen = blend_for(target, x, s, tolerance)
    assert chosen.alpha == pytest.approx(best, abs=1e-9)
    assert chosen.share == interval_disclosure(x, blended(x, s, chosen.alpha), tolerance).share <= target + 1e-12


def rounded(rows: np.ndarray) -> np.ndarray:
    """Whole numbers in the first column, bounds 0 and 12 in both, as a table with an integer column has them."""
    return np.column_stack([np.rint(rows[:, 0]), rows[:, 1]]).clip(0, 12)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    target=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]),
    tolerance=st.sampled_from([(0.01, 0.01), (1.0, 0.2), (1.7, 1e-6)]),
)
def test_the_blend_of_rounded_rows_is_that_of_a_scan_over_every_step(seed, target, tolerance):
    """A whole value changes where the blend passes a half: all alphas at which a row may jump are tried."""
    generator = np.random.default_rng(seed)
    x = rounded(generator.uniform(0, 12, (25, 2)))
    s = x + generator.normal(0, 3, (25, 2))
    shares = [*(lid_of(x, s, alpha, tolerance) for alpha in (0.0, 1.0))]
    if shares[0] > target + 1e-12:
        with pytest.raises(RiskError, match=rf"{100 * shares[0]:.2f} % at alpha 0"):
            blend_for(target, x, s, tolerance, rounded)
        return
    chosen = blend_for(target, x, s, tolerance, rounded)
    assert chosen.share == lid_of(x, s, chosen.alpha, tolerance) <= target + 1e-12
    assert chosen.floor == shares[0]
    later = [alpha for alpha in steps(x, s, tolerance) if alpha > chosen.alpha + 1e-9]
    assert all(lid_of(x, s, alpha, tolerance) > target + 1e-12 for alpha in later)
    assert chosen.alpha == 1.0 or later


def lid_of(x: np.ndarray, s: np.ndarray, alpha: float, tolerance: tuple[float, float]) -> float:
    return interval_disclosure(x, rounded(blended(x, s, alpha)), tolerance).share


def steps(x: np.ndarray, s: np.ndarray, tolerance: tuple[float, float]) -> list[float]:
    """Return one alpha between every two at which a value may come within its tolerance, and 1."""
    gaps = np.abs(x - s)
    reach = np.concatenate([np.arange(0.5, 13), [tolerance[1]]])
    edges = np.unique(np.clip(1 - reach / gaps.ravel()[:, None], 0, 1))
    return [*(edges[1:] + edges[:-1]) / 2, 1.0]


def test_a_target_of_everything_gives_the_table_itself_and_an_impossible_one_says_the_floor():
    x, s = matched(1, 0)
    assert blend_for(1.0, x, s, TOLERANCE).alpha == 1.0
    floor = lid(x, s, 0.0)
    with pytest.raises(RiskError, match=rf"{100 * floor:.2f} % at alpha 0 already") as refused:
        blend_for(0.05, x, s, TOLERANCE)
    assert "matching='random'" in refused.value.next_step
    assert blend_for(floor, x, s, TOLERANCE).share == floor


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan, np.inf, [0.1, 0.1], [0.1, 0.0, 0.1]])
def test_bad_tolerances_are_refused(tolerance):
    with pytest.raises(RiskError, match="tolerance must be"):
        interval_disclosure(np.ones((4, 3)), np.ones((4, 3)), tolerance)


def test_bad_rows_are_refused_with_all_problems():
    with pytest.raises(RiskError) as refused:
        interval_disclosure([[np.nan, 1.0]], [[np.inf, np.inf]], 0.1)
    assert len(refused.value.problems) == 2
    for call in (
        lambda: interval_disclosure(np.ones((4, 3)), np.ones((5, 3)), 0.1),
        lambda: interval_disclosure(np.ones((4, 3)), np.ones((5, 2)), 0.1, aligned=False),
        lambda: blend_for(1.5, np.ones((4, 3)), np.ones((4, 3)), 0.1),
        lambda: row_linkage(np.ones((4, 3)), np.ones((4, 3)), (0,)),
        lambda: published_bound(1.5, 3, 0.1),
        lambda: published_bound(0.5, 0, 0.1),
        lambda: printed_inverse(0.0, 3, 0.1),
    ):
        with pytest.raises(RiskError):
            call()


def test_location_is_found_in_the_package():
    assert sfumato.risk.interval_disclosure.interval_disclosure is interval_disclosure


SCHEMA = Schema(
    name="cube",
    columns=(
        Column("a", "number", bounds=(0.0, 1.0)),
        Column("b", "number", bounds=(0.0, 1.0)),
        Column("c", "boolean"),
    ),
)


def cube(rows: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    a, b = generator.random((2, rows))
    return pd.DataFrame({"a": a, "b": b, "c": generator.random(rows) < 0.5})


def test_a_shuffled_copy_is_seen_and_other_rows_are_not():
    """Row by row a shuffled copy looks private; by the nearest row it is a copy."""
    table = cube(300, 1)
    copied = location_risk(table, table.sample(frac=1, random_state=1), SCHEMA, control=cube(300, 3), seed=1)
    assert copied.columns == ("a", "b") and copied.released.every_value == copied.released.any_value == 1.0
    assert copied.released.distance == 0 < copied.others.distance and copied.membership_auc > 0.99
    assert "follow single rows" in copied.statement()
    fresh = location_risk(table, cube(300, 2), SCHEMA, control=cube(300, 3), seed=1)
    assert abs(fresh.released.any_value - fresh.others.any_value) < 0.05 and fresh.in_order is None
    assert abs(fresh.membership_auc - 0.5) < 0.1 and "follow single rows" not in fresh.statement()


def test_the_nearest_other_person_is_never_the_person():
    table = pd.DataFrame({"a": [0.1, 0.1, 0.5, 0.9], "b": [0.2, 0.2, 0.5, 0.9], "c": [True, False, True, False]})
    found = location_risk(table, table, SCHEMA, tolerance=0.01)
    assert found.others.every_value == 0.5  # the two who are equal, to each other


def test_row_by_row_only_where_somebody_vouches_for_the_order():
    table = cube(200, 1)
    moved = table.assign(a=(table["a"] + 0.0005).clip(0, 1), b=(table["b"] * 0.5))
    found = location_risk(table, moved, SCHEMA, same_order=True, seed=1).in_order
    assert found.lid == 1.0 and found.dealt_anew < 0.1 and found.linked_top_10 > 0.05
    dealt = location_risk(table, moved.sample(frac=1, random_state=2), SCHEMA, same_order=True, seed=1)
    assert dealt.in_order.lid < 0.1
    with pytest.raises(RiskError, match="same order"):
        location_risk(table, moved[:100], SCHEMA, same_order=True)


def test_location_names_what_it_cannot_compare():
    with pytest.raises(RiskError, match="numbers or dates") as caught:
        location_risk(cube(10, 1), cube(10, 2), SCHEMA, ("c", "d"))
    assert len(caught.value.problems) == 2
    with pytest.raises(RiskError, match="share of each"):
        location_risk(cube(10, 1), cube(10, 2), SCHEMA, tolerance=2.0)
    with pytest.raises(RiskError, match="no schema"):
        location_risk(cube(10, 1), cube(10, 2))
