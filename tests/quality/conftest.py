"""One release of a small table for all tests here, and its bundle to copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import sfumato
from quality.small import facts, frame, table
from sfumato.privacy.ledger import Ledger

ROWS = 400


@pytest.fixture(scope="session")
def private():
    return table(frame(ROWS, seed=1), facts())


@pytest.fixture(scope="session")
def release(private):
    return sfumato.release(private, sfumato.Marginals(epsilon=5), ledger=False)


@pytest.fixture(scope="session")
def saved(release, tmp_path_factory) -> Path:
    return release.save(tmp_path_factory.mktemp("saved") / "bundle")


@pytest.fixture
def bundle(saved, tmp_path) -> Path:
    """A copy that a test may write to."""
    return Path(shutil.copytree(saved, tmp_path / "bundle"))


@pytest.fixture
def book(tmp_path) -> Ledger:
    book = Ledger(tmp_path / "budget.db")
    book.open_table("people", epsilon=1)
    return book
