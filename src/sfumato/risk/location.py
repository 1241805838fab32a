"""Location-based interval disclosure and row linkage: the measures of the two-stage paper, with what they hide.

The arithmetic is in :mod:`sfumato.rows.interval_disclosure`, below the methods that blend rows up to a target. Here
stands the measure for any release of rows, ``location_risk``. LID compares a released row with the row that it was made
from. Only a method knows which that is: released rows are shuffled, and comparing row i with row i then measures
nothing. So each person is compared with the **nearest** released row, which is what an attacker who holds the record
can do, and beside it stands the nearest **other person** of the table, who is near by chance alone. Only where somebody
vouches that the rows are in the same order (``same_order``) is row i compared with row i, and then beside rows dealt
anew. All of it is measured on confidential rows, for the custodian, and guarantees nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RiskError
from sfumato.rows.coded import seen_rows
from sfumato.rows.interval_disclosure import Array as Array
from sfumato.rows.interval_disclosure import Blend as Blend
from sfumato.rows.interval_disclosure import Finish as Finish
from sfumato.rows.interval_disclosure import IntervalDisclosure as IntervalDisclosure
from sfumato.rows.interval_disclosure import Tolerance as Tolerance
from sfumato.rows.interval_disclosure import blend_for as blend_for
from sfumato.rows.interval_disclosure import blended as blended
from sfumato.rows.interval_disclosure import corrected_inverse as corrected_inverse
from sfumato.rows.interval_disclosure import interval_disclosure as interval_disclosure
from sfumato.rows.interval_disclosure import nearness_auc
from sfumato.rows.interval_disclosure import printed_inverse as printed_inverse
from sfumato.rows.interval_disclosure import published_bound as published_bound
from sfumato.rows.interval_disclosure import row_linkage as row_linkage
from sfumato.schema import Schema
from sfumato.table import Table

TOLERANCE = 0.001
MEASURED = 20_000
"""People that are measured, at most: a sample where there are more."""
FEWEST = 3
MUCH_NEARER = 0.8
"""Below this share of the distance to other people chance is no explanation for hundreds of people."""


@dataclass(frozen=True)
class Nearness:
    """How near the nearest of some rows lies to each person."""

    any_value: float
    """Share of people with at least one value within the tolerance of that row's: LID by the nearest row."""
    every_value: float
    """Share of people all of whose values are within the tolerance: a row like theirs is there."""
    distance: float
    """Median distance, Euclidean, in standard deviations of the true columns."""


