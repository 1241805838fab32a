"""The project folder: for its owner alone, whole or as before, and no private value in it."""

from __future__ import annotations

import shutil
import stat

import pytest

from sfumato.errors import WorkbenchError
from sfumato.workbench.project import Project, ProjectState
from sfumato.workbench.views import table
from sfumato.workbench.views.script import python_script, shell_script


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_and_files_are_the_owners_alone(opened):
    assert mode(opened.folder) == 0o700
    assert {mode(path) for path in opened.folder.iterdir()} == {0o600}


def test_what_was_typed_survives_a_restart(confirmed, tmp_path):
    confirmed.edit("age", low="0", high="120")
    confirmed.change(epsilon="0.7", columns=("age", "sex"))
    state, folder = confirmed.state, confirmed.folder
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    again = Project(copy)
    assert again.state == state
    assert again.draft is not None and again.draft.names == confirmed.draft.names
    assert table.notes_by_column(again.draft) == table.notes_by_column(confirmed.draft)
    again.close()
    Project(copy).close()


def test_one_input_changes_no_other(project):
    project.change(epsilon="2", about_rows="4000", rest_source="code book")
    project.change(delta="1e-7")
    assert (project.state.epsilon, project.state.about_rows, project.state.rest_source) == ("2", "4000", "code book")


def test_two_workbenches_cannot_share_a_project(project):
    with pytest.raises(WorkbenchError, match="another workbench"):
        Project(project.folder)


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(WorkbenchError, match="other things"):
        Project(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_broken_project_is_named(tmp_path):
    (tmp_path / "project.json").write_text("{")
    with pytest.raises(WorkbenchError, match="cannot be read"):
        Project(tmp_path)


def test_the_state_holds_no_row_and_no_password(confirmed):
    confirmed.choose_ledger("postgresql://ann:secret@db.example/ledger")
    assert confirmed.ledger == "postgresql://ann:secret@db.example/ledger"
    written = "".join(path.read_text() for path in confirmed.folder.iterdir() if path.name != ".lock")
    assert "secret" not in written
    assert set(confirmed.state.model_dump()) == set(ProjectState.model_fields)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann@db.example/ledger?password=s3cret",
        "POSTGRESQL://ann:s3cret@db.example/ledger?sslpassword=s3cret",
    ],
)
def test_no_secret_of_an_address_is_written(confirmed, address):
    confirmed.choose_ledger(address)
    assert confirmed.ledger == address
    written = "".join(path.read_text() for path in confirmed.folder.iterdir() if path.name != ".lock")
    assert "s3cret" not in written and "s3cret" not in python_script(confirmed) + shell_script(confirmed)
    assert confirmed.state.ledger == "postgresql://ann@db.example/ledger"


def test_another_file_begins_anew_and_the_same_one_does_not(opened, tmp_path, csv):
    opened.edit("age", low="0", high="120")
    opened.keep_draft(opened.draft, str(csv), {"missing": ["N"]})
    assert opened.state.edits["age"] == {"low": "0", "high": "120"}
    opened.keep_draft(opened.draft, str(tmp_path / "other.csv"), {})
    assert opened.state.edits == {}
