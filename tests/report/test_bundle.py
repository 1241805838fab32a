from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import Contingency, Histogram, Ledger, Marginals, Schema
from sfumato.atomic_files import locked_folder
from sfumato.bundle import write
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.layout import file_record, file_stems
from sfumato.bundle.reproduction_script import reproduction_script
from sfumato.bundle.target_folder import clean_up, prepare_output
from sfumato.bundle.verify import verify_bundle
from sfumato.bundle.write import save_bundle
from sfumato.core import parameters
from sfumato.errors import BundleError, LedgerError, UnmarkedBundleWarning
from sfumato.report.cards import share
from sfumato.report.release_page import page
from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect
from sfumato.table.writing import formats

METHODS = {
    "histogram": Histogram("age", 1.0),
    "several": Contingency([["sex"], ["age", "sex"], ["sex", "region", "insured"]], "1/3"),
    "gaussian": Contingency(["hours", "sex"], 1.0, 1e-6, "gaussian"),
    "marginals": Marginals(3.0, ["age", "sex", "hours", "status", "insured", "moved_in", "interviewed", "income"]),
}
ODD = Schema.parse("""
[table]
name = "odd"
[columns.'net "income" / <b>']
kind = "category"
values = ["", "a,b", 'quo"te', "line\\nbreak", " NULL ", "missing", "ünï"]
missing = true
[columns.count]
kind = "boolean"
""")


@pytest.fixture(scope="session")
def table(frame, schema):
    return sfumato.read(frame, schema)


@pytest.fixture(scope="session", params=METHODS)
def saved(request, table, tmp_path_factory):
    """A bundle of each method, recorded in a ledger; tests must not change it."""
    folder = tmp_path_factory.mktemp(request.param)
    ledger = Ledger(folder / "ledger.db")
    ledger.open_table("households", epsilon=10, delta=1e-5)
    rows = 300 if request.param == "marginals" else None
    made = sfumato.release(table, METHODS[request.param], ledger=ledger, rows=rows)
    return made, made.save(folder / "bundle"), ledger


@pytest.fixture
def copied(saved, tmp_path):
    """The same bundle where a test may damage it."""
    made, folder, ledger = saved
    return made, Path(shutil.copytree(folder, tmp_path / "copy")), ledger


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def reseal(folder: Path, change=lambda body: None) -> None:
    """Forge release.json: change it, then put right every hash and the seal, as a careful forger would."""
    body = json.loads((folder / "release.json").read_text())
    there = [path for path in body["files"] if (folder / path).exists()]
    body["files"] = {path: file_record(folder / path).model_dump() for path in there}
    change(body)
    (folder / "release.json").write_text(ReleaseDocument.model_validate(body).sealed().to_json())


def test_a_bundle_holds_what_was_released(saved, schema):
    made, folder, ledger = saved
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    assert files_of(folder) == {*document.files, "release.json"}
    assert {"schema.toml", "report.html", "reproduce.py"} < set(document.files)
    assert Schema.load(folder / "schema.toml") == schema
    assert document.events == made.events
    assert document.guarantee == made.guarantee
    assert document.statement == made.guarantee.statement()
    assert document.recorded is not None
    assert [entry.hash for entry in document.recorded.entries] == [entry.hash for entry in made.entries]
    for listed, released in zip(document.tables, made.tables.values(), strict=True):
        stored = pq.ParquetFile(folder / listed.parquet).read()
        assert stored.equals(released)
        assert stored.schema.metadata[b"sfumato.guarantee"].decode() == made.guarantee.statement().splitlines()[0]
        assert b"sfumato.stamp" not in stored.schema.metadata
        assert pa_csv.read_csv(folder / listed.csv).num_rows == released.num_rows
    check = verify_bundle(folder, ledger)
    assert check, check.problems
    assert len(check.checks) >= 7


def test_names_of_data_files(table, tmp_path):
    one = sfumato.release(table, METHODS["histogram"]).save(tmp_path / "one")
    assert {"data.parquet", "data.csv"} < files_of(one)
    several = sfumato.release(table, METHODS["several"]).save(tmp_path / "several")
    assert {"tables/sex.csv", "tables/age--sex.parquet", "tables/sex--region--insured.csv"} < files_of(several)


