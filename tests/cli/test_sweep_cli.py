"""``sfumato risk sweep``: every attack at several epsilons, on one page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.example import codebook, write_households

TABLE = ("h.csv", "--schema", "h.toml", "--method", "contingency", "--set", "columns=sex,insured")
ASKED = ("--epsilons", "0.5,4", "--trials", "60", "--seed", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    write_households("h.csv", rows=200)
    codebook().save("h.toml")
    return tmp_path


def test_one_page_one_json_file_one_table(folder, sfumato_cli):
    named = ("--known", "sex", "--sensitive", "insured")
    code, out, err = sfumato_cli("risk", "sweep", *TABLE, *ASKED, *named, "--out", "a.html")
    assert (code, err) == (0, "")
    for words in (
        "likelihood ratio",
        "fresh references",
        "Inference of insured from sex",
        "62.2",
        "98.2",
        "page: a.html",
    ):
        assert words in out
    page, found = Path("a.html").read_text(encoding="utf-8"), json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert [point["epsilon"] for point in found["points"]] == [0.5, 4.0]
    assert len(found["points"][0]["results"]) == 5 and "private rows" in found["notice"]
    assert "Do not publish" in page and page.count('<svg class="broad"') == 2
    assert "ceiling of the guarantee" in page and "people who are not in it" in page
    code, _, err = sfumato_cli("risk", "sweep", *TABLE, *ASKED, "--out", "a.html")
    assert code == 2 and "exist" in err and "--force" in err


def test_machines_get_one_document_and_the_same_games(folder, sfumato_cli):
    first = sfumato_cli("risk", "sweep", *TABLE, *ASKED, "--json", "--out", "a.html")[1]
    again = sfumato_cli("risk", "sweep", *TABLE, *ASKED, "--json", "--out", "a.html", "--force")[1]
    assert json.loads(first) == json.loads(again) and json.loads(first)["left_out"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--epsilons", "a"), "not a list of numbers"),
        (("--epsilons", ","), "--epsilons is empty"),
        (("--epsilons", "1,-2"), "epsilon must be above 0"),
        (("--epsilons", "1", "--sensitive", "income", "--known", "nobody"), "no column 'nobody'"),
        (("--epsilons", "1", "--out", "page.txt"), "does not end in .html"),
        (("--epsilons", "1", "--target", "0"), "is not a row number"),
    ],
)
def test_slips_are_answered_before_anything_is_computed(folder, sfumato_cli, arguments, told):
    code, _, err = sfumato_cli("risk", "sweep", *TABLE, *arguments)
    assert code == 2 and told in " ".join(err.split()) and "Next step" in err
    assert {path.name for path in folder.iterdir()} == {"h.csv", "h.toml"}
