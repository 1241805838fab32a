"""A process that is killed at any point leaves no output without a recorded spend.

The file is also the program that is killed: one interpreter forks a child, kills it after a random time, and so on.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from sfumato.privacy.ledger import Ledger

KILLS = 50
LONGEST_LIFE = 0.05

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")


def write_output(folder: Path, token: str) -> None:
    """Put a release on disk for good."""
    with (folder / token).open("w") as output:
        output.write("released")
        output.flush()
        os.fsync(output.fileno())


def record_then_draw(ledger: Ledger, folder: Path, token: str) -> None:
    """The order that the doctrine asks for."""
    (entry,) = ledger.spend("people", epsilon="1/1000000", note=token)
    write_output(folder, f"{entry.sequence}-{token}")


def draw_then_record(ledger: Ledger, folder: Path, token: str) -> None:
    """The mutant: releases first and pays afterwards."""
    write_output(folder, f"0-{token}")
    ledger.spend("people", epsilon="1/1000000", note=token)


ORDERS: dict[str, Callable[[Ledger, Path, str], None]] = {
    "record-then-draw": record_then_draw,
    "draw-then-record": draw_then_record,
}


def run_and_kill(order: str, folder: Path) -> None:
    """Run the program that forks and kills; it returns when the last child is dead."""
    (folder / "outputs").mkdir()
    Ledger(folder / "ledger.db").open_table("people", epsilon=1)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, __file__, order, str(folder)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def outputs_without_a_record(folder: Path) -> list[str]:
    recorded = {entry.event.note for entry in Ledger(folder / "ledger.db").history()}
    outputs = sorted(path.name for path in (folder / "outputs").iterdir())
    return [name for name in outputs if name.split("-", 1)[1] not in recorded]


def test_no_output_without_a_recorded_spend(tmp_path: Path) -> None:
    run_and_kill("record-then-draw", tmp_path)
    ledger = Ledger(tmp_path / "ledger.db")
    notes = {entry.sequence: entry.event.note for entry in ledger.history()}
    outputs = [path.name.split("-", 1) for path in (tmp_path / "outputs").iterdir()]
    assert len(outputs) >= KILLS
    assert all(notes[int(sequence)] == token for sequence, token in outputs)
    assert ledger.verify().problems == ()


def test_drawing_first_is_caught(tmp_path: Path) -> None:
    """Each kill falls between output and record with probability of about a half: all 50 miss it never."""
    run_and_kill("draw-then-record", tmp_path)
    assert outputs_without_a_record(tmp_path)


def live_until_killed(order: str, folder: Path, life: int, alive: int) -> None:
    ledger = Ledger(folder / "ledger.db")
    for turn in count():
        ORDERS[order](ledger, folder / "outputs", f"{life}-{turn}")
        os.write(alive, b".")


def kill_at_random(child: int, alive: int, chance: random.Random) -> None:
    # From its first release on, so that a busy machine does not kill only children that have not begun.
    assert os.read(alive, 1), "the child ended by itself"
    time.sleep(chance.uniform(0.0, LONGEST_LIFE))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, f"the child ended with status {status}"


def main(order: str, folder: Path) -> None:
    chance = random.Random(2)
    for life in range(KILLS):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            live_until_killed(order, folder, life, writing)
        os.close(writing)
        kill_at_random(child, reading, chance)
        os.close(reading)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
