"""``sfumato risk location`` and ``sfumato utility prediction``: a release against the confidential table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.example import codebook, write_households

TABLE = ("h.csv", "--schema", "h.toml")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_households("h.csv", rows=150)
    write_households("others.csv", rows=150, seed=7)
    codebook().save("h.toml")
    return tmp_path


def test_location_compares_with_the_nearest_row_and_with_other_people(folder, sfumato_cli):
    code, out, err = sfumato_cli("risk", "location", "others.csv", *TABLE, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "") and "for the custodian" in found["notice"] and found["in_order"] is None
    assert found["people"] + found["released_rows"] + found["left_out"] == 300
    code, out, _ = sfumato_cli("risk", "location", "h.csv", *TABLE)
    assert code == 0 and "follow single rows" in out and "other people" in out


def test_a_bundle_is_never_compared_row_by_row(folder, sfumato_cli):
    (folder / "bundle").mkdir()
    code, _, err = sfumato_cli("risk", "location", "bundle", *TABLE, "--same-order")
    assert code == 2 and "not in the order" in err and "Next step" in err


def test_prediction_trains_on_the_release_and_tests_on_true_rows(folder, sfumato_cli):
    asked = ("--target", "income", "--inputs", "age,sex", "--models", "forest,krr")
    code, out, err = sfumato_cli(
        "utility", "prediction", "others.csv", *TABLE, *asked, "--public", "others.csv", "--json"
    )
    found = json.loads(out)
    assert (code, err) == (0, "") and [each["model"] for each in found["models"]] == ["forest", "krr"]
    assert found["test_rows_seen"] and found["models"][0]["delta"] is not None
    code, out, _ = sfumato_cli("utility", "prediction", "others.csv", *TABLE, *asked)
    assert code == 0 and "mean squared error" in out and "Measured on confidential rows" in out


def test_what_cannot_be_measured_is_named(folder, sfumato_cli):
    code, _, err = sfumato_cli("utility", "prediction", "others.csv", *TABLE)
    assert code == 2 and "--target" in err
    asked = ("--target", "income", "--brand", "sex")
    code, _, err = sfumato_cli("utility", "prediction", "others.csv", *TABLE, *asked)
    assert code == 2 and "--price" in err
    histogram = ("--method", "histogram", "--set", "column=age", "--epsilon", "1", "--no-ledger", "--out", "counts")
    assert sfumato_cli("release", *TABLE, *histogram, "--anyway")[0] == 0
    code, _, err = sfumato_cli("risk", "location", "counts", *TABLE)
    assert code == 2 and "holds counts" in err
