"""Plan, release, ledger and script without a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato.workbench
from sfumato import Schema
from sfumato.bundle.verify import verify_bundle
from sfumato.core.method import parameters_of
from sfumato.errors import BundleError, PlanError, WorkbenchError
from sfumato.privacy.canonical_json import to_jsonable
from sfumato.privacy.ledger import Ledger
from sfumato.report.texts import text_file
from sfumato.schema.confirm import without_fingerprints
from sfumato.workbench.views import ledger, plan, release, script


def test_a_plan_needs_a_schema(opened):
    assert plan.plan_view(opened).trouble.headline == "the table is not described yet"


def test_a_plan_shows_four_things(budgeted):
    budgeted.change(about_rows="600")
    found = plan.plan_view(budgeted)
    assert found.trouble is None and found.budget_trouble is None
    assert found.cost.startswith("epsilon 1") and found.budget == "5 of 5 left before, 4 after"
    assert found.verdict and found.expected
    assert "guess that is right" in found.risk[0] and len(found.others) == 2 * plan.EACH_SIDE
    assert "epsilon = 1" in found.sentence


def test_without_an_account_the_forecast_is_still_there(confirmed):
    found = plan.plan_view(confirmed)
    assert found.verdict and found.budget_trouble.name == "LedgerError"


def test_a_cap_that_is_exceeded_is_said_beside_the_cost(budgeted):
    budgeted.change(epsilon="6")
    found = plan.plan_view(budgeted)
    assert found.budget_trouble.name == "BudgetExceeded" and found.verdict


@pytest.mark.parametrize(
    ("field", "text"), [("epsilon", "much"), ("epsilon", ""), ("about_rows", "many"), ("settings", "nonsense")]
)
def test_what_cannot_be_read_is_a_sentence_and_stays(budgeted, field, text):
    budgeted.change(**{field: text})
    assert plan.plan_view(budgeted).trouble is not None
    assert getattr(budgeted.state, field) == text


def test_columns_and_uses_reach_the_method(budgeted):
    budgeted.change(columns=("age", "sex"))
    assert plan.chosen_method(budgeted)[0].columns == ("age", "sex")
    for name in plan.PRESETS:
        plan.choose_preset(budgeted, name)
        assert plan.plan_view(budgeted).trouble is None, name
    plan.choose_preset(budgeted, "testing")
    assert plan.chosen_method(budgeted)[0].name == "marginals"


def test_no_column_is_refused(budgeted):
    budgeted.change(columns=())
    with pytest.raises(PlanError, match="no column"):
        plan.chosen_method(budgeted)


def test_one_column_with_a_method_of_one(budgeted):
    budgeted.change(columns=("sex",), method="histogram")
    assert plan.chosen_method(budgeted)[0].column == "sex"


def test_a_release_a_bundle_and_its_verification(budgeted):
    budgeted.change(columns=("sex",), method="histogram", about_rows="600")
    before = plan.plan_view(budgeted).sentence
    done = release.run(budgeted)
    assert done.statement == before
    assert release.verify_release(budgeted, 1).ok
    assert "<html" in release.page_of(budgeted, 1, "report")
    entry = ledger.ledger_view(budgeted).entries[0]
    assert entry.method == "histogram" and entry.outcome.startswith("bundle saved")


def test_a_folder_that_is_taken_costs_nothing(budgeted, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("here")
    budgeted.change(columns=("sex",), method="histogram", out=str(tmp_path / "full"))
    with pytest.raises(BundleError, match="full"):
        release.run(budgeted)
    assert Ledger(budgeted.ledger).history() == ()
    assert budgeted.state.out == str(tmp_path / "full")


@pytest.mark.parametrize("number", [0, 1, -1, 99])
def test_no_address_reaches_another_file(budgeted, number):
    with pytest.raises(WorkbenchError):
        release.page_of(budgeted, number, "report")


def test_the_ledger_is_shown_exported_and_verified(budgeted):
    Ledger(budgeted.ledger).spend("people", epsilon=1)
    Ledger(budgeted.ledger).spend("people", epsilon="0.5")
    found = ledger.ledger_view(budgeted)
    (account,) = found.accounts
    assert (account.spent, account.left, account.cap) == ("1.5", "3.5", "5")
    assert "<svg" in account.curve and "1.5 of 5" in account.curve
    assert json.loads(ledger.export_ledger(budgeted))["accounts"][0]["name"] == "people"
    assert ledger.verify_ledger(budgeted).ok


def test_a_hostile_name_stays_a_text_in_the_drawing():
    drawn = ledger.drawing('"><script>alert(1)</script>', [1.0], 5.0)
    assert "<script" not in drawn and "&lt;script" in drawn


def test_a_ledger_that_is_none_is_a_sentence(confirmed, tmp_path):
    (tmp_path / "notes.txt").write_text("no ledger")
    confirmed.choose_ledger(str(tmp_path / "notes.txt"))
    assert ledger.ledger_view(confirmed).trouble is not None


def test_every_step_has_its_lines(budgeted):
    for lines in (script.table_lines, script.plan_lines, script.release_lines, script.ledger_lines):
        python, shell = lines(budgeted)
        assert "sfumato." in python and shell.startswith("sfumato ")


def test_before_a_schema_the_script_says_why(opened):
    assert "not described" in script.scripts(opened).why_not


@pytest.fixture
def tight(confirmed):
    """A project whose account has other terms than those that were typed last, and files that were typed relatively."""
    Ledger(confirmed.ledger).open_table("people", epsilon=3, delta="1e-5", composition="tight")
    confirmed.change(columns=("sex", "region"), method="contingency", settings="", about_rows="600", epsilon="0.5")
    confirmed.change(cap_epsilon="9", cap_delta="1e-3")
    return confirmed


def test_the_script_does_what_was_clicked_once(tight, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tight.change(source="people.csv", anyway=True)
    place, elsewhere = tmp_path / "release.py", tmp_path / "elsewhere"
    elsewhere.mkdir()
    place.write_text(script.python_script(tight))

    def ran(*more):
        return subprocess.run(
            [sys.executable, place, *more], cwd=elsewhere, capture_output=True, text=True, check=False
        )

    wanted, method = plan.compute_plan(tight)
    assert json.loads(ran("--plan").stdout)["events"] == json.loads(wanted.model_dump_json())["events"]
    first, second = ran(), ran()
    assert (first.returncode, second.returncode) == (0, 2), first.stderr
    assert "is not empty" in second.stderr and "Traceback" not in second.stderr
    book = Ledger(tight.ledger)
    assert len(book.history()) == 1 and str(book.outcomes()[2]).startswith("bundle saved")
    account = book.account("people")
    assert (account.cap_epsilon, account.cap_delta, account.composition) == ("3", "1e-05", "tight")
    document = json.loads((tight.out / "release.json").read_text())
    assert document["method"]["parameters"] == to_jsonable(parameters_of(method))
    assert Schema.load(tight.out / "schema.toml") == without_fingerprints(tight.schema)
    assert verify_bundle(tight.out, tight.ledger).problems == ()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("anyway", [True, False])
def test_the_scripts_hold_what_was_ticked(tight, monkeypatch, anyway):
    monkeypatch.setenv("SFUMATO_RERUNS", "4")
    tight.change(anyway=anyway, method="marginals")
    python, shell = script.python_script(tight), script.shell_script(tight)
    assert "RERUNS = 4" in python and "--reruns 4" in shell
    assert ("refuse_if_noise_dominates(plan)" in python) is not anyway and ("--anyway" in shell) is anyway
    assert "--composition tight" in shell and "--epsilon 3" in shell


def test_the_shell_script_spends_once(tight, tmp_path):
    place, folder = tmp_path / "release.sh", tmp_path / "elsewhere"
    folder.mkdir()
    tight.change(anyway=True)
    place.write_text(script.shell_script(tight))
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "sfumato"
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from sfumato.cli import main; main()" "$@"\n')
    tool.chmod(0o700)
    env = {**os.environ, "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}"}
    runs = [subprocess.run(["sh", place], cwd=folder, env=env, capture_output=True, text=True) for _ in range(2)]
    assert [each.returncode for each in runs] == [0, 2], runs[0].stderr
    assert len(Ledger(tight.ledger).history()) == 1


def test_the_shell_script_holds_schema_method_and_parameters(budgeted, tmp_path):
    budgeted.change(columns=("sex", "region"), method="contingency", epsilon="0.5")
    text = script.shell_script(budgeted)
    written = text.split("<<'END_OF_SCHEMA'\n")[1].split("END_OF_SCHEMA\n")[0]
    assert Schema.parse(written) == budgeted.schema
    (line,) = [each for each in text.splitlines() if each.startswith("sfumato plan")]
    assert "--method contingency --epsilon 0.5" in line and """--set 'columns=["sex", "region"]'""" in line


def test_a_hostile_name_cannot_leave_its_place_in_the_script(budgeted):
    schema = replace(budgeted.schema, name='x"""\nimport os; os.abort()\n"""')
    budgeted.confirm(schema)
    text = script.python_script(budgeted)
    compile(text, "release.py", "exec")
    assert "\nimport os" not in text


def test_texts_are_all_there_and_all_used():
    home = Path(sfumato.workbench.__file__).parent
    code = "".join(path.read_text() for path in home.rglob("*.py"))
    built = ("table.filter_", "table.no_", "plan.", "release.", "page.", "script.download_", "ledger.", "table.")
    texts = text_file("texts", "sfumato.workbench")
    all_texts = [f"{part}.{name}" for part, named in texts.items() for name in named]
    unused = [name for name in all_texts if f'"{name}"' not in code and not name.startswith(built)]
    assert unused == []


def test_pages_for_the_custodians_eyes_are_kept_in_no_file(budgeted):
    budgeted.change(columns=("sex", "region", "q2"), method="marginals", settings="pairs=none", anyway=True)
    release.run(budgeted)
    before = sorted(budgeted.folder.rglob("*"))
    for page in (release.compared(budgeted, 1), release.attacked(budgeted, 1)):
        assert "<html" in page
    assert sorted(budgeted.folder.rglob("*")) == before
