"""All 105 two-way tables of 15 columns from Parquet: Sfumato against hand-written DuckDB, polars and NumPy.

    .venv/bin/python benchmarks/counting.py [--rows 1000000,10000000,30000000] [--repeats 3] [--quick] [--keep]

Every run is a fresh process that warms up on a tiny file first: import and Numba's loading are outside the time, the
page cache is warm for all alike. The repeats go round all contenders in turn and the best wall time of each counts:
what others do on the machine only ever adds. All contenders must give identical tables.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

import counting_data as data
from counting_child import CHECK, SFUMATO
from counting_rivals import RIVALS
from measuring import machine, prepare, print_table, run_child, save, show_progress, warm_page_cache

Run = dict[str, Any]
Job = tuple[str, int]
SCALES = (1_000_000, 10_000_000, 30_000_000)
COMPARED = 10_000_000
QUICK = (100_000, 1_000_000)
RATIO_LIMIT = 1.2
MEMORY_LIMIT_MB = 2000


def run_all(jobs: Sequence[Job], repeats: int) -> dict[Job, list[Run]]:
    """Run every job (a contender and a number of rows) ``repeats`` times, in turn."""
    for rows in {rows for _, rows in jobs}:
        warm_page_cache(data.path_of(rows))
    runs: dict[Job, list[Run]] = {job: [] for job in jobs}
    for repeat in range(repeats):
        for name, rows in jobs:
            show_progress(f"{rows:,} rows, run {repeat + 1} of {repeats}: {name}")
            load = os.getloadavg()[0]
            runs[name, rows].append({**run_child("counting_child.py", name, str(rows)), "load": load})
    show_progress("")
    return runs


def summary(runs: Sequence[Run]) -> Run:
    """Return the best wall time, the CPU time of that run, and the largest peak memory of all runs."""
    best = min(runs, key=lambda run: run["wall"])
    return {"wall": best["wall"], "cpu": best["cpu"], "peak_mb": max(run["peak_mb"] for run in runs)}


def require_same_tables(runs: dict[str, list[Run]]) -> str:
    """Refuse to compare contenders that counted different things."""
    digests = {name: {run["digest"] for run in each} for name, each in runs.items() if name != CHECK}
    if len(set().union(*digests.values())) > 1:
        raise SystemExit("the contenders do not agree:\n" + "\n".join(f"{n}: {d}" for n, d in digests.items()))
    return next(iter(digests[SFUMATO]))


def fastest_rival(best: dict[str, Run]) -> str:
    """Return the name of the fastest hand-written contender."""
    return min((name for name in best if name in RIVALS), key=lambda name: best[name]["wall"])


def compare(rows: int, repeats: int) -> Run:
    """Run all contenders on one file and print them, the fastest first."""
    jobs = [(name, rows) for name in (SFUMATO, CHECK, *RIVALS)]
    runs = {name: each for (name, _), each in run_all(jobs, repeats).items()}
    digest = require_same_tables(runs)
    best = {name: summary(each) for name, each in runs.items()}
    rival = fastest_rival(best)
    ranked = sorted((name for name in best if name != CHECK), key=lambda name: best[name]["wall"])
    lines = [_line(name, best[name], f"{best[name]['wall'] / best[rival]['wall']:.2f}") for name in ranked]
    title = (
        f"{len(data.PAIRS)} two-way tables, {rows:,} rows x {len(data.FIELDS)} columns, best of {repeats} by wall time"
    )
    header = ("contender", "wall s", "CPU s", "peak MB", "ratio to the fastest hand-written")
    print_table(title, header, [*lines, _line(CHECK, best[CHECK], "not counted")])
    print(f"identical tables from all contenders: sha256 {digest[:16]}")
    return {"rows": rows, "runs": runs, "best": best, "fastest_rival": rival, "digest": digest}


def _line(name: str, cost: Run, last: str) -> tuple[str, ...]:
    return name, f"{cost['wall']:.2f}", f"{cost['cpu']:.2f}", f"{cost['peak_mb']:.0f}", last


def scale(rows: Sequence[int], repeats: int) -> dict[int, Run]:
    """Run Sfumato alone at every size and print seconds per million rows."""
    runs = run_all([(SFUMATO, count) for count in rows], repeats)
    best = {count: summary(each) for (_, count), each in runs.items()}
    lines = [_line(f"{n:,}", cost, f"{per_million(n, cost, 'wall'):.3f}") for n, cost in best.items()]
    header = ("rows", "wall s", "CPU s", "peak MB", "wall s per million rows")
    print_table(f"Sfumato alone, best of {repeats} by wall time", header, lines)
    return best


def per_million(rows: int, cost: Run, what: str) -> float:
    """Return seconds per million rows."""
    return cost[what] / rows * 1e6


def print_verdict(compared: Run, scales: dict[int, Run]) -> Run:
    """Print what the project promises beside what was measured, and return it."""
    rival, best = compared["fastest_rival"], compared["best"]
    ratio = best[SFUMATO]["wall"] / best[rival]["wall"]
    cpu_ratio = best[SFUMATO]["cpu"] / best[rival]["cpu"]
    peak = max(best[SFUMATO]["peak_mb"], *(cost["peak_mb"] for cost in scales.values()))
    rates = {what: [per_million(n, cost, what) for n, cost in scales.items()] for what in ("wall", "cpu")}
    sizes = ", ".join(f"{n / 1e6:g}M" for n in scales)
    print(f"\nratio to the fastest hand-written ({rival}): {ratio:.2f} (limit {RATIO_LIMIT})")
    print(f"ratio of their CPU times: {cpu_ratio:.2f}")
    print(f"peak memory: {peak:.0f} MB (limit {MEMORY_LIMIT_MB})")
    for what, label in (("wall", "seconds"), ("cpu", "CPU seconds")):
        print(f"{label} per million rows at {sizes}: {', '.join(f'{rate:.3f}' for rate in rates[what])}")
    return {"ratio": ratio, "cpu_ratio": cpu_ratio, "peak_mb": peak, "per_million": rates}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", help="sizes, comma-separated; contenders are compared at 10,000,000 or the largest")
    parser.add_argument("--repeats", type=int, help="runs of each contender (default 3; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="small files and one run: shows that it works")
    parser.add_argument("--keep", action="store_true", help="keep the Parquet files for the next run")
    options = parser.parse_args()
    listed = [int(float(count)) for count in options.rows.split(",")] if options.rows else None
    options.rows = sorted(listed or (QUICK if options.quick else SCALES))
    options.repeats = options.repeats or (1 if options.quick else 3)
    return options


def main() -> None:
    """Make the data, compare, scale, print the verdict, write counting.json."""
    options, facts = arguments(), machine()
    made = prepare(options.rows)
    try:
        compared = compare(COMPARED if COMPARED in options.rows else options.rows[-1], options.repeats)
        scales = scale(options.rows, options.repeats)
    finally:
        for path in [] if options.keep else made:
            path.unlink()
    verdict = print_verdict(compared, scales)
    save("counting.json", {"machine": facts, "comparison": compared, "scales": scales, "verdict": verdict})


if __name__ == "__main__":
    main()
