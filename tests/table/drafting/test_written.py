"""What texts look like: the sentence, the option, and how many texts it explains."""

from __future__ import annotations

import pandas as pd
import pytest

from sfumato.schema.dialect import Dialect
from sfumato.table.drafting.dialect_hints import combined_options, dialect_hints
from sfumato.table.sources import open_source


def hint(texts, **said):
    return dialect_hints(open_source(pd.DataFrame({"x": texts}), Dialect(**said)), ["x"]).get("x")


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["1,5", "2,25", "3"], "20 texts look like numbers with a decimal comma: --decimal ','"),
        (
            ["1.234,50", "5,00", "1"],
            "20 texts look like numbers with a decimal comma and points between thousands: "
            "--decimal ',' --thousands '.'",
        ),
        (["1,234", "2,345,678", "9"], "20 texts look like numbers with commas between thousands: --thousands ','"),
        (
            ["67 %", "3%", "4"],
            "20 texts look like numbers with a percent sign or a currency: --decimal '.' or --decimal ','",
        ),
        (
            ["1.200 EUR", "3.150 EUR", "4 EUR"],
            "30 texts look like numbers with a percent sign or a currency: "
            "--decimal '.' or --decimal ',' --thousands '.'",
        ),
        (["31.12.2024", "1.2.2023", "05.06.2020"], "30 texts look like dates: --date-format %d.%m.%Y"),
        (["13/02/2023", "01/02/2023", "05/06/2023"], "30 texts look like dates: --date-format %d/%m/%Y"),
        (["02/13/2023", "01/02/2023", "05/06/2023"], "30 texts look like dates: --date-format %m/%d/%Y"),
        (
            ["01/02/2023", "05/06/2023", "07/08/2023"],
            "30 texts look like dates, and which number is the month cannot be told: "
            "--date-format %d/%m/%Y or --date-format %m/%d/%Y",
        ),
        (
            ["31.12.2024 10:30", "1.2.2023 09:00", "-"],
            "20 texts look like dates: --date-format '%d.%m.%Y %H:%M'; 10 texts are '-' among dates: --missing '-'",
        ),
        (["f", "m", "N/A"], "10 texts are 'N/A' among words: --missing N/A"),
        (["2024-01-01", "2024-03-01", "k. A."], "10 texts are 'k. A.' among dates: --missing 'k. A.'"),
    ],
)
def test_a_way_of_writing_is_told_with_its_option(texts, sentence):
    assert hint(texts * 10).sentence == sentence


@pytest.mark.parametrize(
    "texts", [["a", "b"], ["1", "2.5"], ["2024-01-01", "2024-02-01"], ["1,5", "a", "b"], ["", " "]]
)
def test_what_is_plain_or_words_is_not_told(texts):
    assert hint(texts * 10) is None


def test_one_word_among_many_numbers_is_a_mark():
    numbers = [str(number) for number in range(50)]
    found = hint([*numbers, "refused", "refused"])
    assert found.sentence == "2 texts are 'refused' among numbers: --missing refused"
    assert (found.texts, found.explained, found.options) == (52, 2, Dialect(missing=("refused",)))
    assert hint(["1", "2", "3", "other"] * 10) is None  # among a few codes, a word is one more of them


def test_counts_are_over_all_rows_and_not_the_first():
    found = hint(["1,5"] * 20_000 + ["x"])
    assert (found.texts, found.explained) == (20_001, 20_000)


def test_a_mark_that_is_a_value_elsewhere_is_not_an_option():
    frame = pd.DataFrame({"income": [*map(str, range(50)), "N", "N"], "vip": ["Y", "N"] * 26})
    found = dialect_hints(open_source(frame), ["income", "vip"])
    assert set(found) == {"income"}
    assert "'N' is a value of vip: set outside = 'missing' for this column" in found["income"].sentence
    assert combined_options(found) == ""


def test_all_options_stand_in_one_line_with_what_was_said():
    frame = pd.DataFrame(
        {"a": ["1,5", "2,5", "N/A"], "b": ["1.234,5", "7", "8"], "c": ["31.12.2024", "1.1.2020", "-"], "d": ["x"] * 3}
    )
    opened = open_source(frame, Dialect(missing=("k. A.",)))
    line = combined_options(dialect_hints(opened, list(frame.columns)))
    assert line == "--decimal ',' --thousands '.' --date-format %d.%m.%Y --missing 'k. A.' --missing N/A --missing '-'"
    assert combined_options({}) == ""


def test_what_was_said_is_not_told_again():
    assert hint(["1,5", "2,5"] * 10, decimal=",") is None
    assert hint(["31.12.2024"] * 10, date_format="%d.%m.%Y") is None


def test_whole_numbers_with_a_sign_leave_the_decimal_mark_to_other_columns():
    """More of them, and before the others: the line to copy has the mark that the others need all the same."""
    frame = pd.DataFrame({"pay": ["1.200 EUR"] * 30, "share": ["67 %"] * 30, "price": ["1,5", "2,25", None] * 10})
    found = dialect_hints(open_source(frame), list(frame.columns))
    assert combined_options(found) == "--decimal ','"
    alone = {name: found[name] for name in ("pay", "share")}
    assert combined_options(alone) == "--decimal '.'"
