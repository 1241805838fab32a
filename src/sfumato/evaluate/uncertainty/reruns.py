"""Rerun a release's mechanism on its released rows, in parallel, with fixed seeds.

Fits are Python loops over small arrays, so threads would wait for one another: other cores are used by processes.
They are started by name and not by copying this one, so that nothing of the caller's script runs in them.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sfumato.core.registry import REGISTRY
from sfumato.errors import ResourceError
from sfumato.evaluate.uncertainty.rerun_method import RerunMechanism
from sfumato.progress import report_progress, silenced
from sfumato.system import usable_cores

STAGE = "running the method again on the released rows"
WORTH_A_PROCESS = 8.0
"""Seconds of work from which on further processes pay: each needs about two to start."""
MOST_PROCESSES = 8
KEPT_RELEASES = 3
"""Releases whose reruns are kept in memory."""
WORKER = "from sfumato.evaluate.uncertainty.reruns import work; work()"
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
    crew = min(_cores(), len(missing))
    done: queue.Queue[tuple[int, pa.Table] | None] = queue.Queue()
    processes = [_started(mechanism, missing[first::crew], done) for first in range(crew)]
    try:
        for _ in missing:
            made = done.get()
            if made is None:
                raise ResourceError("a process that ran the method again has died", next_step="ask for fewer reruns")
            known[made[0]] = made[1]
            report_progress(STAGE, 1 - (len(missing) - sum(place in known for place in missing)) / number)
    finally:
        for process, reader in processes:
            process.kill()
            reader.join()
            process.__exit__(None, None, None)  # closes its pipes and waits for its end


def _started(
    mechanism: RerunMechanism, places: Sequence[int], done: queue.Queue[Any]
) -> tuple[subprocess.Popen[bytes], threading.Thread]:
    """Start a process for some reruns; a thread hands over what it makes, and None if it ends too early."""
    facts = (mechanism.method, mechanism.schema, mechanism.base, mechanism.rows_asked)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    call = [sys.executable, "-c", WORKER]
    process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)  # noqa: S603

    def collect() -> None:
        assert process.stdin is not None and process.stdout is not None  # both are pipes
        try:
            pickle.dump((facts, list(places)), process.stdin)
            process.stdin.close()
            for _ in places:
                done.put(pickle.load(process.stdout))  # noqa: S301  # from our own process
        except (OSError, EOFError, ValueError, pickle.PickleError):
            done.put(None)

    reader = threading.Thread(target=collect, daemon=True)
    reader.start()
    return process, reader


def work() -> None:
    """Make the reruns that standard input asks for; what another process of ours runs."""
    facts, places = pickle.load(sys.stdin.buffer)  # noqa: S301  # from our own process
    mechanism = RerunMechanism(*facts)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints must not stand between the answers
        for place in places:
            pickle.dump((place, mechanism.rerun(place)), out)
            out.flush()
