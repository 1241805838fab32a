"""What happens when no method is named, and what the command line says while AIM works and when it is done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato import Schema
from sfumato.core.build_method import default_method, method_from_settings
from sfumato.errors import PlanError

SCHEMA = """
[table]
name = "people"
[columns.id]
kind = "integer"
bounds = [0, 1000]
role = "identifier"
[columns.age]
kind = "integer"
bounds = [0, 19]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.job]
kind = "category"
values = ["yes", "no"]
[[rules]]
check = 'job == "yes" implies age >= 16'
"""
ONE = SCHEMA[: SCHEMA.index("[columns.sex]")]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    Path("one.toml").write_text(ONE)
    people = [(i, i % 20, "fm"[i % 3 > 0], "yes" if i % 20 > 15 else "no") for i in range(400)]
    Path("p.csv").write_text("id,age,sex,job\n" + "".join(f"{i},{age},{sex},{job}\n" for i, age, sex, job in people))
    return tmp_path


CHOICES = {
    "nothing said": ([], "aim", "3 columns to release"),
    "columns named": (["columns=age,sex"], "aim", "columns that were named"),
    "all columns": (["columns=all"], "aim", "3 columns to release"),
    "one of the columns": (["columns=sex"], "histogram", "'sex' is the only column"),
    "a column": (["column=age"], "histogram", "one column was named"),
    "several sets": (["columns=age", "columns=age,sex"], "contingency", "several sets"),
    "sets as JSON": (['columns=[["age", "sex"]]'], "contingency", "several sets"),
}


@pytest.mark.parametrize("case", CHOICES)
def test_the_method_follows_from_what_was_said_and_the_reason_is_given(case: str):
    settings, method, why = CHOICES[case]
    made, reason = method_from_settings(None, Schema.parse(SCHEMA), settings, "1", None)
    assert made.name == method
    assert reason is not None
    assert f"no method was named, so {method} was taken" in reason
    assert why in reason
    assert "\n" not in reason


def test_a_named_method_needs_no_reason():
    made, reason = method_from_settings("marginals", Schema.parse(SCHEMA), [], "1", None)
    assert (made.name, reason) == ("marginals", None)


def test_one_column_is_counted_and_none_is_refused():
    assert default_method(Schema.parse(ONE), {}).settings == {"column": "age"}
    with pytest.raises(PlanError, match="no column that may be released"):
        default_method(Schema.parse(ONE[: ONE.index("[columns.age]")]), {})


def test_plan_and_release_say_why_in_words_in_json_and_in_the_report(folder, sfumato_cli):
    wanted = ("--schema", "s.toml", "--epsilon", "1")
    code, out, _ = sfumato_cli("plan", *wanted)
    assert (code, "no method was named, so aim was taken" in out, "needs:     about" in out) == (0, True, True)
    assert "aim was taken" in json.loads(sfumato_cli("plan", *wanted, "--json")[1])["notes"][0]
    released = ("release", "p.csv", *wanted, "--no-ledger", "--anyway")
    code, out, _ = sfumato_cli(*released, "--out", "b", "--verbose")
    assert (code, "aim was taken" in out) == (0, True)
    assert 'rows repaired for rules: job == "yes" implies age >= 16: ' in out
    assert f"more rows for free: sfumato sample {folder / 'b'}" in out
    assert "aim was taken" in json.loads(Path("b/release.json").read_text())["notes"][0]
    assert "so aim was taken" in Path("b/report.html").read_text()
    assert sfumato_cli("verify", "b")[0] == 0
    assert sfumato_cli("sample", "b", "--rows", "50", "--out", "more.csv")[0] == 0
    body = json.loads(sfumato_cli(*released, "--out", "c", "--json")[1])
    assert (body["method"], "aim was taken" in body["notes"][0]) == ("aim", True)


def test_a_missing_epsilon_is_explained(folder, sfumato_cli):
    code, _, err = sfumato_cli("release", "p.csv", "--schema", "s.toml", "--no-ledger", "--out", "b")
    assert code == 2
    assert "aim needs epsilon: add --epsilon 1" in err
    assert "because no --method was given" in err


def test_a_ledger_without_delta_says_what_to_do(folder, sfumato_cli):
    wanted = ("p.csv", "--schema", "s.toml", "--epsilon", "1", "--ledger", "L", "--out", "b")
    sfumato_cli("ledger", "init", "L", "--schema", "s.toml", "--epsilon", "3", "--delta", "0")
    code, _, err = sfumato_cli("release", *wanted)
    assert code == 2
    assert "sfumato ledger init NEW.db --schema SCHEMA --epsilon 3 --delta 1e-6" in err
    assert sfumato_cli("release", *wanted, "--method", "histogram", "--set", "column=age", "--anyway")[0] == 0
    code, _, err = sfumato_cli("release", *wanted[:-1], "c")
    assert code == 2
    assert "use a method that needs none (marginals" in err, "a second ledger would forget what was spent"
    assert not Path("c").exists()


FORMS = {
    "2-way": "2-way",
    "3-way": "3-way",
    "age,sex": [["age", "sex"]],
    '[["age", "sex"], ["job"]]': [["age", "sex"], ["job"]],
    '[[["age", "sex"], 2], [["sex", "job"], 0.5]]': [(["age", "sex"], 2), (["sex", "job"], 0.5)],
    '{"age, sex": 2, "sex, job": 0.5}': {("age", "sex"): 2, ("sex", "job"): 0.5},
}


@pytest.mark.parametrize("form", FORMS)
def test_workloads_from_the_command_line_mean_what_they_mean_in_python(form: str):
    from sfumato import AIM

    made, _ = method_from_settings(None, Schema.parse(SCHEMA), [f"workload={form}"], "1", None)
    assert isinstance(made, AIM)
    assert made.workload == AIM(epsilon=1, workload=FORMS[form]).workload


def test_repeated_workloads_are_sets_and_other_parameters_have_their_kinds():
    settings = ["workload=age,sex", "workload=sex,job", "rounding=false", "bins=schema", "model_megabytes=0.5"]
    made, _ = method_from_settings("aim", Schema.parse(SCHEMA), [*settings, "model=tree"], "1", "1e-6")
    facts = {key: getattr(made, key) for key in ("rounding", "bins", "model_megabytes", "model", "delta")}
    assert facts == {"rounding": False, "bins": "schema", "model_megabytes": "0.5", "model": "tree", "delta": "1e-6"}
    assert [names for names, _ in made.workload] == [("age", "sex"), ("sex", "job")]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(PlanError, match="rounding must be true or false"):
        method_from_settings("aim", Schema.parse(SCHEMA), ["rounding=maybe"], "1", None)


def test_a_weighted_workload_goes_into_the_bundle_and_its_script(folder, sfumato_cli):
    settings = ("--set", 'workload={"age,sex": 2, "sex,job": 1}', "--seed", "3")
    wanted = ("release", "p.csv", "--schema", "s.toml", "--epsilon", "1", "--no-ledger", "--anyway", *settings)
    assert sfumato_cli(*wanted, "--out", "b")[0] == 0
    script = Path("b/reproduce.py").read_text()
    assert "workload=[[['age', 'sex'], 2], [['sex', 'job'], 1]]" in script
    namespace: dict[str, object] = {"__name__": "read"}
    exec(compile(script, "reproduce.py", "exec"), namespace)
    assert getattr(namespace["METHOD"], "workload") == ((("age", "sex"), 2), (("sex", "job"), 1))  # noqa: B009
