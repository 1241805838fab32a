"""Start the process that reads foreign binary formats, wait for it, and turn its end into an answer or a TableError."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sfumato.errors import MissingExtra, TableError
from sfumato.progress import report_progress
from sfumato.schema.dialect import Dialect
from sfumato.system import allowed_memory
from sfumato.table.engines.duckdb import ParquetEngine
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources.frames import arrow_engine, uuids_as_text
from sfumato.table.sources.scratch_space import connect, disk_full_error, scratch_file
from sfumato.table.sources.source import Source, name_unnamed_columns, require_unique_columns

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


def open_workbook(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over one sheet of a workbook, which a process of its own reads."""
    import pyarrow as pa

    (path,) = paths
    require_package("python_calamine", "Excel files")
    answer, out = read_apart(path, "sheet.arrow", kind="workbook", sheet=dialect.sheet)
    if "refused" in answer:
        raise _refusal(path, dialect.sheet, answer)
    sheet, header = answer["sheet"], answer["header"]
    require_unique_columns(f"{path}, sheet {sheet}", [name for name in header if name.strip()])
    with engine_errors(path), pa.OSFile(str(out), "rb") as file:
        table: Any = pa.ipc.open_stream(file).read_all().rename_columns(name_unnamed_columns(header))
    forget(out)
    several = len(answer["sheets"]) > 1
    note = f"look at: the workbook has {len(answer['sheets'])} sheets, and {sheet!r} was read; --sheet names another"
    return Source(
        arrow_engine(table),
        "pandas",
        "table",
        dialect=dialect.over(Dialect(sheet=sheet if several else None)),
        notes=(note,) if several and dialect.sheet is None else (),
        types="rows",
    )


def _refusal(path: str, wanted: str | int | None, answer: Mapping[str, Any]) -> TableError:
    """Return why a workbook cannot be read, in words."""
    match answer["refused"]:
        case "password":
            step = "open it, save it without a password, and give that file"
            return TableError(f"{path!r} is a workbook with a password", next_step=step)
        case "sheet":
            step = "name one of them with --sheet"
            return TableError(f"the workbook {path!r} has no sheet {wanted!r}", answer["sheets"], step)
        case "empty":
            headline = f"sheet {answer['sheet']!r} of {path!r} is empty"
            return TableError(headline, next_step="name another sheet with --sheet")
        case "far":
            counts = f"{answer['filled']:,} of these {answer['spanned']:,} cells are filled"
            step = f"delete the rows and columns around {answer['cell']} and save it again, or save it as CSV"
            return TableError(f"the sheet of {path!r} reaches to {answer['cell']}", [f"only {counts}"], step)
        case _:
            return TableError(f"cannot read the workbook {path!r}: {answer['error']}", next_step=SAVED_AGAIN)


PROGRAMS = {"sav": "SPSS", "por": "SPSS", "dta": "Stata", "sas": "SAS", "xpt": "SAS"}


def open_statistical(paths: Sequence[str], dialect: Dialect, kind: str) -> Source:
    """Return a source over a file of a statistical program, with what the file says of its columns.

    A process of its own reads it: see :mod:`sfumato.table.sources.child_process`.
    """
    (path,) = paths
    require_package("pyreadstat", f"files of {PROGRAMS[kind]}")
    answer, out = read_apart(path, "table.parquet", kind="statistical", format=kind, encoding=dialect.encoding)
    if answer.get("refused") == "repeated":
        require_unique_columns(path, answer["names"])
    if "refused" in answer:
        step = "open it there and save it again; for strange letters say --encoding; or give it as CSV"
        raise TableError(f"cannot read the {PROGRAMS[kind]} file {path!r}: {answer.get('error')}", next_step=step)
    with engine_errors(path):
        engine = ParquetEngine(uuids_as_text(connect().read_parquet(str(out))), (str(out),))
    facts, notes = _facts(answer)
    return Source(engine, "pandas", "table", dialect=dialect, facts=facts, notes=notes)


def _facts(answer: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return descriptions and value lists by column, and notes about labels that are no list."""
    facts: dict[str, dict[str, Any]] = defaultdict(dict)
    notes: list[str] = []
    for name, words in answer["descriptions"].items():
        if words and words.strip() and words != name:
            facts[name]["description"] = _clean(words)
    for name, pairs in answer["labels"].items():
        labels, present = _labels(answer, name, dict(map(tuple, pairs))), set(answer["seen"].get(name, ()))
        if present and present <= set(labels):
            facts[name] |= {"values": tuple(sorted(labels)), "value_labels": labels}
        elif labels:
            listed = ", ".join(f"{value} = {words!r}" for value, words in list(labels.items())[:5])
            notes.append(f"look at: {name} (labels of some values: {listed}; --missing makes one of them missing)")
    return dict(facts), tuple(notes)


def _labels(answer: Mapping[str, Any], name: str, labels: Mapping[Any, Any]) -> dict[Any, str]:
    """Return the labels of the values that are not declared as missing."""
    ranges, extra = answer["ranges"].get(name, []), answer["missing"].get(name, [])
    kept = {_whole(value): _clean(str(words)) for value, words in labels.items() if value not in extra}
    if len({type(value) for value in kept}) > 1:
        return {}
    return {value: words for value, words in kept.items() if not any(_within(value, span) for span in ranges)}


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _within(value: Any, span: Mapping[str, Any]) -> bool:
    low, high = span["lo"], span["hi"]
    alike = isinstance(value, str) == isinstance(low, str) == isinstance(high, str)
    return alike and low <= value <= high


def _clean(words: str) -> str:
    return " ".join(words.replace("\x00", " ").split())