def test_odd_names_and_values_survive(tmp_path):
    name = ODD.names[0]
    frame = pd.DataFrame({name: ["", "a,b", 'quo"te', "line\nbreak", None, "missing", " NULL "], "count": [True] * 7})
    method = Contingency([[name], [name, "count"]], 50.0)
    folder = sfumato.release(sfumato.read(frame, ODD), method, allow_weak=True).save(tmp_path / "odd")
    assert {"tables/net_income_b.csv", "tables/net_income_b--count.parquet"} < files_of(folder)
    assert verify_bundle(folder), verify_bundle(folder).problems
    rows = sfumato.release(sfumato.read(frame, ODD), Marginals(50.0), rows=40, allow_weak=True).save(tmp_path / "rows")
    assert verify_bundle(rows), verify_bundle(rows).problems


def test_a_synthetic_table_without_rows_is_a_bundle_too(tmp_path):
    frame = pd.DataFrame({ODD.names[0]: pd.Series([], dtype=object), "count": pd.Series([], dtype=bool)})
    made = sfumato.release(sfumato.read(frame, ODD), Marginals(1e6), allow_weak=True)
    assert made.data.shape == (0, 2)
    folder = made.save(tmp_path / "empty")
    assert verify_bundle(folder), verify_bundle(folder).problems


@given(st.lists(st.lists(st.text(max_size=30), min_size=1, max_size=3).map(tuple), max_size=12, unique=True))
@settings(max_examples=200)
def test_file_names_are_safe_and_unique(sets):
    stems = file_stems(sets)
    assert len({stem.casefold() for stem in stems.values()}) == len(sets)
    for stem in stems.values():
        assert stem
        assert not stem.startswith(".")
        assert not re.search(r"[\s/\\:*?\"<>|\x00]", stem)
        assert len(stem.encode()) < 240


@pytest.mark.parametrize("place", [0.0, 0.35, 1.0], ids=["first byte", "a byte inside", "last byte"])
def test_a_flipped_byte_is_found_in_every_file(copied, place):
    """All files but release.json are damaged at once: every problem names its file."""
    _, folder, _ = copied
    damaged = sorted(files_of(folder) - {"release.json"})
    for path in damaged:
        flip(folder / path, place)
    check = verify_bundle(folder)
    assert not check
    assert [path for path in damaged if not any(path in problem for problem in check.problems)] == []
    flip(folder / "release.json", place)
    assert any("release.json" in problem for problem in verify_bundle(folder).problems)


def flip(file: Path, place: float) -> None:
    """Change one bit of the byte at a place between the first, 0, and the last, 1."""
    content = bytearray(file.read_bytes())
    content[round(place * (len(content) - 1))] ^= 1
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("forged", [1e308, -1e308, float("inf"), float("nan"), 5e-324])
def test_forged_numbers_are_told_whatever_they_overflow(forged, table, tmp_path):
    folder = sfumato.release(table, METHODS["marginals"], rows=40).save(tmp_path / "b")
    rows = pq.read_table(folder / "data.parquet")
    place = rows.column_names.index("income")
    incomes = pa.array(([forged, -forged] * rows.num_rows)[: rows.num_rows], rows.schema.field(place).type)
    pq.write_table(rows.set_column(place, rows.schema.field(place), incomes), folder / "data.parquet")
    reseal(folder)
    check = verify_bundle(folder)
    assert not check
    assert any("data.parquet" in problem for problem in check.problems)


def test_every_byte_of_the_document_counts(table, tmp_path):
    folder = sfumato.release(table, METHODS["histogram"]).save(tmp_path / "b")
    content = (folder / "release.json").read_bytes()
    for place in range(0, len(content), 37):
        (folder / "release.json").write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert not verify_bundle(folder), content[max(place - 30, 0) : place + 30]


def test_an_added_and_a_removed_file_are_found(copied):
    _, folder, _ = copied
    (folder / ".hidden").write_text("x")
    assert verify_bundle(folder).problems == (".hidden is not listed in release.json",)
    (folder / ".hidden").unlink()
    for path in sorted(files_of(folder) - {"release.json"}):
        content = (folder / path).read_bytes()
        (folder / path).unlink()
        assert f"{path} is missing" in verify_bundle(folder).problems
        (folder / path).write_bytes(content)
    (folder / "schema.toml").rename(folder.parent / "elsewhere.toml")
    (folder / "schema.toml").symlink_to(folder.parent / "elsewhere.toml")
    assert verify_bundle(folder).problems == ("schema.toml is a link; a bundle holds its files itself",)


