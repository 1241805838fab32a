"""The runner of the siege, with parts of a few spends: its table, its exit code, and parts that are not there."""

from __future__ import annotations

import dataclasses
import types
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from sfumato import errors
from sfumato.privacy.ledger import Ledger
from siege import __main__ as runner
from siege import spends
from siege.results import Result
from siege.spends import LOADS, Tally, admissible

FEW = dataclasses.replace(LOADS[0], epsilon="0.003", spends=8)


def test_the_table_says_what_failed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    whole, broken = Result("spends, all", 10, 0), Result("kills, all", 5, 2, ("row 3 is missing",))
    parts = {"siege.spends": [whole], "siege.kills": [broken]}
    monkeypatch.setattr(runner.importlib.util, "find_spec", lambda name: name if name in parts else None)
    monkeypatch.setattr(
        runner.importlib, "import_module", lambda name: types.SimpleNamespace(run=lambda seconds, seed: parts[name])
    )
    assert runner.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "disk: skipped, this checkout has no such part"
    assert lines[2].split()[2:5] == ["5", "3", "2"] and lines[3].strip() == "row 3 is missing"
    assert lines[4].split()[-4:-1] == ["10", "10", "0"]
    assert lines[5] == "commands: skipped, this checkout has no such part"
    assert runner.main(["spends"]) == 0
    with pytest.raises(SystemExit):
        runner.main(["moon"])


def test_a_few_spends_are_counted_exactly(tmp_path: Path) -> None:
    with ThreadPool(2) as pool:
        tally = Tally("spends")
        tally.fill(pool, str(tmp_path / "L"), FEW)
    assert (tally.tried, tally.accepted, tally.failed, tally.notes) == (8, 3, 0, [])


def test_a_spend_that_is_not_recorded_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise errors.LedgerError("the ledger cannot be used now")

    monkeypatch.setattr(spends, "PROCESSES", 1)
    monkeypatch.setattr(Ledger, "spend", refuse)
    tally = Tally("spends")
    with ThreadPool(1) as pool:
        tally.fill(pool, str(tmp_path / "L"), FEW)
    assert tally.failed == 8 and "cannot be used now" in tally.notes[0]


def test_loads_go_beyond_what_their_caps_admit() -> None:
    assert [admissible(load) for load in LOADS] == [120, 50, 110]
    assert sum(load.spends * load.sqlite for load in LOADS) >= 10_000
    assert sum(load.spends * load.postgres for load in LOADS) >= 2_000
