"""Two worlds of any method, released as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.core.method import Method, Output
from sfumato.core.plan import Plan, cost_summary
from sfumato.metrics.rows_view import CachedCounts, Codes, Points, RowsView
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks.attack import dp_ceiling
from sfumato.risk.attacks.attacker_view import BANDWIDTH, IN_WORDS, AttackerView
from sfumato.risk.simulated.membership_game import ReleasedBatch

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.schema import Schema

LARGEST_SEED = 2**32


@dataclass(frozen=True, eq=False)
class MethodWorlds:
    """Releases of a method with and without one target, the first of the ``people``.

    Under replace the world without the target holds the second of them in its place.
    """

    method: Method
    plan: Plan
    within: CachedCounts
    without: CachedCounts
    sight: AttackerView
    people: RowsView
    rows: int | None = None
    row: int | None = None
    """Which row of the table the target is, from 0."""
    told: Callable[[], None] | None = None
    """Called after each run of the method: games may take minutes."""

    @property
    def optimal(self) -> None:
        """Not known: the law of what an arbitrary method releases has no closed form."""
        return

    @property
    def log_ratio(self) -> None:
        """Not known either."""
        return

    def essential(self) -> MethodWorlds:
        """Return all of it: anything in a release may say something about the target."""
        return self

    @property
    def title(self) -> str:
        """What is released."""
        return self.method.name

    @property
    def makes(self) -> str:
        """Whether a release consists of counts, rows or values."""
        return self.method.makes

    @property
    def seen(self) -> str:
        """What an attacker sees of a release, in words."""
        return IN_WORDS[{"rows": self.sight.sees, "counts": "counts"}.get(self.makes, "numbers")]

    @property
    def ceiling(self) -> float | None:
        """What no attack can exceed under the method's guarantee."""
        if self.plan.epsilon is None:
            return None
        return dp_ceiling(float(to_fraction(self.plan.epsilon)), float(to_fraction(self.plan.delta)))

    @property
    def claim(self) -> str:
        """The stated guarantee in a few words."""
        return cost_summary(self.plan) if self.ceiling is not None else ""

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

    def draw(self, member: bool, trials: int, randomness: Randomness) -> ReleasedBatch:
        """Return fresh releases of one world, each from a seed of its own."""
        table = self.within if member else self.without
        seeds = randomness.generator.integers(0, LARGEST_SEED, trials)
        pairs = [self._one(table, Randomness.of(int(seed))) for seed in seeds]
        return ReleasedBatch(np.array([vector for vector, _ in pairs]), np.array([features for _, features in pairs]))

    def _one(self, table: CachedCounts, randomness: Randomness) -> tuple[FloatArray, FloatArray]:
        found = self._read(self.method.run(table, self.plan, randomness, self.rows))
        if self.told is not None:
            self.told()
        return found

    def _read(self, output: Output) -> tuple[FloatArray, FloatArray]:
        if self.makes == "counts":
            return self._read_counts(output)
        table = next(iter(output.tables.values()))
        if self.makes == "rows":
            return self._read_rows(self.sight.read(table))
        values = np.concatenate([_numbers(table) for table in output.tables.values()])
        return values, values

    def _read_counts(self, output: Output) -> tuple[FloatArray, FloatArray]:
        """Return all counts, and those of the target's cell (and of the other's) in each table."""
        parts = [table.column(table.num_columns - 1).to_numpy().astype(float) for table in output.tables.values()]
        features = [
            float(counts[self._cell(names, person)])
            for names, counts in zip(output.tables, parts, strict=True)
            for person in self.people.codes
        ]
        return np.concatenate(parts), np.array(features)

    def _cell(self, names: Sequence[str], person: Codes) -> int:
        place = [int(person[self.sight.names.index(name)]) for name in names]
        return int(np.ravel_multi_index(place, self.schema.shape(names)))

    def _read_rows(self, rows: RowsView) -> tuple[FloatArray, FloatArray]:
        """Return the spread of the rows over each column; and nearest, copies, density and counts at the target."""
        features: list[float] = [float(len(rows))]
        for number, person in enumerate(self.people.codes):
            features += _neighbourhood_features(self.people.points[[number]], rows.points, self.sight)
            features += [float(count) for count in (rows.codes == person).sum(axis=0)]
        return self.sight.profile(rows.points), np.array(features)


def _neighbourhood_features(person: Points, rows: Points, sight: AttackerView) -> list[float]:
    """Return how the released rows lie around one record."""
    if not len(rows):
        return [1.0, 0.0, 0.0]
    apart = sight.between(person, rows)[0]
    density = np.exp(-((apart / BANDWIDTH) ** 2)).sum()
    return [float(apart.min()), float((apart == 0).sum()), float(np.log(density + 1e-12))]


def _numbers(table: pa.Table) -> FloatArray:
    import pyarrow as pa

    kept: list[Any] = [c for c in table.columns if pa.types.is_floating(c.type) or pa.types.is_integer(c.type)]
    return np.concatenate([np.zeros(0), *(column.to_numpy().astype(float) for column in kept)])