def test_a_smaller_epsilon_is_found_however_it_is_forged(copied):
    made, folder, ledger = copied

    def state(body):
        body["guarantee"]["epsilon"] = "0.01"
        body["statement"] = made.guarantee.model_copy(update={"epsilon": "0.01"}).statement()

    def cost(body):
        state(body)
        body["events"][0]["epsilon"] = "0.01"

    def noise(body):
        cost(body)
        for part in body["events"][0]["parts"]:
            part["scale"] = part["scale"] * 10000

    text = (folder / "release.json").read_text()
    body = json.loads(text)
    body["guarantee"]["epsilon"] = "0.01"
    (folder / "release.json").write_text(json.dumps(body, sort_keys=True, indent=2, ensure_ascii=False) + "\n")
    assert any("seal" in problem for problem in verify_bundle(folder).problems)
    signs = {state: "events compose", cost: "too small for its epsilon", noise: "parameters do not lead"}
    for forgery, sign in signs.items():
        (folder / "release.json").write_text(text)
        reseal(folder, forgery)
        assert any(sign in problem for problem in verify_bundle(folder).problems), forgery
    assert any("records another event" in problem for problem in verify_bundle(folder, ledger).problems)


EVIL = "import os\nos.system('echo taken')\n"


@pytest.mark.parametrize(("path", "content"), [("reproduce.py", EVIL), ("report.html", "<h1>All is well</h1>")])
def test_a_replaced_script_or_page_is_found_though_hashes_and_seal_match(copied, path, content):
    _, folder, ledger = copied
    (folder / path).write_text(content)
    reseal(folder)
    assert verify_bundle(folder).problems[0].startswith(f"{path} is not the")
    assert any("another release.json" in found for found in verify_bundle(folder, ledger).problems)


def test_one_changed_letter_of_the_page_is_found(copied):
    _, folder, _ = copied
    text = (folder / "report.html").read_text()
    (folder / "report.html").write_text(text.replace("What is promised", "What is Promised", 1))
    reseal(folder)
    assert any(problem.startswith("report.html is not the page") for problem in verify_bundle(folder).problems)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"module": "os"}, "does not live in os:"),
        ({"class_name": "Popen"}, "does not live in"),
        ({"name": "magic"}, "is not one of sfumato's"),
        ({"summary": "safe in every way"}, "is described otherwise"),
    ],
)
def test_a_method_that_is_not_the_registrys_is_found(copied, change, words):
    _, folder, _ = copied
    reseal(folder, lambda body: body["method"].update(change))
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    (folder / "reproduce.py").write_text(reproduction_script(document))
    reseal(folder)
    assert any(words in problem for problem in verify_bundle(folder).problems)


def test_links_folders_and_outside_paths_are_refused_before_anything_is_opened(copied, monkeypatch, tmp_path):
    _, folder, _ = copied
    (folder / "empty").mkdir()
    assert verify_bundle(folder).problems == ("the folder empty holds nothing that release.json lists",)
    (folder / "empty").rmdir()
    opened: list[str] = []
    monkeypatch.setattr(Path, "read_bytes", lambda self: opened.append(str(self)) or b"")
    monkeypatch.setattr(pq, "ParquetFile", lambda path: opened.append(str(path)))
    (tmp_path / "elsewhere").mkdir()
    (folder / "etc").symlink_to(tmp_path / "elsewhere")
    assert verify_bundle(folder).problems == ("etc is a link; a bundle holds its files itself",)
    (folder / "etc").unlink()
    os.mkfifo(folder / "pipe")
    assert verify_bundle(folder).problems == ("pipe is neither a file nor a folder",)
    (folder / "pipe").unlink()
    (folder / "release.json").rename(tmp_path / "release.json")
    (folder / "release.json").symlink_to(tmp_path / "release.json")
    assert verify_bundle(folder).problems == ("release.json is a link; a bundle holds its files itself",)
    assert opened == []


@pytest.mark.parametrize("outside", ["/etc/passwd", "../secret.parquet", "a\\..\\b"])
def test_tables_outside_the_bundle_are_never_opened(copied, outside, monkeypatch):
    _, folder, _ = copied
    body = json.loads((folder / "release.json").read_text())
    body["tables"][0]["parquet"] = outside
    (folder / "release.json").write_text(json.dumps(body))
    monkeypatch.setattr(pq, "ParquetFile", lambda path: pytest.fail(f"opened {path}"))
    monkeypatch.setattr(pq, "read_schema", lambda path: pytest.fail(f"opened {path}"))
    assert any("outside the bundle" in problem for problem in verify_bundle(folder).problems)


