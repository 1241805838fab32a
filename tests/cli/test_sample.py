"""``sfumato sample``: more rows from a saved model, for nothing, or a named error and no file."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato import Schema
from sfumato.bundle.document import released_schema
from sfumato.example import CODEBOOK, write_households

RELEASE = (
    "release",
    "h.csv",
    "--schema",
    "h.toml",
    "--method",
    "aim",
    "--epsilon",
    "2",
    "--set",
    "columns=sex,insured,persons,children",
    "--rows",
    "50",
    "--anyway",
)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture
def folder(bundles, tmp_path, monkeypatch, sfumato_cli) -> Path:
    """A folder with the bundle of a release in it, and one of a seeded release; both are made once."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(bundles)
    if not Path("seeded").exists():
        write_households(bundles / "h.csv", rows=400)
        Path("h.toml").write_text(CODEBOOK)
        assert sfumato_cli("ledger", "init", "L", "--schema", "h.toml", "--epsilon", "2", "--delta", "1e-8")[0] == 0
        assert sfumato_cli(*RELEASE, "--out", "bundle", "--ledger", "L")[0] == 0
        assert sfumato_cli(*RELEASE, "--out", "seeded", "--seed", "4", "--no-ledger")[0] == 0
    monkeypatch.chdir(tmp_path)
    for name in ("bundle", "seeded"):
        Path(name).symlink_to(bundles / name)
    return tmp_path


def files() -> set[str]:
    return {path.name for path in Path.cwd().iterdir() if not path.is_symlink()}


def test_rows_cost_nothing_and_carry_the_guarantee(folder, sfumato_cli, bundles):
    before = sfumato_cli("ledger", "show", str(bundles / "L"), "--json")[1]
    code, out, err = sfumato_cli("sample", "bundle", "--rows", "1234", "--out", "more.parquet")
    assert (code, err) == (0, "")
    assert "differential privacy with epsilon = 2" in out
    assert "Nothing more is spent" in out and "post-processing" in out
    assert "1,234 rows of 4 columns: more.parquet" in out and "rows repaired to keep 'children < persons'" in out
    assert sfumato_cli("ledger", "show", str(bundles / "L"), "--json")[1] == before
    table = pq.read_table("more.parquet")
    assert table.num_rows == 1234 and table.column_names == ["sex", "persons", "children", "insured"]
    assert b"epsilon = 2" in table.schema.metadata[b"sfumato.guarantee"]
    assert files() == {"more.parquet"}


@pytest.mark.parametrize("rows", ["99999999999999999999999", "100000001", "0", "-5"])
def test_a_number_of_rows_that_nobody_can_want_is_refused(folder, sfumato_cli, rows):
    code, _, err = sfumato_cli("sample", "bundle", f"--rows={rows}", "--out", "more.parquet")
    assert code == 2
    assert "rows must be a whole number between 1 and 100,000,000" in err
    assert files() == set()


def test_a_seed_repeats_rows_and_stamps_nothing(folder, sfumato_cli):
    for name in ("a", "b"):
        assert sfumato_cli("sample", "bundle/model.sfumato", "--seed", "9", "--out", f"{name}.parquet")[0] == 0
    assert sfumato_cli("sample", "bundle", "--seed", "9", "--independent", "--out", "c.parquet")[0] == 0
    a, b, c = (pq.read_table(f"{name}.parquet") for name in "abc")
    assert a.equals(b) and not a.equals(c) and a.num_rows == c.num_rows
    assert b"sfumato.stamp" not in a.schema.metadata


def test_what_the_rules_cost_is_told(folder, sfumato_cli, monkeypatch):
    from sfumato.mechanisms.graphical.fitted_model.fitted_model import FittedModel

    draw = FittedModel.draw
    told = lambda *arguments: dataclasses.replace(draw(*arguments), notes=("do not trust children and persons",))  # noqa: E731
    monkeypatch.setattr(FittedModel, "draw", told)
    assert "note: do not trust children and persons" in sfumato_cli("sample", "bundle", "--out", "a.csv")[1]
    told = json.loads(sfumato_cli("sample", "bundle", "--out", "b.csv", "--json")[1])
    assert told["notes"] == ["do not trust children and persons"]


