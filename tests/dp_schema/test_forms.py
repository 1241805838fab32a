"""Forms: every written value has one, and noisy counts of them say how a column is read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.dp_schema.domains import (
    FORM_CELLS,
    MAGNITUDE_EDGES,
    NUMBERS,
    PLAIN_FORMS,
    form_counts,
    form_expression,
    infer_form,
    number,
)
from sfumato.table.sources import open_source

TEXTS = {
    "7": "whole",
    "-120": "whole",
    "+5": "whole",
    "0": "whole",
    "12.0": "whole with .0",
    "0.000": "whole with .0",
    "3.5": "1 decimal",
    ".5": "1 decimal",
    "19.99": "2 decimals",
    "0.125": "more decimals",
    "1e5": "more decimals",
    "-2.5E-3": "more decimals",
    "007": "text",
    "0123456": "text",
    "4929123412341234": "text",
    "2024-02-29": "date",
    "2024-02-30": "text",
    "1999-12-31 08:00:00": "date",
    "TRUE": "true or false",
    "false": "true or false",
    "yes": "text",
    "12 km": "text",
    "1,5": "text",
    "nan": "text",
    "": "missing",
    "  ": "missing",
}
NAMES = (*PLAIN_FORMS, *NUMBERS)


def codes(frame: pd.DataFrame) -> list[tuple[str, float | None]]:
    engine = open_source(frame).engine
    table = engine.table
    shown = table.select(form=form_expression(table["x"]), number=number(table["x"]))
    return [(NAMES[row["form"]], row["number"]) for row in engine.aggregate(shown).to_pylist()]


def test_every_text_has_the_form_in_which_it_is_written():
    found = codes(pd.DataFrame({"x": [*TEXTS, None]}))
    assert [form for form, _ in found] == [*TEXTS.values(), "missing"]
    for text, (form, value) in zip(TEXTS, found, strict=False):
        assert (value == float(text)) if form in NUMBERS else (value is None)


def test_numbers_of_typed_sources_have_the_decimals_of_their_values():
    found = codes(pd.DataFrame({"x": [3.0, 2.5, 0.25, 1 / 3, float("nan"), float("inf")]}))
    assert [form for form, _ in found] == ["whole", "1 decimal", "2 decimals", "more decimals", "missing", "missing"]
    assert codes(pd.DataFrame({"x": pd.array([4, None], dtype="Int64")})) == [("whole", 4.0), ("missing", None)]


def counts(**rows: int | dict[float, int]) -> np.ndarray:
    """The first count of a column: rows of each form, numbers by an example of their size."""
    plain = np.zeros(len(PLAIN_FORMS), np.int64)
    numbers = np.zeros((len(NUMBERS), len(MAGNITUDE_EDGES) - 1), np.int64)
    for form, many in rows.items():
        if isinstance(many, int):
            plain[PLAIN_FORMS.index(form)] = many
            continue
        for example, n in many.items():
            numbers[
                NUMBERS.index(form.replace("_", " ")), np.searchsorted(MAGNITUDE_EDGES, example, side="right") - 1
            ] += n
    return np.concatenate([plain, numbers.ravel()])


def test_a_row_lies_in_one_cell_of_the_first_count():
    joint = np.zeros((len(NAMES), len(MAGNITUDE_EDGES)), np.int64)
    joint[0, -1], joint[len(PLAIN_FORMS) + 1, 14] = 3, 5
    found = form_counts(joint)
    assert len(found) == FORM_CELLS
    assert found.sum() == 8


def test_a_column_is_read_as_most_of_its_rows_are_written():
    sigma = 10.0
    whole = infer_form(counts(whole={15: 500, 150: 300}, missing=90), sigma)
    assert (whole.reading, whole.whole, whole.span, whole.missing_rows) == ("number", True, (0.0, 1000.0), 90)
    money = infer_form(counts(**{"2_decimals": {15.0: 500}}, whole={15: 80}), sigma)
    assert (money.whole, money.decimals, money.span) == (False, 2, (10.0, 100.0))
    floats = infer_form(counts(**{"whole with .0": {3.0: 900}}), sigma)
    assert (floats.whole, floats.decimals, floats.trailing_zeros) == (True, 1, True)
    assert infer_form(counts(date=400, text=4), sigma).reading == "date"
    assert infer_form({"f": counts(**{"text": 400, "whole": {5: 300}})}["f"], sigma).reading == "text"
    assert infer_form(counts(text=20), sigma).reading == "nothing"


@pytest.mark.parametrize("low, high, span", [(-1500, -120, (-10000.0, 0.0)), (-120, -120, (-1000.0, -100.0))])
def test_negative_numbers_have_decades_of_their_own(low: int, high: int, span: tuple[float, float]):
    assert infer_form(counts(whole={low: 400, high: 401}), 10.0).span == span
