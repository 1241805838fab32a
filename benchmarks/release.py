"""A whole release by stage (check, count, noise, sampling) on the benchmark's table, without a ledger.

    .venv/bin/python benchmarks/release.py [--rows 1000000,10000000] [--keep]

Each release runs in a fresh process after a warm-up on a tiny file. The stages are timed inside ``sfumato.release``
by wrapping the functions that do them; "other" is what is left: planning, fitting, laying the released rows out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from counting_data import WARM_ROWS, path_of, schema_text
from measuring import machine, measure, prepare, print_table, run_child, save, warm_page_cache

METHODS = ("contingency", "marginals")
TABLES = (("age", "sex"), ("state", "income"), ("area", "schooling", "work"))
STAGES = {
    "check": ("sfumato.table.Table.require_valid",),
    "count": ("sfumato.table.Table.marginals",),
    "noise": ("sfumato.mechanisms.counts.contingency.measure_marginals", "sfumato.mechanisms.marginals.method.measure"),
    "sampling": ("sfumato.mechanisms.marginals.method.sample_rows",),
    "laying out": (
        "sfumato.mechanisms.marginals.method.rows_table",
        "sfumato.mechanisms.counts.contingency.marginal_as_rows",
    ),
}


def _timed(function: Callable[..., Any], stage: str, seconds: dict[str, float]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[stage] += time.perf_counter() - start

    return wrapper


@contextmanager
def stage_times() -> Iterator[dict[str, float]]:
    """Time the stages of every release inside the block."""
    from pkgutil import resolve_name

    seconds = dict.fromkeys(STAGES, 0.0)
    with ExitStack() as stack:
        for stage, targets in STAGES.items():
            for target in targets:
                stack.enter_context(patch(target, _timed(resolve_name(target), stage, seconds)))
        yield seconds


def run_one(name: str, rows: int) -> dict[str, float]:
    """Warm up, release once, and return seconds by stage, the total and the peak memory."""
    import sfumato

    schema = sfumato.Schema.parse(schema_text())
    method = sfumato.Contingency(TABLES, epsilon=1.0) if name == "contingency" else sfumato.Marginals(epsilon=1.0)
    sfumato.release(sfumato.read(str(path_of(WARM_ROWS)), schema), method, ledger=False)
    with stage_times() as seconds:
        _, cost = measure(lambda: sfumato.release(sfumato.read(str(path_of(rows)), schema), method, ledger=False))
    return {**seconds, "other": cost["wall"] - sum(seconds.values()), **cost}


def arguments() -> argparse.Namespace:
    """Read the command line; ``--child`` is how this script runs one release in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", default="1000000,10000000", help="sizes, comma-separated")
    parser.add_argument("--keep", action="store_true", help="keep the Parquet files for the next run")
    parser.add_argument("--child", choices=METHODS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.rows = [int(float(count)) for count in options.rows.split(",")]
    return options


def run_all(sizes: list[int]) -> list[dict[str, Any]]:
    """Release every method at every size, each in a fresh process."""
    results: list[dict[str, Any]] = []
    for rows in sizes:
        warm_page_cache(path_of(rows))
        costs = (
            {"method": m, "rows": rows, **run_child("release.py", "--child", m, "--rows", str(rows))} for m in METHODS
        )
        results += costs
    return results


def main() -> None:
    """Make the data, release, print seconds by stage, write release.json."""
    options = arguments()
    if options.child:
        print(json.dumps(run_one(options.child, options.rows[0])))
        return
    facts, made = machine(), prepare(options.rows)
    try:
        results = run_all(options.rows)
    finally:
        for path in [] if options.keep else made:
            path.unlink()
    parts = (*STAGES, "other", "wall", "cpu")
    lines = [(r["method"], f"{r['rows']:,}", *(f"{r[p]:.2f}" for p in parts), f"{r['peak_mb']:.0f}") for r in results]
    header = ("method", "rows", *STAGES, "other", "total s", "CPU s", "peak MB")
    print_table("sfumato.release by stage, seconds", header, lines)
    save("release.json", {"machine": facts, "releases": results})


if __name__ == "__main__":
    main()