def test_a_full_disk_is_not_called_damage(saved, monkeypatch):
    _, folder, _ = saved

    def full(_path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "ParquetFile", full)
    with pytest.raises(BundleError, match="this machine cannot check now") as caught:
        verify_bundle(folder)
    assert "nothing was found against the bundle" in caught.value.next_step


def test_the_ledger_knows_which_document_a_spend_came_to(table, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("households", epsilon=10)
    made = sfumato.release(table, METHODS["histogram"], ledger=ledger)
    sequence = made.entries[0].sequence
    assert made.ledger is ledger and ledger.outcomes("households") == {}
    first, second = made.save(tmp_path / "first"), made.save(tmp_path / "second")
    assert (first / "release.json").read_bytes() == (second / "release.json").read_bytes()
    outcome = ledger.outcomes("households")[sequence]
    assert (outcome.kind, outcome.sha256) == ("saved", file_record(first / "release.json").sha256)
    assert verify_bundle(first, ledger) and verify_bundle(second, ledger)
    reseal(first, lambda body: body.update(notes=["fit for everything"]))
    assert any("the ledger knows another release.json" in found for found in verify_bundle(first, ledger).problems)


def test_a_ledger_that_cannot_be_told_leaves_the_bundle_standing(table, tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("households", epsilon=10)
    made = sfumato.release(table, METHODS["histogram"], ledger=ledger)

    def busy(*_arguments):
        raise LedgerError("the ledger is held by another process")

    monkeypatch.setattr(Ledger, "mark_saved", busy)
    with pytest.warns(UnmarkedBundleWarning, match="is complete, but the ledger could not be told: the ledger is held"):
        folder = made.save(tmp_path / "b")
    check = verify_bundle(folder, ledger)
    assert check and len(check.notes) == 1


@pytest.mark.parametrize("path", [None, 5, "", b"bytes", "nul\0", "\udcff\ud800"])
def test_what_is_no_path_has_a_name(table, path):
    made = sfumato.release(table, METHODS["histogram"])
    with pytest.raises(BundleError, match=r"must be a path|cannot be called"):
        made.save(path)


def test_what_a_killed_run_left_is_finished_or_removed(table, tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("households", epsilon=10)
    made = sfumato.release(table, METHODS["histogram"], ledger=ledger)
    folder = made.save(tmp_path / "whole")
    partial = tmp_path / ".release-1.0123abcd.partial"
    shutil.copytree(folder, partial)
    (broken := tmp_path / ".release-2.0123abcd.partial").mkdir()
    (broken / "data.csv").write_text("half")
    states = {Path(each.path).name: each.state for each in clean_up(tmp_path)}
    assert states == {"release-1": "finished", broken.name: "incomplete"}
    assert verify_bundle(tmp_path / "release-1", ledger)
    assert broken.exists()
    with locked_folder(broken):
        assert [each.state for each in clean_up(tmp_path, clean=True)] == ["being written"]
    assert [each.state for each in clean_up(tmp_path, clean=True)] == ["removed"]
    assert not broken.exists()
    shutil.copytree(folder, partial)
    (state,) = clean_up(tmp_path)
    assert (state.state, "is taken" in state.detail) == ("complete", True)
    with pytest.raises(BundleError, match="is not a folder"):
        clean_up(tmp_path / "none")


def test_unknown_events_and_other_tables_are_found(copied):
    _, folder, _ = copied
    reseal(folder, lambda body: body["events"][0].update(kind="magic"))
    assert any("unknown event kind 'magic'" in problem for problem in verify_bundle(folder).problems)
    reseal(folder, lambda body: body["events"][0].update(kind="discrete-laplace", table="others"))
    assert any("same table" in problem for problem in verify_bundle(folder).problems)


def test_data_outside_the_schema_are_found_though_hashes_match(table, schema, tmp_path):
    folder = sfumato.release(table, METHODS["histogram"]).save(tmp_path / "counts")
    data = pq.ParquetFile(folder / "data.parquet").read()
    _rewrite(folder, data.slice(1))
    problems = verify_bundle(folder).problems
    assert any("exactly the 85 cells" in problem for problem in problems), problems
    _rewrite(folder, data.set_column(0, "age", pa.array(np.arange(85) + 17)))
    assert any("exactly the 85 cells" in problem for problem in verify_bundle(folder).problems)

    folder = sfumato.release(table, METHODS["marginals"], rows=20).save(tmp_path / "rows")
    data = pq.ParquetFile(folder / "data.parquet").read()
    _rewrite(folder, _with(data, "age", [101] + [50] * 19))
    assert any("age: 1 value outside" in problem for problem in verify_bundle(folder).problems)
    late = _with(data, "moved_in", [dt.date(2024, 12, 31)] * 20)
    _rewrite(folder, _with(late, "interviewed", [dt.date(2024, 1, 1)] * 20))
    broken = "'moved_in <= interviewed' is broken by 20 rows"
    assert any(broken in problem for problem in verify_bundle(folder).problems)
    pa_csv.write_csv(data.slice(0, 19), folder / "data.csv")
    reseal(folder)
    assert any("do not hold the same values" in problem for problem in verify_bundle(folder).problems)


def _with(data: pa.Table, name: str, values: list) -> pa.Table:
    return data.set_column(data.column_names.index(name), name, pa.array(values))


def _rewrite(folder: Path, data: pa.Table) -> None:
    kept = pq.read_schema(folder / "data.parquet").metadata
    pq.write_table(data.replace_schema_metadata(kept), folder / "data.parquet")
    pa_csv.write_csv(data, folder / "data.csv")
    reseal(folder)


def test_a_draft_schema_is_found(copied):
    _, folder, _ = copied
    text = (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text(text.replace("[table]\n", "[table]\ndraft = true\n"))
    reseal(folder)
    assert any("is a draft" in problem for problem in verify_bundle(folder).problems)


def test_a_ledger_that_does_not_hold_the_release_is_found(saved, tmp_path):
    _, folder, ledger = saved
    other = Ledger(tmp_path / "other.db")
    other.open_table("households", epsilon=10, delta=1e-5)
    assert any("is not the one that the bundle names" in problem for problem in verify_bundle(folder, other).problems)
    empty = Ledger(tmp_path / "empty.db")
    empty.open_table("somebody else", epsilon=1)
    assert not verify_bundle(folder, empty)
    assert verify_bundle(folder, ledger)


def test_an_unrecorded_release_says_so(table, tmp_path):
    folder = sfumato.release(table, METHODS["histogram"]).save(tmp_path / "b")
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    assert document.recorded is None
    assert "not recorded" in document.recorded_note
    assert verify_bundle(folder)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_table("households", epsilon=1)
    assert any("not recorded" in problem for problem in verify_bundle(folder, ledger).problems)


def test_what_is_no_bundle_is_refused(tmp_path):
    words = {tmp_path / "absent": "does not exist", tmp_path: "no release.json", Path(__file__): "is a file"}
    for path, word in words.items():
        with pytest.raises(BundleError, match=word):
            verify_bundle(path)
    (tmp_path / "release.json").write_bytes(b"\xff{}")
    assert any("cannot be read" in problem for problem in verify_bundle(tmp_path).problems)
    (tmp_path / "release.json").write_text("{}")
    assert any("cannot be read" in problem for problem in verify_bundle(tmp_path).problems)


def test_paths_that_leave_the_bundle_are_refused(copied):
    _, folder, _ = copied
    body = json.loads((folder / "release.json").read_text())
    body["files"]["../../secret"] = {"sha256": "0" * 64, "bytes": 1}
    (folder / "release.json").write_text(json.dumps(body))
    assert any("outside the bundle" in problem for problem in verify_bundle(folder).problems)


@pytest.mark.parametrize("error", [OSError(28, "No space left"), pa.ArrowInvalid("broken"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["parquet", "flush"])
def test_no_partial_bundle_when_writing_fails(table, tmp_path, monkeypatch, error, where):
    def fail(*_args, **_kwargs):
        raise error

    places = {
        "parquet": (write.pq, "write_table"),
        "flush": (write, "flush_to_disk"),
    }
    monkeypatch.setattr(*places[where], fail)
    made = sfumato.release(table, METHODS["histogram"])
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else BundleError):
        made.save(tmp_path / "new" / "deep" / "bundle")
    assert list(tmp_path.iterdir()) == []


def test_no_partial_bundle_when_somebody_stops_the_drawing(table, tmp_path, monkeypatch):
    """Another failure of a page is a warning: see the tests of the pages for users."""

    def stop(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(page, "public_report", stop)
    with pytest.raises(KeyboardInterrupt):
        sfumato.release(table, METHODS["histogram"]).save(tmp_path / "new" / "deep" / "bundle")
    assert list(tmp_path.iterdir()) == []


def test_no_bundle_and_no_private_copy_when_the_last_step_fails(table, tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "rename", fail)
    made = sfumato.release(table, METHODS["histogram"])
    with pytest.raises(BundleError, match=r"cross-device") as caught:
        made.save(tmp_path / "bundle", private_report=tmp_path / "private.html", table=table)
    assert "release.save()" in caught.value.next_step
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["here", "here/new", "here/new/deep"])
def test_a_read_only_folder_is_refused_before_anything_is_written(tmp_path, place):
    (tmp_path / "here").mkdir()
    (tmp_path / "here").chmod(0o555)
    try:
        with pytest.raises(BundleError, match="read-only") as caught:
            prepare_output(tmp_path / place)
        assert caught.value.next_step
        assert list((tmp_path / "here").iterdir()) == []
    finally:
        (tmp_path / "here").chmod(0o755)


def test_places_that_cannot_hold_a_bundle_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").symlink_to(tmp_path / "empty")
    for place, word in (
        ("file", "is a file"),
        ("file/deep", "is a file"),
        ("full", "not empty"),
        ("link", "link to nowhere"),
        ("other", "is a link"),
    ):
        with pytest.raises(BundleError, match=word):
            prepare_output(tmp_path / place)
    with pytest.raises(BundleError, match=r"cannot write|too long"):
        prepare_output(tmp_path / ("x" * 300))
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(BundleError, match="current folder"):
        prepare_output(".")


def test_a_good_place_is_left_as_it_was(table, tmp_path):
    prepare_output(tmp_path / "a" / "b" / "c")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty").mkdir()
    prepare_output(tmp_path / "empty")
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]
    assert verify_bundle(sfumato.release(table, METHODS["histogram"]).save(tmp_path / "empty"))
    assert verify_bundle(sfumato.release(table, METHODS["histogram"]).save(tmp_path / "a" / "b" / "c"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "empty"]


def test_the_custodians_copy_lies_apart(table, tmp_path):
    made = sfumato.release(table, METHODS["histogram"])
    with pytest.raises(BundleError, match="must not lie inside"):
        made.save(tmp_path / "b", private_report=tmp_path / "x" / ".." / "b" / "private.html", table=table)
    with pytest.raises(BundleError, match="needs the private table"):
        made.save(tmp_path / "b", private_report=tmp_path / "private.html")
    with pytest.raises(BundleError, match="above the bundle"):
        made.save(tmp_path / "b" / "c", private_report=tmp_path / "b", table=table)
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "desk" / "private.html"
    folder = made.save(tmp_path / "b", private_report=path, table=table)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert verify_bundle(folder)
    with pytest.raises(BundleError, match="exists already"):
        made.save(tmp_path / "c", private_report=path, table=table)


CANARY = Schema.parse("""
[table]
name = "canary"
[columns.group]
kind = "category"
values = ["a", "b", "c"]
[columns.age]
kind = "integer"
bounds = [0, 20]
""")
ROWS, IN_CELL, OFFSET = 7919, 4517, 3301


def _canary_table(folder: Path):
    """A table whose row count, one cell, one unlisted column and file name occur nowhere else."""
    group = ["a"] * IN_CELL + ["b"] * OFFSET + ["c"] * (ROWS - IN_CELL - OFFSET)
    rest = {"age": np.arange(ROWS) % 21, "note": ["xyzzy-secret"] * ROWS}
    path = folder / "whereabouts-plugh.csv"
    pd.DataFrame({"group": group, **rest}).to_csv(path, index=False)
    return sfumato.read(path, CANARY)


def _readable(folder: Path) -> str:
    """All text and all Parquet values of a bundle; the chart library and the hashes hold any digits by chance."""
    parts: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            parts.append(pq.ParquetFile(path).read().to_pandas().to_csv())
            parts.append(str(pq.read_schema(path).metadata))
        elif path.is_file():
            parts.append(re.sub(r'<script type="module">.*?</script>', "", path.read_text(), flags=re.DOTALL))
    return re.sub(r"\b[0-9a-f]{64}\b", "", "\n".join(parts))


TINY = {
    "histogram": lambda: Histogram("group", 1e-7),
    "contingency": lambda: Contingency([["group"], ["group", "age"]], 1e-7),
    "marginals": lambda: Marginals(1e-7),
}


@pytest.mark.parametrize("name", TINY)
def test_the_public_bundle_holds_nothing_unreleased(name, tmp_path, monkeypatch):
    # less than a release may have, so that no noisy number can be a true one by chance
    monkeypatch.setattr(parameters, "SMALLEST_EPSILON", Fraction(1, 10**8))
    method, table = TINY[name](), _canary_table(tmp_path)
    ledger = Ledger(tmp_path / "plover.db")
    ledger.open_table("canary", epsilon=1)
    made = sfumato.release(table, method, rows=100, ledger=ledger)
    folder = made.save(tmp_path / "public", private_report=tmp_path / "private.html", table=table)
    public, private = _readable(folder), (tmp_path / "private.html").read_text()
    for number in (ROWS, IN_CELL, OFFSET):
        pattern = rf"(?<![\w.]){number}(?![\w])|(?<![\d,]){number:,}(?![\d,])"
        assert not re.search(pattern, public), number
        assert name == "marginals" or re.search(pattern, private), number
    assert name != "marginals" or share(IN_CELL / ROWS) in private, "of rows it is the comparison, in shares"
    raw = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for secret in (b"xyzzy-secret", b"plugh", b"plover", os.fsencode(tmp_path)):
        assert secret not in raw


@pytest.mark.parametrize("method", [METHODS["several"], METHODS["marginals"]])
def test_a_seeded_run_is_stamped_everywhere(table, tmp_path, method):
    made = sfumato.release(table, method, seed=7)
    folder = made.save(tmp_path / "seeded")
    stamp = "not for release (seed 7)"
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    assert (document.randomness.mode, document.randomness.stamp) == ("seeded", stamp)
    assert stamp in (folder / "NOT-FOR-RELEASE.txt").read_text().lower()
    assert "NOT FOR RELEASE" in (folder / "report.html").read_text()
    assert stamp in (folder / "report.html").read_text()
    for listed in document.tables:
        assert pq.read_schema(folder / listed.parquet).metadata[b"sfumato.stamp"].decode() == stamp
    assert verify_bundle(folder), verify_bundle(folder).problems
    (folder / "NOT-FOR-RELEASE.txt").unlink()
    reseal(folder, lambda body: body["files"].pop("NOT-FOR-RELEASE.txt", None))
    assert any("missing from a seeded run" in problem for problem in verify_bundle(folder).problems)


def test_a_washed_stamp_is_found(table, tmp_path):
    folder = sfumato.release(table, METHODS["histogram"], seed=7).save(tmp_path / "seeded")
    reseal(folder, lambda body: body["randomness"].update(mode="secure", seed=None, stamp=None))
    problems = " ".join(verify_bundle(folder).problems)
    assert "disagree" in problems
    assert "NOT-FOR-RELEASE.txt is in a run without a seed" in problems
    assert "data.parquet: its stamp" in problems


@pytest.mark.parametrize("method", ["several", "marginals"])
def test_the_script_makes_the_same_release_again(table, frame, tmp_path, method):
    frame.to_csv(tmp_path / "rows.csv", index=False, sep=";")
    made = sfumato.release(table, METHODS[method], rows=200, seed=11)
    first = made.save(tmp_path / "first")
    book = sfumato.Ledger(tmp_path / "L")
    book.open_table(table.schema.name, epsilon=50, delta="1e-3", adjacency=table.schema.adjacency)
    said = ("--delimiter", ";", "--out", "second", "--ledger", "L")
    command = [sys.executable, str(first / "reproduce.py"), "rows.csv", *said]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "differential privacy with epsilon" in done.stdout
    for path in sorted(first.rglob("*.csv")):
        assert path.read_bytes() == (tmp_path / "second" / path.relative_to(first)).read_bytes()
    again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "not empty" in again.stderr
    assert "Traceback" not in again.stderr
    assert {entry.event.epsilon for entry in book.history()} == {event.epsilon for event in made.events}
    assert len(book.history()) == len(made.events)  # the second run was refused before the spend


def test_the_script_says_that_noise_differs_by_design(table, tmp_path):
    folder = save_bundle(sfumato.release(table, METHODS["histogram"]), tmp_path / "b")
    text = (folder / "reproduce.py").read_text()
    compile(text, "reproduce.py", "exec")
    assert "every run differs" in text
    assert "SEED = None" in text


@pytest.mark.parametrize("kind", ["xlsx", "sav"])
def test_rows_are_also_written_in_the_format_of_their_source(tmp_path: Path, kind: str):
    """A copy belongs to the bundle: it is listed, the same each time, and checked value by value."""
    columns = (
        Column("age", "integer", bounds=(0, 90), step=5),
        Column("sex", "category", values=(1, 2), value_labels={1: "male", 2: "female"}, missing=True),
        Column("rate", "number", bounds=(0.0, 1.0), decimals=2, trailing_zeros=True),
    )
    schema = Schema("people", columns, source=Dialect(format=kind, delimiter=";", decimal=",", missing=("NA",)))
    frame = pd.DataFrame({"age": [20, 45, 90] * 20, "sex": [1, 2, None] * 20, "rate": [0.25, 0.5, 0.75] * 20})
    release = sfumato.release(sfumato.read(frame, schema), sfumato.Marginals(epsilon=1), rows=50, ledger=False)
    one, two = release.save(tmp_path / "one"), release.save(tmp_path / "two")
    assert files_of(one) >= {"data.parquet", "data.csv", f"data.{kind}"}
    assert (one / f"data.{kind}").read_bytes() == (two / f"data.{kind}").read_bytes()
    assert verify_bundle(one).problems == ()
    assert pd.read_csv(one / "data.csv", sep=";", decimal=",")["rate"].dtype == float
    assert (pd.read_parquet(one / "data.parquet")["age"] % 5 == 0).all()
    text = (one / "data.csv").read_text()
    (one / "data.csv").write_text(text.replace(";0,", ";1,", 1))
    assert any("data.csv and data.parquet do not hold the same values" in p for p in verify_bundle(one).problems)


def test_rows_with_signs_thousands_marks_and_texts_for_nothing_are_verified(tmp_path: Path):
    """The file holds them as the original does, is read again by its schema, and one changed digit is found."""
    columns = (
        Column("Lohn", "integer", bounds=(800, 4000), suffix=" EUR", grouped=True, missing=True),
        Column("Anteil", "category", values=(10, 50), suffix=" %", missing=True, missing_text=""),
    )
    schema = Schema("pay", columns, source=Dialect(delimiter=";", decimal=",", thousands=".", missing=("N/A",)))
    original = tmp_path / "pay.csv"
    original.write_text("Lohn;Anteil\n" + "1.200 EUR;50 %\nN/A;\n3.100 EUR;10 %\n" * 40)
    release = sfumato.release(sfumato.read(original, schema), Marginals(epsilon=9), rows=60, ledger=False, seed=3)
    folder = release.save(tmp_path / "pay")
    lines = (folder / "data.csv").read_text().splitlines()
    assert all(re.fullmatch(r"([1-4]\.\d{3} EUR|\d{3} EUR|N/A);((10|50) %)?", line) for line in lines[1:])
    assert verify_bundle(folder).problems == ()
    assert sfumato.read(folder / "data.csv", schema).check() == ()
    text = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(text.replace("10 %", "50 %", 1))
    assert any("data.csv and data.parquet do not hold the same values" in p for p in verify_bundle(folder).problems)


def test_a_copy_that_cannot_be_written_is_told_before_anything_is_spent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setitem(formats.EXTRAS, ".sav", "no_such_package")
    schema = Schema("people", (Column("age", "integer", bounds=(0, 90)),), source=Dialect(format="sav"))
    assert "data.sav needs no_such_package: pip install 'sfumato[formats]'" in " ".join(
        sfumato.plan(schema, sfumato.Marginals(epsilon=1)).notes
    )
    table = sfumato.read(pd.DataFrame({"age": [20, 45, 90] * 20}), schema)
    folder = sfumato.release(table, sfumato.Marginals(epsilon=1), rows=50, ledger=False).save(tmp_path / "one")
    assert "data.sav" not in files_of(folder)
    assert verify_bundle(folder)
