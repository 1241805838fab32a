"""Interval disclosure (LID): share of rows with a released value close to their own.

A row is disclosed if at least one of its released values is within the tolerance of its original one (Definition 1 of
the two-stage paper). The measure has limits that are printed with it:

* it needs row i of the release to come from row i of the original. The verbatim table with its rows dealt anew has a
  small LID. With ``aligned=False`` each original row is compared with the released row that is nearest to it instead,
  which is what an attacker who holds the record can do;
* it says nothing about linkage: ``row_linkage`` measures that;
* everything here is computed from confidential rows without noise: it is for the custodian and guarantees nothing.

**Any release of rows**, ``location_risk``. LID compares a released row with the row that it was made from. Only a
method knows which that is: released rows are shuffled, and comparing row i with row i then measures nothing. So each
person is compared with the **nearest** released row, which is what an attacker who holds the record can do, and beside
it stands the nearest **other person** of the table, who is near by chance alone. Only where somebody vouches that the
rows are in the same order (``same_order``) is row i compared with row i, and then beside rows dealt anew. All of it is
measured on confidential rows, for the custodian, and guarantees nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import FloatArray, IntArray
from sfumato.errors import RiskError
from sfumato.formatting import percent_fixed
from sfumato.metrics.auc import roc_auc
from sfumato.metrics.rows_view import read_rows_view
from sfumato.risk.attacks.attacker_view import schema_of
from sfumato.schema import Schema

Tolerance = float | Sequence[float] | FloatArray
TOPS = (1, 10)


@dataclass(frozen=True, eq=False)
class IntervalDisclosure:
    """Share of rows with at least one value within the tolerance, and what it was measured with."""

    share: float
    by_column: FloatArray
    """Share of rows whose value in this column is within the tolerance."""
    tolerance: FloatArray
    """One for each column."""
    aligned: bool
    """Whether row i was compared with row i, or with the released row nearest to it."""
    disclosed: NDArray[np.bool_]
    """For each original row whether it is disclosed."""

    def __float__(self) -> float:
        return self.share


def interval_disclosure(
    original: ArrayLike, released: ArrayLike, tolerance: Tolerance, aligned: bool = True
) -> IntervalDisclosure:
    """Measure LID. ``tolerance`` is one number, or one for each column, in the unit of the table.

    >>> x = np.array([[0.0, 5.0], [1.0, 6.0]])
    >>> interval_disclosure(x, x + [[0.5, 0.01], [0.5, 0.5]], tolerance=0.1).share
    0.5
    """
    left, right = check_rows(original, released, aligned)
    limits = check_tolerances(tolerance, left.shape[1])
    if not aligned:
        right = right[_nearest(left, right, _spread(left), 1)[1][:, 0]]
    within = np.abs(left - right) <= limits
    disclosed = np.asarray(within.any(axis=1), np.bool_)
    return IntervalDisclosure(float(disclosed.mean()), within.mean(axis=0), limits, aligned, disclosed)


def row_linkage(original: ArrayLike, released: ArrayLike, tops: Sequence[int] = TOPS) -> dict[int, float]:
    """Return for each ``top`` the share of rows whose own released row is among the ``top`` nearest to them.

    Row i of ``released`` must be the one made from row i of ``original``: undo the shuffling first. Columns are in
    units of the original standard deviation. Guessing links ``top / rows``.

    >>> x = np.arange(20.0)[:, None]
    >>> row_linkage(x, x + 0.1), row_linkage(x, x + 0.9)
    ({1: 1.0, 10: 1.0}, {1: 0.05, 10: 1.0})
    """
    left, right = check_rows(original, released, True)
    if not tops or min(tops) < 1:
        raise RiskError(f"each top must be at least 1, found {tuple(tops)}", next_step="use for example tops=(1, 10)")
    deepest = min(max(tops), len(left))
    own = _nearest(left, right, _spread(left), deepest)[1] == np.arange(len(left))[:, None]
    return {top: float(own[:, :top].any(axis=1).mean()) for top in tops}


def _spread(rows: FloatArray) -> FloatArray:
    """Return the standard deviation of each column, 1 where all values are the same."""
    return np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)


def _nearest(left: FloatArray, right: FloatArray, spread: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
    """Return for each left row how far the ``count`` nearest right rows are, in units of the spread, and which."""
    from scipy.spatial import KDTree

    tree: Any = KDTree(right / spread)
    distances, places = tree.query(left / spread, k=range(1, count + 1))
    return np.asarray(distances, np.float64), np.asarray(places, np.int64)


def check_rows(original: ArrayLike, released: ArrayLike, aligned: bool) -> tuple[FloatArray, FloatArray]:
    """Return both tables as rows of finite numbers with the same columns, and the same rows where aligned."""
    pair = [np.asarray(rows, np.float64) for rows in (original, released)]
    pair = [rows[:, None] if rows.ndim == 1 else rows for rows in pair]
    problems: list[str] = []
    for name, rows in zip(("original", "released"), pair, strict=True):
        if rows.ndim != 2 or not rows.size:
            problems.append(f"{name}: must be rows and columns of numbers, found shape {rows.shape}")
        elif not np.isfinite(rows).all():
            problems.append(f"{name}: {int((~np.isfinite(rows)).sum()):,} values are missing or infinite")
    same = pair[0].shape == pair[1].shape if aligned else pair[0].shape[1:] == pair[1].shape[1:]
    if not problems and not same:
        problems.append(f"shapes {pair[0].shape} and {pair[1].shape} do not fit")
    if problems:
        raise RiskError("the rows cannot be compared", problems, "give complete numeric rows, one released row each")
    return pair[0], pair[1]


def check_tolerances(tolerance: Tolerance, columns: int) -> FloatArray:
    """Return one tolerance for each column, all above 0."""
    limits = np.asarray(tolerance, np.float64)
    if limits.shape not in ((), (columns,)) or not (np.isfinite(limits) & (limits > 0)).all():
        raise RiskError(
            f"tolerance must be a number above 0, or one for each of {columns} columns, found {tolerance!r}",
            next_step="give the distance within which a value counts as disclosed, for example tolerance=0.001",
        )
    return np.broadcast_to(limits, (columns,)).copy()


TOLERANCE = 0.001
MEASURED = 20_000
"""People that are measured, at most: a sample where there are more."""
FEWEST = 3
CLEARLY_NEARER = 0.8
"""Below this share of the distance to other people chance is no explanation for hundreds of people."""


@dataclass(frozen=True)
class NearestRowShare:
    """How near the nearest of some rows lies to each person."""

    any_value: float
    """Share of people with at least one value within the tolerance of that row's: LID by the nearest row."""
    every_value: float
    """Share of people all of whose values are within the tolerance: a row like theirs is there."""
    distance: float
    """Median distance, Euclidean, in standard deviations of the true columns."""


