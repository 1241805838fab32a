"""Inference and estimation beside mbi; nothing at run time depends on it."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate

mbi = pytest.importorskip("mbi")

SIZES = (5, 2, 7, 3, 4, 6)
CLIQUES = ((0, 1), (1, 2), (2, 3), (0, 3), (3, 4, 5))
PAIRS = ((0, 1), (0, 2), (3, 5), (1, 5))
"""Measured, across the loop, inside a larger clique, and far apart. Each costs mbi a compilation."""
SIGMA, TOTAL = 20.0, 5000.0


def measured() -> list[LinearMeasurement]:
    generator = np.random.default_rng(8)
    rows = np.stack([generator.binomial(size - 1, 0.2 + 0.6 * generator.random(), int(TOTAL)) for size in SIZES], 1)
    rows[:, 2] = (rows[:, 2] + rows[:, 0]) % SIZES[2]
    tables = []
    for clique in [*((column,) for column in range(len(SIZES))), *CLIQUES]:
        shape = [SIZES[column] for column in clique]
        counts = np.zeros(shape)
        np.add.at(counts, tuple(rows[:, column] for column in clique), 1.0)
        tables.append(LinearMeasurement(clique, counts + generator.normal(0, SIGMA, shape), SIGMA))
    return tables


@pytest.mark.filterwarnings("ignore")
def test_the_same_fit_as_mbi():
    names = [f"c{column}" for column in range(len(SIZES))]
    tables = measured()
    ours = estimate(SIZES, tables, TOTAL, most_steps=5000, tolerance=1e-8)
    asked = [
        mbi.LinearMeasurement(table.noisy_counts.ravel(), tuple(names[column] for column in table.clique), stddev=SIGMA)
        for table in tables
    ]
    domain = mbi.Domain.fromdict(dict(zip(names, SIZES, strict=True)))
    theirs = mbi.estimation.MirrorDescent().estimate(domain, asked, known_total=TOTAL, iters=5000)
    for pair in PAIRS:
        wanted = np.asarray(theirs.project(tuple(names[column] for column in pair)).datavector(), float)
        np.testing.assert_allclose(ours.marginal(pair).ravel(), wanted, atol=0.001 * TOTAL)
