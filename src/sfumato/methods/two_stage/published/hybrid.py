"""The hybrid step: each original row is blended with the synthetic row that it is matched to.

``alpha`` is the weight of the original row. It is given, or the largest one that keeps the interval disclosure (LID) of
the rows as they are released at or below ``max_lid``. Blended rows are a convolution of both distributions and no
mixture: with rows paired at random the spread shrinks, and it is the matching that keeps the marginals. The rows are
shuffled. Heuristic: no differential privacy; alpha, the pairs and all that is measured come from the confidential rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError
from sfumato.methods.two_stage.published.matching import match
from sfumato.rows.interval_disclosure import (
    Finish,
    IntervalDisclosure,
    Tolerance,
    blend_for,
    blended,
    interval_disclosure,
)

LABEL = "heuristic: no differential privacy"

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hybrid:
    """Blended rows in their shuffled order. Only ``rows`` would leave the custodian, and without a guarantee."""

    rows: Array
    order: NDArray[np.int64]
    """Original row from which each released row is made: for the custodian's measures, never for release."""
    matched: Array
    """Synthetic row of each original row, in the order of the original."""
    alpha: float
    disclosure: IntervalDisclosure
    """Measured on rows in the order of the original."""
    displacement: Array
    """How far each original row moved: Euclidean, in standard deviations of the original columns."""
    matching: str
    floor: float
    """LID of these pairs at alpha 0, as they would be released: no smaller one can be had with them."""
    label: str = LABEL

    @property
    def lid(self) -> float:
        """Share of rows with a value within the tolerance of their own."""
        return self.disclosure.share

    @property
    def aligned(self) -> Array:
        """The released rows back in the order of the original: for measuring, never for release."""
        rows = np.empty_like(self.rows)
        rows[self.order] = self.rows
        return rows


def hybrid(
    original: ArrayLike,
    synthetic: ArrayLike,
    *,
    tolerance: Tolerance,
    generator: np.random.Generator,
    alpha: float | None = None,
    max_lid: float | None = None,
    matching: str = "rounds",
    scaled: bool = True,
    finish: Finish | None = None,
) -> Hybrid:
    """Match, blend and shuffle. Give either ``alpha`` or ``max_lid``.

    ``tolerance`` is one number, or one for each column, in the unit of the table. ``finish`` turns blended rows into
    released ones, by rounding whole columns for example: everything is solved and measured on its result.

    >>> generator = np.random.default_rng(1)
    >>> x, s = generator.random((200, 3)), generator.random((200, 3))
    >>> made = hybrid(x, s, max_lid=0.2, tolerance=0.001, generator=generator)
    >>> made.lid <= 0.2, 0 < made.alpha < 1, made.label
    (True, True, 'heuristic: no differential privacy')
    """
    _check_choice(alpha, max_lid)
    rows = np.asarray(original, np.float64)
    made = np.asarray(synthetic, np.float64)
    # Bad rows or tolerances are refused here, before the matching takes its time.
    interval_disclosure(rows, rows, tolerance)
    matched = made[match(rows, made, matching, generator, scaled=scaled)]
    if max_lid is not None:
        alpha = blend_for(max_lid, rows, matched, tolerance, finish).alpha
    weight = float(alpha or 0.0)
    aligned, bare = (blended(rows, matched, each) for each in (weight, 0.0))
    if finish is not None:
        aligned, bare = finish(aligned), finish(bare)
    floor = interval_disclosure(rows, bare, tolerance).share
    order = generator.permutation(len(rows))
    return Hybrid(
        rows=aligned[order],
        order=order,
        matched=matched,
        alpha=weight,
        floor=floor,
        matching=matching,
        disclosure=interval_disclosure(rows, aligned, tolerance),
        displacement=_displacement(rows, aligned),
    )


def _check_choice(alpha: float | None, max_lid: float | None) -> None:
    if (alpha is None) == (max_lid is None):
        raise PlanError("give either alpha or max_lid, and not both", next_step="use for example max_lid=0.05")
    if alpha is not None and not 0 <= alpha <= 1:
        raise PlanError(
            f"alpha is the weight of the original rows, between 0 and 1, found {alpha!r}",
            next_step="use for example alpha=0.5",
        )


def _displacement(original: Array, released: Array) -> Array:
    spread = original.std(axis=0)
    spread[spread == 0] = 1.0
    return np.linalg.norm((original - released) / spread, axis=1)