@dataclass(frozen=True)
class InOrder:
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
    released: Nearness
    others: Nearness
    """The same with other people of the table in the place of the release, as many as it has rows at most."""
    membership_auc: float | None
    """With people who were not in the table: chance that one who was lies nearer to the release. 0.5 is guessing."""
    in_order: InOrder | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def statement(self) -> str:
        """Return the result in plain words."""
        near, far = self.released, self.others
        lines = [
            f"For {_percent(near.any_value)} of the people the nearest released row has a value within the tolerance; "
            f"for {_percent(far.any_value)} the nearest other person of the table has.",
            f"All values are within it for {_percent(near.every_value)}; for other people {_percent(far.every_value)}.",
            f"The median distance to the nearest released row is {near.distance:.3g} standard deviations, to the "
            f"nearest other person {far.distance:.3g}.",
        ]
        if near.distance < MUCH_NEARER * far.distance:
            lines.append("Released rows lie much nearer to people than other people do: they follow single rows.")
        return "\n".join([*lines, *self._more()])

    def _more(self) -> list[str]:
        lines: list[str] = []
        if self.membership_auc is not None:
            lines.append(f"Nearness tells who was in the table with AUC {self.membership_auc:.3f}; 0.5 is guessing.")
        if self.in_order is not None:
            rows = self.in_order
            lines.append(
                f"Row by row LID is {_percent(rows.lid)}, with rows dealt anew {_percent(rows.dealt_anew)}; the own "
                f"row is the nearest for {_percent(rows.linked_top_1)} and among ten for "
                f"{_percent(rows.linked_top_10)}."
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
    facts = original.schema if schema is None and isinstance(original, Table) else schema
    if facts is None:
        raise RiskError("no schema is given", next_step="give a table from sfumato.read(...), or schema=...")
    names = _numeric(facts, columns)
    _require(tolerance)
    widths = np.array([float(np.ptp(np.asarray(facts[name].numeric_bounds, float))) for name in names])
    limits, generator = tolerance * widths, np.random.default_rng(seed)
    true, lost = _complete(original, facts, names)
    made, also = _complete(released, facts, names)
    order = _in_order(true, made, limits, lost + also, generator) if same_order else None
    people = true[generator.permutation(len(true))[:MEASURED]]
    pool = generator.permutation(len(true))[: len(made) + 1]
    spread = np.where(true.std(axis=0) > 0, true.std(axis=0), 1.0)
    near, distance = _nearest(people, made, spread)
    return LocationRisk(
        columns=names,
        tolerance=tolerance,
        people=len(people),
        released_rows=len(made),
        left_out=lost + also,
        released=_nearness(people, near, distance, limits),
        others=_nearness(people, *_nearest(people, true[pool], spread, itself=True), limits),
        membership_auc=None if control is None else _membership(people, made, spread, control, facts, names),
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


def _require(tolerance: float) -> None:
    if not 0 < tolerance < 1:
        raise RiskError(
            f"tolerance must be a share of each column's range above 0 and below 1, found {tolerance!r}",
            next_step="use for example 0.001",
        )


def _complete(source: Any, schema: Schema, names: tuple[str, ...]) -> tuple[Array, int]:
    """Return the complete rows, and how many were left out."""
    points = seen_rows(source, schema, names).points
    whole = ~np.isnan(points).any(axis=1)
    if whole.sum() < FEWEST:
        raise RiskError(
            f"{int(whole.sum())} complete rows are too few to compare", next_step="name columns without missing values"
        )
    return points[whole], int((~whole).sum())


def _nearest(people: Array, rows: Array, spread: Array, itself: bool = False) -> tuple[Array, Array]:
    """Return the row nearest to each person, and how far it is; ``itself`` leaves out one equal row, the person's."""
    from scipy.spatial import KDTree

    answer: Any = KDTree(rows / spread).query(people / spread, k=2)
    distance, place = answer
    found = np.where(itself & (distance[:, 0] == 0), 1, 0)
    each = np.arange(len(people))
    return rows[place[each, found]], distance[each, found]


def _nearness(people: Array, near: Array, distance: Array, limits: Array) -> Nearness:
    within: NDArray[np.bool_] = np.abs(people - near) <= limits
    return Nearness(float(within.any(axis=1).mean()), float(within.all(axis=1).mean()), float(np.median(distance)))


def _membership(
    people: Array, made: Array, spread: Array, control: Any, schema: Schema, names: tuple[str, ...]
) -> float:
    others, _ = _complete(control, schema, names)
    return nearness_auc(_nearest(people, made, spread)[1], _nearest(others, made, spread)[1])


def _in_order(true: Array, made: Array, limits: Array, left_out: int, generator: np.random.Generator) -> InOrder:
    """Compare row i with row i; refuse rows that cannot be in the same order."""
    if len(true) != len(made) or left_out:
        raise RiskError(
            "rows in the same order must be as many and complete on both sides",
            [f"{len(true):,} complete rows in the table, {len(made):,} in the release, {left_out:,} not complete"],
            "leave out same_order: people are then compared with the nearest released row",
        )
    linked = row_linkage(true, made)
    anew = interval_disclosure(true, made[generator.permutation(len(made))], limits).share
    return InOrder(interval_disclosure(true, made, limits).share, anew, linked[1], linked[10])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
