"""Rows like those of the paper's example: its own are not available, so these are drawn from what it prints."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Array
from sfumato.methods.cluster_geometry import Bounds

RECORDS = 400
CLUSTERS = 4
LOW, HIGH = (-15.0, -np.inf), (10.0, np.inf)
"""Bounds of x1 and x2; the paper leaves x2 without."""
PUBLIC_BOX = ((-15.0, 10.0), (-15.0, 15.0))
"""The box of the private form, which needs bounds for every column."""
DISCRETE = (False, True)
BOUNDS = Bounds.of(LOW, HIGH, DISCRETE)
PRINTED_CENTROIDS = ((-1.0, 0.7), (0.2, 0.9), (1.6, 0.0), (-0.7, -1.5))
"""Standardised, as in section 4."""

MIDDLE, UNIT, SPREAD = (-2.5, 0.0), (4.93, 5.17), 1.48
"""Chosen so that standardised width of x1, largest distance and mean radius come near the printed ones."""


def illustrative(records: int = RECORDS, seed: int = 1) -> Array:
    """Return four Gaussian clusters of equal size around the printed centroids, in a random order.

    x1 is continuous and clipped to -15 and 10; x2 is a whole number.

    >>> illustrative(3, seed=1).round(2).tolist()
    [[6.73, 1.0], [-1.02, 3.0], [-6.92, 5.0]]
    """
    generator = np.random.default_rng(seed)
    centres = np.array(MIDDLE) + np.array(PRINTED_CENTROIDS)[np.arange(records) % CLUSTERS] * UNIT
    rows = centres + generator.normal(0.0, SPREAD, (records, 2))
    rows[:, 0] = np.clip(rows[:, 0], LOW[0], HIGH[0])
    rows[:, 1] = np.round(rows[:, 1])
    return generator.permutation(rows)
