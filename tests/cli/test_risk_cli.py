"""``sfumato risk homogeneity`` as a custodian and a machine meet it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pandas as pd
import pytest

SCHEMA = """
[table]
name = "clinic"
[columns.age]
kind = "category"
values = ["young", "old"]
role = "quasi-identifier"
[columns.sex]
kind = "category"
values = ["f", "m", "x"]
role = "quasi-identifier"
[columns.illness]
kind = "category"
values = ["none", "flu", "<script>alert(1)</script>"]
role = "sensitive"
[columns.visits]
kind = "integer"
bounds = [0, 9]
"""
ROWS = "young,f,none,1\n" * 6 + "young,m,flu,2\nyoung,m,none,0\n" + "old,f,flu,3\n" * 4 + "old,m,none,1\nold,f,flu,9\n"
RISK = ("risk", "homogeneity", "t.csv", "--schema", "s.toml")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "draft.toml").write_text(SCHEMA.replace('name = "clinic"', 'name = "clinic"\ndraft = true'))
    (tmp_path / "t.csv").write_text("age,sex,illness,visits\n" + ROWS)
    (tmp_path / "pilot.csv").write_text("age,sex,illness\nyoung,f,none\nyoung,f,flu\nold,m,flu\n")
    return tmp_path


@pytest.fixture
def sfumato_cli(sfumato_cli):
    """Join what the terminal wraps, so that sentences can be looked for."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code, out, err = sfumato_cli(*arguments)
        return code, " ".join(out.split()), err

    return call


def test_it_prints_the_answer_and_writes_page_and_json(folder, sfumato_cli):
    code, out, err = sfumato_cli(*RISK, "--target", "0.35")
    assert (code, err) == (0, "")
    assert "If I publish this cross table with epsilon 1, how many people's illness can a neighbour read off?" in out
    assert "of 14 people" in out and "Every epsilon up to" in out
    assert "Cells most at risk" in out and "k-anonymity" in out and "TVD" in out
    assert "data-dependent" in out and "--pilot" in out and "custodian's copy, do not publish" in out
    page, saved = Path("clinic-risk.html").read_text(), json.loads(Path("clinic-risk.json").read_text())
    assert saved["curves"]["choice"]["target"] == 0.35
    assert saved["curves"]["records"] == 14 and saved["notice"].startswith("custodian's copy")
    assert len(saved["curves"]["points"]) == 61
    for words in ("Custodian&#39;s copy", "data-dependent", "--pilot", "Cells most at risk", "k-anonymity"):
        assert words in page
    assert not list(folder.glob(".*"))


