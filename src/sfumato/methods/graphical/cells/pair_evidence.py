"""What a fitted model knows about pairs of columns: groups are places, and expected counts are weights.

A dependence without a public map takes its map from here (:mod:`sfumato.rows.rules.dependence`): the same for all rows
that are ever drawn from the model, for nothing but the model's own numbers goes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array
from sfumato.methods.graphical.cells.expand import fine_values
from sfumato.methods.graphical.cells.groups import Grouping
from sfumato.rows.rules.evidence import Cut, cut_of, plain_value


class PairTables(Protocol):
    """What is asked of a model."""

    def marginal(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return expected counts of a set of columns."""
        ...


@dataclass(frozen=True)
class ModelEvidence:
    """The groups of a model as places, and its pair tables as weights."""

    groupings: Sequence[Grouping]
    model: PairTables
    noise: float = 0.0
    """Standard deviation of the noise of a measured count."""

    def cut(self, name: str) -> Cut:
        """Return the groups of a column; each stands for its middle cell by mass, or for its commonest level."""
        grouping = self.groupings[self._number(name)]
        column, middle = grouping.column, _middle_codes(grouping)
        values, missing = fine_values(column, np.arange(column.size), np.full(column.size, 0.5))
        plain = [plain_value(column, value, bool(none)) for value, none in zip(values, missing, strict=True)]
        heads = [plain[code] for code in middle]
        if not grouping.has_order:
            return cut_of(column, grouping.groups, heads)
        cut = cut_of(column, grouping.groups, heads, grouping.shares)
        inner = tuple(tuple(plain[code] for code in np.flatnonzero(grouping.groups == g)) for g in range(grouping.size))
        return replace(cut, inner=inner)

    def weights(self, source: str, target: str) -> Array:
        """Return the expected counts of two columns."""
        return np.maximum(self.model.marginal([self._number(source), self._number(target)]), 0.0)

    def _number(self, name: str) -> int:
        return next(n for n, grouping in enumerate(self.groupings) if grouping.column.name == name)


def _middle_codes(grouping: Grouping) -> NDArray[np.int64]:
    """Return the fine code for which each group stands."""
    codes = np.zeros(grouping.size, np.int64)
    for group in range(grouping.size):
        inside = np.flatnonzero(grouping.groups == group)
        shares = grouping.shares[inside]
        middle = np.searchsorted(np.cumsum(shares), shares.sum() / 2) if grouping.has_order else shares.argmax()
        codes[group] = inside[min(int(middle), len(inside) - 1)]
    return codes
