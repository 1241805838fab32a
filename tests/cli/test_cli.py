"""The command line as a newcomer and a machine meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.example import CODEBOOK, write_households

SCHEMA = """
[table]
name = "t"
[columns.age]
kind = "integer"
bounds = [0, 110]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "draft.toml").write_text(SCHEMA.replace('name = "t"', 'name = "t"\ndraft = true'))
    (tmp_path / "t.csv").write_text("age,sex\n1,f\n40,m\n")
    return tmp_path


RELEASE = ("release", "t.csv", "--schema", "s.toml", "--method", "contingency", "--set", "columns=age,sex")


def test_the_whole_way_from_data_to_a_verified_bundle(folder, sfumato_cli):
    write_households(folder / "h.csv", rows=300)
    assert sfumato_cli("schema", "draft", "h.csv", "--out", "d.toml")[0] == 0
    assert "draft = true" in Path("d.toml").read_text()
    assert sfumato_cli("schema", "confirm", "d.toml")[0] == 0
    assert "draft" not in Path("d.toml").read_text()
    Path("h.toml").write_text(CODEBOOK)
    code, out, _ = sfumato_cli("schema", "check", "h.csv", "--schema", "h.toml")
    assert (code, "fits its schema" in out) == (0, True)
    assert sfumato_cli("ledger", "init", "L", "--schema", "h.toml", "--epsilon", "2")[0] == 0
    wanted = ("h.csv", "--schema", "h.toml", "--method", "contingency", "--set", "columns=age,sex", "--epsilon", "1")
    code, out, _ = sfumato_cli("plan", *wanted, "--ledger", "L")
    assert (code, "2 left before, 1 after" in out) == (0, True)
    code, out, _ = sfumato_cli(
        "release", *wanted, "--ledger", "L", "--rows", "5", "--out", "b", "--private-report", "p.html"
    )
    assert (code, "What is promised" in out) == (0, True)
    assert Path("b/report.html").stat().st_size > 10_000
    assert Path("p.html").exists()
    code, out, _ = sfumato_cli("verify", "b", "--ledger", "L")
    assert (code, "verified" in out) == (0, True)
    code, out, _ = sfumato_cli("ledger", "show", "L")
    assert (code, "contingency" in out) == (0, True)
    assert sfumato_cli("ledger", "verify", "L")[0] == 0
    assert json.loads(sfumato_cli("ledger", "export", "L")[1])["accounts"][0]["spent_epsilon"] == "1"


def test_json_is_the_only_thing_on_standard_output(folder, sfumato_cli):
    sfumato_cli("ledger", "init", "L", "--table", "t", "--epsilon", "2")
    calls = [
        ("methods", "--json"),
        ("plan", "--schema", "s.toml", "--set", "columns=age", "--epsilon", "1", "--json"),
        ("schema", "draft", "t.csv", "--json"),
        ("schema", "check", "t.csv", "--schema", "s.toml", "--json"),
        ("ledger", "show", "L", "--json"),
        ("ledger", "verify", "L", "--json"),
        (*RELEASE, "--epsilon", "1", "--ledger", "L", "--out", "o", "--json"),
        ("verify", "o", "--json"),
        (*RELEASE, "--epsilon", "9", "--ledger", "L", "--out", "o2", "--json"),
    ]
    for call in calls:
        code, out, _ = sfumato_cli(*call)
        body = json.loads(out)
        assert code == (2 if "o2" in call else 0), call
        if "o2" in call:
            assert body["error"] == "BudgetExceeded"


def test_seeded_releases_are_equal_and_stamped(folder, sfumato_cli):
    for name in ("a", "b"):
        assert sfumato_cli(*RELEASE, "--epsilon", "1", "--seed", "7", "--out", name)[0] == 0
    assert Path("a/data.csv").read_bytes() == Path("b/data.csv").read_bytes()
    assert "not for release" in Path("a/release.json").read_text()
    assert "NOT FOR RELEASE" in Path("a/report.html").read_text()


BAD = {
    "missing file": ("TableError", {1: "none.csv"}),
    "a directory": ("TableError", {1: "."}),
    "missing schema": ("SchemaError", {3: "none.toml"}),
    "a draft": ("DraftSchemaError", {3: "draft.toml"}),
    "unknown method": ("PlanError", {5: "magic"}),
    "unknown column": ("PlanError", {7: "columns=age,income"}),
    "unknown parameter": ("PlanError", {7: "colour=blue"}),
    "not name=value": ("PlanError", {7: "columns"}),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_named_message_and_nothing_spent(case: str, folder, sfumato_cli):
    error, changes = BAD[case]
    sfumato_cli("ledger", "init", "L", "--table", "t", "--epsilon", "2")
    arguments = [changes.get(i, a) for i, a in enumerate(RELEASE)]
    assert_refused_without_a_trace(sfumato_cli, error, *arguments, "--epsilon", "1", "--ledger", "L", "--out", "o")


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "much", ""])
def test_senseless_epsilons(epsilon: str, folder, sfumato_cli):
    sfumato_cli("ledger", "init", "L", "--table", "t", "--epsilon", "2")
    assert_refused_without_a_trace(
        sfumato_cli, "PlanError", *RELEASE, f"--epsilon={epsilon}", "--ledger", "L", "--out", "o"
    )


@pytest.mark.parametrize(
    ("content", "error"),
    [("", "TableError"), ("age;sex\n1;f\n", "TableError"), ("age,sex\n300,f\nabc,q\n", "TableError"),
     ("age,sex,sex\n1,f,f\n", "TableError"), ("age,sex\n1,é\n", "TableError"),
     ("age,sex\nnan,f\ninf,f\n", "TableError")],
)  # fmt: skip
def test_bad_tables(content: str, error: str, folder, sfumato_cli):
    sfumato_cli("ledger", "init", "L", "--table", "t", "--epsilon", "2")
    Path("t.csv").write_bytes(content.encode("latin-1"))
    assert_refused_without_a_trace(sfumato_cli, error, *RELEASE, "--epsilon", "1", "--ledger", "L", "--out", "o")


