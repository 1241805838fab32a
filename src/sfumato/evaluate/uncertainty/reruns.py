"""Rerun a release's mechanism on its released rows, in parallel, with fixed seeds.

Fits are Python loops over small arrays, so threads would wait for one another: other cores are used by processes.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from sfumato.core.registry import REGISTRY
from sfumato.errors import ResourceError
from sfumato.evaluate.uncertainty.rerun_method import RerunMechanism
from sfumato.process_pool import run_in_processes
from sfumato.progress import report_progress, silenced
from sfumato.system import usable_cores

STAGE = "running the method again on the released rows"
WORTH_A_PROCESS = 8.0
"""Seconds of work from which on further processes pay: each needs about two to start."""
MOST_PROCESSES = 8
KEPT_RELEASES = 3
"""Releases whose reruns are kept in memory."""
_kept: OrderedDict[str, dict[int, pa.Table]] = OrderedDict()


def rerun(mechanism: RerunMechanism, number: int) -> list[pa.Table]:
    """Return so many reruns; those that were made before in this process are taken from memory."""
    known = _kept.setdefault(mechanism.key, {})
    _kept.move_to_end(mechanism.key)
    while len(_kept) > KEPT_RELEASES:
        _kept.popitem(last=False)
    _fill(mechanism, [place for place in range(number) if place not in known], known)
    return [known[place] for place in range(number)]


def _fill(mechanism: RerunMechanism, missing: Sequence[int], known: dict[int, pa.Table]) -> None:
    """Make what is missing: two here, since the first also compiles; then on all cores if many seconds are left."""
    for done, place in enumerate(missing):
        began = time.perf_counter()
        with silenced():  # a rerun tells its own stages, which are not those of a release
            known[place] = mechanism.rerun(place)
        left = len(missing) - done - 1
        report_progress(STAGE, (done + 1) / len(missing))
        if done == 1 and (time.perf_counter() - began) * left > WORTH_A_PROCESS and _may_leave(mechanism):
            _on_all_cores(mechanism, missing[done + 1 :], known, len(missing))
            return


def _cores() -> int:
    return min(usable_cores(), MOST_PROCESSES)


def _may_leave(mechanism: RerunMechanism) -> bool:
    """Whether another process would find the method, and there is a core for it."""
    home = f"{type(mechanism.method).__module__}:{type(mechanism.method).__name__}"
    return _cores() > 1 and home in REGISTRY.values()


def _on_all_cores(mechanism: RerunMechanism, missing: Sequence[int], known: dict[int, pa.Table], number: int) -> None:
    """Share the places out to processes and collect what they make."""
    died = ResourceError("a process that ran the method again has died", next_step="ask for fewer reruns")
    fresh = replace(mechanism)  # without the table that this process has opened
    for place, rows in run_in_processes(RerunMechanism.rerun, fresh, missing, min(_cores(), len(missing)), died):
        known[place] = rows
        report_progress(STAGE, 1 - (len(missing) - sum(each in known for each in missing)) / number)
