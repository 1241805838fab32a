"""Parts that are drawn by several processes of this machine, each of which takes its share and tells of each part.

They are started by name and not by copying this one, so that nothing of the caller's script runs in them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from sfumato.errors import ModelError
from sfumato.mechanisms.graphical.fitted_model.sample_files import PartRecord, SampleParts

WORKER = "from sfumato.mechanisms.graphical.saved.processes import work; work()"
FAILED = "failed: "


def write_parts_in_processes(number: int, folder: Path, parts: SampleParts) -> Iterator[PartRecord]:
    """Share the parts out to so many processes and hand on what they tell; the first that fails ends all."""
    shares = [range(first, parts.number, number) for first in range(min(number, parts.number))]
    with _crew(folder, parts, shares) as crew, ThreadPoolExecutor(len(crew)) as readers:
        try:
            for done in as_completed([readers.submit(_collected, process) for process in crew]):
                yield from done.result()
        finally:  # before the readers are waited for
            for process in crew:
                process.kill()


@contextmanager
def _crew(folder: Path, parts: SampleParts, shares: Sequence[range]) -> Generator[list[subprocess.Popen[str]]]:
    """Start a process for each share; at the end close their pipes and wait for them."""
    with ExitStack() as ended:
        yield [ended.enter_context(_started(folder, parts, list(share))) for share in shares]


def _started(folder: Path, parts: SampleParts, places: list[int]) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    task = json.dumps({"folder": str(folder), "parts": dataclasses.asdict(parts), "places": places})
    call = [sys.executable, "-c", WORKER]
    process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)  # noqa: S603
    assert process.stdin is not None  # it is a pipe
    with suppress(BrokenPipeError):  # it has died, and its reader will say so
        process.stdin.write(task)
        process.stdin.close()
    return process


def _collected(process: subprocess.Popen[str]) -> list[PartRecord]:
    assert process.stdout is not None  # it is a pipe
    records = list[PartRecord]()
    for line in process.stdout:
        if line.startswith(FAILED):
            raise OSError(0, line.removeprefix(FAILED).strip())
        records.append(PartRecord.model_validate_json(line))
    if process.wait():
        raise ModelError("a process that drew rows has died", next_step="draw again, with fewer processes")
    return records


def work() -> None:
    """Draw the parts that standard input asks for; what another process of ours runs."""
    task = json.load(sys.stdin)
    parts, folder = SampleParts(**task["parts"]), Path(task["folder"])
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints must not stand between the answers
        for place in task["places"]:
            try:
                told = parts.write(folder, place).model_dump_json()
            except (OSError, pa.ArrowException) as error:
                told = FAILED + (getattr(error, "strerror", None) or str(error).splitlines()[0])
            out.write(told + "\n")
            out.flush()
            if told.startswith(FAILED):
                return
