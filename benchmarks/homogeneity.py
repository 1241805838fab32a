"""Exact homogeneity risk of 1,000,000 cells with 10 sensitive values, against Monte Carlo with 1000 draws.

    .venv/bin/python benchmarks/homogeneity.py [--cells 1000000] [--classes 10]

One core: element-wise NumPy uses one thread. Memory is measured twice, each time in a fresh process and above the
input: what NumPy and Python allocate (tracemalloc), and the growth of the resident peak. Monte Carlo is timed on a few
draws and extrapolated to 1000; a draw adds noise to every count and marks the cells that look homogeneous.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import machine, peak_mb, print_table, run_child, save

from sfumato.risk.homogeneity import Geometric, Laplace, NoiseLaw, local
from sfumato.risk.homogeneity.cells import View

EPSILON = 1.0
SEED = 7
MEAN = 2.0
"""Mean count of an entry: most cells are mixed, some entries are empty."""
DRAWS, MANY_DRAWS = 5, 1000
REPEATS = 5
LIMITS = {"seconds": 1.0, "mb": 100.0, "ratio": 500.0}
VIEWS: tuple[View, ...] = ("conservative", "record", "any")
LAWS: dict[str, Callable[[], NoiseLaw]] = {"laplace": lambda: Laplace(EPSILON), "geometric": lambda: Geometric(EPSILON)}


def table(cells: int, classes: int) -> np.ndarray:
    """Return made-up counts, 64-bit, one row per cell."""
    return np.random.default_rng(SEED).poisson(MEAN, (cells, classes))


def seconds(counts: np.ndarray, law: NoiseLaw, view: View) -> float:
    """Return the best of several runs."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        local(counts, law, view)
        best = min(best, time.perf_counter() - start)
    return best


def allocated_mb(counts: np.ndarray, law: NoiseLaw, view: View) -> float:
    """Return the peak of what one call allocates, its result included."""
    tracemalloc.start()
    local(counts, law, view)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def resident_mb(counts: np.ndarray, law: NoiseLaw, view: View) -> float:
    """Return by how much one call raises the peak of the resident memory; warmed up on a few cells."""
    local(counts[:10], law, view)
    before = peak_mb()
    local(counts, law, view)
    return peak_mb() - before


def monte_carlo_seconds(counts: np.ndarray, name: str) -> float:
    """Return the seconds of one draw, averaged over a few: noise on every count, then who looks homogeneous."""
    rng, hits = np.random.default_rng(SEED), np.zeros(len(counts))
    success = 1 - np.exp(-EPSILON)
    start = time.perf_counter()
    for _ in range(DRAWS):
        if name == "laplace":
            alive = counts + rng.laplace(0, 1 / EPSILON, counts.shape) > 0.5
        else:
            alive = counts + rng.geometric(success, counts.shape) - rng.geometric(success, counts.shape) >= 1
        hits += (alive.sum(axis=1) == 1) & ((alive & (counts > 0)).sum(axis=1) == 1)
    return (time.perf_counter() - start) / DRAWS


def run_one(task: str, name: str, view: View, cells: int, classes: int) -> dict[str, Any]:
    """Measure one thing; runs in a process of its own."""
    counts, law = table(cells, classes), LAWS[name]()
    if task == "time":
        return {"seconds": seconds(counts, law, view)}
    if task == "draws":
        return {"draw": monte_carlo_seconds(counts, name)}
    return {"mb": allocated_mb(counts, law, view) if task == "allocated" else resident_mb(counts, law, view)}


def arguments() -> argparse.Namespace:
    """Read the command line; ``--child`` is how this script measures one thing in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_all(cells: int, classes: int) -> list[dict[str, Any]]:
    """Measure every law and view, one after the other."""
    size = ("--cells", str(cells), "--classes", str(classes))

    def child(*task: str) -> dict[str, Any]:
        return run_child("homogeneity.py", "--child", *task, *size)

    results: list[dict[str, Any]] = []
    for name in LAWS:
        draw = child("draws", name, "conservative")["draw"]
        for view in VIEWS:
            exact = child("time", name, view)["seconds"]
            results.append(
                {
                    "law": name,
                    "view": view,
                    "exact_s": exact,
                    "allocated_mb": child("allocated", name, view)["mb"],
                    "resident_mb": child("resident", name, view)["mb"],
                    "draw_s": draw,
                    "ratio": MANY_DRAWS * draw / exact,
                }
            )
    return results


def main() -> None:
    """Measure, print, write homogeneity.json, and say whether the limits hold."""
    options = arguments()
    if options.child:
        print(json.dumps(run_one(*options.child, options.cells, options.classes)))
        return
    facts, results = machine(), measure_all(options.cells, options.classes)
    header = ("law", "view", "exact s", "allocated MB", "resident MB", "one draw s", f"{MANY_DRAWS} draws s", "ratio")
    lines = [
        (
            r["law"],
            r["view"],
            f"{r['exact_s']:.2f}",
            f"{r['allocated_mb']:.0f}",
            f"{r['resident_mb']:.0f}",
            f"{r['draw_s']:.2f}",
            f"{MANY_DRAWS * r['draw_s']:.0f}",
            f"{r['ratio']:.0f}",
        )
        for r in results
    ]
    title = f"Exact risk of {options.cells:,} cells x {options.classes}; Monte Carlo from {DRAWS} draws, extrapolated"
    print_table(title, header, lines)
    save("homogeneity.json", {"machine": facts, "results": results})
    held = [r["exact_s"] < LIMITS["seconds"] and r["allocated_mb"] < LIMITS["mb"] for r in results]
    print(
        f"\nunder {LIMITS['seconds']:g} s and {LIMITS['mb']:g} MB: {'yes' if all(held) else 'NO'}; "
        f"smallest ratio {min(r['ratio'] for r in results):.0f} (expected above {LIMITS['ratio']:g})"
    )


if __name__ == "__main__":
    main()
