"""Two tables laid side by side: read once, coded once, then measured as often as needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.arrays import BoolArray, FloatArray, IntArray
from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.functional_dependence import with_maps_from_rows
from sfumato.errors import RiskError, TableError
from sfumato.evaluate.compare.cells import Binning, cells_of
from sfumato.metrics.evaluation_input import unknown_as_missing
from sfumato.metrics.rows_view import read_rows_view
from sfumato.sampling.values import Values, levels_of
from sfumato.schema import Schema
from sfumato.schema.column import Column

MOST_PAIRS = 4000
"""Pairs of columns that are compared; a fixed sample where there are more."""
MOST_TRIPLES = 100
SAMPLE_SEED = 20240229
"""Which pairs and triples are compared follows from the schema alone."""
MOST_ROWS = 200_000
"""Rows of a side that are compared; a random sample where there are more."""
FEWEST_ROWS = 10
MOST_LISTED = 150
"""Columns above which triples are drawn, not listed and chosen from."""


@dataclass(frozen=True, eq=False)
class RowsView:
    """The rows of one table: values, cells, ranks of the numbers, and which rows break a rule."""

    points: FloatArray
    """One row per record: numbers as they are (dates as days), levels as codes, NaN where missing."""
    codes: IntArray
    """One row per column: the cells."""
    ranks: FloatArray
    """The numbers of ``points`` as ranks among their own table's, from 0 to 1."""
    broken: BoolArray

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, places: Any) -> RowsView:
        return RowsView(self.points[places], self.codes[:, places], self.ranks[places], self.broken[places])


@dataclass(frozen=True, eq=False)
class ComparisonLayout:
    """How both sides are counted: the columns, their cells, and which pairs and triples of them are compared."""

    schema: Schema
    cells: tuple[Binning, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are compared."""
        return tuple(each.column for each in self.cells)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each column."""
        return tuple(each.size for each in self.cells)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Places of numbers and dates."""
        return tuple(place for place, column in enumerate(self.columns) if column.is_ordered)

    @cached_property
    def pairs(self) -> tuple[tuple[int, ...], ...]:
        """All pairs of columns, or a fixed sample of them."""
        return _sets(len(self.cells), 2, MOST_PAIRS)

    @cached_property
    def triples(self) -> tuple[tuple[int, ...], ...]:
        """A fixed sample of triples."""
        return _sets(len(self.cells), 3, MOST_TRIPLES)

    @cached_property
    def rules(self) -> bool:
        """Whether a rule of the schema speaks of compared columns alone."""
        return any(set(rule.columns) <= set(self.names) for rule in self.schema.rules)

    def side(self, points: FloatArray) -> RowsView:
        """Return rows as this comparison counts them."""
        codes = np.array([cells.of(points[:, place]) for place, cells in enumerate(self.cells)])
        return RowsView(points, codes, ranked(points[:, list(self.numbers)]), self._broken(points))

    def _broken(self, points: FloatArray) -> BoolArray:
        if not self.rules:
            return np.zeros(len(points), bool)
        return ~keeps_rules(self.schema, _values(self.columns, points))

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[Column], points: FloatArray) -> ComparisonLayout:
        """Return the layout for the true rows; a dependence whose map nobody published takes the map of those rows."""
        made = cls(schema, tuple(cells_of(column, points[:, place]) for place, column in enumerate(columns)))
        if not any(rule.lacks_map and set(rule.columns) <= set(made.names) for rule in schema.rules):
            return made
        return replace(made, schema=with_maps_from_rows(schema, _values(columns, points)))


def ranked(values: FloatArray) -> FloatArray:
    """Return the rank of each value within its column, from 0 to 1; ties share one, missing values have none."""
    from scipy.stats import rankdata

    ranks = np.full(values.shape, np.nan)
    for place in range(values.shape[1]):
        present = ~np.isnan(values[:, place])
        ranks[present, place] = rankdata(values[present, place]) / max(int(present.sum()), 1)
    return ranks


def _values(columns: Sequence[Column], points: FloatArray) -> Values:
    """Return the rows as rules read them."""
    found: Values = {}
    for place, column in enumerate(columns):
        missing = np.isnan(points[:, place])
        known = np.where(missing, 0, points[:, place])
        found[column.name] = (known if column.is_ordered else levels_of(column)[known.astype(int)], missing)
    return found


def _sets(columns: int, order: int, most: int) -> tuple[tuple[int, ...], ...]:
    generator = np.random.default_rng(SAMPLE_SEED)
    if order > 2 and columns > MOST_LISTED:
        drawn = {tuple(sorted(generator.choice(columns, order, replace=False).tolist())) for _ in range(most)}
        return tuple(sorted(drawn))
    found = list(combinations(range(columns), order))
    if len(found) <= most:
        return tuple(found)
    return tuple(found[place] for place in sorted(generator.choice(len(found), most, replace=False)))


def read_points(source: Any, schema: Schema, names: Sequence[str], what: str, seed: int = 0) -> FloatArray:
    """Return the rows of a table as points, at most so many that measuring stays quick."""
    try:
        points = read_rows_view(source, schema, names).points
    except RiskError as error:
        raise TableError(f"{what} does not fit the schema", error.problems, error.next_step) from error
    if len(points) < FEWEST_ROWS:
        raise TableError(
            f"{what} has {len(points)} rows; at least {FEWEST_ROWS} are needed", next_step="give more rows"
        )
    if len(points) > MOST_ROWS:
        points = points[np.random.default_rng(seed).choice(len(points), MOST_ROWS, replace=False)]
    return np.asfortranarray(points)


def read_any_rows(
    source: Any, schema: Schema, names: Sequence[str], what: str, seed: int = 0
) -> tuple[FloatArray, list[str]]:
    """Return rows that anybody made; values that the schema does not know count as missing, and are told."""
    try:
        return read_points(source, schema, names, what, seed), []
    except TableError as error:
        if not error.problems:
            raise
        told = [f"{what}: {problem}, counted as missing" for problem in error.problems]
    return read_points(*unknown_as_missing(source, schema, names), names, what, seed), told
