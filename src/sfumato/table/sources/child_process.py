"""Start the process that reads foreign binary formats, wait for it, and turn its end into an answer or a TableError."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sfumato.errors import MissingExtra, TableError
from sfumato.progress import report_progress
from sfumato.system import allowed_memory
from sfumato.table.sources.scratch_space import disk_full_error, scratch_file

SCRIPT = Path(__file__).with_name("foreign.py")
LEAST_MEMORY = 1 << 30
SECONDS, BYTES_PER_SECOND = 300, 100_000
"""How long a file may take at least, and how much longer by its size."""
BETWEEN = 0.2
"""Seconds between two looks at whether the work is to be stopped."""
GRACE = 0.02
SAVED_AGAIN = "open it and save it again as .xlsx, or as CSV"


def require_package(package: str, what: str) -> None:
    """Refuse a format whose package is not installed."""
    if find_spec(package) is None:
        raise MissingExtra(f"{what} need {package.replace('_', '-')}", next_step="pip install 'sfumato[formats]'")


def read_apart(path: str, name: str, **request: Any) -> tuple[dict[str, Any], Path]:
    """Read a file in a child process; return its answer, and the private file with the rows.

    It may take the memory that a release may (``SFUMATO_MEMORY``), and some minutes; whatever happens to it is a
    :class:`TableError` here.
    """
    try:
        memory = max(allowed_memory(), LEAST_MEMORY)
    except ValueError as error:
        raise TableError(str(error), next_step="write for example SFUMATO_MEMORY=4GB") from error
    out = scratch_file(name)
    seconds = SECONDS + Path(path).stat().st_size // BYTES_PER_SECOND
    facts = {"path": path, "out": str(out), "memory": memory, "seconds": seconds, **request}
    if not sys.executable:
        raise TableError("there is no Python program to read this format with", next_step="give the table as CSV")
    try:
        code, text = _run(json.dumps({**facts, "packages": sys.path}), seconds)
    except subprocess.TimeoutExpired as error:
        step = "save the table as CSV or Parquet, and give that file"
        raise TableError(f"{path!r} was not read within {seconds:,} s", next_step=step) from error
    except OSError as error:
        raise TableError(f"no process could be started to read {path!r}: {error.strerror}") from error
    answer = _answer(path, code, text, memory)
    if answer.get("refused") == "memory":
        raise _too_large(path, memory)
    if answer.get("refused") == "room":
        raise disk_full_error(OSError(0, answer["error"]))
    return answer, out


def forget(out: Path) -> None:
    """Remove a private file that is in memory by now."""
    shutil.rmtree(out.parent, ignore_errors=True)


def _run(request: str, seconds: float) -> tuple[int, str]:
    """Return exit code and answer; the process ends with ours, and when the work is stopped."""
    call = [sys.executable, "-I", "-S", str(SCRIPT)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    end, wait = time.monotonic() + seconds, GRACE
    with subprocess.Popen(call, text=True, encoding="utf-8", **pipes) as process:  # noqa: S603  our own script
        try:
            sent: str | None = request
            while True:
                try:
                    text, _ = process.communicate(sent, timeout=wait)
                    return process.returncode, text
                except subprocess.TimeoutExpired:
                    if time.monotonic() > end:
                        raise
                    sent, wait = None, min(2 * wait, BETWEEN)
                    report_progress("reading the file")
        finally:
            process.kill()


def _answer(path: str, code: int, text: str, memory: int) -> dict[str, Any]:
    try:
        return json.loads(text)
    except ValueError:
        pass
    if code == -getattr(signal, "SIGXCPU", 0):
        raise TableError(f"{path!r} takes too long to read", next_step="save the table as CSV, and give that file")
    if code in (-getattr(signal, "SIGABRT", 0), -getattr(signal, "SIGKILL", 0)):
        raise _too_large(path, memory)
    raise TableError(f"{path!r} is damaged: its reader crashed", next_step=SAVED_AGAIN)


def _too_large(path: str, memory: int) -> TableError:
    step = "save the table as CSV or Parquet, which need little memory; SFUMATO_MEMORY allows more"
    return TableError(f"{path!r} is damaged, or needs more than {memory / 1e9:.1f} GB to be read", next_step=step)
