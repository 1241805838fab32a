"""What systems do not tell is not an error: no sysconf, unknown names, no fchmod, no affinity."""

from __future__ import annotations

import os
import stat

import pytest

from sfumato import system
from sfumato.core.plan import memory_limit
from sfumato.system import UNSAID_LIMIT


@pytest.fixture(params=["no sysconf", "an unknown name"])
def silent(request, monkeypatch):
    """Windows has no sysconf at all; macOS does not know the name for free memory."""

    def unknown(name: str) -> int:
        raise ValueError("unrecognized configuration name")

    if request.param == "no sysconf":
        monkeypatch.delattr(os, "sysconf")
    else:
        monkeypatch.setattr(os, "sysconf", unknown)


def test_memory_that_is_not_told_leaves_a_stated_limit(silent, monkeypatch):
    monkeypatch.delenv("SFUMATO_MEMORY", raising=False)
    assert system.total_memory() is None and system.free_memory() is None and memory_limit() == UNSAID_LIMIT


def test_an_exact_solve_is_not_refused_where_free_memory_is_not_told(silent):
    from sfumato.papers.two_stage.learners.regressors import KernelRidge

    assert KernelRidge(method="exact").is_exact(10**6)


def test_the_doctor_says_what_is_not_told(silent):
    from sfumato.cli.maintain.doctor import diagnose_machine

    assert "unknown on this system" in [check.detail for check in diagnose_machine().checks if check.name == "memory"]


def test_cores_are_counted_without_an_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert system.usable_cores() >= 1


def test_a_private_file_is_written_where_rights_are_others(tmp_path, monkeypatch):
    from sfumato.system import write_owner_only

    write_owner_only(tmp_path / "here", "true values")
    assert stat.S_IMODE((tmp_path / "here").stat().st_mode) == 0o600
    monkeypatch.delattr(os, "fchmod")
    write_owner_only(tmp_path / "there", "true values")
    assert (tmp_path / "there").read_text() == "true values"
