"""What was paid for comes to a bundle: space is looked at first, the bundle comes first, and has a second place."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import textwrap
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato
from sfumato import atomic_files
from sfumato.bundle import prepare_output, target_folder
from sfumato.bundle import write as bundle
from sfumato.bundle.document import ReleaseDocument
from sfumato.bundle.verify import verify_bundle
from sfumato.errors import BundleError, KeptElsewhereError, NoSpaceError, UnwrittenCopyWarning
from sfumato.evaluate.uncertainty import main_numbers
from sfumato.example import codebook, households
from sfumato.progress import Stopped, deliver, progress_listener

Usage = namedtuple("Usage", "total used free")
NO_SPACE = OSError(28, "No space left on device")
GRID = sfumato.Grid(("age", "education", "moved_in"), epsilon=1)


@pytest.fixture(scope="module")
def table():
    return sfumato.read(households(rows=400, seed=5), codebook())


@pytest.fixture(scope="module")
def paid(table, tmp_path_factory):
    """Return a function that releases into a fresh ledger: the run itself is shared."""
    made = sfumato.release(table, GRID, ledger=False, seed=1)

    def fresh(folder: Path) -> sfumato.Release:
        ledger = sfumato.Ledger(folder / "ledger.db")
        ledger.open_table(made.schema.name, epsilon=5)
        entries = ledger.spend(made.schema.name, made.events)
        changed = {"ledger": ledger, "entries": entries, "account": ledger.account(made.schema.name)}
        return replace(made.promising(made.guarantee.model_copy(update={"recorded": True})), **changed)

    return fresh


@pytest.fixture
def made(paid, tmp_path):
    (tmp_path / "books").mkdir()
    return paid(tmp_path / "books")


@pytest.fixture
def shelter(tmp_path, monkeypatch):
    """Send temporary files and the home folder to folders of the test."""
    for name in ("home", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(target_folder.tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def outcome(made):
    return made.ledger.outcomes()[made.entries[0].sequence]


def fails_below(folder, monkeypatch, pages_only=False):
    """Let everything that is written below a folder fail, as on a full disk."""
    real = bundle.write_bundle

    def write(release, place, key=None, pages=True):
        if place.is_relative_to(folder) and (pages or not pages_only):
            (place / "data.csv").write_text("half")
            raise NO_SPACE
        return real(release, place, key, pages)

    monkeypatch.setattr(bundle, "write_bundle", write)


def test_too_little_space_is_refused_before_the_spend(table, tmp_path, monkeypatch):
    plan = sfumato.plan(table, GRID, about_rows=400)
    needed = target_folder.bundle_bytes(plan)
    for free, refused in ((needed // 2, True), (3 * needed + 10**7, False)):
        monkeypatch.setattr(target_folder.shutil, "disk_usage", lambda _, free=free: Usage(10**9, 0, free))
        if not refused:
            prepare_output(tmp_path / "b", plan=plan, ledger=tmp_path / "l.db")
            continue
        with pytest.raises(NoSpaceError, match="nothing was spent") as error:
            prepare_output(tmp_path / "b", plan=plan, ledger=tmp_path / "l.db")
        (problem,) = error.value.problems
        assert f"{free / 1e6:.2f} MB are free" in problem and "the ledger" in problem and "temporary files" in problem
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "method",
    [GRID, sfumato.Histogram("age", epsilon=1), sfumato.Contingency([["age", "sex"], ["region"]], epsilon=1)],
    ids=lambda method: method.name,
)
def test_the_bound_holds(table, tmp_path, method):
    plan = sfumato.plan(table, method, about_rows=400)
    also = ["jsonl"] if method is GRID else []
    folder = sfumato.release(table, method, ledger=False, seed=1).save(tmp_path / "b", also=also)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < target_folder.bundle_bytes(plan, also) < 20 * size + 2_000_000


def test_what_cannot_be_written_is_kept_in_a_private_folder(made, shelter, monkeypatch):
    fails_below(shelter / "out", monkeypatch)
    fails_below_books = shelter / "books"
    with pytest.raises(KeptElsewhereError, match="No space left") as error:
        made.save(shelter / "out" / "b")
    folder = error.value.folder
    assert folder.is_relative_to(fails_below_books) and str(folder) in str(error.value)
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert verify_bundle(folder, made.ledger).ok and outcome(made).kind == "saved"
    assert not (shelter / "out").exists()
    assert "nothing is lost" in error.value.__notes__[0]


def test_without_room_for_the_pages_the_data_are_kept(made, shelter, monkeypatch):
    fails_below(shelter, monkeypatch, pages_only=True)
    with pytest.raises(KeptElsewhereError, match="without its pages") as error:
        made.save(shelter / "out" / "b")
    folder = error.value.folder
    assert verify_bundle(folder, made.ledger).ok and not (folder / "report.html").exists()


def test_where_no_place_is_left_it_says_so_and_is_marked(made, shelter, monkeypatch):
    fails_below(shelter, monkeypatch)
    with pytest.raises(BundleError, match="No space left") as error:
        made.save(shelter / "out" / "b")
    assert not isinstance(error.value, KeptElsewhereError) and "is spent" in error.value.__notes__[0]
    assert outcome(made).kind == "lost" and list(shelter.rglob("sfumato-kept-*")) == []
    monkeypatch.undo()
    made.save(shelter / "b")  # in Python it is still there, and nothing more is spent
    assert outcome(made).kind == "saved" and len(made.ledger.history()) == 1


def test_the_bundle_is_whole_while_the_method_runs_again(made, tmp_path, monkeypatch):
    looks = []

    def run(release, reruns):
        looks.append((verify_bundle(tmp_path / "b", made.ledger), outcome(made).kind))
        raise Stopped

    monkeypatch.setattr(main_numbers, "main_statistics", run)
    with pytest.raises(Stopped) as stop:
        made.save(tmp_path / "b", reruns=4)
    ((check, kind),) = looks
    assert check.ok and kind == "saved"
    assert "is complete, but may lack expected errors" in stop.value.__notes__[0]


def test_both_bundles_verify_while_one_takes_the_others_place(made, tmp_path, monkeypatch):
    checks, real = [], atomic_files.exchange

    def swap(fresh, standing):
        checks.extend(verify_bundle(each, made.ledger) for each in (fresh, standing))
        real(fresh, standing)

    monkeypatch.setattr(bundle, "exchange", swap)
    folder = made.save(tmp_path / "b", reruns=4, also=["jsonl"])
    checks.append(verify_bundle(folder, made.ledger))
    assert [check.problems for check in checks] == [(), (), ()]
    document = ReleaseDocument.from_json((folder / "release.json").read_text())
    assert document.expected_errors.reruns == 4 and "data.jsonl" in document.files
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "books"]


@pytest.mark.parametrize("in_one_step", [True, False])
def test_folders_change_places(tmp_path, monkeypatch, in_one_step):
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name").write_text(name)
    if not in_one_step:
        monkeypatch.setattr(atomic_files, "_exchanged", lambda *_: False)
    atomic_files.exchange(tmp_path / "new", tmp_path / "old")
    assert [(tmp_path / name / "name").read_text() for name in ("new", "old")] == ["old", "new"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_failure_of_what_comes_later_costs_no_bundle(made, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle.shutil, "copytree", lambda *_a, **_n: (_ for _ in ()).throw(NO_SPACE))
    with pytest.warns(UnwrittenCopyWarning, match="is complete, but nothing could be added"):
        folder = made.save(tmp_path / "b", also=["jsonl"])
    assert verify_bundle(folder, made.ledger).ok


def test_a_stop_waits_while_the_bundle_is_written(made, tmp_path, monkeypatch):
    stops = []

    def heard(stage, done):
        if not stops:
            stops.append(Stopped())
            deliver(stops[0])

    with progress_listener(heard), pytest.raises(Stopped):
        made.save(tmp_path / "b")
    assert verify_bundle(tmp_path / "b", made.ledger).ok and outcome(made).kind == "saved"


KILLED = """
    import os, signal, sys
    import sfumato
    from sfumato.example import codebook, households
    from sfumato.evaluate.uncertainty import main_numbers
    main_numbers.main_statistics = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    ledger = sfumato.Ledger(sys.argv[1] + "/ledger.db")
    ledger.open_table("households", epsilon=5)
    table = sfumato.read(households(rows=300, seed=5), codebook())
    made = sfumato.release(table, sfumato.Grid(("age", "education", "moved_in"), epsilon=1), ledger=ledger)
    made.save(sys.argv[1] + "/b", reruns=4)
"""


def test_a_kill_during_the_reruns_leaves_the_bundle(tmp_path):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert verify_bundle(tmp_path / "b", tmp_path / "ledger.db").notes == ()
    assert verify_bundle(tmp_path / "b", tmp_path / "ledger.db").ok
