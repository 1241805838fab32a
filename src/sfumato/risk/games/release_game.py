"""Any method as a game: it is run on the table with the target and on the table without, as often as needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.exact import exact
from sfumato.privacy.randomness import Randomness
from sfumato.releases.method import Method, Output
from sfumato.releases.plan import Plan
from sfumato.releases.release import describe_cost
from sfumato.risk.attack import dp_ceiling
from sfumato.risk.games.playing import Drawn
from sfumato.risk.rows import Codes, Distance, Remembered, codes_of

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.schema import Schema

Array = NDArray[np.float64]
BANDWIDTH = 0.1
"""Width of the kernel on Gower's distance behind the density of released rows at the target."""
LARGEST_SEED = 2**32


@dataclass(frozen=True, eq=False)
class ReleaseGame:
    """Releases of a method with and without one target; ``target`` and ``other`` are codes of the ``names``.

    Under replace the world without the target holds ``other`` in its place.
    """

    method: Method
    plan: Plan
    within: Remembered
    without: Remembered
    names: tuple[str, ...]
    target: Codes
    other: Codes | None = None
    rows: int | None = None
    row: int | None = None
    """Which row of the table the target is, from 0."""

    @property
    def optimal(self) -> None:
        """Not known: the law of what an arbitrary method releases has no closed form."""
        return

    @property
    def title(self) -> str:
        """What is released."""
        return self.method.name

    @property
    def makes(self) -> str:
        """Whether a release consists of counts, rows or values."""
        return self.method.makes

    @property
    def ceiling(self) -> float | None:
        """What no attack can exceed under the method's guarantee."""
        if self.plan.epsilon is None:
            return None
        return dp_ceiling(float(exact(self.plan.epsilon)), float(exact(self.plan.delta)))

    @property
    def claim(self) -> str:
        """The stated guarantee in a few words."""
        return describe_cost(self.plan) if self.ceiling is not None else ""

    @property
    def schema(self) -> Schema:
        """The table's public schema."""
        return self.within.schema

    @property
    def width(self) -> int:
        """Numbers in one release, as the attacks read it."""
        return self._width

    @cached_property
    def _width(self) -> int:
        return self.draw(False, 1, Randomness.of(0)).vectors.shape[1]

    def draw(self, member: bool, trials: int, randomness: Randomness) -> Drawn:
        """Return fresh releases of one world, each from a seed of its own."""
        table = self.within if member else self.without
        seeds = randomness.generator.integers(0, LARGEST_SEED, trials)
        pairs = [self._read(self.method.run(table, self.plan, Randomness.of(int(s)), self.rows)) for s in seeds]
        return Drawn(np.array([vector for vector, _ in pairs]), np.array([features for _, features in pairs]))

    def _read(self, output: Output) -> tuple[Array, Array]:
        if self.makes == "counts":
            return self._read_counts(output)
        table = next(iter(output.tables.values()))
        if self.makes == "rows":
            return self._read_rows(codes_of(table, self.schema, self.names))
        values = np.concatenate([_numbers(table) for table in output.tables.values()])
        return values, values

    def _read_counts(self, output: Output) -> tuple[Array, Array]:
        """Return all counts, and those of the target's cell (and of the other's) in each table."""
        parts = [table.column(table.num_columns - 1).to_numpy().astype(float) for table in output.tables.values()]
        features: list[float] = []
        for names, counts in zip(output.tables, parts, strict=True):
            features += [float(counts[self._cell(names, who)]) for who in (self.target, self.other) if who is not None]
        return np.concatenate(parts), np.array(features)

    def _cell(self, names: Sequence[str], who: Codes) -> int:
        place = [int(who[self.names.index(name)]) for name in names]
        return int(np.ravel_multi_index(place, self.schema.shape(names)))

    def _read_rows(self, codes: Codes) -> tuple[Array, Array]:
        """Return one-way counts of all columns; and copies, nearest distance, density and counts at the target."""
        shape = self.schema.shape(self.names)
        counts = [np.bincount(codes[:, i], minlength=size).astype(float) for i, size in enumerate(shape)]
        features: list[float] = [float(len(codes))]
        for who in (self.target, self.other):
            if who is not None:
                features += _around(who, codes, self._distance)
                features += [float(column[code]) for column, code in zip(counts, who, strict=True)]
        return np.concatenate(counts), np.array(features)

    @cached_property
    def _distance(self) -> Distance:
        return Distance.of(self.schema, self.names)


def _around(who: Codes, codes: Codes, distance: Distance) -> list[float]:
    """Return how the released rows lie around one record."""
    if not len(codes):
        return [1.0, 0.0, 0.0]
    apart = distance.between(who[None, :], codes)[0]
    density = np.exp(-((apart / BANDWIDTH) ** 2)).sum()
    return [float(apart.min()), float((apart == 0).sum()), float(np.log(density + 1e-12))]


def _numbers(table: pa.Table) -> Array:
    import pyarrow as pa

    kept: list[Any] = [c for c in table.columns if pa.types.is_floating(c.type) or pa.types.is_integer(c.type)]
    return np.concatenate([np.zeros(0), *(column.to_numpy().astype(float) for column in kept)])
