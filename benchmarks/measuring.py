"""What the benchmarks share: measure a call, run a script in a process of its own, describe the machine, print."""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import counting_data as data

HERE = Path(__file__).parent
PACKAGES = ("sfumato", "numpy", "numba", "pyarrow", "duckdb", "ibis-framework", "polars", "pandas", "opendp")


def measure(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what a call returns, with its wall and CPU seconds and the peak memory of this process so far."""
    before, start = _cpu_seconds(), time.perf_counter()
    answer = call()
    wall = time.perf_counter() - start
    return answer, {"wall": wall, "cpu": _cpu_seconds() - before, "peak_mb": peak_mb()}


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def peak_mb() -> float:
    """Return the peak resident memory in MB; forked workers count with the largest of them, once per core."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largest_child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return (own + largest_child * (os.cpu_count() or 1)) * 1024 / 1e6


def run_child(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script of this folder in a fresh process and return the JSON object that it prints last.

    The caller stays small: Linux hands a parent's peak memory on to the processes that it starts.
    """
    command = [sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{script} {' '.join(arguments)} failed:\n{done.stderr}")
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else {}


def try_child(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script as ``run_child`` does; where it fails, return its last line as ``error``."""
    command = [sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 else {"error": lines[-1] if lines else "no message"}


def over_seeds(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of every measure over the runs, with the standard deviations as ``sd of seeds``."""
    names = [name for name in runs[0] if name != "seed"]
    found = {name: statistics.fmean(run[name] for run in runs) for name in names}
    spread = {name: statistics.stdev([run[name] for run in runs]) for name in names} if len(runs) > 1 else {}
    return {**found, "sd of seeds": spread, "runs": list(runs)}


def prepare(rows: Sequence[int]) -> list[Path]:
    """Write the data files that are absent, in processes of their own, and return the new ones."""
    data.OUT.mkdir(exist_ok=True)
    absent = [count for count in (data.WARM_ROWS, *rows) if not data.path_of(count).exists()]
    for count in absent:
        print(f"writing {count:,} rows to {data.path_of(count).relative_to(HERE.parent)}", flush=True)
        run_child("counting_data.py", str(count))
    return [data.path_of(count) for count in absent]


def warm_page_cache(path: Path) -> None:
    """Read a file once, so that nobody pays for the disk."""
    with path.open("rb") as file:
        while file.read(1 << 22):
            pass


def machine() -> dict[str, Any]:
    """Return what the numbers depend on: processor, memory, load and versions."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_at_start": os.getloadavg()[0],
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def _cpu_model() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown"


def save(name: str, results: dict[str, Any]) -> Path:
    """Write results as JSON beside the data."""
    data.OUT.mkdir(exist_ok=True)
    path = data.OUT / name
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return path


def show_progress(text: str) -> None:
    """Show what is running on one line that is written over; silent where nobody watches."""
    if sys.stderr.isatty():
        print(text.ljust(79), end="\r", file=sys.stderr, flush=True)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an aligned table: the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    print(f"\n{title}")
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells))
