"""What is heard of long work, and the bar that shows it: stages in words, time left, and no number of private rows."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console as RichConsole

import sfumato
from sfumato import Schema
from sfumato.cli.console import Console, RemainingTime, progress_bar, table_cell
from sfumato.progress import progress_listener, report_progress, steps

SCHEMA = """
[table]
name = "people"
[columns.age]
kind = "integer"
bounds = [0, 19]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""
ROWS = 1237


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    Path("p.csv").write_text("age,sex\n" + "".join(f"{i % 20},{'fm'[i % 3 > 0]}\n" for i in range(ROWS)))
    return tmp_path


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_left_follows_the_plan_first_and_the_pace_of_a_stage_later():
    clock = Clock()
    left = RemainingTime(expected=40.0, clock=clock)
    assert left.seconds == 40
    left.tell("measuring", 0.0)
    clock.now = 10.0
    assert left.seconds == 30, "a stage that has not moved has no pace"
    left.tell("measuring", 0.5)
    assert left.seconds == 0.5 * 10 + 0.5 * 30, "half way: half of it by the pace, 10 s more, and half by the plan"
    clock.now = 90.0
    left.tell("measuring", 0.9)
    assert left.seconds == pytest.approx(10), "the plan's time is over: what is left follows from the pace alone"
    left.tell("writing", None)
    assert (left.seconds, str(left)) == (0, ""), "nobody knows"


def test_time_left_of_a_stage_that_began_in_the_middle_counts_what_it_gained():
    clock = Clock()
    left = RemainingTime(clock=clock)
    left.tell("drawing", 0.5)
    clock.now = 10.0
    left.tell("drawing", 0.75)
    assert (left.seconds, str(left)) == (10.0, "about 10 s left")


def test_a_release_tells_its_stages_and_the_share_of_the_budget(folder):
    heard: list[tuple[str, float | None]] = []
    table = sfumato.read("p.csv", Schema.parse(SCHEMA))
    with progress_listener(lambda stage, done: heard.append((stage, done))):
        made = sfumato.release(table, sfumato.AIM(epsilon=1), ledger=False, seed=1)
        made.save("bundle")
    order = list(dict.fromkeys(stage for stage, _ in heard))
    assert order == [
        "checking the table",
        "running aim",
        "counting",
        "measuring single columns",
        "choosing and measuring tables",
        "fitting the model",
        "drawing rows",
        "writing the data",
        "drawing the report",
    ]
    shares = [done for stage, done in heard if stage == "choosing and measuring tables"]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert len(shares) >= 3, "each round says how much of the budget is used"
    assert all(done is None or 0 <= done <= 1 for _, done in heard)


def test_steps_are_told_and_what_they_tell_is_not():
    heard: list[tuple[str, float | None]] = []
    with progress_listener(lambda stage, done: heard.append((stage, done))):
        with steps("running it again", 4) as done:
            for _ in range(5):
                report_progress("fitting", 0.1)
                done()
        report_progress("writing")
    assert [share for stage, share in heard if stage == "running it again"] == [0, 0.25, 0.5, 0.75, 1, 1]
    assert heard[-1] == ("writing", None)
    assert len(heard) == 7


def test_the_bar_listens_on_a_terminal_and_nobody_does_elsewhere():
    for terminal in (True, False):
        shown, console = io.StringIO(), Console()
        console.err = RichConsole(file=shown, force_terminal=terminal, width=120)
        with console.progress("releasing", 40):
            report_progress("measuring", 0.25)
        assert ("releasing: measuring" in shown.getvalue()) == terminal
        assert (shown.getvalue() == "") != terminal


def test_work_that_tells_often_is_not_slowed(monkeypatch):
    from rich.progress import Progress

    drawn: list[str] = []
    monkeypatch.setattr(Progress, "update", lambda _self, _task, **fields: drawn.append(fields["description"]))
    with progress_bar(RichConsole(file=io.StringIO(), force_terminal=True), "x", None, table_cell):
        for step in range(10_000):
            report_progress("often", step / 10_000)
    assert 1 <= len(drawn) < 100, "one change of the bar in a tenth of a second"


def test_a_release_on_a_terminal_shows_stages_and_not_how_many_rows_there_are(folder):
    main, side = pty.openpty()
    command = "from sfumato.cli import main; main()"
    wanted = ("release", "p.csv", "-s", "s.toml", "--epsilon", "1", "--no-ledger", "--anyway", "--seed", "1")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", command, *wanted, "--rows", "50", "--out", "b"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=side,
    ) as child:
        os.close(side)
        shown = b""
        while part := _read(main):
            shown += part
    os.close(main)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert child.returncode == 0, text
    assert "releasing aim" in text
    assert re.search(r"releasing aim: (checking|measuring|choosing|fitting|drawing|writing)", text)
    assert re.search(r"\d:\d\d:\d\d", text), "the time that has passed"
    assert not re.search(r"1,?237", text), "how many rows there are is nobody's business"


def _read(place: int) -> bytes:
    try:
        return os.read(place, 4096)
    except OSError:  # a terminal whose other side is closed
        return b""