def test_caps_outputs_and_ledgers_that_cannot_be(folder, sfumato_cli):
    sfumato_cli("ledger", "init", "L", "--table", "t", "--epsilon", "2")
    release = (*RELEASE, "--epsilon", "1", "--ledger")
    assert_refused_without_a_trace(
        sfumato_cli, "BudgetExceeded", *RELEASE, "--epsilon", "3", "--ledger", "L", "--out", "o"
    )
    assert_refused_without_a_trace(sfumato_cli, "LedgerError", *release, "none.db", "--out", "o")
    assert_refused_without_a_trace(sfumato_cli, "LedgerError", *release, "t.csv", "--out", "o")
    assert_refused_without_a_trace(sfumato_cli, "BundleError", *release, "L", "--out", "t.csv")
    Path("read-only").mkdir()
    Path("read-only").chmod(0o555)
    assert_refused_without_a_trace(sfumato_cli, "BundleError", *release, "L", "--out", "read-only/o")
    Path("full").mkdir()
    Path("full/file").touch()
    assert_refused_without_a_trace(sfumato_cli, "BundleError", *release, "L", "--out", "full")
    assert_refused_without_a_trace(
        sfumato_cli, "BundleError", *release, "L", "--out", "o", "--private-report", "o/p.html"
    )


def test_cells_beyond_memory_are_refused_with_the_number(folder, sfumato_cli):
    columns = "".join(f'[columns.c{i}]\nkind = "integer"\nbounds = [0, 99]\n' for i in range(8))
    Path("wide.toml").write_text('[table]\nname = "t"\n' + columns)
    names = ",".join(f"c{i}" for i in range(8))
    wanted = ("--method", "contingency", "--set", f"columns={names}", "--epsilon", "1")
    code, _, err = sfumato_cli("plan", "--schema", "wide.toml", *wanted)
    assert code == 2
    assert "10,000,000,000,000,000 cells" in err


def assert_refused_without_a_trace(call, error: str, *arguments: str) -> None:
    before = {str(p) for p in Path().rglob("*") if "L-" not in p.name}
    code, _, err = call(*arguments)
    assert code == 2, err
    assert error in err.split(":")[0], err
    assert "Traceback" not in err
    assert "Next step:" in err
    assert {str(p) for p in Path().rglob("*") if "L-" not in p.name} == before
    assert json.loads(call("ledger", "show", "L", "--json")[1])["entries"] == []


def test_a_flipped_byte_in_the_ledger_is_found(folder, sfumato_cli):
    sfumato_cli("ledger", "init", "L", "--table", "t", "--epsilon", "2")
    sfumato_cli(*RELEASE, "--epsilon", "1", "--ledger", "L", "--out", "o")
    import sqlite3

    with sqlite3.connect("L") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(Path("L").read_bytes())
    place = content.index(b'"contingency"') + 3
    content[place] ^= 1
    Path("L").write_bytes(bytes(content))
    code, out, _ = sfumato_cli("ledger", "verify", "L")
    assert code == 2
    assert "changed or damaged" in out


@pytest.mark.parametrize(
    "verb",
    [[], ["schema"], ["schema", "draft"], ["schema", "check"], ["schema", "confirm"], ["plan"], ["release"], ["verify"],
     ["demo"], ["methods"], ["ledger"], ["ledger", "init"], ["ledger", "show"], ["ledger", "verify"],
     ["ledger", "export"], ["ledger", "upgrade"]],
)  # fmt: skip
def test_every_verb_teaches(verb: list[str], sfumato_cli):
    code, out, _ = sfumato_cli(*verb, "--help")
    assert code == 0
    assert len(out) > 300


def test_a_wrong_option_is_explained_with_exit_code_2(sfumato_cli):
    assert sfumato_cli("release", "--colour", "blue")[0] == 2


def test_the_installed_command_runs_without_a_traceback(folder):
    command = [Path(sys.executable).with_name("sfumato"), *RELEASE, "--epsilon", "0", "--out", "o"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("PlanError: cannot plan contingency")
    assert "Traceback" not in done.stderr


def test_a_bug_is_reported_in_words(monkeypatch, sfumato_cli, folder):
    from sfumato.cli import release_verbs

    def broken(*_):
        raise RuntimeError("a bolt fell out")

    monkeypatch.setattr(release_verbs, "all_methods", broken)
    code, _, err = sfumato_cli("methods")
    assert code == 70
    assert "a bolt fell out" in err
    assert "Traceback" not in err


def test_the_demo_makes_what_it_says(folder, sfumato_cli):
    code, out, _ = sfumato_cli("demo", "--out", "demo", "--rows", "500", "--json")
    assert code == 0
    body = json.loads(out)
    assert list(body["releases"]) == ["synthetic", "age-histogram", "contingency"], "the main job comes first"
    synthetic = body["releases"]["synthetic"]
    assert synthetic["method"] == "aim"
    assert len(synthetic["statistics"]["rows_repaired_for_rules"]) == 3
    for name in body["releases"]:
        assert sfumato_cli("verify", f"demo/{name}", "--ledger", "demo/ledger.db")[0] == 0
        assert Path(f"demo/{name}/report.html").exists()
    assert body["account"]["left_epsilon"] == "0"
    assert sfumato_cli("demo", "--out", "demo", "--rows", "300")[0] == 0, "a second demo clears the first"
    assert sfumato_cli("demo", "--out", ".")[0] == 2, "other people's folders are left alone"