@dataclass(frozen=True)
class RowOrderDisclosure:
    """Row by row, where the rows of the release are in the order of the table."""

    lid: float
    dealt_anew: float
    """LID with the released rows in a random order: what chance alone gives."""
    linked_top_1: float
    linked_top_10: float


@dataclass(frozen=True)
class LocationRisk:
    """What a release gives away about where people's values lie."""

    columns: tuple[str, ...]
    tolerance: float
    """Share of each column's public range."""
    people: int
    released_rows: int
    left_out: int
    """People and released rows with a missing value."""
    released: NearestRowShare
    others: NearestRowShare
    """The same with other people of the table in the place of the release, as many as it has rows at most."""
    membership_auc: float | None
    """With people who were not in the table: chance that one who was lies nearer to the release. 0.5 is guessing."""
    in_order: RowOrderDisclosure | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def statement(self) -> str:
        """Return the result in plain words."""
        near, far = self.released, self.others
        lines = [
            f"For {percent_fixed(near.any_value)} of the people the nearest released row has a value within the "
            f"tolerance; for {percent_fixed(far.any_value)} the nearest other person of the table has.",
            f"All values are within it for {percent_fixed(near.every_value)}; for other people "
            f"{percent_fixed(far.every_value)}.",
            f"The median distance to the nearest released row is {near.distance:.3g} standard deviations, to the "
            f"nearest other person {far.distance:.3g}.",
        ]
        if near.distance < CLEARLY_NEARER * far.distance:
            lines.append("Released rows lie much nearer to people than other people do: they follow single rows.")
        return "\n".join([*lines, *self._more()])

    def _more(self) -> list[str]:
        lines: list[str] = []
        if self.membership_auc is not None:
            lines.append(f"Nearness tells who was in the table with AUC {self.membership_auc:.3f}; 0.5 is guessing.")
        if self.in_order is not None:
            rows = self.in_order
            lines.append(
                f"Row by row LID is {percent_fixed(rows.lid)}, with rows dealt anew {percent_fixed(rows.dealt_anew)}; "
                f"the own row is the nearest for {percent_fixed(rows.linked_top_1)} and among ten for "
                f"{percent_fixed(rows.linked_top_10)}."
            )
            if rows.lid <= rows.dealt_anew:
                lines.append("That is no more than chance: the rows may not be in the order of the table after all.")
        return lines


