"""Work shared out to several processes of this machine, by loky.

The processes are started by name and not by copying this one: nothing of the caller's script runs in them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from sfumato.errors import SfumatoError

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")
_kept: list[Any] = []
"""In a process of the pool: what all its tasks share."""


def run_in_processes(
    work: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Iterable[Task],
    processes: int,
    died: SfumatoError,
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result as it ends; the first failure ends all.

    ``shared`` is sent once to each process. ``died`` is raised where a process ends before its work.
    """
    from joblib.externals.loky import ProcessPoolExecutor

    pool: Any = ProcessPoolExecutor(processes, initializer=start_worker, initargs=(shared,))
    try:
        running = {pool.submit(_run, work, task): task for task in tasks}
        for done in as_completed(running):
            yield running[done], done.result()
    except BrokenProcessPool as error:
        raise died from error
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def start_worker(shared: Any) -> None:
    """Keep what the tasks share; what they print goes to standard error, for standard output may be a document."""
    os.dup2(2, 1)
    _kept[:] = [shared]


def _run(work: Callable[[Any, Task], Result], task: Task) -> Result:
    return work(_kept[0], task)
