"""Ctrl-C and SIGTERM at every moment of a release: what the user is told, and what the ledger and the disk hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato import Ledger
from sfumato.bundle.verify import verify_bundle
from sfumato.cli.release import release
from sfumato.progress import Stopped

CHILD = Path(__file__).with_name("interrupted_child.py")
SCHEMA = '[table]\nname = "t"\n[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
RELEASE = (
    "release",
    "t.csv",
    "-s",
    "s.toml",
    "-m",
    "contingency",
    "--set",
    "columns=sex",
    "--epsilon",
    "1",
    "--anyway",
)
CODES = {"SIGINT": 130, "SIGTERM": 143}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "t.csv").write_text("sex\nf\nm\n")
    Ledger("L").open_table("t", epsilon=5)
    return tmp_path


def interrupted(when: str, number: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(CHILD), when, number, *RELEASE, "--ledger", "L", "--out", "out", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def is_untouched() -> bool:
    return sorted(path.name for path in Path().iterdir() if not path.name.startswith("L")) == ["s.toml", "t.csv"]


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("when", ["imports", "before"])
def test_nothing_is_spent_before_the_table_is_counted(folder, when, number):
    done = interrupted(when, number)
    assert done.returncode == CODES[number]
    assert "nothing was spent and nothing was written" in done.stderr
    assert "Traceback" not in done.stderr
    assert Ledger("L").history() == ()
    assert is_untouched()


@pytest.mark.parametrize(
    ("when", "number"),
    [("run", "SIGINT"), ("run", "SIGTERM"), ("engine", "SIGINT")],
)
def test_a_spend_that_came_to_nothing_is_told_and_marked(folder, when, number):
    done = interrupted(when, number)
    assert done.returncode == CODES[number], done.stderr
    (entry,) = Ledger("L").history("t")
    assert f"epsilon 1 is spent (entry {entry.sequence} of the ledger)" in done.stderr
    assert "nothing was written, and the ledger is marked so" in done.stderr
    assert "Traceback" not in done.stderr and "bug" not in done.stderr
    outcome = Ledger("L").outcomes("t")[entry.sequence]
    assert (outcome.kind, outcome.sha256) == ("lost", None)
    assert outcome.reason == ("failed: RuntimeError" if when == "engine" else "interrupted")
    assert is_untouched()


def test_machines_are_told_as_well(folder):
    done = interrupted("run", "SIGTERM", "--json")
    body = json.loads(done.stdout)
    assert body["error"] == "Interrupted"
    assert "epsilon 1 is spent" in body["message"]


@pytest.mark.parametrize(("when", "number"), [("save", "SIGINT"), ("mark", "SIGTERM"), ("show", "SIGTERM")])
def test_what_is_paid_for_is_saved_before_a_stop_takes_effect(folder, when, number):
    done = interrupted(when, number)
    assert done.returncode == CODES[number]
    assert "is complete" in done.stderr and "nothing was written" not in done.stderr
    (entry,) = Ledger("L").history("t")
    assert verify_bundle("out", "L").ok and verify_bundle("out", "L").notes == ()
    assert Ledger("L").outcomes("t")[entry.sequence].kind == "saved"


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (Stopped(signal.SIGTERM), 143)])
def test_the_command_line_library_does_not_swallow_it(folder, monkeypatch, sfumato_cli, error, code):
    def fail(*_arguments, **_named):
        raise error

    monkeypatch.setattr(release, "plan_release", fail)
    got, out, err = sfumato_cli("plan", "-s", "s.toml", "-m", "histogram", "--set", "column=sex", "--epsilon", "1")
    assert (got, out) == (code, "")
    assert err == "interrupted: nothing was spent\n"


def test_a_failure_after_the_spend_says_what_was_spent(folder, monkeypatch, sfumato_cli):
    from sfumato.mechanisms.counts.contingency import Contingency

    def fail(*_arguments):
        raise MemoryError

    monkeypatch.setattr(Contingency, "run", fail)
    code, _, err = sfumato_cli(*RELEASE, "--ledger", "L", "--out", "out")
    assert code == 2
    assert err.startswith("ResourceError: not enough memory")
    assert "epsilon 1 is spent (entry 2 of the ledger)" in err
    assert Ledger("L").outcomes("t")[2].reason == "failed: MemoryError"


def test_a_full_disk_after_the_spend_is_told_and_marked(folder, monkeypatch, sfumato_cli):
    from sfumato.bundle import write

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "flush_to_disk", fail)
    code, out, err = sfumato_cli(*RELEASE, "--ledger", "L", "--out", "out", "--json")
    assert code == 2
    assert "No space left on device" in err and "epsilon 1 is spent (entry 2 of the ledger)" in err
    assert "epsilon 1 is spent" in json.loads(out)["spent"][0]
    assert Ledger("L").outcomes("t")[2].reason == "failed: BundleError"
    assert is_untouched()
