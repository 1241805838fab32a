"""Algorithm 1 as printed: its steps, their errors by number, and the proof by example that no epsilon holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import PlanError, TableError
from sfumato.metrics.clusters import aligned_ari, kmeans, standardise, transfer_ari
from sfumato.papers.kmeans_geometry.published.algorithm import (
    LABEL,
    REFLECTIONS,
    ColumnBounds,
    PublishedGeometry,
    coordinate_noise,
    fold,
    in_balls,
    nonprivate_geometry,
    published_geometry,
    reflect,
    reflection_failure,
    round_randomly,
)
from sfumato.papers.kmeans_geometry.sensitivity import ceiling, failures, label_flip_example, outlier_example
from sfumato.papers.kmeans_geometry.simulation import BOUNDS, CLUSTERS, HIGH, LOW, illustrative_rows, recovered
from statistical.laws import ALPHA

ROWS = illustrative_rows()
FAILURES = {
    0.1: (0.877, 1.000),
    0.5: (0.521, 0.947),
    1.0: (0.273, 0.721),
    1.6: (0.127, 0.420),
    2.5: (0.041, 0.156),
    5.0: (0.002, 0.008),
}
"""Of the checked maths: one centroid outside after one reflection, and at least one of four."""


def run(epsilon: float, seed: int = 0, rows: np.ndarray = ROWS, **choices) -> PublishedGeometry:
    generator = np.random.default_rng([seed, round(1e6 * min(epsilon, 1e6))])
    return published_geometry(rows, CLUSTERS, epsilon, BOUNDS, generator, starts=3, **choices)


def simulated(epsilon: float, draws: int, reflection: str = "single") -> tuple[int, int]:
    """Return failures of draws x 4 centroids, and of draws."""
    made = run(1.6)
    low, high = made.standard.low[:1], made.standard.high[:1]
    noise = np.random.default_rng(1).laplace(0, 2 * made.delta / epsilon, (draws, CLUSTERS))
    placed = reflect(made.true_centroids[:, 0] + noise, low, high, reflection)
    outside = (placed < low) | (placed > high)
    return int(outside.sum()), int(outside.any(axis=1).sum())


def agrees(count: int, n: int, chance: float) -> bool:
    """Whether a count is inside the two-sided region of level ALPHA.

    Four centroids of one draw differ in their chances, which only makes the count's variance smaller.
    """
    return stats.binom.ppf(ALPHA / 2, n, chance) <= count <= stats.binom.isf(ALPHA / 2, n, chance)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", FAILURES)
def test_reflection_fails_as_often_as_the_formula_says(epsilon):
    """alpha 1e-6, n = 20,000 runs of four centroids."""
    draws = 20_000
    (each, some), (one, any_of_four) = failures(run(1.6), epsilon), simulated(epsilon, draws)
    assert agrees(one, 4 * draws, each) and agrees(any_of_four, draws, some)
    assert (each, some) == pytest.approx(FAILURES[epsilon], abs=0.005)


@pytest.mark.statistical
def test_the_two_readings_are_told_apart():
    """The mutant: failures of two successive ifs do not pass for those of one reflection, and the other way round."""
    draws, made = 20_000, run(1.6)
    (one, _), (two, _) = simulated(1.6, draws), simulated(1.6, draws, "successive")
    single, successive = failures(made, 1.6)[0], failures(made, 1.6, successive=True)[0]
    assert agrees(two, 4 * draws, successive) and successive == pytest.approx(0.080, abs=0.005)
    assert not agrees(two, 4 * draws, single) and not agrees(one, 4 * draws, successive)
    assert simulated(0.1, draws, "fold") == (0, 0)


def test_published_runs_are_infeasible_as_often():
    found = np.array([run(1.6, seed).infeasible_share for seed in range(200)])
    assert found.mean() == pytest.approx(0.127, abs=0.05) and (found > 0).mean() == pytest.approx(0.42, abs=0.12)
    assert all(run(0.1, seed, reflection="fold").infeasible_share == 0 for seed in range(20))


def test_reflection_failure_of_folding_is_none():
    assert reflection_failure([0.3], 0, 1, 5.0, "fold").tolist() == [0]


@given(st.floats(-1e6, 1e6), st.floats(-100, 100), st.floats(0.01, 100))
def test_folding_ends_inside_and_is_one_reflection_where_that_is_enough(value, low, width):
    high = low + width
    v, a, b = (np.array([x]) for x in (value, low, high))
    inside = fold(v, a, b)
    assert a <= inside <= b
    once = reflect(v, a, b, "single")
    if a <= once <= b:
        assert inside == pytest.approx(once, abs=1e-8 * (1 + abs(value)))
    assert fold(inside, a, b) == pytest.approx(inside, abs=1e-9 * (1 + width))


def test_bounds_may_be_missing_on_either_side():
    v = np.array([-5.0, 5.0, 3.0])
    low, high = np.array([0.0, -np.inf, -np.inf]), np.array([np.inf, 2.0, np.inf])
    for way in REFLECTIONS:
        assert reflect(v, low, high, way).tolist() == [5, -1, 3]


@pytest.mark.statistical
def test_rounding_has_the_bias_of_the_paper_and_can_be_without():
    """alpha 1e-6, n = 200,000: up with 1/2 whatever the fraction, or with the fraction."""
    n, generator = 200_000, np.random.default_rng(2)
    for fraction in (0.1, 0.4, 0.9):
        ups = {
            way: int((round_randomly(np.full(n, 3 + fraction), way, generator) == 4).sum())
            for way in ("published", "unbiased")
        }
        assert agrees(ups["published"], n, 0.5) and agrees(ups["unbiased"], n, fraction)
        assert not agrees(ups["published"], n, fraction) and not agrees(ups["unbiased"], n, 0.5)


def test_rounding_errors_of_the_note():
    generator = np.random.default_rng(3)
    even, skewed = generator.random(400_000), generator.exponential(0.3, 400_000)
    squares = [((round_randomly(even, way, generator) - even) ** 2).mean() for way in ("published", "unbiased")]
    means = [round_randomly(skewed, way, generator).mean() for way in ("published", "unbiased")]
    assert squares == pytest.approx([1 / 3, 1 / 6], abs=0.003) and means == pytest.approx([0.538, 0.300], abs=0.006)
    assert np.rint(skewed).mean() == pytest.approx(0.196, abs=0.006)


@pytest.mark.statistical
def test_points_fill_the_ball_evenly():
    """alpha 1e-6, n = 20,000: the share inside radius s is s^d, and no direction is preferred."""
    n = 20_000
    for d in (1, 2, 5):
        points = in_balls(np.zeros((n, d)), np.ones(n), np.random.default_rng(d))
        length = np.linalg.norm(points, axis=1)
        assert stats.kstest(length**d, "uniform").pvalue > ALPHA
        assert stats.kstest(length, "uniform").pvalue < ALPHA or d == 1
        assert agrees(int((points[:, 0] > 0).sum()), n, 0.5)


@pytest.mark.statistical
def test_noise_is_laplace_of_twice_delta_over_epsilon():
    """alpha 1e-6, n = 800 centroid coordinates and 4,000 radii; half the scale is refused."""
    made = [run(1.6, seed) for seed in range(100)]
    scale = 2 * made[0].delta / 1.6
    assert made[0].noise_scale == pytest.approx(scale)
    noise = np.concatenate([(each.noisy_centroids - each.true_centroids).ravel() for each in made])
    assert stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue > ALPHA
    assert stats.kstest(noise, stats.laplace(scale=scale / 2).cdf).pvalue < ALPHA
    moved = np.concatenate([each.radii - each.true_radii for each in made[:10]])
    kept = moved[np.concatenate([each.radii > 0 for each in made[:10]])]
    upper = kept[kept > 0]
    assert stats.kstest(upper, stats.expon(scale=scale).cdf).pvalue > ALPHA


def test_the_illustrative_rows_are_like_the_paper_s():
    made = run(1.6)
    assert made.delta == pytest.approx(2.71, abs=0.01) and made.true_radii.mean() == pytest.approx(0.35, abs=0.01)
    assert made.standard.high[0] - made.standard.low[0] == pytest.approx(4.75, abs=0.03)
    assert np.mean([run(1.6, seed).clamped_share for seed in range(30)]) == pytest.approx(0.45, abs=0.02)


def test_every_step_is_as_printed():
    made = run(1.6, 5)
    z = standardise(ROWS)(ROWS)
    assert made.standard.forward(ROWS) == pytest.approx(z)
    assert (np.bincount(made.labels) >= 99).all()
    assert made.true_radii == pytest.approx(np.linalg.norm(z - made.true_centroids[made.labels], axis=1))
    assert (made.radii >= 0).all() and (made.points[:, 0] >= made.standard.low[0]).all()
    still = made.radii == 0
    inside = np.clip(made.centroids[made.labels], made.standard.low, made.standard.high)
    assert made.points[still] == pytest.approx(inside[still])
    assert np.abs(made.rows - made.standard.back(made.points))[:, 1].max() <= 1
    assert (
        made.rows[:, 1] == np.rint(made.rows[:, 1])
    ).all() and made.label == LABEL == "heuristic: no differential privacy"


def test_a_seed_repeats_and_rows_are_aligned():
    first, second = run(1.6, 7), run(1.6, 7)
    assert (first.rows == second.rows).all() and not (first.rows == run(1.6, 8).rows).all()
    near = nonprivate_geometry(ROWS, CLUSTERS, BOUNDS, np.random.default_rng(1))
    assert near.noise_scale == 0 and (near.centroids == near.true_centroids).all() and near.clamped_share == 0
    assert np.corrcoef(ROWS[:, 0], near.rows[:, 0])[0, 1] > 0.9


def test_baselines_of_table_2():
    labels = kmeans(standardise(ROWS)(ROWS), CLUSTERS, 0).labels
    found: dict[str, list[float]] = {"plain": [], "coordinate": []}
    for seed in range(25):
        plain = nonprivate_geometry(ROWS, CLUSTERS, BOUNDS, np.random.default_rng(seed), starts=3).rows
        noisy = coordinate_noise(ROWS, CLUSTERS, 1.6, BOUNDS, np.random.default_rng(seed), starts=3)
        found["plain"].append(aligned_ari(ROWS, plain, CLUSTERS, labels=labels))
        found["coordinate"].append(aligned_ari(ROWS, noisy, CLUSTERS, labels=labels))
        assert noisy[:, 0].min() >= LOW[0] and noisy[:, 0].max() <= HIGH[0] and (noisy[:, 1] % 1 == 0).all()
    assert np.mean(found["plain"]) > 0.985 and 0.06 < np.mean(found["coordinate"]) < 0.13


def indices(epsilon: float, runs: int) -> np.ndarray:
    """Return aligned and transfer index, one row a run."""
    labels = kmeans(standardise(ROWS)(ROWS), CLUSTERS, 0).labels
    made = [(seed, run(epsilon, seed).rows) for seed in range(runs)]
    return np.array(
        [
            [index(ROWS, rows, CLUSTERS, seed=seed, labels=labels) for index in (aligned_ari, transfer_ari)]
            for seed, rows in made
        ]
    )


@pytest.mark.parametrize(
    ("epsilon", "aligned", "transfer"), [(0.001, 0.55, 0.0), (0.5, 0.55, 0.06), (1.6, 0.59, 0.26), (5.0, 0.76, 0.56)]
)
def test_the_aligned_index_stays_while_the_transfer_index_goes_to_zero(epsilon, aligned, transfer):
    """Means of 40 runs; their standard errors are below .03."""
    found = indices(epsilon, 40).mean(axis=0)
    assert found[0] == pytest.approx(aligned, abs=0.1)
    assert found[1] == pytest.approx(transfer, abs=0.005 if epsilon == 0.001 else 0.1)


def test_one_record_turns_k_means_round():
    found = label_flip_example()
    assert found.delta == pytest.approx(1.95, abs=0.06) and found.centroids == pytest.approx(3.9, abs=0.15)
    assert found.radii == pytest.approx(126.7, rel=0.08) and found.log_ratio == pytest.approx(52, abs=2)
    assert found.centroids > 1.9 * found.delta and found.log_ratio > 30 * 1.6


def test_one_outlier_takes_delta_and_the_unit_along():
    found = outlier_example(ROWS)
    assert found.delta == pytest.approx((2.7, 19.6), abs=0.3) and found.sd == pytest.approx((5.1, 20.6), abs=0.1)


def test_ceilings_of_the_note():
    assert [ceiling(e) for e in (0.01, 0.5, 1.6)] == pytest.approx([0.252, 0.355, 0.623], abs=5e-4)
    assert [ceiling(e, replace=False) for e in (0.1, 1.0, 2.5)] == pytest.approx([0.289, 0.711, 0.980], abs=5e-4)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "golden", "runs"), [(0.1, 0.59, 60), (0.5, 0.66, 60), (1.0, 0.76, 400)])
def test_more_labels_are_recovered_than_any_private_mechanism_allows(epsilon, golden, runs):
    """A one-sided t bound of level 1e-6 over independent runs lies above the ceiling of epsilon-DP, add or remove.

    The mutant: the same runs with the labels shuffled lie below it, so that it is the labels that leak.
    """
    made = [run(epsilon, seed) for seed in range(runs)]
    told = np.array([recovered(each) for each in made])
    reach = stats.t.isf(ALPHA, runs - 1) * told.std(ddof=1) / math.sqrt(runs)
    assert told.mean() - reach > ceiling(epsilon, replace=False)
    assert told.mean() == pytest.approx(golden, abs=0.06)
    gaps = [np.linalg.norm(each.points[:, None] - each.centroids[None], axis=2).argmin(axis=1) for each in made[:30]]
    mixed = [
        (gap == np.random.default_rng(0).permutation(each.labels)).mean() for gap, each in zip(gaps, made, strict=False)
    ]
    assert np.mean(mixed) < ceiling(epsilon)


tables = st.tuples(st.integers(6, 30), st.integers(1, 4), st.integers(0, 10_000))


@settings(max_examples=40)
@given(
    tables,
    st.sampled_from(REFLECTIONS),
    st.sampled_from(("published", "unbiased")),
    st.sampled_from((0.001, 0.5, 3.0, math.inf)),
)
def test_bounds_and_whole_numbers_hold_in_every_row(shape, reflection, rounding, epsilon):
    n, d, seed = shape
    generator = np.random.default_rng(seed)
    discrete = generator.random(d) < 0.5
    rows = np.where(discrete, generator.integers(0, 9, (n, d)), generator.uniform(0, 9, (n, d)))
    rows[0], rows[1] = 0, 9
    low, high = np.where(generator.random(d) < 0.3, -np.inf, -0.5), np.where(generator.random(d) < 0.3, np.inf, 9.5)
    made = published_geometry(
        rows,
        2,
        epsilon,
        ColumnBounds.of(low, high, discrete),
        generator,
        reflection=reflection,
        whole_numbers=rounding,
        starts=1,
    )
    assert made.rows.shape == rows.shape and np.isfinite(made.rows).all()
    assert (made.rows >= low).all() and (made.rows <= high).all()
    assert (made.rows[:, discrete] == np.rint(made.rows[:, discrete])).all()


@pytest.mark.parametrize(
    ("rows", "bounds", "problem"),
    [
        ([[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]], None, "column 0: the same value"),
        ([[1.0], [2.0], [3.0]], ColumnBounds.of([2.0], [5.0]), "1 values outside"),
        ([[1.0], [2.0], [3.0]], ColumnBounds.of([5.0], [2.0]), "no room"),
        ([[1.0], [2.0], [3.0]], ColumnBounds.of([0.2], [0.8], [True]), "no room"),
        ([[1.0], [2.0], [3.0]], ColumnBounds.of([0.0, 1.0], [5.0]), "low: shape"),
        ([[1.0], [1.0], [np.inf]], None, "infinite"),
        ([[1.0]], None, "1 rows for 2 clusters"),
    ],
)
def test_bad_rows_are_named_errors(rows, bounds, problem):
    for method in (published_geometry, coordinate_noise):
        with pytest.raises(TableError, match=problem):
            method(rows, 2, 1.0, bounds, np.random.default_rng(1))


def test_all_problems_are_listed_at_once():
    with pytest.raises(PlanError) as caught:
        published_geometry([[1.0], [2.0]], 2, 0, None, np.random.default_rng(1), reflection="twice", whole_numbers="up")
    assert len(caught.value.problems) == 3
    with pytest.raises(PlanError, match="clusters"):
        published_geometry([[1.0], [2.0]], 1, 1, None, np.random.default_rng(1))
    with pytest.raises(TableError, match="2 distinct rows for 3 clusters"):
        published_geometry([[1.0], [2.0], [2.0]], 3, 1, None, np.random.default_rng(1))
