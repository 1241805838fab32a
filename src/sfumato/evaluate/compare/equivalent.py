"""A random sample of how many real rows would be as near: a measure of a release that everybody understands.

Samples of many sizes are drawn from the table and compared with the rows that were not drawn, as a fresh sample would
be compared with the table; the size whose distance is that of the release is read off, on the logarithm of the size. A
release that is nearer than a second sample of all rows would be has infinity: more rows than there are.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.evaluate.compare.distances import marginal_tvds
from sfumato.evaluate.compare.resampling import HALF, SecondSample, harmonic
from sfumato.evaluate.compare.sides import ComparisonLayout, RowsView
from sfumato.progress import report_progress

SIZES = 9
DRAWS = 3
SMALLEST = 2


def equivalent_rows(
    layout: ComparisonLayout, true: RowsView, second: SecondSample, values: dict[str, float], seed: int
) -> dict[str, float]:
    """Return for single columns and for pairs how many real rows are as near; ``second`` is of random splits."""
    generator, rows = np.random.default_rng(seed), len(true)
    sizes = np.unique(np.geomspace(SMALLEST, rows // 2, SIZES).round().astype(int))
    wanted = {"single": ("tvd_1", tuple((i,) for i in range(len(layout.cells)))), "pairs": ("tvd_2", layout.pairs)}
    found: dict[str, float] = {}
    for key, (name, sets) in wanted.items():
        if name not in values:
            continue
        report_progress(f"how many real rows are as near, {key}")
        power, curve = second.powers.get(name, HALF), list[float]()
        for size in sizes:
            drawn = [_distance(layout, true, sets, int(size), generator) for _ in range(DRAWS)]
            curve.append(float(np.mean(drawn)) * (harmonic(size, rows) / harmonic(size, rows - size)) ** -power)
        found[key] = size_at_distance(values[name], np.append(sizes, rows), np.array([*curve, second.own[name]]))
    return found


def _distance(
    layout: ComparisonLayout,
    true: RowsView,
    sets: tuple[tuple[int, ...], ...],
    size: int,
    generator: np.random.Generator,
) -> float:
    order = generator.permutation(len(true))
    return float(marginal_tvds(layout, true[order[size:]], true[order[:size]], sets)[0].mean())


def size_at_distance(value: float, sizes: FloatArray, curve: FloatArray) -> float:
    """Return the size at which a falling curve reaches a value, on the logarithm of the size; infinity beyond its end.

    >>> size_at_distance(0.2, np.array([10.0, 1000.0]), np.array([0.3, 0.1]))
    100.0
    >>> size_at_distance(0.05, np.array([10.0, 1000.0]), np.array([0.3, 0.1]))
    inf
    """
    falling = np.minimum.accumulate(curve)
    if value <= falling[-1]:
        return float("inf")
    return float(np.exp(np.interp(-value, -falling, np.log(sizes))).round(6))
