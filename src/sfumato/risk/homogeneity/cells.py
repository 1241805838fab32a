"""Cells by quasi-identifiers, counted by one or several sensitive columns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import BoolArray, Counts, FloatArray, IntArray
from sfumato.errors import ResourceError, RiskError
from sfumato.metrics.confidence import FrozenModel
from sfumato.schema import Schema
from sfumato.table.counting import count_nonempty_cells

if TYPE_CHECKING:
    from sfumato.table import Table

MOST_COUNTS = 20_000_000
"""Occupied cells times combinations of several sensitive values, which are held at once."""


@dataclass(frozen=True)
class Cells:
    """Occupied cells of a table by its identifiers, counted by one or several sensitive columns.

    ``counts`` has the cells on its first axis and one more for each sensitive column: with one column ``counts[i, k]``
    records of cell i have its k-th value. These are confidential counts. ``keys[i]`` are the cell's public identifier
    codes.
    """

    schema: Schema
    identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    keys: NDArray[np.int64]
    counts: Counts

    @classmethod
    def of(
        cls, table: Table, identifiers: Sequence[str] | None = None, sensitive: str | Sequence[str] | None = None
    ) -> Cells:
        """Count the cells on the table's engine; columns by schema role when not named."""
        chosen = (sensitive,) if isinstance(sensitive, str) else sensitive
        names, targets = check_columns(table.schema, identifiers, chosen)
        codes, counts = count_nonempty_cells(table.source.engine, table.schema, (*names, *targets))
        keys, place = np.unique(codes[:, : len(names)], axis=0, return_inverse=True)
        shape = (len(keys), *table.schema.shape(targets))
        if len(targets) > 1 and (needed := int(np.prod(shape, dtype=float))) > MOST_COUNTS:
            raise ResourceError(
                f"{len(keys):,} cells by all combinations of {', '.join(targets)} are {needed:,} counts",
                next_step="name fewer sensitive columns or fewer identifiers",
            )
        filled = np.zeros(shape, np.int64)
        np.add.at(filled, (place.ravel(), *codes[:, len(names) :].T), counts)
        return cls(table.schema, names, targets, keys, filled)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records of each cell."""
        return self.counts.sum(axis=tuple(range(1, self.counts.ndim)))

    @property
    def column(self) -> str:
        """The sensitive column, where there is one; several are refused."""
        if len(self.sensitive) != 1:
            raise RiskError(
                f"one sensitive column is needed, found {len(self.sensitive)} ({', '.join(self.sensitive)})",
                next_step="name one of them: sensitive=... (--sensitive y)",
            )
        return self.sensitive[0]

    @property
    def homogeneous(self) -> BoolArray:
        """Which cells hold one sensitive value (or combination) only: it can be read off the true table."""
        return (self.counts > 0).sum(axis=tuple(range(1, self.counts.ndim))) == 1

    def one(self, name: str) -> Cells:
        """Return the cells by one of the sensitive columns."""
        axis = self.sensitive.index(name)
        return Cells(self.schema, self.identifiers, (name,), self.keys, project(self.counts, (axis,)))

    @cached_property
    def agreements(self) -> NDArray[np.int64]:
        """In how many columns each cell is homogeneous, without noise."""
        return np.array([self.one(name).homogeneous for name in self.sensitive], np.int64).sum(axis=0)

    @property
    def complete(self) -> BoolArray:
        """Cells that are homogeneous in every column (definition 5)."""
        return self.agreements == len(self.sensitive)

    @property
    def partial(self) -> BoolArray:
        """Cells that are homogeneous in some columns, but not in all."""
        return (self.agreements > 0) & ~self.complete

    @property
    def heterogeneous(self) -> BoolArray:
        """Cells that are homogeneous in no column (definition 6)."""
        return self.agreements == 0

    def label(self, index: int) -> dict[str, object]:
        """Return a cell's public identifiers in words."""
        columns = [self.schema[name] for name in self.identifiers]
        return {c.name: c.labels[code] for c, code in zip(columns, self.keys[index], strict=True)}

    def aligned(self, other: Cells) -> Counts:
        """Return another table's counts in the order of these cells; cells that it lacks are empty."""
        if (other.identifiers, other.sensitive) != (self.identifiers, self.sensitive):
            raise RiskError(
                "the two tables are cut into different cells", next_step="use the same identifiers and sensitive"
            )
        found = {tuple(key): counts for key, counts in zip(other.keys.tolist(), other.counts, strict=True)}
        nothing = np.zeros(self.counts.shape[1:], np.int64)
        return np.array([found.get(tuple(key), nothing) for key in self.keys.tolist()], np.int64).reshape(
            self.counts.shape
        )


