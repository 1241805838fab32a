"""Several sensitive attributes: which of them does one noisy cell give away? Definitions 5 and 6 of the paper, exactly.

The cross table of the identifiers and of q sensitive attributes is published with noise. A cell is homogeneous in an
attribute when all its surviving counts agree in it; *complete* when that holds for every attribute, *partial* when it
holds for some, *heterogeneous* when it holds for none. For a set J of attributes let H_J be "homogeneous in every
attribute of J": then all surviving counts agree in the combination of values of J. The counts of one combination
vanish together with probability R = the product of their r(n), and one of them survives with 1 - R. So H_J is "exactly
one combination of J survives", with the same O(K) sum as for one attribute. The events H_J are intersections of the
H_j, and so are the events "and the reading is right for a random record". Inclusion and exclusion over the 2^q - 1
sets gives "at least one":

    P(some) = sum over J of (-1)^(|J| + 1) P(H_J),   partial = some - complete.

Every one of these is the probability of an event about independent counts, so the inverse search applies as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import BoolArray, Counts, FloatArray
from sfumato.errors import ResourceError, RiskError
from sfumato.privacy.noise.distributions import NoiseLaw
from sfumato.risk.homogeneity.cells import Cells, View, check_columns, require_view
from sfumato.risk.homogeneity.local import single_survivor
from sfumato.schema import Schema
from sfumato.table.counting import count_nonempty_cells

if TYPE_CHECKING:
    from sfumato.table import Table

MOST_ATTRIBUTES = 6
MOST_COUNTS = 20_000_000
"""Occupied cells times combinations of sensitive values, which are held at once."""


@dataclass(frozen=True)
class JointCells:
    """Occupied cells of a table with several sensitive attributes: ``counts`` has an axis for each, after the cells'.

    These are confidential counts. ``keys[i]`` are the cell's public identifier codes.
    """

    schema: Schema
    identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    keys: NDArray[np.int64]
    counts: Counts

    @classmethod
    def of(
        cls, table: Table, identifiers: Sequence[str] | None = None, sensitive: Sequence[str] | None = None
    ) -> JointCells:
        """Count the cells on the table's engine; columns by schema role when not named."""
        names, targets = check_columns(table.schema, identifiers, sensitive, "several")
        codes, counts = count_nonempty_cells(table.source.engine, table.schema, (*names, *targets))
        keys, place = np.unique(codes[:, : len(names)], axis=0, return_inverse=True)
        shape = (len(keys), *table.schema.shape(targets))
        if (needed := int(np.prod(shape, dtype=float))) > MOST_COUNTS:
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
        return self.counts.reshape(len(self.counts), -1).sum(axis=1)

    def one(self, name: str) -> Cells:
        """Return the cells by one of the sensitive attributes."""
        axis = self.sensitive.index(name)
        return Cells(self.schema, self.identifiers, name, self.keys, project(self.counts, (axis,)))

    @cached_property
    def agreements(self) -> NDArray[np.int64]:
        """In how many attributes each cell is homogeneous, without noise."""
        return np.array([self.one(name).homogeneous for name in self.sensitive], np.int64).sum(axis=0)

    @property
    def complete(self) -> BoolArray:
        """Cells that are homogeneous in every attribute (definition 5)."""
        return self.agreements == len(self.sensitive)

    @property
    def partial(self) -> BoolArray:
        """Cells that are homogeneous in some attributes, but not in all."""
        return (self.agreements > 0) & ~self.complete

    @property
    def heterogeneous(self) -> BoolArray:
        """Cells that are homogeneous in no attribute (definition 6)."""
        return self.agreements == 0


@dataclass(frozen=True)
class SeveralRisk:
    """The risk of each cell: of each attribute alone, of all together, and of at least one."""

    each: tuple[FloatArray, ...]
    complete: FloatArray
    some: FloatArray

    @property
    def partial(self) -> FloatArray:
        """The chance that some attributes are read, but not all."""
        return self.some - self.complete


def several(counts: ArrayLike | JointCells, noise: NoiseLaw, view: View = "record") -> SeveralRisk:
    """Return the exact risk of every cell; ``counts`` has cells on its first axis and an attribute on each other one.

    View ``record``: the values that are read are those of a random record of the cell. View ``any``: values are read,
    right or wrong. The conservative view has no "at least one" of this form and is refused: take it attribute by
    attribute, with :func:`local`.

    >>> from sfumato.privacy.noise.distributions import Geometric
    >>> found = several([[[3, 0], [0, 0]], [[2, 1], [0, 0]]], Geometric(2.0))
    >>> found.complete.round(3).tolist(), found.some.round(3).tolist()
    ([0.682, 0.064], [0.867, 0.783])
    """
    require_view(view)
    if view == "conservative":
        raise RiskError("several attributes have the views record and any", next_step="use view='record'")
    array = _joint(counts)
    attributes = range(array.ndim - 1)
    survive, vanish = noise.survival(array), noise.vanishing(array)
    risk = {
        chosen: _agreeing(array, survive, vanish, chosen, view)
        for size in range(1, array.ndim)
        for chosen in combinations(attributes, size)
    }
    some = sum(((-1) ** (len(chosen) + 1) * value for chosen, value in risk.items()), np.zeros(len(array)))
    return SeveralRisk(tuple(risk[j,] for j in attributes), risk[tuple(attributes)], np.clip(some, 0.0, 1.0))


def project(values: NDArray[np.int64], chosen: tuple[int, ...]) -> Counts:
    """Return the counts by the combinations of the chosen attributes."""
    others = tuple(axis + 1 for axis in range(values.ndim - 1) if axis not in chosen)
    return values.sum(axis=others).reshape(len(values), -1)


def _agreeing(
    array: Counts, survive: FloatArray, vanish: FloatArray, chosen: tuple[int, ...], view: View
) -> FloatArray:
    """Return the chance that exactly one combination of the chosen attributes survives."""
    others = tuple(axis + 1 for axis in range(array.ndim - 1) if axis not in chosen)
    gone = vanish.prod(axis=others).reshape(len(array), -1)
    stays = 1 - gone if others else survive.reshape(len(array), -1)
    return single_survivor(project(array, chosen), stays, gone, view)


def _joint(counts: ArrayLike | JointCells) -> Counts:
    array = np.asarray(counts.counts if isinstance(counts, JointCells) else counts)
    problems: list[str] = []
    if array.ndim < 3:
        problems.append(f"found {array.ndim} dimensions; one for the cells and one for each of two attributes or more")
    if array.ndim - 1 > MOST_ATTRIBUTES:
        problems.append(f"found {array.ndim - 1} attributes; {MOST_ATTRIBUTES} are the most")
    if array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        problems.append("counts must be whole numbers of 0 or more")
    if any(length < 2 for length in array.shape[1:]):
        problems.append("an attribute has fewer than two values")
    if problems:
        raise RiskError("these are not counts of several attributes", problems, "take them from JointCells.of(table)")
    return array.astype(np.int64, copy=False)
