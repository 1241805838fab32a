"""Exact integer noise against OpenDP and NumPy in one run: CPU time per draw, per call and for ten million cells.

    .venv/bin/python benchmarks/noise.py [--check 1000000000]

CPU time of one thread, the median of five runs of a million draws; OpenDP gets 20,000. NumPy's noise is neither exact
nor secure and stands here as the price of memory. ``--check`` draws that many values of each law and tests them
(noise_check.py); with ``--only-check`` nothing else is run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import noise_check
import numpy as np
from measuring import machine, print_table, save, show_progress

from sfumato.privacy.noise import add_gaussian, add_laplace_scale, current_sampler
from sfumato.privacy.noise.opendp import opendp_gaussian, opendp_laplace

DRAWS, REFERENCE_DRAWS, CELLS = 1_000_000, 20_000, 10_000_000
LIMITS = {
    "ns": (60.0, "ns a draw, Laplace 1 to 1000 and every sigma, at most"),
    "ratio": (150.0, "times faster than OpenDP, at least"),
    "cells_s": (1.0, "s for ten million cells, at most"),
    "call_us": (100.0, "microseconds for a call of ten cells, at most"),
}
WIDEST_LAPLACE = 1000.0
LAPLACE = [0.1, 1.0, 20.0, 64.0, 1000.0, 1e6]
GAUSSIAN = [0.7, 5.0, 300.0, 2000.0, 1e5]
FAST = {"laplace": add_laplace_scale, "gaussian": add_gaussian}
OPENDP = {"laplace": opendp_laplace, "gaussian": opendp_gaussian}


def cpu_ns(draw: Callable[[], Any], draws: int, runs: int = 5) -> float:
    """Return the median CPU time per draw after one warm call."""
    draw()
    spent: list[float] = []
    for _ in range(runs):
        start = time.process_time()
        draw()
        spent.append((time.process_time() - start) / draws * 1e9)
    return statistics.median(spent)


def numpy_noise(law: str, scale: float) -> Any:
    generator = np.random.default_rng(1)
    return generator.laplace(0, scale, DRAWS) if law == "laplace" else generator.normal(0, scale, DRAWS)


def measured(law: str, scale: float) -> dict[str, Any]:
    """Return all numbers of one law."""
    counts, few, cells = (np.zeros(n, dtype=np.int64) for n in (DRAWS, 10, CELLS))
    add, reference = FAST[law], OPENDP[law]
    ns = cpu_ns(lambda: add(counts, scale), DRAWS)
    opendp = cpu_ns(lambda: reference(counts[:REFERENCE_DRAWS], scale), REFERENCE_DRAWS, runs=1)
    start = time.perf_counter()
    add(cells, scale)
    wall = time.perf_counter() - start
    call = cpu_ns(lambda: [add(few, scale) for _ in range(200)], 200) / 1000
    numpy_ns = cpu_ns(lambda: numpy_noise(law, scale), DRAWS)
    return {
        "law": law,
        "scale": scale,
        "ns": ns,
        "opendp_ns": opendp,
        "ratio": opendp / ns,
        "numpy_ns": numpy_ns,
        "cells_s": wall,
        "call_us": call,
    }


def verdict(what: str, found: list[dict[str, Any]]) -> str:
    """Say whether the worst law keeps a limit."""
    limit, meaning = LIMITS[what]
    bound = [f for f in found if what != "ns" or f["law"] == "gaussian" or 1 <= f["scale"] <= WIDEST_LAPLACE]
    worst = (min if what == "ratio" else max)(bound, key=lambda f: f[what])
    kept = worst[what] >= limit if what == "ratio" else worst[what] <= limit
    shown = f"{worst[what]:,.4g} ({worst['law']} {worst['scale']:g})"
    return f"{meaning} {limit:g}: worst {shown}, {'met' if kept else 'MISSED'}"


def time_all() -> list[dict[str, Any]]:
    """Measure and print every law."""
    cases = [*(("laplace", scale) for scale in LAPLACE), *(("gaussian", sigma) for sigma in GAUSSIAN)]
    found = [measured(law, scale) for law, scale in cases]
    header = ("law", "ns a draw", "OpenDP ns", "ratio", "NumPy ns", "10M cells s", "10-cell call us")
    lines = [
        (
            f"{f['law']} {f['scale']:g}",
            f"{f['ns']:.1f}",
            f"{f['opendp_ns']:,.0f}",
            f"{f['ratio']:,.0f}",
            f"{f['numpy_ns']:.1f}",
            f"{f['cells_s']:.2f}",
            f"{f['call_us']:.0f}",
        )
        for f in found
    ]
    print_table("Exact integer noise", header, lines)
    print(*(verdict(what, found) for what in LIMITS), sep="\n", flush=True)
    return found


def check_all(total: int) -> list[dict[str, Any]]:
    """Test and print every law, the slow path, and controls that must fail."""
    found: list[dict[str, Any]] = []
    for case in noise_check.cases(total):
        show_progress(case.name)
        found.append(noise_check.checked(case))
        save("noise_check.json", {"checked": found})  # a billion draws of each law take a while: keep what is done
    print_table(
        f"The law of the draws, alpha = {noise_check.ALPHA:g}", noise_check.HEADER, [noise_check.row(f) for f in found]
    )
    wrong = [f["name"] for f in found if f["passes"] != f["wanted"]]
    print(f"not as wanted: {', '.join(wrong) or 'none'}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", type=int, default=0)
    parser.add_argument("--only-check", action="store_true")
    options = parser.parse_args()
    sampler = current_sampler()
    print(machine())
    print(f"{sampler.name}: {sampler.why}", flush=True)
    timed = [] if options.only_check else time_all()
    tested = check_all(options.check) if options.check else []
    save("noise.json", {"machine": machine(), "limits": LIMITS, "found": timed, "checked": tested})


if __name__ == "__main__":
    main()