def test_the_page_is_one_file_that_loads_nothing(folder, sfumato_cli):
    sfumato_cli(*RISK, "--out", "r.html")
    page = Path("r.html").read_text()
    assert len(page.encode()) < 200_000
    assert "<script>alert" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|@import|url\(|\ssrc=", page)
    drawn = re.findall(r'<svg class="broad"[^>]* aria-label="(.*?)">', page)
    titles = (
        "risk against epsilon",
        "right against epsilon",
        "chance against epsilon",
        "distance (TVD) against epsilon",
    )
    assert all(words.startswith(title) for words, title in zip(drawn, titles, strict=True))


def test_json_is_the_only_thing_on_standard_output(folder, sfumato_cli):
    code, out, _ = sfumato_cli(*RISK, "--target", "0.9", "--weights", "record", "--view", "any", "--json")
    body = json.loads(out)
    assert (code, body["page"], body["json"]) == (0, "clinic-risk.html", "clinic-risk.json")
    assert body["curves"]["choice"]["safe"] == [0.0, "Infinity"]
    assert (body["curves"]["view"], body["curves"]["weights"]) == ("any", "record")
    assert len(body["answers"]) == 3


def test_a_pilot_steers_and_the_data_are_not_read(folder, sfumato_cli):
    Path("t.csv").unlink()
    code, out, _ = sfumato_cli(*RISK, "--pilot", "pilot.csv", "--target", "0.4")
    assert code == 0
    assert "every number comes from the pilot table 'pilot.csv'" in out and "of 3 people" in out
    page = Path("clinic-risk.html").read_text()
    assert "From a pilot table" in page and "Do not publish" not in page
    assert json.loads(Path("clinic-risk.json").read_text())["curves"]["pilot"] == "pilot.csv"


def test_a_pilot_of_a_table_with_a_public_row_count_may_have_another(folder, sfumato_cli):
    Path("s.toml").write_text(SCHEMA.replace('name = "clinic"', 'name = "clinic"\nadjacency = "replace"\nrows = 14'))
    code, out, _ = sfumato_cli(*RISK, "--pilot", "pilot.csv", "--json")
    assert (code, json.loads(out)["curves"]["sensitivity"]) == (0, 2.0)
    assert json.loads(sfumato_cli(*RISK, "--out", "b.html", "--json")[1])["curves"]["sensitivity"] == 2.0


def test_columns_may_be_named_and_a_draft_is_only_warned_about(folder, sfumato_cli):
    named = ("--identifiers", "age, visits", "--sensitive", "sex")
    code, out, _ = sfumato_cli("risk", "homogeneity", "t.csv", "--schema", "draft.toml", *named)
    assert code == 0 and "warning: the schema is a draft" in out and "age x visits by sex" in out
    assert "The schema is a draft" in Path("clinic-risk.html").read_text()


def test_files_are_not_overwritten_without_force(folder, sfumato_cli):
    Path("clinic-risk.json").write_text("mine")
    code, _, err = sfumato_cli(*RISK)
    assert code == 2 and "clinic-risk.json" in err and "--force" in err
    assert Path("clinic-risk.json").read_text() == "mine" and not Path("clinic-risk.html").exists()
    assert sfumato_cli(*RISK, "--force")[0] == 0
    assert Path("clinic-risk.json").read_text() != "mine"


BAD = {
    "no range": ("RiskError", ("--epsilon-range", "1-2")),
    "range upside down": ("RiskError", ("--epsilon-range", "2:1")),
    "range from 0": ("RiskError", ("--epsilon-range", "0:1")),
    "range to nan": ("RiskError", ("--epsilon-range", "1:nan")),
    "target 0": ("RiskError", ("--target", "0")),
    "target 35": ("RiskError", ("--target", "35")),
    "target nan": ("RiskError", ("--target", "nan")),
    "unknown identifier": ("RiskError", ("--identifiers", "age,height")),
    "unknown sensitive": ("RiskError", ("--sensitive", "height")),
    "no identifiers": ("RiskError", ("--identifiers", ",")),
    "both at once": ("RiskError", ("--identifiers", "age,illness")),
    "named twice": ("RiskError", ("--identifiers", "age,age")),
    "unknown view": ("RiskError", ("--view", "all")),
    "unknown weights": ("RiskError", ("--weights", "row")),
    "unknown mechanism": ("RiskError", ("--mechanism", "staircase")),
    "no delta": ("RiskError", ("--mechanism", "gaussian")),
    "delta for geometric noise": ("RiskError", ("--delta", "1e-6")),
    "rule for laplace noise": ("RiskError", ("--mechanism", "laplace", "--rule", "analytic")),
    "unknown rule": ("RiskError", ("--mechanism", "gaussian", "--delta", "1e-6", "--rule", "best")),
    "delta 0": ("RiskError", ("--mechanism", "gaussian", "--delta", "0")),
    "delta nan": ("RiskError", ("--mechanism", "gaussian", "--delta", "nan")),
    "classical beyond 1": (
        "RiskError",
        ("--mechanism", "gaussian", "--delta", "1e-6", "--rule", "classical", "--epsilon-range", "0.1:5"),
    ),
    "sensitive twice": ("RiskError", ("--sensitive", "illness,illness")),
    "several and conservative": ("RiskError", ("--sensitive", "illness,visits", "--view", "conservative")),
    "one of several unknown": ("RiskError", ("--sensitive", "illness,height")),
    "no such pilot": ("TableError", ("--pilot", "none.csv")),
    "pilot without the column": ("TableError", ("--pilot", "bad-pilot.csv")),
    "unknown column with a pilot": ("RiskError", ("--pilot", "pilot.csv", "--sensitive", "height")),
    "page is no page": ("RiskError", ("--out", "risk.json")),
    "page is a folder": ("RiskError", ("--out", "here.html")),
    "no such folder": ("RiskError", ("--out", "there/risk.html")),
    "wrong delimiter": ("TableError", ("--delimiter", ";")),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_named_message_and_nothing_is_written(case, folder, sfumato_cli):
    Path("bad-pilot.csv").write_text("age,sex\nyoung,f\n")
    Path("here.html").mkdir()
    before = sorted(folder.iterdir())
    name, wrong = BAD[case]
    code, out, err = sfumato_cli(*RISK, *wrong)
    assert (code, out) == (2, "")
    assert err.startswith(f"{name}:") and "Next step:" in err and "Traceback" not in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TableError", "age,sex,illness,visits\nyoung,f,plague,1\n"),
        ("RiskError", "age,sex,illness,visits\n"),
    ],
)
def test_a_table_that_does_not_fit_or_is_empty_is_refused(name, text, folder, sfumato_cli):
    Path("t.csv").write_text(text)
    code, _, err = sfumato_cli(*RISK)
    assert code == 2 and err.startswith(f"{name}:")
    assert not Path("clinic-risk.html").exists()


