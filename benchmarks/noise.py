"""Exact integer noise against OpenDP and NumPy in one run: CPU time per draw, per call and for ten million cells.

    .venv/bin/python benchmarks/noise.py [--check 1000000000]

CPU time of one thread, the median of five runs of a million draws; OpenDP gets 20,000. NumPy's noise is neither exact
nor secure and stands here as the price of memory. ``--check`` draws that many values of three laws and tests each by
chi-square, alpha = 1e-6.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import machine, print_table, save
from scipy import stats

from sfumato.privacy import noise
from sfumato.privacy.fast_noise import fast_gaussian, fast_laplace
from sfumato.privacy.laws import DiscreteGaussian, Geometric

DRAWS, REFERENCE_DRAWS, CELLS, BATCH = 1_000_000, 20_000, 10_000_000, 10_000_000
LIMITS = {"ns": 60.0, "ratio": 150.0, "cells_s": 1.0, "call_us": 100.0}
ALPHA = 1e-6
LAPLACE = [0.1, 1.0, 20.0, 64.0, 1000.0, 1e6]
GAUSSIAN = [0.7, 5.0, 300.0, 2000.0, 1e5]
CHECKED = [("laplace", 20.0), ("laplace", 1000.0), ("gaussian", 5.0)]
FAST = {"laplace": fast_laplace, "gaussian": fast_gaussian}
OPENDP = {"laplace": noise.add_laplace_scale, "gaussian": noise.add_gaussian}


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
    return {"law": law, "scale": scale, "ns": ns, "opendp_ns": opendp, "ratio": opendp / ns, "numpy_ns": numpy_ns,
            "cells_s": wall, "call_us": call}  # fmt: skip


def chi_square_p(law: str, scale: float, total: int) -> float:
    """Test ``total`` draws, in batches; bins that expect under 25 are merged into one on either side."""
    exact = Geometric(1 / scale) if law == "laplace" else DiscreteGaussian(scale)
    places = np.arange(1, exact.reach())
    edge = int(places[np.argmax(total * exact.pmf(places) < 25)])
    observed = np.zeros(2 * edge + 1, dtype=np.int64)
    for start in range(0, total, BATCH):
        draws = FAST[law](np.zeros(min(BATCH, total - start), dtype=np.int64), scale)
        observed += np.bincount(np.clip(draws, -edge, edge) + edge, minlength=2 * edge + 1)
    expected = total * exact.pmf(np.arange(-edge, edge + 1))
    expected[0] = expected[-1] = total * float(exact.cdf(-edge))
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), 2 * edge))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", type=int, default=0)
    options = parser.parse_args()
    print(machine())
    cases = [*(("laplace", scale) for scale in LAPLACE), *(("gaussian", sigma) for sigma in GAUSSIAN)]
    found = [measured(law, scale) for law, scale in cases]
    header = ("law", "ns a draw", "OpenDP ns", "ratio", "NumPy ns", "10M cells s", "10-cell call us")
    lines = [
        (f"{f['law']} {f['scale']:g}", f"{f['ns']:.1f}", f"{f['opendp_ns']:,.0f}", f"{f['ratio']:,.0f}",
         f"{f['numpy_ns']:.1f}", f"{f['cells_s']:.2f}", f"{f['call_us']:.0f}")
        for f in found
    ]  # fmt: skip
    print_table("Exact integer noise", header, lines)
    print(f"wanted: {LIMITS}")
    tested = [(law, scale, chi_square_p(law, scale, options.check)) for law, scale in CHECKED if options.check]
    for law, scale, p in tested:
        print(f"{law} {scale:g}: chi-square of {options.check:,} draws, p = {p:.3g} (alpha {ALPHA})")
    save("noise.json", {"machine": machine(), "limits": LIMITS, "found": found, "checked": tested})


if __name__ == "__main__":
    main()