def test_json_says_it_all(folder, sfumato_cli):
    code, out, _ = sfumato_cli("sample", "bundle", "--rows", "20", "--out", "r.csv", "--json")
    body = json.loads(out)
    assert code == 0 and body["rows"] == 20 and body["file"] == "r.csv" and body["spent_epsilon"] == "0"
    assert body["guarantee"]["epsilon"] == "2" and body["guarantee"]["recorded"] and body["stamp"] is None
    assert "post-processing" in body["why"] and set(body["repaired"]) == {"children < persons"}
    assert pa_csv.read_csv("r.csv").num_rows == 20 and files() == {"r.csv"}


def test_the_stamp_of_a_seeded_fit_stays_with_its_rows(folder, sfumato_cli):
    code, out, _ = sfumato_cli("sample", "seeded", "--rows", "5", "--out", "r.parquet")
    assert code == 0 and "NOT FOR RELEASE" in out and "warning: not for release (seed 4)" in out
    assert pq.read_schema("r.parquet").metadata[b"sfumato.stamp"] == b"not for release (seed 4)"
    assert sfumato_cli("sample", "seeded", "--rows", "5", "--out", "r.csv")[0] == 0
    assert "NOT FOR RELEASE" in Path("r.csv.NOT-FOR-RELEASE.txt").read_text()


@pytest.mark.parametrize("name", ["r.csv.gz", "r.xlsx", "r.jsonl"])
def test_rows_go_to_files_of_many_formats(folder, sfumato_cli, name):
    assert sfumato_cli("sample", "seeded", "--rows", "30", "--out", name)[0] == 0
    assert "NOT FOR RELEASE" in Path(f"{name}.NOT-FOR-RELEASE.txt").read_text()
    facts = released_schema(Schema.load("seeded/schema.toml"), ("sex", "insured", "persons", "children"))
    read = sfumato.read(name, facts)
    assert not read.check() and read.source.dialect.format == name.split(".")[1]


def test_errors_are_named_and_leave_nothing(folder, sfumato_cli):
    Path("broken.sfumato").write_bytes(Path("bundle/model.sfumato").read_bytes()[:-100])
    Path("taken.csv").write_text("mine")
    calls = {
        "no fitted model at 'nowhere'": ("nowhere", "--out", "x.csv"),
        "not a sound fitted model": ("broken.sfumato", "--out", "x.csv"),
        "ends in none of .parquet, .csv, .csv.gz, .tsv, .xlsx, .sav, .dta, .jsonl": ("bundle", "--out", "x.doc"),
        "there is no folder": ("bundle", "--out", "no/x.csv"),
        "'taken.csv' exists|taken.csv' exists": ("bundle", "--out", "taken.csv"),
        "rows must be a whole number between 1 and 100,000,000, found 0": ("bundle", "--out", "x.csv", "--rows", "0"),
        "seed must be a whole number": ("bundle", "--out", "x.csv", "--seed", "-1"),
    }
    for told, arguments in calls.items():
        code, out, err = sfumato_cli("sample", *arguments)
        assert code == 2 and out == "" and any(part in err for part in told.split("|")), (told, err)
        assert "Next step" in err
    assert files() == {"broken.sfumato", "taken.csv"} and Path("taken.csv").read_text() == "mine"
    assert sfumato_cli("sample", "bundle", "--rows", "3", "--out", "taken.csv", "--force")[0] == 0
    assert pa_csv.read_csv("taken.csv").num_rows == 3


def test_a_folder_of_parts_is_written_by_one_option(folder, sfumato_cli):
    code, out, err = sfumato_cli(
        "sample", "bundle", "--rows", "250", "--out", "rows", "--part-rows", "100", "--seed", "1"
    )
    assert (code, err) == (0, "") and "250 rows of 4 columns: rows" in out and "Nothing more is spent" in out
    assert sorted(path.name for path in Path("rows").glob("*")) == [
        "_SUCCESS",
        "_manifest.json",
        *(f"part-0000{place}.parquet" for place in range(3)),
    ]
    code, out, err = sfumato_cli("sample", "bundle", "--rows", "200000000", "--out", "more.parquet")
    assert code == 2 and "rows must be a whole number between 1 and 100,000,000" in err
    code, _, err = sfumato_cli("sample", "bundle", "--rows", "250", "--out", "rows", "--folder")
    assert code == 2 and "is not overwritten unless asked" in err
    code, out, _ = sfumato_cli("sample", "bundle", "--rows", "90", "--out", "rows", "--folder", "--force", "--json")
    assert code == 0 and json.loads(out)["rows"] == 90
    assert files() == {"rows"}
