"""Which Pythons are said to be supported, and how the smoke test finds them; ``make smoke`` installs under each."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import smoke

ROOT = Path(__file__).parents[2]
OLDEST = "3.11"


def test_every_python_that_is_promised_is_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    mark = "Programming Language :: Python :: "
    said = [line.removeprefix(mark) for line in project["classifiers"] if line.startswith(mark)]
    assert said == list(smoke.VERSIONS) and said[0] == OLDEST and project["requires-python"] == f">={OLDEST}"
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert all(version in text for version in said), page


def test_a_shim_that_does_not_run_is_no_interpreter(tmp_path, monkeypatch):
    shim = tmp_path / "python9.9"
    shim.write_text("#!/bin/sh\necho 'python9.9: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert smoke.interpreter("9.9") is None
    assert smoke._is(sys.executable, "{}.{}".format(*sys.version_info[:2]))


def test_what_is_not_installed_is_named_and_does_not_fail(capsys):
    assert smoke.main(("9.9",)) == 0
    assert "Python 9.9 is not installed here: skipped" in capsys.readouterr().out
