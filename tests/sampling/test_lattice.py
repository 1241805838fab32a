"""Values that can be written: within their bin, equally likely, and kept by every way that makes or mends rows."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.draw_rows import sample_rows
from sfumato.sampling.design_matrix import into_domain
from sfumato.sampling.fine_cells import fine_column, values_in_fine_cells
from sfumato.sampling.values import bins_of, values_at
from sfumato.sampling.written_forms import Multiples, as_written, is_writable, written_form_of
from sfumato.schema import Rule, Schema
from sfumato.schema.column import Column, day_number

STEPS = st.sampled_from([None, 0.05, 0.25, 0.5, 5, 100])


@st.composite
def number_columns(draw: st.DrawFn) -> Column:
    """Columns of numbers with decimals or a step, bounds and bins of any kind, some off the lattice."""
    decimals = draw(st.integers(0, 6))
    step = draw(STEPS)
    if step is not None:
        decimals = max(decimals, 2)
    low = draw(st.floats(-1000, 1000).map(lambda x: round(x, 3)))
    width = draw(st.sampled_from([0.7, 3.0, 250.0, 12345.678]))
    return Column("x", "number", bounds=(low, low + width), bins=draw(st.integers(1, 40)), decimals=decimals, step=step)


@settings(max_examples=40)
@given(column=number_columns(), seed=st.integers(0, 999))
def test_drawn_numbers_can_be_written_and_stay_in_their_bin(column: Column, seed: int):
    form = written_form_of(column)
    if form is None:  # no multiple lies within the bounds
        assert column.step is not None
        return
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, column.present_size, 200)
    values, _ = values_at(column, codes, generator.random(200))
    low, high = column.numeric_bounds
    assert ((values >= low) & (values <= high)).all()
    assert [float(f"{value:.{column.decimals}f}") for value in values] == values.tolist()
    assert is_writable(column, values).all()
    ends = np.append(column.starts[1:], np.nextafter(high, np.inf))
    held = form.between(column.starts[codes], ends[codes], np.zeros(200))[1] > 0
    assert (bins_of(column, values)[held] == codes[held]).all()


@given(st.integers(-(10**9), 10**9), st.sampled_from([1, 2, 3, 6]))
def test_a_multiple_is_the_number_that_its_text_reads_as(number: int, digits: int):
    lattice = Multiples(10.0**-digits, digits)
    value = float(lattice.value(number))
    assert value == float(f"{number}e-{digits}")
    assert int(lattice.first(value)) == number
    assert int(lattice.first(np.nextafter(value, np.inf))) == number + 1


def test_every_value_of_a_bin_is_as_likely_as_any_other():
    """Exact: places in the middle of equal parts. Rounding to the nearest (the mutant) would give 0, 500, 500, 1000."""
    column = Column("pay", "integer", bounds=(0, 4000), edges=(0, 1000, 4000), step=500)
    codes, places = np.zeros(4, np.int64), np.array([0.125, 0.375, 0.625, 0.875])
    assert values_at(column, codes, places)[0].tolist() == [0, 0, 500, 500]
    assert as_written(column, places * 1000).tolist() == [0, 500, 500, 1000]


def test_a_bin_without_such_a_value_gives_the_nearest_within_the_bounds():
    column = Column("age", "integer", bounds=(18, 62), step=5)
    values, _ = values_at(column, np.arange(column.present_size), np.full(column.present_size, 0.5))
    assert set(values.tolist()) == set(range(20, 61, 5))
    assert (np.abs(values - np.arange(18, 63)) <= 2).all()


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("week", {dt.date(2024, 1, 1) + dt.timedelta(7 * k) for k in range(53)}),
        ("month", {dt.date(2024, month, 1) for month in range(1, 13)}),
        ("quarter", {dt.date(2024, month, 1) for month in (1, 4, 7, 10)}),
        ("year", {dt.date(2024, 1, 1)}),
    ],
)
def test_dates_are_first_days(step: str, found: set[dt.date]):
    column = Column("day", "date", bounds=(dt.date(2023, 12, 29), dt.date(2024, 12, 31)), step=step)
    generator = np.random.default_rng(1)
    days, _ = values_at(column, generator.integers(0, column.present_size, 4000), generator.random(4000))
    assert set(days.tolist()) == {day_number(day) for day in found}


def test_numbers_set_apart_in_fine_cells_stay_apart():
    """Zero has a cell of its own: it is drawn from that cell alone, though 0.00 can be written in no other way."""
    column = fine_column(Column("gain", "number", bounds=(0.0, 100.0), decimals=0, bins=4), 40)
    codes = np.repeat(np.arange(column.present_size), 50)
    values, _ = values_in_fine_cells(column, codes, np.tile(np.linspace(0, 0.999, 50), column.present_size))
    assert set(codes[values == 0]) == {0}
    assert set(values.tolist()) == set(map(float, range(101)))


def test_what_models_of_numbers_say_is_brought_into_the_form():
    rate = Column("rate", "number", bounds=(0.0, 1.0), decimals=1)
    assert into_domain(rate, np.array([0.26, -3.0, 0.85, 1.4]))[0].tolist() == [0.3, 0.0, 0.8, 1.0]


RULES: list[Any] = [
    ("low <= high",),
    ("low < high", "high <= 90"),
    ("total == low + high",),
    ("start <= end",),
]


@pytest.mark.parametrize("checks", RULES)
def test_rows_that_keep_rules_are_still_written_so(checks: tuple[str, ...]):
    days = (dt.date(2020, 1, 1), dt.date(2022, 12, 31))
    columns = (
        Column("low", "integer", bounds=(0, 100), step=5),
        Column("high", "number", bounds=(0.0, 100.0), decimals=0),
        Column("total", "number", bounds=(0.0, 200.0), decimals=0),
        Column("start", "date", bounds=days, step="month"),
        Column("end", "date", bounds=days, step="quarter"),
    )
    schema = Schema("t", columns, rules=tuple(Rule(check) for check in checks))
    generator = np.random.default_rng(3)

    def uniform(count: int) -> Any:
        return {c.name: generator.integers(0, c.size, count) for c in schema}

    made = sample_rows(schema, uniform, 500, generator).values
    assert keeps_rules(schema, made).all()
    for column in schema:
        assert is_writable(column, made[column.name][0].astype(float)).all(), column.name