def location_risk(
    original: Any,
    released: Any,
    schema: Schema | None = None,
    columns: Sequence[str] | None = None,
    tolerance: float = TOLERANCE,
    control: Any = None,
    same_order: bool = False,
    seed: int | None = None,
) -> LocationRisk:
    """Compare each person with the nearest released row, in the numeric ``columns`` (all of both unless named).

    ``tolerance`` is a share of each column's public range. ``control`` are people who were not in the table.
    ``same_order`` vouches that released row i was made from row i; nothing can check it.
    """
    facts = schema_of(original, schema)
    names = _numeric(facts, columns)
    if not 0 < tolerance < 1:
        raise RiskError(
            f"tolerance must be a share of each column's range above 0 and below 1, found {tolerance!r}",
            next_step="use for example 0.001",
        )
    widths = np.array([float(np.ptp(np.asarray(facts[name].numeric_bounds, float))) for name in names])
    limits, generator = tolerance * widths, np.random.default_rng(seed)
    true, lost = _complete_rows(original, facts, names)
    made, also = _complete_rows(released, facts, names)
    order = _in_order(true, made, limits, lost + also, generator) if same_order else None
    people = true[generator.permutation(len(true))[:MEASURED]]
    pool = generator.permutation(len(true))[: len(made) + 1]
    spread = _spread(true)
    near, distance = _nearest_row(people, made, spread)
    return LocationRisk(
        columns=names,
        tolerance=tolerance,
        people=len(people),
        released_rows=len(made),
        left_out=lost + also,
        released=_nearness(people, near, distance, limits),
        others=_nearness(people, *_nearest_row(people, true[pool], spread, itself=True), limits),
        membership_auc=None if control is None else _membership_auc(people, made, spread, control, facts, names),
        in_order=order,
    )


def _numeric(schema: Schema, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns to compare, or refuse with every problem."""
    fits = [name for name in schema.releasable if schema[name].is_ordered]
    names = tuple(fits if columns is None else columns)
    problems = [f"no column {name!r}" for name in names if name not in schema]
    problems += [f"{name} is no number or date" for name in names if name in schema and not schema[name].is_ordered]
    if problems or not names:
        raise RiskError(
            "location needs columns of numbers or dates",
            problems or ["the table has none"],
            f"name some of: {', '.join(fits) or 'none here; use sfumato risk inference'}",
        )
    return names


def _complete_rows(source: Any, schema: Schema, names: tuple[str, ...]) -> tuple[FloatArray, int]:
    """Return the complete rows, and how many were left out."""
    points = read_rows_view(source, schema, names).points
    whole = ~np.isnan(points).any(axis=1)
    if whole.sum() < FEWEST:
        raise RiskError(
            f"{int(whole.sum())} complete rows are too few to compare", next_step="name columns without missing values"
        )
    return points[whole], int((~whole).sum())


def _nearest_row(
    people: FloatArray, rows: FloatArray, spread: FloatArray, itself: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the row nearest to each person, and how far it is; ``itself`` leaves out one equal row, the person's."""
    distance, place = _nearest(people, rows, spread, 2)
    found = np.where(itself & (distance[:, 0] == 0), 1, 0)
    each = np.arange(len(people))
    return rows[place[each, found]], distance[each, found]


def _nearness(people: FloatArray, near: FloatArray, distance: FloatArray, limits: FloatArray) -> NearestRowShare:
    within: NDArray[np.bool_] = np.abs(people - near) <= limits
    return NearestRowShare(
        float(within.any(axis=1).mean()), float(within.all(axis=1).mean()), float(np.median(distance))
    )


def _membership_auc(
    people: FloatArray, made: FloatArray, spread: FloatArray, control: Any, schema: Schema, names: tuple[str, ...]
) -> float:
    others, _ = _complete_rows(control, schema, names)
    return roc_auc(-_nearest_row(people, made, spread)[1], -_nearest_row(others, made, spread)[1])


def _in_order(
    true: FloatArray, made: FloatArray, limits: FloatArray, left_out: int, generator: np.random.Generator
) -> RowOrderDisclosure:
    """Compare row i with row i; refuse rows that cannot be in the same order."""
    if len(true) != len(made) or left_out:
        raise RiskError(
            "rows in the same order must be as many and complete on both sides",
            [f"{len(true):,} complete rows in the table, {len(made):,} in the release, {left_out:,} not complete"],
            "leave out same_order: people are then compared with the nearest released row",
        )
    linked = row_linkage(true, made)
    anew = interval_disclosure(true, made[generator.permutation(len(made))], limits).share
    return RowOrderDisclosure(interval_disclosure(true, made, limits).share, anew, linked[1], linked[10])
