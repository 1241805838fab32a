"""``sfumato quality``: a plan that spends nothing, a statement that is charged, and what is refused before that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import sfumato
from quality.small import facts, frame, table

ARGUMENTS = ("quality", "bundle", "people.csv", "--epsilon", "0.05")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a table, a ledger and a bundle."""
    folder = tmp_path_factory.mktemp("quality")
    frame(400, seed=1).drop(columns="who").to_csv(folder / "people.csv", index=False)
    book = sfumato.Ledger(folder / "budget.db")
    book.open_table("people", epsilon=6)
    private = table(frame(400, seed=1), facts())
    sfumato.release(private, sfumato.Marginals(epsilon=5), ledger=book).save(folder / "bundle")
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_statement_is_planned_charged_and_verified(place, sfumato_cli):
    with_ledger = ("--ledger", "budget.db")
    code, out, _ = sfumato_cli(*ARGUMENTS, "--plan", "--about-rows", "10000", *with_ledger, "--json")
    assert code == 0 and json.loads(out)["left_after"] == "0.95"
    assert not (place / "bundle" / "quality.json").exists()
    code, out, _ = sfumato_cli(*ARGUMENTS, *with_ledger)
    assert code == 0 and "tvd_2_q16" in out and "epsilon 0.95 of 6" in out
    assert "city (the last column of 2 to 20 levels; no other was named)" in out
    code, out, _ = sfumato_cli("verify", "bundle", *with_ledger)
    assert (
        code == 0 and "quality.json states, at epsilon 0.05 (together with what it lies beside, 5.05): tvd_1_q16" in out
    )
    code, _, err = sfumato_cli(*ARGUMENTS, *with_ledger)
    assert code == 2 and "--again" in err
    code, out, _ = sfumato_cli(*ARGUMENTS, *with_ledger, "--again", "--target", "sex", "--json")
    body = json.loads(out)
    assert body["path"].endswith("quality-2.json") and body["target"] == "sex"
    assert sfumato.Ledger("budget.db").account("people").left_epsilon == "0.9"
    assert "quality of the release of" in sfumato_cli("ledger", "show", "budget.db")[1]


def test_what_is_refused_spends_nothing(place, sfumato_cli):
    assert "no ledger was given" in sfumato_cli(*ARGUMENTS)[2]
    assert "is not a bundle" in sfumato_cli("quality", ".", "people.csv", "--epsilon", "1", "--no-ledger")[2]
    Path("people.csv").write_text("size,sex,city\n1,x,a\n")
    assert "does not fit its schema" in sfumato_cli(*ARGUMENTS, "--ledger", "budget.db")[2]
    assert sfumato.Ledger("budget.db").account("people").left_epsilon == "1"
