"""``sfumato calibrate`` as a custodian and a machine meet it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

SCHEMA = """
[table]
name = "<b>clinic</b>"
[columns.age]
kind = "category"
values = ["young", "old"]
role = "quasi-identifier"
[columns.illness]
kind = "category"
values = ["none", "flu", "cold"]
role = "sensitive"
"""
ROWS = "young,none\n" * 300 + "young,flu\n" * 40 + "old,flu\n" * 200 + "old,none\n" * 60 + "old,cold\n" * 3
CALL = ("calibrate", "t.csv", "--schema", "s.toml", "--method", "histogram", "--set", "column=illness")
PAGE = "calibration.html"
GRID = ("--grid", "0.05,0.3,3", "--seed", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "t.csv").write_text("age,illness\n" + ROWS)
    return tmp_path


def test_it_prints_the_curve_and_writes_the_page(folder, sfumato_cli):
    code, out, err = sfumato_cli(*CALL, "--target", "tvd_1_bins <= 0.02", *GRID, "--out", "found")
    assert (code, err) == (0, "")
    assert "tvd_1_bins of histogram against epsilon" in out
    assert re.search(r"epsilon = 0\.3 is the smallest value that meets tvd_1_bins <= 0\.02, of 3 values", out)
    assert "this choice was not charged" in out and "custodian's copy, do not publish" in out
    page = (folder / "found" / "calibration.html").read_text()
    assert (
        "Custodian&#39;s copy" in page
        and "chosen: epsilon = 0.3" in page
        and "<b>clinic" not in page.split("<body>")[1]
    )
    found = json.loads((folder / "found" / "calibration.json").read_text())
    assert found["chosen"] == 0.3 and len(found["points"]) == 3


def test_machines_get_one_document(folder, sfumato_cli):
    code, out, _ = sfumato_cli(*CALL, "--target", "tvd_1_bins <= 0.02", *GRID, "--cost", "pilot", "--json")
    body = json.loads(out)
    assert code == 0 and body["calibration"]["cost"] == "pilot" and not body["calibration"]["private_data_used"]
    assert Path(body["page"]).parent.name == "-b-clinic-b--calibration"
    assert "was not looked at" in body["statement"] and body["bundle"] is None


def test_bisection_and_options(folder, sfumato_cli):
    arguments = ("calibrate", "t.csv", "-s", "s.toml", "--set", "columns=age,illness")
    options = ("--with", "identifiers=age", "--with", "sensitive=illness", "--json", "--out", "found")
    code, out, _ = sfumato_cli(*arguments, "-t", "homogeneity_record <= 0.2", "--range", "0.01:5", *options)
    found = json.loads(out)["calibration"]
    assert code == 0 and found["search"] == "bisection" and found["points"][0]["exact"]
    assert found["options"] == {"identifiers": "age", "sensitive": "illness"}


def test_a_charged_selection_is_recorded_and_its_release_verifies(folder, sfumato_cli):
    assert sfumato_cli("ledger", "init", "budget.db", "--schema", "s.toml", "--epsilon", "7")[0] == 0
    code, out, err = sfumato_cli(
        *CALL,
        "--target",
        "tvd_1_bins <= 0.2",
        "--grid",
        "0.5,1,5",
        "--cost",
        "private",
        "--ledger",
        "budget.db",
        "--out",
        "found",
    )
    assert (code, err) == (0, "") and "by a charged selection" in out and "recorded in the ledger" in out
    assert sfumato_cli("verify", "found/release", "--ledger", "budget.db")[0] == 0
    bundle, page = Path("found/release/release.json"), next(Path("found").glob("*.html"))
    assert bundle.stat().st_mtime_ns < page.stat().st_mtime_ns  # what was paid for comes first
    again = (*CALL, "--target", "tvd_1_bins <= 0.2", "--grid", "0.5,1,5", "--cost", "private", "--ledger", "budget.db")
    code, _, err = sfumato_cli(*again, "--out", "found", "--force")
    assert code == 2 and "release" in err
    code, _, err = sfumato_cli(*again, "--out", "other")  # the whole ladder costs 6.8, and at least 0.6 are gone
    assert code == 2 and "BudgetExceeded" in err and not (folder / "other").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--target", "nonsense <= 1"), "there is no metric 'nonsense'"),
        (("--target", "tvd_1_bins < 1"), "use <= or >="),
        (("--target", "tvd_1_bins <= 1", "--grid", "a,b"), "is not a list of numbers"),
        (("--target", "tvd_1_bins <= 1", "--range", "1-3"), "not of the form low:high"),
        (("--target", "tvd_1_bins <= 1", "--cost", "free"), "unknown cost 'free'"),
        (
            ("--target", "membership_auc <= 1", "--cost", "private", "--no-ledger"),
            "no sensitivity is proved for membership_auc",
        ),
        (
            ("--target", "tvd_1_bins <= 1", "--parameter", "size", "--grid", "1", "--epsilon", "1"),
            "has no parameter 'size'",
        ),
    ],
)
def test_errors_are_named_and_leave_nothing_behind(folder, sfumato_cli, more, words):
    code, _, err = sfumato_cli(*CALL, *more, "--out", "found")
    assert code == 2 and words in " ".join(err.split()) and "Next step" in err
    assert not (folder / "found").exists()


def test_an_earlier_page_is_kept_unless_forced(folder, sfumato_cli):
    arguments = (*CALL, "--target", "tvd_1_bins <= 0.02", *GRID, "--out", "found")
    assert sfumato_cli(*arguments)[0] == 0
    code, _, err = sfumato_cli(*arguments)
    assert code == 2 and "--force" in err
    assert sfumato_cli(*arguments, "--force")[0] == 0


def test_a_ceiling_on_risk_needs_no_data_no_ledger_and_no_schema(folder, sfumato_cli):
    code, out, err = sfumato_cli("calibrate", "--target", "advantage <= 0.05", "--grid", "0.5,1", "--json")
    body = json.loads(out)
    found = body["calibration"]
    assert (code, err) == (0, "") and found["method"] == "aim" and found["chosen"] == 0.5
    assert found["cost"] == "public" and not found["private_data_used"] and found["proved"]["by_pair"] == 0.1
    assert Path(body["page"]).parent.name == "aim-calibration" and not list(folder.glob("*.db"))


def test_a_ceiling_reads_the_schema_and_never_the_data(folder, sfumato_cli):
    histogram = ("--schema", "s.toml", "--method", "histogram", "--set", "column=illness")
    code, out, err = sfumato_cli("calibrate", "gone.csv", *histogram, "--target", "hits <= 0.05 at 0.01", "--out", "f")
    assert (code, err) == (0, "") and "epsilon = 1.6 is the largest" in out and "gone.csv was not read" in out
    assert "finds at most 5 of 100 who are" in out and "Published deployments near the choice" in out
    assert "may be shown to anybody" in out and "OpenDP Deployments Registry" in (folder / "f" / PAGE).read_text()


def test_a_ceiling_takes_the_method_that_a_release_would_take(folder, sfumato_cli):
    one = ("--schema", "s.toml", "--set", "column=illness", "--target", "success <= 0.2 at 0.1", "--out", "f")
    code, out, _ = sfumato_cli("calibrate", *one)
    assert code == 0 and "histogram was taken" in out and "epsilon = 0.69 is the largest" in out


def test_what_is_measured_says_that_it_needs_data(folder, sfumato_cli):
    code, _, err = sfumato_cli("calibrate", "--target", "tvd_1_bins <= 0.05")
    assert code == 2 and "DATA is missing" in err and "--schema is missing" in err and "advantage <= 0.2" in err
    code, _, err = sfumato_cli("calibrate", "--target", "hits <= 0.05", "--schema", "s.toml")
    assert code == 2 and "behind 'at'" in err and "hits <= 0.2 at 0.01" in err
    code, _, err = sfumato_cli("calibrate", "--target", "advantage <= 0.2", "--cost", "private", "--no-ledger")
    assert code == 2 and "costs nothing" in err
