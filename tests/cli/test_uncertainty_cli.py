"""``sfumato uncertainty``, and expected errors in the report of ``sfumato release``."""

from __future__ import annotations

import json

import pytest

from sfumato.example import codebook, write_households

GRID = ("--schema", "h.toml", "--method", "grid", "--set", "columns=age,education", "--epsilon", "1", "--seed", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_households("h.csv", rows=400)
    codebook().save("h.toml")
    return tmp_path


def test_a_release_says_how_sure_it_is_and_can_be_asked_for_more(folder, sfumato_cli):
    code, _, err = sfumato_cli("release", "h.csv", *GRID, "--no-ledger", "--out", "b", "--reruns", "2")
    assert code == 2 and "reruns must be" in err and not (folder / "b").exists()
    code, out, _ = sfumato_cli("release", "h.csv", *GRID, "--no-ledger", "--out", "b", "--reruns", "4")
    assert code == 0 and "from 4 reruns" in out
    said = json.loads((folder / "b" / "release.json").read_text())["expected_errors"]
    code, out, _ = sfumato_cli("uncertainty", "b", "--statistic", "mean age", "--reruns", "4", "--json")
    body = json.loads(out)
    assert code == 0 and body["reruns"] == 4
    [mean] = body["estimates"]
    assert {key: mean[key] for key in said["numbers"][0]} == said["numbers"][0]
    code, out, _ = sfumato_cli("uncertainty", "b", "--statistic", "regression of age on education", "--reruns", "4")
    assert code == 0 and "weaker" in out and "held" in out and "at no cost" in out


def test_wrong_words_are_answered(folder, sfumato_cli):
    sfumato_cli("release", "h.csv", *GRID, "--no-ledger", "--out", "b")
    assert "expected_errors" not in json.loads((folder / "b" / "release.json").read_text())
    code, _, err = sfumato_cli("uncertainty", "b", "--statistic", "mean wealth")
    assert code == 2 and "no released column 'wealth'" in err and "age, education" in err
    code, _, err = sfumato_cli("uncertainty", "nowhere", "--statistic", "mean age")
    assert code == 2 and "not a bundle" in err
