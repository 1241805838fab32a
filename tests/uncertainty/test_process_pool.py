"""Processes of the pool: the caller's script is not run again, its standard output is left alone, deaths are named."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sfumato import process_pool
from sfumato.errors import ResourceError
from sfumato.process_pool import run_in_processes

DIED = ResourceError("a process has died", next_step="use fewer processes")
SCRIPT = """
print("the script runs")
import builtins, math
from sfumato.errors import ResourceError
from sfumato.process_pool import run_in_processes

def work(base, power):
    print("a worker prints")
    return math.pow(base, power)

print(sorted(run_in_processes(work, 2, range(4), 2, ResourceError("died", next_step="none"))))
"""


def test_a_script_without_a_guard_runs_once_and_its_output_is_its_own(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "the script runs\n[(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)]\n"
    assert done.stderr.count("a worker prints") == 4


def test_a_failure_of_a_task_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        list(run_in_processes(divmod, 1, [1, 0], 2, DIED))


def test_a_process_that_dies_is_named(monkeypatch):
    monkeypatch.setattr(process_pool, "start_worker", lambda shared: os._exit(9))
    with pytest.raises(ResourceError, match="a process has died"):
        list(run_in_processes(divmod, 1, [1, 2], 2, DIED))
