"""``sfumato risk membership | linkage | inference`` as a custodian and a machine meet them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato
from sfumato.cli.risk import games as risk_verbs
from sfumato.example import codebook, households, write_households
from sfumato.risk.attacks import FreshReferenceLinkage, ShadowModelAttack
from sfumato.risk.simulated import membership_game
from sfumato.risk.simulated.membership_game import default_trials
from sfumato.schema.column import Column

TABLE = ("h.csv", "--schema", "h.toml")
HISTOGRAM = ("--method", "histogram", "--set", "column=age", "--set", "epsilon=1")
MARGINALS = ("--method", "marginals", "--set", "columns=sex,insured", "--epsilon", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_households("h.csv", rows=200)
    write_households("others.csv", rows=200, seed=7)
    codebook().save("h.toml")
    return tmp_path


def test_membership_shows_every_attack_beside_its_yardsticks(folder, sfumato_cli):
    code, out, err = sfumato_cli("risk", "membership", *TABLE, *HISTOGRAM, "--trials", "200", "--seed", "1")
    assert (code, err) == (0, "")
    for words in ("likelihood ratio", "entropy and total", "guessing", "control", "ceiling", "73.1", "counted from 1"):
        assert words in out
    assert "The attacker wants to know whether" in out and "Nothing was released or spent" in out
    assert {path.name for path in folder.iterdir()} == {"h.csv", "others.csv", "h.toml"}


def test_machines_get_one_document(folder, sfumato_cli):
    arguments = ("risk", "membership", *TABLE, *HISTOGRAM, "--trials", "100", "--seed", "1", "--target", "7", "--json")
    code, out, _ = sfumato_cli(*arguments)
    found = json.loads(out)
    assert code == 0 and [attack["trials"] for attack in found["attacks"]] == [100, 100, 100]
    assert found["attacks"][0]["ceiling"] == pytest.approx(0.731059, abs=1e-6)
    assert found["attacks"][0]["interval"]["level"] == 0.95 and not found["attacks"][0]["refutes_claim"]
    assert "row 7 of the table" in found["attacks"][0]["statement"]
    assert json.loads(sfumato_cli(*arguments)[1]) == found


def test_linkage_and_rows(folder, sfumato_cli):
    code, out, _ = sfumato_cli("risk", "linkage", *TABLE, *MARGINALS, "--trials", "20", "--seed", "1", "--rows", "50")
    assert code == 0 and "fresh references, against marginals" in " ".join(out.split())
    code, out, _ = sfumato_cli("risk", "membership", *TABLE, *MARGINALS, "--trials", "20", "--seed", "1")
    assert code == 0 and "likelihood" not in out


def test_inference_by_a_method(folder, sfumato_cli):
    asked = ("--known", "age", "--known", "sex", "--sensitive", "insured")
    method = ("--method", "marginals", "--set", "columns=age,sex,insured", "--epsilon", "1")
    code, out, err = sfumato_cli("risk", "inference", *TABLE, *asked, *method, "--seed", "1")
    assert (code, err) == (0, "") and "Inference of insured from age, sex" in out and "most common value" in out


def test_inference_on_a_bundle_and_on_a_file(folder, sfumato_cli):
    table = sfumato.read(households(rows=200), codebook())
    sfumato.release(table, sfumato.Contingency(["sex", "insured"], 1.0), seed=1).save("counts")
    made = sfumato.release(table, sfumato.Marginals(1.0, columns=["sex", "insured"]), seed=1)
    made.save("rows")
    asked = ("risk", "inference", *TABLE, "--known", "sex", "--sensitive", "insured", "--seed", "1", "--json")
    rates = {}
    for place in ("counts", "rows", "rows/data.parquet", "rows/data.csv"):
        code, out, _ = sfumato_cli(*asked, "--release", place, "--holdout", "others.csv")
        assert code == 0
        rates[place] = json.loads(out)["attacks"][0]["rate"]
    assert rates["rows"] == rates["rows/data.parquet"] == rates["rows/data.csv"]


def narrow() -> None:
    """Two columns, so that AIM is quick."""
    schema = codebook()
    sfumato.Schema(name="narrow", columns=(schema["sex"], schema["insured"])).save("narrow.toml")


@pytest.mark.parametrize("verb", ["membership", "linkage"])
def test_the_method_that_release_takes_is_attacked(folder, sfumato_cli, monkeypatch, verb):
    """The game is made and not played: fitting a model a hundred times takes minutes."""
    narrow()
    games = []
    monkeypatch.setattr(risk_verbs, "_run_games", lambda voice, played, *others: games.append(played) or [])
    code, out, err = sfumato_cli("risk", verb, "h.csv", "--schema", "narrow.toml", "--epsilon", "1")
    assert (code, err) == (0, "") and "so aim was taken" in out
    assert games[0].method == sfumato.AIM(epsilon="1") and "values themselves" in games[0].seen


def test_inference_takes_the_method_that_release_takes(folder, sfumato_cli):
    narrow()
    asked = ("--known", "sex", "--sensitive", "insured", "--epsilon", "1", "--seed", "1")
    code, out, err = sfumato_cli("risk", "inference", "h.csv", "--schema", "narrow.toml", *asked)
    told = " ".join(out.split())
    assert (code, err) == (0, "") and "against aim" in told and "so aim was taken" in told


def test_games_that_fit_models_say_how_long_they_take(folder):
    narrow()
    table = sfumato.read("h.csv", sfumato.Schema.load("narrow.toml"))
    played = membership_game(table, sfumato.AIM(epsilon=1))
    for attack, trials in ((ShadowModelAttack(), 60), (FreshReferenceLinkage(), 33)):
        assert default_trials(played, [attack]) == trials
    assert "150 times" in risk_verbs._expected_seconds(
        "aim", 150, 7.3
    ) and "18 minutes" in risk_verbs._expected_seconds("aim", 150, 7.3)
    runs = []
    for attack in (ShadowModelAttack(), FreshReferenceLinkage(2)):
        watched = replace(membership_game(table, sfumato.Marginals(1.0), rows=20), told=lambda: runs.append(1))
        attack.run(watched, trials=21, seed=1)
        assert len(runs) - 1 == attack.releases(21), "and one to see how wide a release is"
        runs.clear()


def test_one_named_column_is_attacked_as_it_would_be_released(folder, sfumato_cli):
    arguments = ("risk", "membership", *TABLE, "--set", "column=age", "--epsilon", "1", "--trials", "40", "--json")
    found = json.loads(sfumato_cli(*arguments)[1])
    assert "histogram was taken: one column was named" in found["method_chosen"]
    assert "public cell" in found["attacks"][0]["threat"]["sees"]


def test_a_copy_is_read_off_by_values_and_not_by_bins(folder, sfumato_cli):
    """A secret that hangs on nothing, beside a number that singles everybody out."""
    frame = pa.table({"x": [i / 200 for i in range(200)], "s": [str(i * i % 7 % 2) for i in range(200)]})
    pa.csv.write_csv(frame, "copy.csv")
    columns = (Column("x", "number", bounds=(0.0, 1.0), bins=2), Column("s", "category", values=("0", "1")))
    sfumato.Schema(name="copy", columns=columns).save("copy.toml")
    asked = ("risk", "inference", "copy.csv", "--schema", "copy.toml", "--known", "x", "--sensitive", "s", "--release")
    code, out, _ = sfumato_cli(*asked, "copy.csv")
    assert code == 0 and "100.0" in out and "sees the released values themselves" in " ".join(out.split())
    assert "for the custodian's eyes" in out
    found = json.loads(sfumato_cli(*asked, "copy.csv", "--sees", "bins", "--json")[1])["attacks"][0]
    assert found["rate"] < 0.8 and "only the public bin" in found["threat"]["sees"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("membership", *TABLE, "--set", "column=shoe", "--epsilon", "1"), "shoe"),
        (("membership", *TABLE, *HISTOGRAM, "--trials", "3"), "at least 20"),
        (("membership", *TABLE, *HISTOGRAM, "--target", "0"), "counted from 1"),
        (("membership", *TABLE, *HISTOGRAM, "--target", "999"), "row"),
        (("membership", *TABLE), "aim needs epsilon"),
        (("linkage", *TABLE), "aim needs epsilon"),
        (("membership", *TABLE, *HISTOGRAM, "--sees", "cells"), "cannot see 'cells'"),
        (("linkage", *TABLE, *HISTOGRAM, "--sees", "cells"), "cannot see 'cells'"),
        (("inference", *TABLE, "--known", "age", "--sensitive", "insured", *MARGINALS, "--sees", "all"), "cannot see"),
        (
            ("inference", *TABLE, "--known", "age", "--sensitive", "insured", "--release", "no.csv", *MARGINALS),
            "found --set",
        ),
        (("membership", *TABLE, *MARGINALS, "--trials", "0"), "at least 20"),
        (("membership", "nowhere.csv", "--schema", "h.toml", *HISTOGRAM), "no file"),
        (("linkage", *TABLE, *HISTOGRAM, "--references", "0"), "references"),
        (("inference", *TABLE, "--known", "age", "--sensitive", "insured"), "aim needs epsilon"),
        (("inference", *TABLE, "--known", "shoe", "--sensitive", "insured", *MARGINALS), "shoe"),
        (("inference", *TABLE, "--known", "insured", "--sensitive", "insured", *MARGINALS), "both known and sensitive"),
        (
            ("inference", *TABLE, "--known", "sex", "--sensitive", "insured", *MARGINALS, "--holdout", "h.csv"),
            "--holdout",
        ),
        (("inference", *TABLE, "--known", "age", "--sensitive", "insured", "--release", "."), "not a bundle"),
        (("inference", *TABLE, "--known", "age", "--sensitive", "insured", "--release", "no.csv"), "no file"),
        (("inference", *TABLE, "--known", "age", "--sensitive", "insured", *MARGINALS), "column"),
        (("inference", *TABLE, "--known", "age", "--sensitive", "insured", *HISTOGRAM), "no released table"),
    ],
)
def test_wrong_arguments_end_in_a_named_error(folder, sfumato_cli, arguments, words):
    code, out, err = sfumato_cli("risk", *arguments)
    assert code == 2 and words in err and "Next step" in err and "Traceback" not in err + out


def test_a_draft_is_measured_with_a_warning(folder, sfumato_cli):
    text = Path("h.toml").read_text().replace("[table]", "[table]\ndraft = true", 1)
    Path("draft.toml").write_text(text)
    code, out, _ = sfumato_cli("risk", "linkage", "h.csv", "--schema", "draft.toml", *HISTOGRAM, "--trials", "20")
    assert code == 0 and "the schema is a draft" in out
