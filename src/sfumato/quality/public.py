"""What is public about a release of rows that is to be measured: its cells, its counts, and what is predicted of it.

All of it follows from the released rows, the schema and constants: it costs nothing, and is fixed before a private row
is read. A level is a cell of its own, and so is a missing value. A number or date is cut by the *released* values
alone, with open cells beyond them for private rows that the release does not reach
(:func:`~sfumato.utility.binning.q16`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array, Whole
from sfumato.errors import PlanError
from sfumato.quality.answers import target_of
from sfumato.quality.relations import Relations, require_related
from sfumato.rows.coded import seen_rows
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.utility.binning import nearness, q16
from sfumato.utility.marginals import MOST_SETS, SAMPLE_SEED, ColumnSet

if TYPE_CHECKING:
    import pyarrow as pa

PAIR_CELLS = 100_000
"""Pairs of columns with more cells are left out."""
Values = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Cut:
    """One column in public cells; a missing value lies in the last."""

    column: Column
    inner: Array
    """Where a number is cut; nothing for levels."""

    @classmethod
    def of(cls, column: Column, released: NDArray[Any]) -> Cut:
        """Cut a number by its released values; one that was never released is one cell."""
        return cls(column, q16(released, nearness(column)) if column.is_ordered else np.zeros(0))

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.inner) + 1 + int(self.column.missing) if self.column.is_ordered else self.column.size

    def codes(self, values: NDArray[Any]) -> Whole:
        """Return the cell of each value: by that value alone."""
        if not self.column.is_ordered:
            return np.asarray(values, np.int64)
        absent = np.isnan(values)
        return np.where(absent, len(self.inner) + 1, np.searchsorted(self.inner, values, side="right"))


@dataclass(frozen=True, eq=False)
class Public:
    """Released rows as they are compared with private ones."""

    schema: Schema
    cuts: Mapping[str, Cut]
    singles: tuple[ColumnSet, ...]
    pairs: tuple[ColumnSet, ...]
    """All pairs of columns, or a fixed sample of them."""
    counts: Mapping[ColumnSet, Whole]
    """Released counts, flat."""
    target: Column | None
    """What is predicted; None where no column can be."""
    why: str
    """Why this column is predicted, or none."""
    relations: Relations | None = None
    """The columns of which correlations are bought, if any."""
    related: Whole = field(default_factory=lambda: np.zeros(0, np.int64))
    """The summed products of these among the released rows."""

    @classmethod
    def of(cls, rows: pa.Table, schema: Schema, target: str | None = None, correlations: Sequence[str] = ()) -> Public:
        """Cut and count; refuses a release without rows, and a target that cannot be predicted."""
        names = tuple(name for name in schema.names if name in rows.column_names and not schema[name].is_open)
        if not names or not rows.num_rows:
            raise PlanError("the release has no rows to measure", next_step="give a release with rows")
        chosen, why = target_of(schema, names, target)
        wanted = require_related(schema, names, correlations)
        values = released_values(rows, schema, names)
        cuts = {name: Cut.of(schema[name], values[name]) for name in names}
        singles, pairs = tuple((name,) for name in names), _pairs(cuts)
        counts = counted(cuts, (*singles, *pairs), values)
        relations = Relations.of([schema[name] for name in wanted], values) if wanted else None
        related = relations.sums(values) if relations else np.zeros(0, np.int64)
        predicted = None if chosen is None else schema[chosen]
        return cls(schema, cuts, singles, pairs, counts, predicted, why, relations, related)

    @property
    def names(self) -> tuple[str, ...]:
        """The released columns that are looked at."""
        return tuple(self.cuts)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all released counts: what tells one release from another, whether it was saved or not."""
        told = hashlib.sha256(repr(self.sets).encode())
        for names in self.sets:
            told.update(self.counts[names].astype("<i8").tobytes())
        return told.hexdigest()

    @cached_property
    def sets(self) -> tuple[ColumnSet, ...]:
        """Everything that is compared."""
        return (*self.singles, *self.pairs)

    def expected(self, sets: Sequence[ColumnSet], rows: float) -> float:
        """Return the mean distance that a sample of so many rows would have which follow the released shares.

        A cell of share q then has a count of mean nq and variance nq(1 - q), and E|count / n - q| is about
        sqrt(2 q (1 - q) / (pi n)): the yardstick below which no release of so small a table can be told apart.
        """
        distances = [self._spread(self.counts[names]) for names in sets]
        return min(float(np.mean(distances)) / math.sqrt(max(rows, 1.0)), 1.0)

    @staticmethod
    def _spread(counts: Whole) -> float:
        shares = counts / counts.sum()
        return float(0.5 * np.sqrt(2 * shares * (1 - shares) / math.pi).sum())


def released_values(rows: Any, schema: Schema, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return released columns as private ones come: numbers with NaN where missing, levels as codes."""
    seen = seen_rows(rows, schema, names)
    return {name: (seen.points if schema[name].is_ordered else seen.codes)[:, i] for i, name in enumerate(names)}


def counted(cuts: Mapping[str, Cut], sets: Sequence[ColumnSet], values: Values) -> dict[ColumnSet, Whole]:
    """Return how many rows lie in each cell of each set of columns, flat."""
    codes = {name: cut.codes(values[name]) for name, cut in cuts.items()}
    found: dict[ColumnSet, Whole] = {}
    for names in sets:
        shape = tuple(cuts[name].size for name in names)
        flat = np.ravel_multi_index(tuple(codes[name] for name in names), shape)
        found[names] = np.bincount(flat, minlength=math.prod(shape)).astype(np.int64)
    return found


def _pairs(cuts: Mapping[str, Cut]) -> tuple[ColumnSet, ...]:
    """Return the pairs that are compared, by public facts alone."""
    fitting = [pair for pair in combinations(cuts, 2) if math.prod(cuts[name].size for name in pair) <= PAIR_CELLS]
    if len(fitting) <= MOST_SETS:
        return tuple(fitting)
    places = np.random.default_rng(SAMPLE_SEED).choice(len(fitting), MOST_SETS, replace=False)
    return tuple(fitting[place] for place in sorted(places))
