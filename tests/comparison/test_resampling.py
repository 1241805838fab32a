"""The yardstick is what a fresh sample has, and the interval of a measure is as wide as releases vary."""

from __future__ import annotations

import numpy as np

from comparison.people import people, schema
from sfumato.evaluate.compare.run import read_points
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout
from sfumato.metrics.distances import distances
from sfumato.metrics.second_sample import half_widths, random_groups, second_sample

ROWS = 400
TABLES = 8
FRESH = 3
NEAR = 0.15
"""The mean over tables and samples has a standard error of 4 %, the yardstick is 5 % too large: alpha is 0.01."""


def sides(first: int, fresh: int = FRESH) -> tuple[ComparisonLayout, BinnedRows, list[BinnedRows]]:
    """Return a table and fresh samples of its population."""
    facts = schema()
    points = [read_points(people(100 * first + i, ROWS), facts, facts.names, "t") for i in range(fresh + 1)]
    layout = ComparisonLayout.of(facts, tuple(facts), points[-1], points[0])
    made = [layout.side(each) for each in points]
    return layout, made[0], made[1:]


def test_the_yardstick_is_what_fresh_samples_have_and_a_bootstrap_is_not() -> None:
    """8 tables of 400 rows with 3 fresh samples each. The mutant, a bootstrap of the table, is too near."""
    generator = np.random.default_rng(1)
    found: dict[str, list[tuple[float, float, float]]] = {"tvd_1_q16": [], "tvd_2_q16": [], "tvd_3_q16": []}
    for first in range(TABLES):
        layout, true, fresh = sides(first)
        second = second_sample(layout, true, ROWS, seed=first)
        measured = [distances(layout, true, each).values for each in fresh]
        drawn = distances(layout, true, true[generator.integers(ROWS, size=ROWS)]).values
        for name, rows in found.items():
            rows.append((second.mean[name], float(np.mean([each[name] for each in measured])), drawn[name]))
    for name, rows in found.items():
        yardstick, truth, bootstrap = np.mean(rows, axis=0)
        assert abs(yardstick / truth - 1) < NEAR, name
        assert bootstrap / truth < 1 - NEAR, name


def test_a_larger_release_has_a_nearer_yardstick() -> None:
    layout, true, _ = sides(0, fresh=0)
    small, large = (second_sample(layout, true, rows, seed=0) for rows in (100, 10_000))
    assert small.mean["tvd_1_q16"] > 1.5 * large.mean["tvd_1_q16"] > 0
    assert small.own == large.own


def test_intervals_are_as_wide_as_fresh_releases_vary() -> None:
    """12 releases that are fresh samples: the half width is 1 to 5 of their standard deviations, 2 where all is normal.

    The interval also holds what the table itself varies by, so that it is wider than the releases alone vary.
    """
    layout, true, fresh = sides(9, fresh=12)
    measured = [distances(layout, true, each).values for each in fresh]
    widths = half_widths(layout, true, fresh[0], seed=2)
    for name in ("tvd_1_q16", "tvd_2_q16", "mean_error_sd"):
        assert 1 < widths[name] / np.std([each[name] for each in measured]) < 5, name


def test_groups_of_equal_length_are_equal() -> None:
    assert np.array_equal(random_groups(50, 3), random_groups(50, 3))
    assert np.bincount(random_groups(50, 3).astype(int)).max() == 3
