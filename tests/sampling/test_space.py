"""Free space is added up by disk, and what is needed and free is said."""

from __future__ import annotations

from collections import namedtuple

import pytest

from sfumato.bundle import target_folder
from sfumato.errors import NoSpaceError

Usage = namedtuple("Usage", "total used free")


def test_what_goes_to_one_disk_is_added_up(tmp_path, monkeypatch):
    monkeypatch.setattr(target_folder.shutil, "disk_usage", lambda _: Usage(10**9, 0, 1_000_000))
    needs = [("the bundle", tmp_path / "not" / "there", 600_000), ("the ledger", tmp_path, 300_000)]
    target_folder.refuse_full_disks(needs)
    with pytest.raises(NoSpaceError) as error:
        target_folder.refuse_full_disks([*needs, ("temporary files", tmp_path, 200_001)])
    (problem,) = error.value.problems
    assert "up to 1.11 MB may be needed, and 1.00 MB are free" in problem
