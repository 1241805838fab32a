"""The forecast of a plan: what must hold whatever the numbers are, the ends, and the words there."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from sfumato import AIM, MST, Contingency, Grid, Histogram, Marginals, Schema
from sfumato.core.forecast import Forecast
from sfumato.evaluate.forecast import forecast
from sfumato.mechanisms.entropy.method import EntropyRelease
from sfumato.schema.column import Column

ERRORS = (
    "tvd_1_q16",
    "tvd_2_q16",
    "share_error",
    "mean_error_sd",
    "mean_error_range",
    "median_error_range",
    "smallest_relation",
)


def schema_of(columns):
    """As many columns as are asked for: numbers, counts of few values, levels and dates in turn."""
    kinds = (
        lambda name: Column(name, "number", bounds=(0, 10_000)),
        lambda name: Column(name, "category", values=tuple("abcdefgh")),
        lambda name: Column(name, "integer", bounds=(0, 12)),
        lambda name: Column(name, "boolean", missing=True),
    )
    return Schema("t", tuple(kinds[place % len(kinds)](f"c{place}") for place in range(columns)))


@cache
def planned(columns, epsilon, method):
    schema, made = schema_of(columns), method(epsilon=epsilon)
    return made.plan(schema), schema, made


@cache
def foreseen(rows, columns=8, epsilon=1.0, method=AIM):
    return forecast(*planned(columns, epsilon, method), rows)


def not_worse(better: Forecast, worse: Forecast):
    return all(getattr(better, name) <= getattr(worse, name) * (1 + 1e-12) for name in ERRORS)


@pytest.mark.parametrize("method", [AIM, MST])
def test_more_rows_are_never_worse_and_end_better(method):
    made = [foreseen(rows, method=method) for rows in (5, 50, 500, 5_000, 50_000, 5_000_000)]
    assert all(not_worse(better, worse) for worse, better in pairwise(made))
    assert all(getattr(made[-1], name) < getattr(made[0], name) / 10 for name in ERRORS[:-1])


def test_a_larger_epsilon_is_never_worse():
    made = [foreseen(2_000, epsilon=epsilon) for epsilon in (0.01, 1, 2, 15)]
    assert all(not_worse(better, worse) for worse, better in pairwise(made))
    assert made[-1].tvd_1_q16 < made[0].tvd_1_q16 / 10


def test_fewer_columns_like_these_are_never_worse():
    made = [foreseen(2_000, columns=columns) for columns in (4, 8, 20, 80)]
    assert all(not_worse(better, worse) for better, worse in pairwise(made))
    assert made[0].tvd_1_q16 < made[-1].tvd_1_q16 / 2


@pytest.mark.parametrize("width", [30, 300, 3_000, 30_000])
def test_narrower_bounds_are_never_worse(width):
    wide, narrow = (
        Schema("t", (Column("a", "integer", bounds=(0, high)), Column("b", "boolean"))) for high in (width, width // 10)
    )
    made = [forecast(AIM(epsilon=1).plan(each), each, AIM(epsilon=1), 1_000) for each in (narrow, wide)]
    assert not_worse(*made)


@pytest.mark.parametrize("columns", [2, 200])
@pytest.mark.parametrize("rows", [5, 5_000_000])
@pytest.mark.parametrize("epsilon", [0.01, 15])
def test_at_the_ends_every_error_is_a_number_within_what_it_can_be(columns, rows, epsilon):
    made = foreseen(rows, columns, epsilon)
    limits = (1, 1, 1, 3.01, 0.46, 0.46, 1)
    for name, most in zip(ERRORS, limits, strict=True):
        assert math.isfinite(getattr(made, name)), name
        assert 0 <= getattr(made, name) <= most, name
    assert len(made.columns) == columns
    assert all(0 <= column.tvd <= 1 for column in made.columns)
    assert all(advice.then < advice.now for advice in made.advice)


def test_words_where_all_is_noise():
    made = foreseen(5, 200, 0.01)
    assert made.overwhelmed
    assert made.verdict.startswith("The noise is comparable to the rows: not for single columns, means, relations")
    said = " ".join(made.sentences())
    assert "No relation between columns will be seen." in said
    assert "Will drown in noise: c0, c1, c2" in said
    assert "and 192 more" in said
    assert set(made.drowned) == {column.name for column in made.columns}


def test_words_where_nothing_is_noise():
    made = foreseen(5_000_000, 2, 15)
    assert not made.overwhelmed
    assert made.verdict == "Good for single columns, means, relations and cross tables of two columns."
    assert made.drowned == ()
    assert not any("Rows needed" in words or "drown" in words for words in made.sentences())


def test_strong_and_weak_relations_are_told_apart():
    made = foreseen(1_200, 8)
    assert 0.2 < made.smallest_relation <= 0.5
    assert "and strong relations; not for weak relations or cross tables" in made.verdict


def test_without_a_number_of_rows_it_says_from_how_many_on():
    made = foreseen(None)
    assert made.rows is None
    assert all(getattr(made, name) is None for name in ERRORS)
    assert not made.overwhelmed
    needed = dict(made.rows_needed)
    assert needed["strong relations"] < needed["weak relations"] < 100_000
    assert f"weak relations from about {needed['weak relations']:,} rows on" in made.verdict
    assert made.rows_needed == foreseen(500).rows_needed


def test_rows_that_are_needed_are_just_enough():
    needed = dict(foreseen(None).rows_needed)
    for use, name, most in (
        ("single columns", "tvd_1_q16", 0.1),
        ("means", "mean_error_sd", 0.1),
        ("weak relations", "smallest_relation", 0.2),
        ("cross tables of two columns", "tvd_2_q16", 0.1),
    ):
        few, enough = (getattr(foreseen(round(factor * needed[use])), name) for factor in (0.9, 1.1))
        assert enough <= most < few, use


def test_advice_is_the_forecast_computed_again_with_that_change():
    now = foreseen(3_000, 30)
    by_words = {advice.words: advice for advice in now.advice}
    rows = by_words["4 times as many rows"]
    assert (rows.measure, rows.now) == ("tvd_2_q16", now.tvd_2_q16)
    assert rows.then == pytest.approx(foreseen(12_000, 30).tvd_2_q16)
    epsilon = by_words["epsilon 2 instead of 1"]
    assert epsilon.then == pytest.approx(foreseen(3_000, 30, 2).tvd_2_q16, rel=0.05)
    columns = by_words["the 10 columns that matter most, instead of 30"]
    assert columns.then == pytest.approx(foreseen(3_000, 10).tvd_2_q16, rel=0.15)
    gains = [advice.then / advice.now for advice in now.advice]
    assert gains == sorted(gains)
    assert all(gain <= 0.9 for gain in gains)


def test_a_larger_epsilon_than_ten_is_never_advised():
    assert not any("epsilon" in advice.words for advice in foreseen(300, epsilon=6).advice)


def test_what_counts_release_is_their_own_noise():
    schema = schema_of(4)
    histogram = Histogram(column="c1", epsilon=1)
    made = forecast(histogram.plan(schema), schema, histogram, 1_000)
    noise = math.sqrt(2) * histogram.plan(schema).stages[0].scale
    assert made.tvd_1_q16 == pytest.approx(0.5 * 8 * math.sqrt(2 / math.pi) * noise / 1_000)
    assert (made.tvd_2_q16, made.smallest_relation, made.mean_error_sd) == (None, None, None)
    table = Contingency(columns=["c1", "c3"], epsilon=1)
    both = forecast(table.plan(schema), schema, table, 1_000)
    noise = math.sqrt(2) * table.plan(schema).stages[0].scale
    assert both.tvd_2_q16 == pytest.approx(0.5 * 8 * 3 * math.sqrt(2 / math.pi) * noise / 1_000)
    assert both.tvd_1_q16 < both.tvd_2_q16


@pytest.mark.parametrize("method", [Marginals(epsilon=1), MST(epsilon=1), Grid(columns=["c0", "c2"], epsilon=1)])
def test_other_methods_that_make_rows_have_one(method):
    schema = replace(schema_of(4), adjacency="replace", rows=4_000)
    plan = method.plan(schema)
    few, many = (forecast(plan, schema, method, rows) for rows in (400, 40_000))
    assert many.tvd_1_q16 < few.tvd_1_q16
    assert many.tvd_2_q16 < few.tvd_2_q16
    assert many.mean_error_sd < few.mean_error_sd


def test_where_none_is_known_there_is_none():
    schema = schema_of(4)
    method = EntropyRelease.example(schema)
    assert forecast(method.plan(schema), schema, method, 1_000) is None


def test_a_plan_has_its_forecast_and_a_page_of_it():
    schema = schema_of(8)
    method = AIM(epsilon=1)
    plan = method.plan(schema).foreseen_by(schema, method, 1_000)
    assert plan.forecast == foreseen(1_000)
    assert plan.forecast.verdict in repr(plan.forecast)
    assert "Relations between columns" in plan.forecast._repr_html_()


@pytest.mark.parametrize(("columns", "seconds"), [(20, 0.3), (200, 2.0)])
def test_it_takes_no_time(columns, seconds):
    plan, schema, method = planned(columns, 15, AIM)
    start = time.process_time()
    assert forecast(plan, schema, method, 10_000) is not None
    assert time.process_time() - start < seconds
