"""The course of a map between two columns with an order: inside a place of the target it runs on instead of resting.

Where neighbouring parts of the source are sent to one place of the target, and the places before and after show whether
the map rises or falls there, the parts take values through that place, by mass: the part of the source with the share m
below it gets the value with the share m below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array
from sfumato.rows.rules.evidence import Cut


def run_through(source: Cut, target: Cut, masses: Array, placed: Sequence[NDArray[np.intp]]) -> list[list[Any]]:
    """Return a value of the target for each key of each place of the source, given the place that each is sent to."""
    present = len(source.keys) - int(source.column.missing)
    values = [[target.values[place] for place in places] for places in placed]
    keys = [(place, part) for place in range(present) for part in range(len(source.keys[place]))]
    mass = np.array([masses[place] * _shares(source, place)[part] for place, part in keys])
    sent = np.concatenate(placed[:present]) if present else np.empty(0, dtype=np.intp)
    for begins, ends, rises in _runs(sent, len(target.keys) - int(target.column.missing)):
        inner = _values_by_mass(target, int(sent[begins]), mass[begins:ends], rises)
        for (place, part), value in zip(keys[begins:ends], inner, strict=True):
            values[place][part] = value
    return values


def _shares(cut: Cut, place: int) -> Array:
    shares = np.ones(len(cut.keys[place])) if cut.shares is None else cut.shares[place]
    return shares / max(float(shares.sum()), 1e-300)


def _runs(sent: NDArray[np.intp], present: int) -> Iterator[tuple[int, int, bool]]:
    """Yield runs of keys that go to one present place, where the runs beside them agree whether the map rises."""
    turns = np.flatnonzero(np.diff(sent)) + 1
    bounds = [0, *turns.tolist(), len(sent)]
    for number in range(len(bounds) - 1):
        begins, ends = bounds[number], bounds[number + 1]
        beside = [sent[begins] - sent[begins - 1]] if begins else []
        beside += [sent[ends] - sent[begins]] if ends < len(sent) else []
        signs = {bool(step > 0) for step in beside}
        if ends - begins > 1 and len(signs) == 1 and sent[begins] < present:
            yield begins, ends, signs.pop()


def _values_by_mass(target: Cut, place: int, mass: Array, rises: bool) -> list[Any]:
    total = float(mass.sum())
    mass = mass / total if total > 0 else np.full(len(mass), 1 / len(mass))
    middles = np.cumsum(mass) - mass / 2
    ends = np.cumsum(_shares(target, place))
    parts = np.searchsorted(ends, middles if rises else 1 - middles, side="right")
    inner = target.inner[place] if target.inner is not None else (target.values[place],)
    return [inner[min(int(part), len(inner) - 1)] for part in parts]
