"""The part of the siege that calls commands: the same cases for the same seed, and every bad end is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from siege import commands
from siege.commands import Case, Running, case_of, verdict


def test_a_case_follows_from_the_seed_and_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ((1, commands.of_schemas), (1, commands.of_contents), (1, commands.of_arguments))
    monkeypatch.setattr(commands, "KINDS", made)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    cases = [case_of(31, number, tmp_path) for number in range(200)]
    assert cases == [case_of(31, number, tmp_path) for number in range(200)]
    assert {case.kind for case in cases} == {"schemas", "contents", "arguments"}
    assert len({str(case) for case in cases}) > 190
    assert not {case.call[0] for case in cases} & set(commands.UNTRIED)


@pytest.mark.parametrize(
    ("printed", "code", "slow", "word"),
    [
        ("fine", 0, False, "answered"),
        ("TableError: no", 2, False, "refused"),
        ("not in full", 4, False, "refused"),
        ("This is a bug in sfumato (ValueError)", 70, False, "exit 70"),
        ("Traceback (most recent call last):", 1, False, "traceback"),
        ("", -6, False, "exit -6"),
        ("", -9, True, "too slow"),
        ("", 99, False, "exit 99"),
    ],
)
def test_bad_ends_are_named(printed: str, code: int, slow: bool, word: str, tmp_path: Path) -> None:
    (tmp_path / "printed").write_text(printed)
    became, sentence = verdict(Running(Case("x", ["schema"]), 7, tmp_path, 0.0), code, slow)
    assert became == word
    assert sentence.startswith("case 7: ") != (word in ("answered", "refused"))
