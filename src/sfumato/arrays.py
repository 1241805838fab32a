"""What arrays hold, in one word each: the types that annotations of all folders share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Counts = NDArray[np.int64]
"""Whole numbers that count records."""
Flags = NDArray[np.bool_]
