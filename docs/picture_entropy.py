"""Make the pictures of entropy.md: ``.venv/bin/python docs/picture_entropy.py``. Computed from public parameters."""

from __future__ import annotations

import sys

import numpy as np
from drawn import Panel, alone, write

from sfumato.entropy import advise, sensitivity
from sfumato.papers.reaedp.published import published_bound, published_renyi_bound
from sfumato.report.charts.marks import Axis, LineMark, Lines, RuleMark

SENSITIVITY, WAYS = "entropy-sensitivity.svg", "entropy-ways.svg"
SIZES = sorted({int(n) for n in np.geomspace(20, 2000, 25)})
TICKS = (20, 100, 500, 2000)
BINS = 30
ORDERS = (0.5, 1.0, 2.0)
ROWS, EPSILON = 10_000, 1.0
CELLS = sorted({int(m) for m in np.geomspace(2, 200, 26)})


def main() -> int:
    """Write both pictures."""
    words = "Printed and exact sensitivity against the number of records for three orders, and their ratio"
    write(SENSITIVITY, words, [_both(order) for order in ORDERS], [_ratio(order) for order in ORDERS])
    words = "Error of both ways against the number of cells: direct is flat, noisy counts depend on the shape"
    alone(WAYS, words, ways())
    print(f"wrote {SENSITIVITY}, {WAYS}")
    return 0


def _printed(n: int, order: float) -> float:
    return published_bound(n) if order == 1 else published_renyi_bound(n, order)


def _both(order: float) -> Panel:
    """Return printed and exact sensitivities against n."""
    drawn = [
        LineMark("as printed", SIZES, [_printed(n, order) for n in SIZES], yardstick=True),
        LineMark("exact", SIZES, [float(sensitivity(n, BINS, order)) for n in SIZES]),
    ]
    y = Axis("bits", 0.001, 1, logarithmic=True, places=(0.001, 0.01, 0.1, 1))
    return Panel(Lines(drawn, _sizes(), y), f"order {order:g}{' (Shannon)' if order == 1 else ''}", 250)


def _ratio(order: float) -> Panel:
    """Return the printed sensitivity over the exact one: below 1 it is no bound."""
    ratio = [_printed(n, order) / float(sensitivity(n, BINS, order)) for n in SIZES]
    rules = [RuleMark("1: below it, what is printed is no bound", 1.0, goal=True)]
    y = Axis("printed / exact", 0.0, 2.4, places=(0, 1, 2))
    return Panel(Lines([LineMark("printed / exact", SIZES, ratio, look=3)], _sizes(), y, rules), height=150)


def _sizes() -> Axis:
    return Axis("records", SIZES[0], SIZES[-1], logarithmic=True, places=TICKS)


def ways() -> Lines:
    """Return the predicted error of both ways to an entropy against the number of cells, by shape of the counts."""
    found = [advise(ROWS, cells, EPSILON) for cells in CELLS]
    drawn = [LineMark("direct, every table", CELLS, [advice.direct for advice in found], yardstick=True)]
    drawn += [
        LineMark(f"noisy counts, {name}", CELLS, [advice.counts[name] for advice in found]) for name in found[0].counts
    ]
    x = Axis("cells", logarithmic=True, places=(2, 5, 10, 20, 50, 100, 200))
    places = [10.0**power for power in range(-6, 1)]
    return Lines(drawn, x, Axis("mean absolute error, bits", logarithmic=True, places=places))


if __name__ == "__main__":
    sys.exit(main())