def project(values: NDArray[np.int64], chosen: tuple[int, ...]) -> Counts:
    """Return the counts by the combinations of the chosen attributes."""
    others = tuple(axis + 1 for axis in range(values.ndim - 1) if axis not in chosen)
    return values.sum(axis=others).reshape(len(values), -1)


def cell_counts(
    table: Table, identifiers: Sequence[str] | None = None, sensitive: Sequence[str] = ()
) -> tuple[Counts, float]:
    """Return the counts of the occupied cells, and how many cells of the public domain are empty.

    Without a sensitive column every row is the size of a cell alone.
    """
    if sensitive:
        cells = Cells.of(table, identifiers, sensitive)
        counts, names = cells.counts, cells.identifiers
    else:
        names, _ = check_columns(table.schema, identifiers, (), required=False)
        counts = count_nonempty_cells(table.source.engine, table.schema, names)[1][:, None]
    return counts, float(math.prod(table.schema.shape(names)) - len(counts))


def check_columns(
    schema: Schema, identifiers: Sequence[str] | None, sensitive: Sequence[str] | None, required: bool = True
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return identifiers and sensitive columns, by schema role when not named; every problem is reported at once."""
    names = schema.with_role("quasi-identifier") if identifiers is None else tuple(identifiers)
    targets = schema.with_role("sensitive") if sensitive is None else tuple(sensitive)
    problems = [
        f"no column {name!r}; the table has {', '.join(schema.names)}"
        for name in (*names, *targets)
        if name not in schema
    ]
    problems += [
        f"{name!r} has no public domain" for name in (*names, *targets) if name in schema and schema[name].is_open
    ]
    if not names:
        problems.append("no identifiers: no column has role = 'quasi-identifier'")
    if required and not targets:
        problems.append("a sensitive column is needed, found none")
    problems += [f"{name!r} is both identifier and sensitive" for name in names if name in targets]
    if len(set(names)) < len(names) or len(set(targets)) < len(targets):
        problems.append(f"{'an identifier' if len(set(names)) < len(names) else 'a sensitive column'} is named twice")
    if problems:
        named = "name the columns: --identifiers a,b --sensitive y (in Python identifiers=[...], sensitive=...)"
        raise RiskError(f"cannot cut table {schema.name!r} into cells", problems, named)
    return names, targets


@dataclass(frozen=True)
class Companions:
    """The classical measures of the same cells, beside the risk under noise."""

    cells: int
    records: int
    k_anonymity: int
    distinct_l: int
    entropy_l: float
    t_closeness: float
    t_closeness_ordered: float
    homogeneous_cells: float
    homogeneous_records: float

    def as_dict(self) -> dict[str, float]:
        """Return the measures by name."""
        return dataclasses.asdict(self)


def companions(
    table: Table | Cells, identifiers: Sequence[str] | None = None, sensitive: str | None = None
) -> Companions:
    """Return k-anonymity, l-diversity (distinct and entropy), t-closeness, and the share of homogeneous cells.

    t-closeness is the largest distance between a cell's law of the sensitive value and the overall law: total
    variation, and for ordered values the mean absolute difference of the cumulative shares.
    """
    cells = table if isinstance(table, Cells) else Cells.of(table, identifiers, sensitive)
    counts, sizes = cells.counts, cells.sizes
    cells.column  # noqa: B018  refuses several
    if not len(counts):
        raise RiskError("the table has no records", next_step="give a table with at least one record")
    shares, overall = counts / sizes[:, None], counts.sum(axis=0) / counts.sum()
    logs = np.log(np.where(shares > 0, shares, 1.0))
    gap = shares - overall
    steps = max(counts.shape[1] - 1, 1)
    return Companions(
        cells=len(counts),
        records=int(sizes.sum()),
        k_anonymity=int(sizes.min()),
        distinct_l=int((counts > 0).sum(axis=1).min()),
        entropy_l=float(np.exp((-shares * logs).sum(axis=1).min())),
        t_closeness=float(np.abs(gap).sum(axis=1).max() / 2),
        t_closeness_ordered=float(np.abs(np.cumsum(gap, axis=1))[:, :-1].sum(axis=1).max() / steps),
        homogeneous_cells=float(cells.homogeneous.mean()),
        homogeneous_records=float(sizes[cells.homogeneous].sum() / sizes.sum()),
    )


View = Literal["conservative", "record", "any"]

VIEWS: tuple[View, ...] = ("conservative", "record", "any")

COUNTS_STEP = "give an integer array with one row per cell and one column per sensitive value (at least two)"


def check_counts(counts: ArrayLike, narrow: bool = False, fewest: int = 2) -> Counts:
    """Return counts as a (cells, K) integer array, K at least ``fewest``; all problems are reported at once.

    ``narrow`` keeps the integer type that came in, for callers that only look counts up.
    """
    array = np.asarray(getattr(counts, "counts", counts))
    if array.ndim == 1 and array.size:
        array = array[None, :]
    problems = _problems(array, fewest)
    if problems:
        raise RiskError("these are not counts of cells", problems, COUNTS_STEP)
    return array if narrow and array.dtype.kind in "iu" else array.astype(np.int64, copy=False)


def _problems(array: NDArray[Any], fewest: int) -> list[str]:
    if array.ndim != 2:
        return [f"found {array.ndim} dimensions, two are needed"]
    values = array.shape[1]
    problems = [f"found K = {values} sensitive values, at least {fewest} are needed"] if values < fewest else []
    if array.dtype.kind not in "iuf":
        return [*problems, f"found values of type {array.dtype}"]
    if array.dtype.kind == "f":
        broken = int((~np.isfinite(array)).sum())
        fractions = int((array[np.isfinite(array)] % 1 != 0).sum())
        problems += [f"{broken:,} values are NaN or infinite"] if broken else []
        problems += [f"{fractions:,} values are fractions"] if fractions else []
    negative = int((array < 0).sum())
    return problems + ([f"{negative:,} values are negative"] if negative else [])


def require_view(view: str) -> None:
    """Refuse an unknown view."""
    if view not in VIEWS:
        raise RiskError(f"unknown view {view!r}", next_step=f"use one of: {', '.join(VIEWS)}")


def as_probabilities(p: ArrayLike) -> FloatArray:
    """Return class probabilities that sum to one."""
    array = np.asarray(p, dtype=float)
    if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all() or (array < 0).any():
        raise RiskError(
            f"p must be at least two numbers of 0 or more, found {p!r}", next_step="give p such as [0.7, 0.3]"
        )
    if abs(array.sum() - 1) > 1e-9:
        raise RiskError(f"p must sum to 1, found {array.sum():.6g}", next_step="divide p by its sum")
    return array


def as_alpha(alpha: ArrayLike) -> FloatArray:
    """Return Dirichlet parameters, all above zero."""
    array = np.asarray(alpha, dtype=float)
    if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all() or (array <= 0).any():
        raise RiskError(
            f"alpha must be at least two numbers above 0, found {alpha!r}", next_step="fit it: fit_dirichlet(counts)"
        )
    return array


def as_size(n: float) -> int:
    """Return the size of a cell: a whole number of at least 0."""
    if isinstance(n, bool) or not math.isfinite(n) or n < 0 or n != int(n):
        raise RiskError(
            f"a cell's size must be a whole number of at least 0, found {n!r}", next_step="give n such as 10"
        )
    return int(n)


def weighted_mean(values: FloatArray, counts: Counts, weights: str) -> float:
    """Average over non-empty cells, by cell or by record."""
    totals = counts.sum(axis=1)
    if weights not in ("cell", "record"):
        raise RiskError(f"unknown weights {weights!r}", next_step="use 'cell' or 'record'")
    share = (totals > 0).astype(float) if weights == "cell" else totals.astype(float)
    if share.sum() == 0:
        raise RiskError("every cell is empty", next_step="give at least one cell with a record in it")
    return float(values @ share / share.sum())


class Average(FrozenModel):
    """One risk averaged over occupied cells, and over the records in them."""

    cell: float
    record: float

    def by(self, weights: str) -> float:
        """Return the average by its name."""
        return self.record if weights == "record" else self.cell


@dataclass(frozen=True, eq=False)
class DistinctCells:
    """Cells that differ in more than the order of their counts: equal ones have equal risk, computed once."""

    rows: Counts
    repeats: IntArray
    """How often each occurs."""

    @classmethod
    def of(cls, counts: Counts) -> DistinctCells:
        """Return the distinct ones of some cells; where one column is counted their classes are sorted."""
        ordered = np.sort(counts, axis=1) if counts.ndim == 2 else counts
        rows, repeats = np.unique(ordered, axis=0, return_counts=True)
        return cls(rows, repeats)

    @property
    def sizes(self) -> IntArray:
        """Number of records of each."""
        return self.rows.reshape(len(self.rows), -1).sum(axis=1)

    def shares(self, weights: str) -> FloatArray:
        """Return what each is of all cells, or of all records."""
        times = self.repeats * (self.sizes if weights == "record" else 1)
        return times / times.sum()

    def average(self, values: FloatArray) -> Average:
        """Return the averages of a number for each distinct cell."""
        return Average(cell=float(values @ self.shares("cell")), record=float(values @ self.shares("record")))
