"""The command line called in this process: fast, and errors end up where a user would see them."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from sfumato.cli.main import run


@pytest.fixture
def sfumato_cli(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Call ``sfumato ARGUMENTS`` and return exit code, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sfumato", *arguments])
        code = run()
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
