"""``sfumato schema buy``: what it prints, what it refuses, and a whole release from a file that nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfumato import Ledger, Schema


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 4000), "sex": rng.choice(["f", "m"], 4000)})
    frame.to_csv("people.csv", sep=";", index=False)
    return "people.csv"


def buy(sfumato_cli, file: str, *more: str) -> tuple[int, str, str]:
    return sfumato_cli("schema", "buy", file, "--delimiter", ";", "--epsilon", "0.5", *more)


def test_a_release_from_a_file_that_nobody_knows(file: str, sfumato_cli):
    assert sfumato_cli("ledger", "init", "L", "--table", "people", "--epsilon", "1")[0] == 0
    code, out, err = buy(sfumato_cli, file, "--ledger", "L", "--out", "s.toml")
    assert (code, err) == (0, "")
    assert "f, m" in out
    assert "ledger entry 2: epsilon 0.5" in out
    assert Schema.load("s.toml").is_confirmed
    arguments = ("--schema", "s.toml", "--method", "marginals", "--epsilon", "0.5", "--ledger", "L", "--out", "bundle")
    assert sfumato_cli("release", file, "--delimiter", ";", *arguments, "--anyway")[0] == 0
    assert Ledger("L").account("people").left_epsilon == "0"
    code, _, err = buy(sfumato_cli, file, "--ledger", "L", "--out", "t.toml")
    assert code == 2
    assert "BudgetExceeded" in err
    assert not Path("t.toml").exists()


def test_json_holds_the_schema(file: str, sfumato_cli):
    code, out, _ = buy(sfumato_cli, file, "--no-ledger", "--seed", "1", "--json")
    assert code == 0
    found = json.loads(out)
    assert Schema.parse(found["schema"])["sex"].values == ("f", "m")
    assert "not for release" in found["notes"][0]


def test_a_plan_says_what_can_be_seen_and_spends_nothing(file: str, sfumato_cli):
    code, out, _ = buy(sfumato_cli, file, "--plan", "--out", "s.toml")
    assert code == 0
    assert "foreseen for 2 columns at epsilon 0.5: a value must stand in about" in out
    assert "nothing was spent" in out
    assert not Path("s.toml").exists()
    least = json.loads(buy(sfumato_cli, file, "--plan", "--json")[1])["least_rows"]
    assert buy(sfumato_cli, file, "--plan", "--about-rows", str(least))[0] == 0
    code, _, err = buy(sfumato_cli, file, "--no-ledger", "--about-rows", str(least - 1))
    assert code == 2
    assert "TooSmallToBuyError" in err


@pytest.mark.parametrize(
    "more, words",
    [
        ((), "no ledger was given"),
        (("--ledger", "L"), "--table NAME"),
        (("--no-ledger", "--out", "people.csv"), "exists"),
        (("--no-ledger", "--columns", "age,rank"), "column 'rank' is not in the table"),
        (("--no-ledger", "--person", "who"), "column 'who' is not in the table"),
        (("--no-ledger", "--delta", "0"), "delta must lie between"),
        (("--no-ledger", "--rows-per-person", "3"), "rows_per_person needs person"),
    ],
)
def test_what_is_wrong_is_said_with_a_next_step(file: str, sfumato_cli, more: tuple[str, ...], words: str):
    Ledger("L").open_table("other", epsilon=1, delta="1e-6")
    before = Path(file).read_text()
    code, out, err = buy(sfumato_cli, file, *more)
    assert code == 2
    assert words in err
    assert "Next step:" in err
    assert out == ""
    assert Path(file).read_text() == before
