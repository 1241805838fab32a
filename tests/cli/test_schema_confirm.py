"""``sfumato schema confirm`` and ``show``: who vouches for what, and nothing written while something stands."""

import json
from pathlib import Path

import pytest

from sfumato.schema import Schema
from sfumato.schema.column import Column

ROWS = "pid,age,sex\n" + "".join(f"{i // 2},{18 + i % 73},{'fm'[i % 2]}\n" for i in range(146))
QUESTION = 'person = "?"\nperson_candidates = ["sex"]\n'


@pytest.fixture
def draft(tmp_path, monkeypatch, sfumato_cli) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("\n".join(line.split(",", 1)[1] for line in ROWS.splitlines()) + "\n")
    assert sfumato_cli("schema", "draft", "t.csv", "--out", "d.toml")[0] == 0
    return Path("d.toml")


def test_nothing_is_written_while_something_stands(draft, sfumato_cli):
    before = draft.read_bytes()
    code, out, error = sfumato_cli("schema", "confirm", "d.toml", "--source", "age=questionnaire, q. 7")
    assert (code, out) == (2, "")
    assert "UnchangedDraftError" in error and "column sex: values f, m" in error and "column age" not in error
    assert "--accept-unchanged" in error
    assert draft.read_bytes() == before


def test_sources_are_printed_and_kept_beside_comments(draft, sfumato_cli):
    draft.write_text(draft.read_text().replace("[columns.age]", "# asked since 1990\n[columns.age]"))
    call = ("--source", "age=questionnaire 2023, q. 7", "--source", "*=code book", "--by", "Ada", "--out", "c.toml")
    code, out, _ = sfumato_cli("schema", "confirm", "d.toml", *call)
    assert (code, "by Ada on" in out, "public: code book" in out) == (0, True, True)
    assert out.splitlines()[-1].startswith("next: sfumato ledger init budget.db --schema c.toml")
    assert "# asked since 1990" in Path("c.toml").read_text()
    done = Schema.load("c.toml")
    assert (done["age"].source, done["sex"].source, done.is_confirmed) == (
        "questionnaire 2023, q. 7",
        "code book",
        True,
    )
    assert not Schema.load("d.toml").is_confirmed


def test_accepting_is_told_and_recorded(draft, sfumato_cli):
    code, out, _ = sfumato_cli("schema", "confirm", "d.toml", "--accept-unchanged", "--by", "Ada", "--json")
    told = json.loads(out)
    assert (code, told["accepted_unchanged"], told["by"], told["draft"]) == (0, True, "Ada", False)
    assert told["columns"]["age"]["bounds"] == "taken from the rows"
    code, out, _ = sfumato_cli(
        "plan", "--schema", "d.toml", "--method", "histogram", "--set", "column=sex", "--epsilon", "1"
    )
    assert code == 0 and "Ada accepted that on" in " ".join(out.split())


def test_the_person_is_asked_for_and_answered(draft, sfumato_cli):
    draft.write_text(draft.read_text().replace("draft = true\n", f"draft = true\n{QUESTION}"))
    code, _, error = sfumato_cli("schema", "confirm", "d.toml", "--accept-unchanged")
    assert code == 2 and "UnansweredQuestionError" in error and "--no-person" in error
    code, _, error = sfumato_cli("schema", "confirm", "d.toml", "--person", "sex", "--no-person")
    assert code == 2 and "contradict" in error
    answer = ("--accept-unchanged", "--person", "sex", "--rows-per-person", "3")
    assert sfumato_cli("schema", "confirm", "d.toml", *answer, "--out", "p.toml")[0] == 0
    assert (Schema.load("p.toml").person, Schema.load("p.toml").rows_per_person) == ("sex", 3)
    assert sfumato_cli("schema", "confirm", "d.toml", "--accept-unchanged", "--no-person")[0] == 0
    assert Schema.load("d.toml").person is None and Schema.load("d.toml").is_confirmed


@pytest.mark.parametrize("given", ["age", "=words", "age=", "age<=3"])
def test_a_source_that_cannot_be_read_is_refused(draft, sfumato_cli, given):
    code, _, error = sfumato_cli("schema", "confirm", "d.toml", "--source", given)
    assert code == 2 and "is not column=words" in error


def test_a_rule_gets_its_source_by_its_check(draft, sfumato_cli):
    draft.write_text(draft.read_text() + "\n[[rules]]\ncheck = 'age >= 18 and sex != \"x\"'\ndrafted = true\n")
    named = ("--source", "*=code book", "--source", 'age >= 18 and sex != "x"=law of 1990')
    assert sfumato_cli("schema", "confirm", "d.toml", *named)[0] == 0
    assert Schema.load("d.toml").rules[0].source == "law of 1990"


def test_show_tells_what_stands_and_what_is_open(draft, sfumato_cli):
    draft.write_text(draft.read_text().replace("draft = true\n", f"draft = true\n{QUESTION}"))
    code, out, _ = sfumato_cli("schema", "show", "d.toml")
    assert code == 0 and "column age: bounds 18 to 90 as drafted" in out and "which column identifies a person" in out
    body = json.loads(sfumato_cli("schema", "show", "d.toml", "--json")[1])
    assert body["draft"] and len(body["standing"]) == 2 and body["person_candidates"] == ["sex"]


def test_a_wide_table_has_a_line_for_each_column_of_a_narrow_terminal(tmp_path, monkeypatch, sfumato_cli):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    words = tuple(f"a long value with the number {i}" for i in range(9))
    columns = (Column(f"column_of_a_long_name_{i:02}", "category", values=words, role="sensitive") for i in range(33))
    Schema("wide", tuple(columns)).save("w.toml")
    code, out, _ = sfumato_cli("schema", "confirm", "w.toml", "--source", "*=code book", "--out", "c.toml")
    assert code == 0 and "... and 3 more columns; all of them: sfumato schema show c.toml" in out
    lines = [line for line in out.splitlines() if "sensitive" in line]
    assert len(lines) == 30 and all(len(line) <= 80 and "column_o" in line and "public" in line for line in lines)
    shown = sfumato_cli("schema", "show", "c.toml")[1]
    assert len([line for line in shown.splitlines() if "sensitive" in line]) == 33
    assert "public: code book: the values of" in shown


def test_next_steps_are_those_of_the_command_line(draft, sfumato_cli):
    draft.write_text(draft.read_text().replace("draft = true\n", f"draft = true\n{QUESTION}"))
    error = sfumato_cli("schema", "confirm", "d.toml")[2]
    steps = error[error.index("Next step:") :]
    assert "--person sex" in steps and "--source" in steps and "--accept-unchanged" in steps
    assert "accept_unchanged=" not in steps and "person=" not in steps and "sources=" not in steps


def test_a_draft_ends_in_what_to_do_next(draft, sfumato_cli):
    Path("dates.csv").write_text("age,day\n" + "".join(f"{20 + i % 60},{1 + i % 28}.05.2023\n" for i in range(200)))
    plain = sfumato_cli("schema", "draft", "t.csv", "--out", "d.toml", "--force")[1].splitlines()
    asked = sfumato_cli("schema", "draft", "dates.csv", "--out", "a.toml")[1].splitlines()
    assert [line for line in plain if line.startswith("next:")] == plain[-2:]
    assert "sfumato schema confirm d.toml --source" in plain[-1] and "--accept-unchanged" in plain[-1]
    assert asked[-3].startswith("next: look at") and "edit a.toml" in asked[-2]
