"""Entropy of counts: free post-processing when the counts were released."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def shannon(counts: ArrayLike) -> float:
    """Return the Shannon entropy in bits of non-negative counts; 0 for an empty table.

    >>> shannon([1, 1, 1, 1])
    2.0
    """
    weights = np.asarray(counts, dtype=float).ravel()
    weights = weights[weights > 0]
    if weights.size == 0:
        return 0.0
    shares = weights / weights.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0
