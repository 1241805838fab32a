"""The command line as a newcomer and a machine meet it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato import Schema
from sfumato.bundle.document import ReleaseDocument
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


RELEASE = ("release", "t.csv", "--schema", "s.toml", "--method", "contingency", "--set", "columns=age,sex", "--anyway")


def test_the_whole_way_from_data_to_a_verified_bundle(folder, sfumato_cli):
    write_households(folder / "h.csv", rows=300)
    assert sfumato_cli("schema", "draft", "h.csv", "--out", "d.toml")[0] == 0
    assert "draft = true" in Path("d.toml").read_text()
    code, _, error = sfumato_cli("schema", "confirm", "d.toml")
    assert (code, "column age: bounds" in error) == (2, True)
    assert sfumato_cli("schema", "confirm", "d.toml", "--accept-unchanged")[0] == 0
    assert "draft" not in Path("d.toml").read_text()
    Path("h.toml").write_text(CODEBOOK)
    code, out, _ = sfumato_cli("schema", "check", "h.csv", "--schema", "h.toml")
    assert (code, "fits its schema" in out) == (0, True)
    assert sfumato_cli("ledger", "init", "L", "--schema", "h.toml", "--epsilon", "2")[0] == 0
    wanted = ("h.csv", "--schema", "h.toml", "--method", "contingency", "--set", "columns=age,sex", "--epsilon", "1")
    code, out, _ = sfumato_cli("plan", *wanted, "--ledger", "L")
    assert (code, "2 left before, 1 after" in out) == (0, True)
    code, out, _ = sfumato_cli(
        "release", *wanted, "--ledger", "L", "--rows", "5", "--out", "b", "--private-report", "p.html", "--anyway"
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


def test_dependences_are_told_in_words(folder, sfumato_cli):
    opened = SCHEMA + '\n[[rules]]\ncheck = "age determines sex"\n'
    Path("open.toml").write_text(opened)
    Path("t.csv").write_text("age,sex\n1,f\n40,m\n40,m\n40,f\n")
    code, out, _ = sfumato_cli("schema", "check", "t.csv", "--schema", "open.toml", "--json")
    told = json.loads(out)
    assert (code, told["valid"]) == (0, True)
    assert "'age determines sex' is contradicted by 1 row" in told["violations"][0]
    assert "contradicted by 1 row" in sfumato_cli("schema", "check", "t.csv", "--schema", "open.toml")[1]
    low, high = Schema.parse(SCHEMA)["age"].bounds
    Path("map.toml").write_text(f'{opened}[rules.map]\n"{low}..39" = "f"\n"40..{high}" = "m"\n')
    code, out, _ = sfumato_cli("schema", "confirm", "map.toml")
    assert (code, f"'age determines sex': {low}..39 = f, 40..{high} = m" in out) == (0, True)
    code, _, error = sfumato_cli("schema", "check", "t.csv", "--schema", "map.toml")
    assert (code, "'age determines sex' is broken by 1 row" in error) == (2, True)


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
        assert sfumato_cli(*RELEASE, "--epsilon", "1", "--seed", "7", "--no-ledger", "--out", name)[0] == 0
    assert Path("a/data.csv").read_bytes() == Path("b/data.csv").read_bytes()
    assert "not for release" in Path("a/release.json").read_text()
    assert "NOT FOR RELEASE" in Path("a/report.html").read_text()
    code, out, _ = sfumato_cli("verify", "a")
    assert (code, out.splitlines()[-1]) == (3, "a: verified, but NOT FOR RELEASE (seed 7)")
    assert re.fullmatch(r"fingerprint [0-9a-f]{64}", out.splitlines()[0])
    body = json.loads(sfumato_cli("verify", "a", "--json")[1])
    assert (body["ok"], body["stamp"], body["exit_code"]) == (True, "not for release (seed 7)", 3)
    Path("a/NOT-FOR-RELEASE.txt").unlink()
    assert sfumato_cli("verify", "a")[0] == 2, "damage weighs more than the stamp"


def test_a_bundle_of_another_version_has_an_exit_code_of_its_own(folder, sfumato_cli):
    assert sfumato_cli(*RELEASE, "--epsilon", "1", "--no-ledger", "--out", "a")[0] == 0
    document = ReleaseDocument.from_json(Path("a/release.json").read_text())
    for version, expected, words in (
        ("0.1.0", 4, "a: verified, but not in full"),
        ("9.9", 2, "sfumato 9.9 made it, which this one"),
    ):
        other = document.model_copy(update={"versions": {**document.versions, "sfumato": version}}).sealed()
        Path("a/release.json").write_text(other.to_json())
        code, out, _ = sfumato_cli("verify", "a")
        assert code == expected
        assert words in out


def test_a_release_without_a_ledger_must_be_asked_for(folder, sfumato_cli):
    code, _, err = sfumato_cli(*RELEASE, "--epsilon", "1", "--out", "o")
    assert code == 2
    assert err.startswith("NoLedgerError: no ledger was given")
    assert "sfumato ledger init" in err and "--no-ledger" in err
    assert not Path("o").exists()
    code, _, err = sfumato_cli(*RELEASE, "--epsilon", "1", "--out", "o", "--ledger", "L", "--no-ledger")
    assert (code, "both given" in err) == (2, True)
    code, _, err = sfumato_cli(*RELEASE, "--epsilon", "1", "--out", "o", "--no-ledger")
    assert (code, err) == (0, "")
    calibrate = ("calibrate", "t.csv", "--schema", "s.toml", "--method", "histogram", "--set", "column=age")
    code, _, err = sfumato_cli(*calibrate, "--target", "tvd_1_bins <= 1", "--cost", "private")
    assert (code, err.split(":")[0]) == (2, "NoLedgerError")


NESTED = {
    "contingency": ["columns=[[[1]]]", 'columns=[["age", 5]]', "columns=[{}]"],
    "histogram": ["column=[1,2]", "column=[[]]", "column={}"],
    "entropy": ["column=age --set order=[1,2]"],
    "marginals": ["columns=[[1]]"],
    "aim": ['workload=[["age", {"sex": []}]]', "workload=[[[[1]]]]"],
    "pseudo-posterior": ['target=[["age"]] --set predictors=sex --set family=auto'],
    "two-stage": ["target=[[1]]", 'target=age --set inputs={"a": 1}'],
}


@pytest.mark.parametrize(("method", "setting"), [(name, each) for name, some in NESTED.items() for each in some])
def test_settings_of_the_wrong_nesting_have_a_name(method, setting, folder, sfumato_cli):
    given = setting.split(" --set ")
    settings = [part for each in given for part in ("--set", each)]
    for verb in (("plan",), ("release", "t.csv", "--no-ledger", "--out", "o")):
        code, _, err = sfumato_cli(*verb, "--schema", "s.toml", "--method", method, "--epsilon", "1", *settings)
        assert code == 2, err
        assert "bug" not in err and "Error: " in err
    assert not Path("o").exists()


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep")])
def test_a_machine_at_its_end_is_no_bug(error, monkeypatch, sfumato_cli):
    from sfumato.cli.release import methods as methods_verb

    def broken(*_):
        raise error

    monkeypatch.setattr(methods_verb, "all_methods", broken)
    code, _, err = sfumato_cli("methods")
    assert code == 2
    assert err.startswith("ResourceError: ")


ESCAPES = "m\x1b[2J\x9b1A\u202e\r\x07"


def test_names_and_values_cannot_move_the_cursor(folder, sfumato_cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    name = json.dumps(f"a{ESCAPES}")
    column = f'[columns.{name}]\nkind = "category"\nvalues = ["f", {json.dumps(ESCAPES)}]\n'
    Path("e.toml").write_text(f"[table]\nname = {name}\n{column}")
    Path("e.csv").write_bytes(f'"a{ESCAPES}"\nf\n'.encode())
    calls = [
        ("plan", "--schema", "e.toml", "--method", "marginals", "--epsilon", "1"),
        (
            "release",
            "e.csv",
            "--schema",
            "e.toml",
            "--method",
            "marginals",
            "--epsilon",
            "1",
            "--no-ledger",
            "--anyway",
            "--out",
            "o",
        ),
        ("verify", f"o{ESCAPES}"),
        ("verify", "o"),
        ("schema", "check", "e.csv", "--schema", "e.toml"),
    ]
    for call in [*calls, *((*call, "--json") for call in calls)]:
        _, out, err = sfumato_cli(*call)
        bad = [each for each in out + err if each in ESCAPES.replace("m", "").replace("[2J", "").replace("1A", "")]
        assert bad == [], (call, out, err)


def test_ordinary_text_is_printed_as_it_is(capsys):
    from sfumato.cli.console import Console, printable

    text = "Zürich, 東京, עברית, नमस्ते, 👩‍👩‍👧, 2\u00a0000 [red]"
    assert printable(text) == text
    assert printable("a\nb\x1b[2J\u2066\u2028") == "a\nb\\x1b[2J\\u2066\\u2028"
    console = Console()
    console.table("t", ("a",), [["one\ntwo"]])
    assert "one\\ntwo" in capsys.readouterr().out, "a line break could pass for another row"
    Console(json=True).print_json({"name": "ü\x9b\ud800"})
    assert json.loads(capsys.readouterr().out) == {"name": "ü\x9b\ud800"}


def test_levels_that_a_spreadsheet_takes_for_formulas_are_noted(folder, sfumato_cli):
    Path("f.toml").write_text(SCHEMA.replace('["f", "m"]', '["=cmd|calc", "-1", "m"]'))
    wanted = ("--method", "histogram", "--set", "column=sex", "--epsilon", "1")
    assert "levels of sex begin with = + - or @" in sfumato_cli("plan", "--schema", "f.toml", *wanted)[1]
    Path("f.toml").write_text(SCHEMA.replace('["f", "m"]', '["-1", "+2", "m"]'))
    assert "begin with" not in sfumato_cli("plan", "--schema", "f.toml", *wanted)[1]


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
    [
        ("", "TableError"),
        ("age;sex\n1;f\n", "TableError"),
        ("age,sex\n300,f\nabc,q\n", "TableError"),
        ("age,sex,sex\n1,f,f\n", "TableError"),
        ("age,sex\n1,é\n", "TableError"),
        ("age,sex\nnan,f\ninf,f\n", "TableError"),
    ],
)
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
    [
        [],
        ["schema"],
        ["schema", "draft"],
        ["schema", "check"],
        ["schema", "confirm"],
        ["plan"],
        ["release"],
        ["verify"],
        ["demo"],
        ["methods"],
        ["ledger"],
        ["ledger", "init"],
        ["ledger", "show"],
        ["ledger", "verify"],
        ["ledger", "export"],
        ["ledger", "upgrade"],
    ],
)
def test_every_verb_teaches(verb: list[str], sfumato_cli):
    code, out, _ = sfumato_cli(*verb, "--help")
    assert code == 0
    assert len(out) > 300


def test_a_wrong_option_is_explained_with_exit_code_2(sfumato_cli):
    assert sfumato_cli("release", "--colour", "blue")[0] == 2


def test_the_installed_command_runs_without_a_traceback(folder):
    command = [Path(sys.executable).with_name("sfumato"), *RELEASE, "--epsilon", "0", "--no-ledger", "--out", "o"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("PlanError: cannot plan contingency")
    assert "Traceback" not in done.stderr


def test_a_bug_is_reported_in_words(monkeypatch, sfumato_cli, folder):
    from sfumato.cli.release import methods as methods_verb

    def broken(*_):
        raise RuntimeError("a bolt fell out")

    monkeypatch.setattr(methods_verb, "all_methods", broken)
    code, _, err = sfumato_cli("methods")
    assert code == 70
    assert "This is a bug in sfumato (RuntimeError at test_cli.py, line" in err
    assert "a bolt fell out" not in err  # a message of an unforeseen error may hold a private row
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
    assert sfumato_cli("demo", "--out", ".")[0] == 2, "other people's folders are left alone"


def test_a_second_demo_clears_the_first(folder, sfumato_cli):
    for rows in ("500", "300"):
        assert sfumato_cli("demo", "--out", "demo", "--rows", rows)[0] == 0


def test_numbers_about_private_rows_are_said_to_the_custodian_and_written_nowhere_public(folder, sfumato_cli):
    rows = "\n".join(f"{i % 90},{'fm'[i % 2]},{i * 0.7 % 13}" for i in range(60))
    (folder / "w.csv").write_text(f"age,sex,pay\n{rows}\n")
    (folder / "w.toml").write_text(SCHEMA + '[columns.pay]\nkind = "number"\nbounds = [0.0, 13.0]\n')
    assert sfumato_cli("ledger", "init", "L", "--schema", "w.toml", "--epsilon", "1")[0] == 0
    wanted = (
        "release",
        "w.csv",
        "--schema",
        "w.toml",
        "--method",
        "two-stage",
        "--as-published",
        "--set",
        "target=pay",
        "--set",
        "inputs=age",
        "--set",
        "second=nadaraya-watson",
        "--ledger",
        "L",
    )
    code, out, _ = sfumato_cli(*wanted, "--out", "b", "--private-report", "own.html")
    assert code == 0
    public, own = out.split("for your eyes only, in no public file:")
    assert "linkage top 1" in own and "linkage" not in public
    assert "linkage" not in Path("b/release.json").read_text() + Path("b/report.html").read_text()
    assert "Rows whose nearest released row is their own" in Path("own.html").read_text()
    code, out, _ = sfumato_cli(*wanted, "--out", "c", "--json")
    assert (code, "linkage" in out, "confidential" in out) == (0, False, False)