def test_adult_from_the_command_line(folder, sfumato_cli, shared_data):
    with gzip.open(shared_data / "adult_dr_ha.csv.gz", "rt") as file:
        frame = pd.read_csv(file)
    text = '[table]\nname = "adult"\n'
    for name in frame.columns:
        role = "sensitive" if name == "income" else "quasi-identifier"
        values = sorted(frame[name].unique().tolist())
        text += f'[columns.{name}]\nkind = "category"\nvalues = {values!r}\nrole = "{role}"\n'
    Path("adult.toml").write_text(text)
    data = str(shared_data / "adult_dr_ha.csv.gz")
    wanted = ("--target", "0.35", "--view", "conservative", "--mechanism", "laplace", "--json")
    code, out, _ = sfumato_cli("risk", "homogeneity", data, "--schema", "adult.toml", *wanted)
    found = json.loads(out)["curves"]
    assert code == 0 and (found["cells"], found["records"]) == (5009, 27504)
    assert found["choice"]["safe"][1] == pytest.approx(0.220171, abs=1e-5)
    assert found["companions"]["homogeneous_cells"] == pytest.approx(4044 / 5009)


def test_gaussian_noise_draws_the_same_page(folder, sfumato_cli):
    noise = ("--mechanism", "discrete-gaussian", "--delta", "1e-6")
    code, out, _ = sfumato_cli(*RISK, *noise, "--target", "0.2", "--json")
    found = json.loads(out)["curves"]
    assert code == 0 and (found["mechanism"], found["delta"], found["rule"]) == ("discrete-gaussian", 1e-6, "analytic")
    assert found["choice"]["safe"][1] > 0.1
    assert (
        "discrete Gaussian noise for (epsilon, 1e-06)-DP by the analytic rule" in Path("clinic-risk.html").read_text()
    )
    code, out, _ = sfumato_cli(*RISK, "--mechanism", "gaussian", "--delta", "1e-6", "--rule", "classical", "--force")
    assert code == 0 and "0.99" in out


def test_several_sensitive_columns_by_list_or_repeated(folder, sfumato_cli):
    code, out, _ = sfumato_cli(*RISK, "--identifiers", "age", "--sensitive", "illness,sex", "--target", "0.3")
    assert code == 0 and "age by illness and sex: risk against epsilon" in out and "at least one" in out
    page = Path("clinic-risk.html").read_text()
    assert "<script>alert(1)" not in page and ">all together</li>" in page and "Do not publish" in page
    first = json.loads(Path("clinic-risk.json").read_text())
    code, out, _ = sfumato_cli(
        *RISK, "--identifiers", "age", "--sensitive", "illness", "--sensitive", "sex", "--force", "--target", "0.3"
    )
    assert code == 0 and json.loads(Path("clinic-risk.json").read_text()) == first
    assert (
        first["curves"]["sensitive"] == ["illness", "sex"] and first["curves"]["kinds"]["heterogeneous"]["cells"] == 2
    )
    code, out, _ = sfumato_cli(
        *RISK, "--identifiers", "age", "--identifiers", "sex", "--pilot", "pilot.csv", "--force", "--json"
    )
    assert code == 0 and json.loads(out)["curves"]["identifiers"] == ["age", "sex"]


