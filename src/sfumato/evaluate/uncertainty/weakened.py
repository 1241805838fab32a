"""Widen the interval of a correlation by what a release takes from a relation.

Reruns start from rows in which a relation is weakened already, so they cannot see what was lost. The forecast knows it
from public facts: of a correlation c about c / (1 + (s / c)^2) is left, where s is the smallest relation that is seen
(:mod:`sfumato.metrics.expected_errors`). So the end of an interval that lies further from 0 is moved to the
correlation of
which that would be left; the nearer end stays, and an interval that holds 0 is moved at both ends. Where no relation is
seen at all (s = 1) any correlation may lie behind, and the interval says so.
"""

from __future__ import annotations

NO_RELATION_VISIBLE = 1.0
"""The smallest relation of a release that shows none."""
HALVINGS = 50


def attenuated(relation: float, smallest: float) -> float:
    """Return what a release leaves of a relation.

    >>> attenuated(0.4, 0.4), round(attenuated(0.8, 0.2), 2)
    (0.2, 0.75)
    """
    return relation / (1 + (smallest / relation) ** 2) if relation > 0 else 0.0


def undo_attenuation(seen: float, smallest: float) -> float:
    """Return the relation of which so much is left, at most 1.

    >>> round(undo_attenuation(0.2, 0.4), 6), undo_attenuation(0.99, 0.4)
    (0.4, 1.0)
    """
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if attenuated(middle, smallest) < seen else (low, middle)
    return high


def restored_interval(low: float, high: float, smallest: float) -> tuple[float, float]:
    """Return the ends of the interval of a correlation with what may have been lost.

    >>> tuple(round(end, 3) for end in restored_interval(0.1, 0.2, 0.4))
    (0.1, 0.4)
    """
    if smallest >= NO_RELATION_VISIBLE:
        return -1.0, 1.0
    return low if low > 0 else -undo_attenuation(-low, smallest), high if high < 0 else undo_attenuation(high, smallest)
