"""``--allow-weak`` on the verbs that spend: refusals with exit code 2, warnings, and what is then said."""

from __future__ import annotations

import json

import pytest

from sfumato.example import codebook, write_households


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_households("h.csv", rows=400)
    codebook().save("h.toml")
    return tmp_path


AGE = ("--schema", "h.toml", "--method", "histogram", "--set", "column=age")
LADDER = (*AGE[:6], "--target", "tvd_1_bins <= 0.5", "--cost", "private", "--score-epsilon", "1", "--out", "found")


def test_plan_and_release_refuse_and_allow(folder, sfumato_cli):
    for call in (("plan", *AGE), ("release", "h.csv", *AGE, "--no-ledger", "--out", "b")):
        code, _, err = sfumato_cli(*call, "--epsilon", "1000")
        assert code == 2 and "epsilon 1000 is above 20" in err and "--allow-weak" in err
    assert not (folder / "b").exists()
    code, out, _ = sfumato_cli(
        "release", "h.csv", *AGE, "--epsilon", "1000", "--allow-weak", "--no-ledger", "--out", "b", "--json", "--anyway"
    )
    body = json.loads(out)
    assert code == 0 and body["guarantee"]["allowed_weak"]
    assert "hidden" not in body["statement"] and "100 %" not in body["statement"]


def test_a_weak_plan_prints_a_warning(folder, sfumato_cli):
    code, out, _ = sfumato_cli("plan", *AGE, "--epsilon", "6")
    assert code == 0 and "note: epsilon 6 is large" in " ".join(out.split())


def test_a_ladder_is_refused_and_allowed_as_a_whole(folder, sfumato_cli):
    code, _, err = sfumato_cli("calibrate", "h.csv", *LADDER, "--no-ledger", "--grid", "10,11")
    assert code == 2 and "epsilon 23 is above 20" in err
    code, out, _ = sfumato_cli("calibrate", "h.csv", *LADDER, "--no-ledger", "--grid", "10,11", "--allow-weak")
    said = " ".join(out.replace("│", " ").split())
    assert code == 0 and "What is promised by the kept release" in said
    assert "differential privacy with epsilon = 23, for adding or removing one row" in said
    assert "The custodian allowed this weak guarantee by name" in said
