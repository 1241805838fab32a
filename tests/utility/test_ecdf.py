"""ECDF utility against brute force, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import PlanError, TableError
from sfumato.evaluate.column_copies import ColumnCopies, MeanOverCopies, compare_column_copies
from sfumato.metrics.distances import ecdf_max, ecdf_msq

few = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)


def brute(first: list[float], second: list[float]) -> list[float]:
    """Straight from the definition: both functions at every pooled value."""

    def below(values: list[float], at: float) -> float:
        return sum(v <= at for v in values) / len(values)

    return [below(first, at) - below(second, at) for at in [*first, *second]]


@settings(max_examples=200)
@given(few, few)
def test_both_differences_are_those_of_the_definition(first, second):
    gaps = np.array(brute(first, second))
    assert ecdf_max(first, second) == pytest.approx(np.abs(gaps).max(), abs=1e-12)
    assert ecdf_msq(first, second) == pytest.approx((gaps**2).mean(), abs=1e-12)


@settings(max_examples=100)
@given(few, few)
def test_differences_do_not_depend_on_the_unit_or_the_order(first, second):
    assert ecdf_max(first, second) == ecdf_max([7 * v for v in reversed(first)], [7 * v for v in second])
    assert ecdf_msq(first, second) == pytest.approx(ecdf_msq(second, first), abs=1e-15)
    assert ecdf_max(first, first) == ecdf_msq(first, first) == 0


def test_the_mean_is_squared_and_over_the_pool():
    """The mutants: an absolute mean, a mean over distinct values, a mean over the confidential values only."""
    first, second = [1.0, 2.0, 2.0, 9.0], [2.0, 3.0]
    gaps = np.array([0.25, 0.25, 0.25, 0.0, 0.25, -0.25])
    assert ecdf_msq(first, second) == pytest.approx((gaps**2).mean())
    for mutant in (np.abs(gaps).mean(), (gaps[[0, 1, 3, 5]] ** 2).mean(), (gaps[:4] ** 2).mean()):
        assert ecdf_msq(first, second) != pytest.approx(mutant)


def test_comparison_over_copies():
    rng = np.random.default_rng(3)
    real, copies = rng.lognormal(3, 1, 500), [rng.lognormal(3, 1, 500) * 0.9 for _ in range(20)]
    found = compare_column_copies(real, copies, quantiles=(0.1, 0.5, 0.9))
    assert [each.name for each in found.ratios] == ["mean", "median", "Q10", "Q90"]
    q90 = found.ratio("Q90")
    each = [np.quantile(copy, 0.9) / np.quantile(real, 0.9) for copy in copies]
    assert q90.confidential == np.quantile(real, 0.9) and q90.ratio.mean == pytest.approx(np.mean(each))
    wide = stats.t.interval(0.95, 19, np.mean(each), stats.sem(each))
    assert (q90.ratio.low, q90.ratio.high) == pytest.approx(wide)
    assert found.ecdf_max.mean == pytest.approx(np.mean([ecdf_max(real, copy) for copy in copies]))
    assert found.ecdf_msq.mean == pytest.approx(np.mean([ecdf_msq(real, copy) for copy in copies]))


def test_copies_of_other_lengths_a_matrix_and_a_plain_column():
    real = [1.0, 2.0, 3.0]
    assert compare_column_copies(real, [[1.0], [1.0, 2.0]]).copies == 2
    assert compare_column_copies(real, np.ones((4, 3))).copies == 4
    one = compare_column_copies(real, np.array([1.0, 2.0]))
    assert one.copies == 1 and one.ecdf_max.low is None and one.ecdf_max.sd is None
    assert "without intervals" in one.statement()


def test_the_statement_says_who_may_read_it():
    found = compare_column_copies([1.0, -1.0, 4.0], [[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]])
    said = found.statement()
    assert said.startswith("Computed from confidential values: for the custodian, not for publication.")
    assert "3 confidential values against 2 synthetic copies; in brackets 95 % intervals" in said
    assert ColumnCopies.model_validate_json(found.model_dump_json()) == found


def test_no_ratio_where_the_confidential_value_is_zero():
    found = compare_column_copies([0.0, 0.0, 5.0], [[1.0, 2.0]])
    assert found.ratio("median").ratio is None and "median not defined" in found.statement()


def test_one_copy_has_no_spread():
    assert MeanOverCopies.of([2.0]) == MeanOverCopies(mean=2.0, sd=None, low=None, high=None, copies=1)


def test_everything_wrong_is_said_at_once():
    with pytest.raises(TableError) as caught:
        compare_column_copies([1.0, float("nan")], [[], [[1.0]], ["a"], [1.0, float("inf")]])
    assert caught.value.problems == (
        "copy 3: not numbers",
        "confidential values: 1 missing or infinite values",
        "copy 1: empty",
        "copy 2: 2 dimensions instead of one",
        "copy 4: 1 missing or infinite values",
    )
    with pytest.raises(TableError, match="no synthetic copy"):
        compare_column_copies([1.0], [])
    with pytest.raises(TableError, match="copy 1: empty"):
        ecdf_max([1.0], [])
    with pytest.raises(PlanError, match=r"quantile 1\.5.*\n.*level 1"):
        compare_column_copies([1.0], [[1.0]], quantiles=(0.5, 1.5), level=1)
    with pytest.raises(PlanError, match="use one of: mean, median, Q10, Q90"):
        compare_column_copies([1.0], [[1.0]]).ratio("Q50")
