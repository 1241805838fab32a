"""A draft says how values are written, from texts and from typed columns alike, and takes no accident for a form."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato.schema.column import Column
from sfumato.table.drafting.written_format import with_written_formats
from sfumato.table.sources import open_source

DAYS = [dt.date(2015 + k // 12, k % 12 + 1, 1) for k in range(48)]
MONDAYS = [dt.date(2024, 1, 1) + dt.timedelta(7 * k) for k in range(48)]
BOUNDS: dict[str, Any] = {
    "number": (-1e9, 1e9),
    "integer": (-(10**9), 10**9),
    "date": (dt.date(1990, 1, 1), dt.date(2040, 1, 1)),
}


def form_of(cells: Any, kind: Any = "number", missing: bool = False, **facts: Any) -> dict[str, Any]:
    """Return the facts that are found about one column."""
    source = open_source(pd.DataFrame({"x": cells}))
    column = Column("x", kind, bounds=BOUNDS.get(kind), missing=missing, **facts)
    (found,) = with_written_formats(source, [column])
    keys = ("decimals", "trailing_zeros", "step", "true", "false", "date_format")
    return {key: getattr(found, key) for key in keys if getattr(found, key) not in (None, False)} | (
        {"decimals": 0} if found.decimals == 0 else {}
    )


def texts(*values: Any) -> list[str]:
    return [str(value) for value in values]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([f"{k / 10:.1f}" for k in range(50)], {"decimals": 1, "trailing_zeros": True}),
        ([f"{k / 100:.2f}" for k in range(7, 300, 3)], {"decimals": 2, "trailing_zeros": True}),
        (texts(*(k / 4 for k in range(50))), {"decimals": 2, "trailing_zeros": 1, "step": 0.25}),
        ([f"{k / 100:g}" for k in range(7, 300)], {"decimals": 2}),
        (texts(0.30000000000000004, 1 / 3, *(k / 7 for k in range(40))), {}),
        (["1e-05", *texts(*(k / 10 for k in range(30)))], {}),
        ([f"{k / 20:.2f}" for k in range(40)], {"decimals": 2, "trailing_zeros": True, "step": 0.05}),
    ],
    ids=["tenths", "cents", "quarters", "no zeros", "computed", "exponents", "nickels"],
)
def test_decimals_of_texts(values: list[str], found: dict[str, Any]):
    assert form_of(values) == found


def test_a_few_amounts_with_cents_do_not_give_all_of_them_cents():
    """Ten of 2,000; where none may be missing they keep their decimals, or the file would be read as whole numbers."""
    amounts = texts(*range(1, 1991), *(k + 0.37 for k in range(10)))
    assert form_of([*amounts, None], missing=True) == {"decimals": 0}
    assert form_of(amounts) == {"decimals": 2}


def test_numbers_of_a_typed_source_have_decimals_but_for_rounding():
    noisy = [0.1 + 0.2, *(k / 10 for k in range(1, 40))]
    assert form_of(noisy) == {"decimals": 1}
    assert form_of(np.random.default_rng(1).random(50)) == {}
    assert form_of([float(k) for k in range(30)], "integer") == {}


@pytest.mark.parametrize(
    ("values", "step"),
    [
        (range(0, 500, 5), 5),
        (range(0, 4000, 100), 100),
        ([k * 500 for k in range(30)], 500),
        ([-k * 1000 for k in range(2, 40)], 1000),
        (range(0, 500, 7), None),
        ([5, 10, 20] * 20, None),
        ([0, 1000, 3000] * 20, 50),
    ],
)
def test_steps_that_are_no_accident(values: Any, step: int | None):
    wanted = {} if step is None else {"step": step}
    assert form_of(list(values), "integer") == wanted
    assert form_of(texts(*values), "integer") == wanted


def test_whole_amounts_with_a_zero_behind_the_point():
    assert form_of([f"{k * 10}.0" for k in range(60)], "integer") == {"decimals": 1, "trailing_zeros": True, "step": 10}
    codes = ["1.0", "2.0", "9.0"] * 10
    assert form_of(codes, "category", values=(1, 2, 9)) == {"decimals": 1, "trailing_zeros": True}
    assert form_of(["1", "2", "9"] * 10, "category", values=(1, 2, 9)) == {}


@pytest.mark.parametrize(
    ("days", "step"),
    [
        (DAYS, "month"),
        (DAYS[::3] * 2, "quarter"),
        ([dt.date(year, 1, 1) for year in range(2000, 2012)], "year"),
        (MONDAYS, "week"),
        ([day + dt.timedelta(1) for day in MONDAYS], None),
        ([dt.date(2024, 1, 1)] * 30, None),
    ],
)
def test_first_days(days: list[dt.date], step: str | None):
    wanted = {} if step is None else {"step": step}
    assert form_of(days, "date") == wanted
    assert form_of([day.isoformat() for day in days], "date") == wanted
    slashes = form_of([day.strftime("%Y/%m/%d") for day in days], "date")
    assert slashes == wanted | {"date_format": "%Y/%m/%d"}
    midnight = form_of([f"{day} 00:00:00" for day in days], "date")
    assert midnight == wanted | {"date_format": "%Y-%m-%d 00:00:00"}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("TRUE", "FALSE"), {"true": "TRUE", "false": "FALSE"}),
        (("True", "False"), {"true": "True", "false": "False"}),
        (("true", "false"), {}),
        (("True", "TRUE", "False"), {}),
    ],
)
def test_words_for_true_and_false(words: tuple[str, ...], found: dict[str, str]):
    assert form_of([*words] * 5, "boolean") == found
    assert form_of([True, False], "boolean") == {}
