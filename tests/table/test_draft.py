import datetime as dt

import pandas as pd
import pytest

import sfumato
from sfumato import Schema
from sfumato.errors import TableError
from sfumato.example import households, write_households


def test_a_draft_fits_the_data_it_was_drafted_from(tmp_path):
    path = write_households(tmp_path / "h.csv", rows=400)
    for source in (path, households(rows=400)):
        draft = Schema.draft(source, name="h")
        assert draft.is_draft
        assert "household" not in draft.names
        assert sfumato.read(source, draft).check() == ()
        kinds = {c.name: c.kind for c in draft}
        assert kinds["age"] == "integer"
        assert kinds["income"] == "number"
        assert kinds["moved_in"] == "date"
        assert kinds["insured"] == "boolean"
        assert draft["income"].missing
        assert Schema.parse(draft.to_toml()) == draft
        assert "leak" in draft.to_toml()


def test_unusual_columns():
    frame = pd.DataFrame({
        "nothing": pd.Series([None] * 40, dtype="str"), "grade": [1, 2, 5, 9] * 10, "constant": [3] * 40,
        "when": [dt.datetime(2020, 3, 4, 5, 6)] * 40, "free": [f"text {i}" for i in range(40)] , "one": [1.5] * 40,
    })  # fmt: skip
    draft = Schema.draft(frame)
    assert draft["grade"].values == (1, 2, 5, 9)
    assert draft["constant"].bounds == (3, 3)
    assert draft["when"].bounds == (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    assert draft["one"].bounds[0] <= 1.5 <= draft["one"].bounds[1]
    assert any("nothing" in note for note in draft.notes)
    assert sfumato.read(frame, draft).check() == ()


def test_a_wrong_delimiter_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    with pytest.raises(TableError, match="--delimiter ';'"):
        Schema.draft(tmp_path / "t.csv")
    assert Schema.draft(tmp_path / "t.csv", delimiter=";").names == ("a", "b")
