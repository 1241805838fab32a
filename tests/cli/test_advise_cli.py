"""``sfumato advise`` as people and machines meet it: public facts in, parameters out, nothing spent or written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.entropy import advise, epsilon_for_entropy_error
from sfumato.example import codebook, write_households
from sfumato.mechanisms.mean_curve import best_rho, discretisation_error
from sfumato.mechanisms.plausible_deniability import pass_rates


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    write_households("pilot.csv", rows=300)
    codebook().save("h.toml")
    return tmp_path


def test_entropy_advice_is_that_of_the_library(sfumato_cli):
    code, out, err = sfumato_cli("advise", "entropy", "--rows", "1000", "--cells", "10", "--target", "0.01", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "") and found["better"] == "direct" and found["direct"] == advise(1000, 10, 1).direct
    assert found["epsilon_for_target"] == epsilon_for_entropy_error(0.01, 1000, 10)
    code, out, _ = sfumato_cli("advise", "entropy", "--rows", "1000", "--cells", "3", "--shape", "0.4,0.3,0.3")
    assert code == 0 and "from noisy counts" in out and "counts: predicted" in out and "no table was read" in out


def test_curve_advice_is_that_of_the_library(sfumato_cli):
    given = ("--rows", "400", "--clip", "2", "--points", "24", "--adjacency", "replace")
    found = json.loads(sfumato_cli("advise", "curve", *given, "--json")[1])
    assert found["rho"] == best_rho(400, 2, 1, 1e-6, steps=24).rho
    bound = discretisation_error(found["rho"], clip=2, steps=24).root_mean_square
    assert found["between_the_points"]["root_mean_square"] == pytest.approx(bound)
    code, out, _ = sfumato_cli("advise", "curve", *given)
    assert code == 0 and "--set rho=" in out and "between the points" in out
    code, out, _ = sfumato_cli("advise", "curve", "--rows", "400", "--clip", "2", "--positions", "0.2,0.5,1", "--json")
    assert code == 0 and json.loads(out)["rho"] > 0


def test_deniability_reads_a_pilot_and_says_so(folder, sfumato_cli):
    given = ("pilot.csv", "--schema", "h.toml", "--columns", "sex,tenure", "--model", "kernel", "--draws", "100")
    code, out, _ = sfumato_cli("advise", "deniability", *given, "--k", "30,60", "--gamma", "2,4", "--json")
    found = json.loads(out)
    same = pass_rates(
        "pilot.csv", codebook(), columns=["sex", "tenure"], model="kernel", k=[30, 60], gamma=[2, 4], draws=100
    )
    assert code == 0 and [point["rate"] for point in found["points"]] == [point.rate for point in same.points]
    code, out, _ = sfumato_cli("advise", "deniability", *given, "--k", "30", "--gamma", "2", "--rows", "900")
    assert code == 0 and "The pilot must be public" in out and "stands for 900" in " ".join(out.split())
    assert {path.name for path in folder.iterdir()} == {"pilot.csv", "h.toml"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("entropy", "--rows", "0", "--cells", "3"), "must be whole numbers"),
        (("entropy", "--rows", "9", "--cells", "3", "--shape", "a,b"), "not a list of numbers"),
        (("curve", "--rows", "9", "--clip", "-1", "--kernel", "foo"), "kernel 'foo' is unknown"),
        (("deniability", "pilot.csv", "--schema", "h.toml", "--k", "1.5"), "whole number of rows"),
        (("deniability", "pilot.csv", "--schema", "h.toml", "--columns", "sexx"), "no column 'sexx'"),
        (("deniability", "none.csv", "--schema", "h.toml"), "no file at 'none.csv'"),
    ],
)
def test_slips_are_answered_in_words(folder, sfumato_cli, arguments, told):
    code, _, err = sfumato_cli("advise", *arguments)
    assert code == 2 and told in " ".join(err.split()) and "Next step" in err and "Traceback" not in err
