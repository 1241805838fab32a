"""Rows as an attacker sees them, and Gower distances between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.rows_view import Codes, Observes, Points, RowsView, check_observes, read_rows_view
from sfumato.risk.attacks import nearest_neighbours as kernel
from sfumato.schema import Schema
from sfumato.schema.column import LARGEST_UNIT_SPAN, Column
from sfumato.table import Table

BANDWIDTH = 0.1
"""Width of the kernel on Gower's distance behind the density of released rows at a person, unless it is measured."""
COMPARED = 2000
"""Other rows with which each row is compared when the most exposed one is looked for."""
IN_WORDS = {
    "values": "the released values themselves, not only the public bins they lie in",
    "bins": "of each ordered value only the public bin it lies in",
    "counts": "released counts, which know of each value only the public cell it lies in",
    "numbers": "every released number",
}
"""What an attacker sees, for the threat model."""


@dataclass(frozen=True)
class AttackerView:
    """How an attacker reads rows of these columns, and Gower's distance on what is read: the mean of 0 to 1 a column.

    Levels differ or not. Ordered columns differ by their share of the public range: on values, or with ``sees="bins"``
    on the numbers of the bins. Ordinals differ by their share of the levels. A missing value is a level of its own: it
    differs wholly from every present one, and not from another missing one.
    """

    schema: Schema
    names: Sequence[str]
    sees: Observes = "values"

    def __post_init__(self) -> None:
        check_observes(self.sees)
        object.__setattr__(self, "names", tuple(self.names))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are compared."""
        return tuple(self.schema[name] for name in self.names)

    @cached_property
    def weights(self) -> FloatArray:
        """What a gap of 1 in each column counts; 0 where values are the same or not, and nothing between."""
        return np.array([1 / _span(column, self.sees) if _is_graded(column) else 0.0 for column in self.columns])

    def read(self, source: Any, *more: str) -> RowsView:
        """Return rows as this attacker sees them; columns named in ``more`` stand behind those that are compared."""
        return read_rows_view(source, self.schema, (*self.names, *more), self.sees)

    def between(self, left: Points, right: Points) -> FloatArray:
        """Return all distances, one row per left row and one column per right row."""
        return kernel.pairwise_distances(left, right, self.weights) / max(len(self.names), 1)

    def ranks(self, left: Points, right: Points) -> tuple[Codes, Codes]:
        """Return for each left row how many right rows are nearer than its own, and how many as near (its own too)."""
        return kernel.ranks(left, right, self.weights)

    def votes(self, people: Points, rows: Points, labels: Codes, size: int) -> Codes:
        """Return for each person the label of most of the nearest rows; a tied vote goes to the commoner label."""
        shares = np.bincount(labels, minlength=size) / (2 * len(labels) + 1)
        return kernel.nearest_label_votes(people, rows, self.weights, labels, shares)

    def most_exposed(self, points: Points, generator: np.random.Generator) -> int:
        """Return the row that stands furthest from all others: the person whom a release of rows protects least."""
        if len(points) < 2:
            return 0
        chosen = generator.permutation(len(points))[: COMPARED + 1]
        return int(kernel.nearest_other(points, chosen, self.weights).argmax())

    def scaled(self, points: Points) -> Points:
        """Return graded columns as shares of their range, codes as they are, and -1 for missing values."""
        low = [_low(column, self.sees) if _is_graded(column) else 0.0 for column in self.columns]
        return np.nan_to_num((points - low) * np.where(self.weights > 0, self.weights, 1.0), nan=-1.0)

    def profile(self, points: Points) -> FloatArray:
        """Return how the rows are spread over each column alone: two releases are compared by it."""
        return np.concatenate([self._spread(i, points[:, i]) for i in range(len(self.names))])

    def _spread(self, position: int, numbers: FloatArray) -> FloatArray:
        """Count levels and bins; share each value between the two nearest marks of a fine public grid."""
        column, missing = self.columns[position], np.isnan(numbers)
        present, none = numbers[~missing], [float(missing.sum())]
        if self.sees == "bins" or not column.is_ordered:
            return np.append(np.bincount(present.astype(np.int64), minlength=column.present_size), none)
        marks = _marks(column)
        place = (present - _low(column, self.sees)) * self.weights[position] * marks
        left = np.clip(np.floor(place), 0, marks - 1).astype(np.int64)
        share = place - left
        counts = np.bincount(left, 1 - share, marks + 1) + np.bincount(left + 1, share, marks + 1)
        return np.append(counts, none)


def schema_of(rows: Any, schema: Schema | None = None) -> Schema:
    """Return the schema of some rows: the one that is given, or that of a table."""
    if schema is None and not isinstance(rows, Table):
        raise RiskError("no schema is given", next_step="give a table from sfumato.read(...), or schema=...")
    return schema or rows.schema


def _is_graded(column: Column) -> bool:
    return column.is_ordered or column.kind == "ordinal"


def _low(column: Column, sees: Observes) -> float:
    return float(column.numeric_bounds[0]) if column.is_ordered and sees == "values" else 0.0


def _span(column: Column, sees: Observes) -> float:
    """Return the largest gap that a graded column can have."""
    if column.is_ordered and sees == "values":
        low, high = column.numeric_bounds
        return float(high - low) or 1.0
    return float(max(column.present_size - 1, 1))


def _marks(column: Column) -> int:
    """Return the number of steps of the grid: one a value where there are few, and never the schema's own bins."""
    span = _span(column, "values")
    return int(min(span, LARGEST_UNIT_SPAN)) if column.is_discrete else LARGEST_UNIT_SPAN
