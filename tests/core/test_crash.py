"""Killed at any moment, a release may lose budget, never privacy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sfumato import Ledger

CHILD = Path(__file__).with_name("crash_child.py")


@pytest.mark.parametrize("kills", [10, 50])
def test_kills_leave_no_release_without_a_recorded_spend(tmp_path, kills):
    subprocess.run([sys.executable, str(CHILD), str(tmp_path), "11", str(kills)], check=True, timeout=300)
    ledger = Ledger(tmp_path / "ledger.db")
    recorded = {entry.hash for entry in ledger.history("t")}
    released = [path.read_text() for path in tmp_path.glob("*.released")]
    assert len(released) > 0.4 * kills, "the children must get far enough for the kills to mean something"
    assert set(released) <= recorded
    assert len(set(released)) == len(released), "no recorded spend pays for two releases"
    verification = ledger.verify()
    assert verification.ok, verification.problems
