"""Make the pictures of plausible-deniability.md: ``.venv/bin/python docs/picture_deniability.py`` (about a minute).

k against the number of rows is computed from public parameters; the pass rate on ages of the example households.
"""

from __future__ import annotations

import sys

import numpy as np
from drawn import alone

from sfumato.example import households
from sfumato.mechanisms.plausible_deniability import pass_rate
from sfumato.mechanisms.plausible_deniability.record_composition import cheapest_test
from sfumato.papers.charts import ChartAxes, curves
from sfumato.papers.reaedp.pass_rate import EPSILON0, kernel_proposals
from sfumato.report.charts.marks import Axis, LineMark, Lines

COST, PASSING = "deniability-cost.svg", "deniability-pass-rate.svg"
DECADES = (1, 10, 100, 1000, 10_000)
TOTALS = (1.0, 3.0, 8.0)
COUNTS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
DELTA, GAMMA = 1e-5, 2.0
PEOPLE, BINS = 1000, 30
KS = tuple(range(5, 701, 5))
GAMMAS = (2.0, 4.0, 8.0)


def main() -> int:
    """Write both pictures."""
    alone(COST, "Smallest k against the number of rows for total epsilon 1, 3 and 8", cost())
    alone(PASSING, "Exact pass rate against k for three gammas: it falls with k", passing())
    print(f"wrote {COST}, {PASSING}")
    return 0


def cost() -> Lines:
    """Return the smallest k against the number of rows, one line for each total epsilon."""
    drawn = [
        LineMark(f"total epsilon {total:g}", COUNTS, [cheapest_test(total, DELTA, n, GAMMA).k for n in COUNTS])
        for total in TOTALS
    ]
    x = Axis("rows to make", logarithmic=True, places=DECADES)
    return Lines(drawn, x, Axis("smallest k", 1, 20_000, logarithmic=True, places=DECADES))


def ages() -> np.ndarray:
    """Return ages of the first example households as numbers of public bins."""
    values = households().column("age").to_numpy()[:PEOPLE]
    return np.clip(np.digitize(values, np.linspace(16, 100, BINS + 1)) - 1, 0, BINS - 1)


def passing() -> Lines:
    """Return the exact pass rate of one attempt against k."""
    seeds = ages()
    rule = {"epsilon0": EPSILON0}
    rates = {g: [pass_rate(seeds, kernel_proposals(), k=k, gamma=g, **rule) for k in KS] for g in GAMMAS}
    drawn = [LineMark(f"gamma = {g:g}", KS, rate) for g, rate in rates.items()]
    return curves(drawn, ChartAxes("k", "pass rate", logarithmic=False), printed_first=False)


if __name__ == "__main__":
    sys.exit(main())