REIDENTIFICATION = (*RISK, "--uniqueness")


def test_reidentification_from_the_command_line(folder, sfumato_cli):
    code, out, _ = sfumato_cli(*REIDENTIFICATION, "--target", "0.5", "--epsilon-range", "1:3", "--json")
    body = json.loads(out)
    assert (
        code == 0 and body["points"][0]["alone"] == 1 and body["points"][0]["seen"] == pytest.approx(0.4621, abs=1e-4)
    )
    assert body["choice"]["safe"][1] == pytest.approx(1.0986123, abs=1e-5)
    code, out, _ = sfumato_cli(
        *REIDENTIFICATION, "--sensitive", "illness", "--mechanism", "gaussian", "--delta", "1e-6"
    )
    assert code == 0 and "seen with the value" in out and "1 people are alone" in out and "custodian's eyes" in out
    code, out, _ = sfumato_cli(*REIDENTIFICATION, "--pilot", "pilot.csv")
    assert code == 0 and "seen with the value" not in out and "was not read" in out
    for wrong in (("--identifiers", "height"), ("--sensitive", "height"), ("--delta", "1e-6"), ("--target", "2")):
        code, out, err = sfumato_cli(*REIDENTIFICATION, *wrong)
        assert (code, out) == (2, "") and err.startswith("RiskError:") and "Next step:" in err


PLAN = ("risk", "homogeneity")
BAD_PLANS = {
    "nothing": (),
    "both shares and alpha": ("--size", "3", "--shares", "0.5,0.5", "--alpha", "1,1"),
    "no sizes": ("--shares", "0.5,0.5"),
    "two sizes": ("--shares", "0.5,0.5", "--size", "3", "--mean-size", "2"),
    "people without cells": ("--shares", "0.5,0.5", "--people", "30"),
    "mean and people": ("--shares", "0.5,0.5", "--people", "30", "--cells", "5", "--mean-size", "6"),
    "no people": ("--shares", "0.5,0.5", "--people", "0", "--cells", "5"),
    "dispersion of one size": ("--shares", "0.5,0.5", "--size", "3", "--dispersion", "0.5"),
    "no numbers": ("--shares", "half,half", "--size", "3"),
    "shares above 1": ("--shares", "0.5,0.6", "--size", "3"),
    "adjacency": ("--shares", "0.5,0.5", "--size", "3", "--adjacency", "swap"),
    "no delta": ("--shares", "0.5,0.5", "--size", "3", "--mechanism", "gaussian"),
    "view": ("--shares", "0.5,0.5", "--size", "3", "--view", "all"),
}


@pytest.mark.parametrize("case", BAD_PLANS)
def test_a_plan_without_its_facts_is_refused(case, folder, sfumato_cli):
    code, out, err = sfumato_cli(*PLAN, *BAD_PLANS[case])
    assert (code, out) == (2, "") and err.startswith("RiskError:") and "Next step:" in err


def test_a_plan_needs_no_table(folder, sfumato_cli):
    facts = ("--people", "2000", "--cells", "4000", "--alpha", "1.4,0.6", "--target", "0.35")
    code, out, _ = sfumato_cli(*PLAN, *facts, "--epsilon-range", "0.1:5", "--json")
    body = json.loads(out)
    assert code == 0 and (body["measure"], body["values"]) == ("global", 2)
    assert body["choice"]["safe"][1] == pytest.approx(0.350873, abs=1e-5)
    replaced = json.loads(sfumato_cli(*PLAN, *facts, "--adjacency", "replace", "--json")[1])
    assert replaced["choice"]["safe"][1] == pytest.approx(2 * 0.350873, abs=1e-5)
    code, out, _ = sfumato_cli(*PLAN, "--size", "5", "--shares", "0.7,0.3")
    assert code == 0 and "Expected risk, geometric noise, 2 values" in out and "discloses nothing" in out
    code, out, _ = sfumato_cli(*PLAN, "--mean-size", "3", "--dispersion", "0.5", "--shares", "0.7,0.3")
    assert code == 0 and "seen alone" in out
