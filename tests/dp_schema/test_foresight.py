"""What a purchase can see is known from public facts: the numbers are those of the noise; small tables are refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sfumato import Ledger, buy_schema
from sfumato.dp_schema import detection_limits, forecast_schema
from sfumato.dp_schema.domains import FIRST_SEEN_SIGMAS
from sfumato.errors import PlanError, TooSmallToBuyError


def test_the_numbers_are_those_of_the_noise_that_is_recorded(tmp_path: Path):
    """Two digits, rounded up: the mutant that takes the noise of one column for that of three is far off."""
    book = Ledger(tmp_path / "b.db")
    book.open_table("table", epsilon=2, delta="1e-6")
    frame = pd.DataFrame({"a": ["x", "y"] * 2000, "b": ["u"] * 4000, "c": ["v"] * 4000})
    buy_schema(frame, 1, ledger=book)
    parts = {part.stage: part for part in book.history("table")[0].event.parts}
    found = detection_limits(3, 1)
    assert 0 <= found.values / parts["values of a"].threshold - 1 <= 0.1
    assert 0 <= found.forms / (FIRST_SEEN_SIGMAS * parts["form of a"].scale) - 1 <= 0.1
    assert forecast_schema(frame, 1).words == found.words


def test_more_rows_of_one_person_more_columns_and_less_budget_all_take_more_rows():
    plain = detection_limits(8, 0.3).least_rows
    assert detection_limits(8, 0.3, rows_per_person=10).least_rows == pytest.approx(10 * plain, rel=0.05)
    assert detection_limits(32, 0.3).least_rows == pytest.approx(2 * plain, rel=0.05)
    assert detection_limits(8, 0.3, adjacency="replace").least_rows == pytest.approx(2**0.5 * plain, rel=0.05)
    assert detection_limits(8, 0.1).least_rows > 2.5 * plain


def test_a_table_that_is_foreseeably_too_small_costs_nothing(tmp_path: Path):
    book = Ledger(tmp_path / "b.db")
    book.open_table("table", epsilon=2, delta="1e-6")
    frame = pd.DataFrame({"a": ["x", "y"] * 20})
    least = forecast_schema(frame, 0.3).least_rows
    with pytest.raises(TooSmallToBuyError, match="nothing was spent") as caught:
        buy_schema(frame, 0.3, ledger=book, about_rows=least - 1)
    assert f"about {least:,} rows, to be seen" in caught.value.problems[0]
    assert book.history() == ()
    assert forecast_schema(frame, 0.3, about_rows=least).columns == 1


@pytest.mark.parametrize("wrong", [{"columns": 0}, {"epsilon": 0}, {"rows_per_person": 0}, {"delta": 2}])
def test_what_cannot_be_foreseen_is_told(wrong: dict[str, float]):
    with pytest.raises(PlanError):
        detection_limits(**({"columns": 3, "epsilon": 1} | wrong))


def test_columns_whose_type_says_all_need_no_rows():
    assert forecast_schema(pd.DataFrame({"flag": pd.array([True, False])}), 0.1, about_rows=0).least_rows == 0
    with pytest.raises(PlanError, match="about_rows"):
        forecast_schema(pd.DataFrame({"flag": pd.array([True, False])}), 0.1, about_rows=-1)
