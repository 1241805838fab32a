"""The lists of slow and thorough tests name tests that exist: a renamed one would come back unseen."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import slow_list

ROOT = Path(__file__).parents[2]


def _names_in(file: Path) -> set[str]:
    """Return the tests of a file: functions, and methods behind the name of their class."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
            found.add(f"{node.name}::runTest")
        elif isinstance(node, ast.Assign):  # the state machines of Hypothesis
            found |= {f"{target.id}::runTest" for target in node.targets if isinstance(target, ast.Name)}
    return found


def _missing() -> list[str]:
    known: dict[str, set[str]] = {}
    missing: list[str] = []
    for line in sorted(slow_list.listed() | slow_list.listed(slow_list.THOROUGH)):
        file, _, name = slow_list.plain(line).partition("::")
        place = ROOT / file
        if name and place.is_file() and file not in known:
            known[file] = _names_in(place)
        if not (place.exists() if not name else name in known.get(file, set())):
            missing.append(line)
    return missing


def test_the_list_names_only_tests_that_exist():
    gone = "\n  ".join(_missing())
    assert not gone, f"measure anew with 'make slow-list', or rename in tests/slow.txt or tests/thorough.txt:\n  {gone}"


def test_a_name_that_is_gone_is_found(monkeypatch):
    names = {"tests/packaging/test_slow_list.py::test_gone", "tests/gone.py", "tests/packaging"}
    monkeypatch.setattr(slow_list, "listed", lambda path=None: frozenset(names))
    assert _missing() == ["tests/gone.py", "tests/packaging/test_slow_list.py::test_gone"]


@pytest.mark.parametrize("name", ["t/a/b.py::c[1]", "t/a/b.py::c", "t/a/b.py", "t/a"])
def test_a_line_names_a_parameter_a_test_a_file_or_a_folder(name):
    assert slow_list.is_slow("t/a/b.py::c[1]", frozenset({name}))
    assert not slow_list.is_slow("t/a2/b.py::c2[1]", frozenset({name}))


def test_the_smaller_of_two_measurements_counts(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("2.000\tt.py::a\n0.100\tt.py::b\n3.000\tt.py::c[x]\n0.200\tt.py::c[y]\n")
    second.write_text("0.300\tt.py::a\n")
    assert slow_list.slow_names(slow_list.read_logs([first, second])) == ["t.py::c[x]"]


def test_what_was_not_measured_stays_on_the_list(tmp_path, monkeypatch):
    monkeypatch.setattr(slow_list, "LIST", tmp_path / "slow.txt")
    (tmp_path / "slow.txt").write_text("# title\nt/a.py::gone\nt/b.py::kept\nt/folder\nu\n")
    slow_list.write({"t/a.py::now": 2.0, "t/a.py::quick": 0.1, "t/folder/c.py::d": 0.1})
    assert slow_list.listed() == {"t/a.py::now", "t/b.py::kept", "u"}
