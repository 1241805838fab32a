"""From values to places: an axis with equal steps, or one with equal factors."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` stand from ``start`` to ``end``; what lies beyond stands at the nearer end."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value.

        >>> Scale(0, 10, 100, 200).at(2.5), Scale(1, 16, 0, 100, logarithmic=True).at(4), Scale(0, 1, 0, 9).at(7)
        (125.0, 50.0, 9.0)
        """
        low, high, found = (math.log(each) if self.logarithmic else each for each in (self.low, self.high, value))
        share = (found - low) / (high - low) if high > low else 0.5
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)
