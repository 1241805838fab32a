"""The two worlds of an attack's game: counts with known noise, or any method run with and without a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import Counts, FloatArray
from sfumato.core.method import Method, Output
from sfumato.core.plan import Plan, cost_summary
from sfumato.errors import RiskError
from sfumato.metrics.rows_view import CachedCounts, Codes, Points, RowsView
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.noise import add_gaussian, add_laplace_scale
from sfumato.privacy.noise_distributions import DiscreteGaussian, Geometric, Laplace
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks.attack import dp_ceiling
from sfumato.risk.attacks.attacker_view import BANDWIDTH, IN_WORDS, AttackerView
from sfumato.risk.attacks.likelihood_ratio import Law, count_log_ratio, optimal_accuracy

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.schema import Schema

LARGEST_SEED = 2**32


@dataclass(frozen=True, eq=False)
class ReleasedBatch:
    """Releases of one world: each as a vector of everything in it, and as what concerns the target."""

    vectors: FloatArray
    features: FloatArray


Score = Callable[[ReleasedBatch], FloatArray]
"""Above 0 says "the target is in it", below 0 "it is not", 0 is a coin."""


@dataclass(frozen=True, eq=False)
class CountTablePair:
    """The counts of one table without and with the target, and the noise that is added to each count."""

    without: Counts
    within: Counts
    law: Law

    @property
    def moved(self) -> NDArray[np.int64]:
        """The cells in which the two worlds differ."""
        return np.flatnonzero(self.without != self.within)

    def essential(self) -> CountTablePair:
        """Return the cells that differ: independent noise on the others tells nothing."""
        return CountTablePair(self.without[self.moved], self.within[self.moved], self.law)

    def release(self, member: bool, trials: int, randomness: Randomness, secure: bool) -> FloatArray:
        """Return noisy counts, one row per trial."""
        counts = np.broadcast_to(self.within if member else self.without, (trials, len(self.within)))
        law, source = self.law, Randomness.of(None) if secure else randomness
        if isinstance(law, Geometric):
            return add_laplace_scale(counts, law.sensitivity / law.epsilon, source).astype(float)
        if isinstance(law, DiscreteGaussian):
            return add_gaussian(counts, law.sigma, source).astype(float)
        if isinstance(law, Laplace):
            return counts + randomness.generator.laplace(0, law.sensitivity / law.epsilon, counts.shape)
        return counts + randomness.generator.normal(0, law.sigma, counts.shape)

    def log_ratio(self, released: FloatArray, clamped: bool) -> FloatArray:
        """Return the log of how much likelier each release is with the target than without."""
        cells = self.moved
        values, within, without = released[:, cells], self.within[cells], self.without[cells]
        return count_log_ratio(self.law, values, within, without, clamped).sum(axis=1)


@dataclass(frozen=True, eq=False)
class CountWorlds:
    """Two worlds of noisy counts, ``without`` and ``within`` the target.

    ``epsilon`` and ``delta`` are what is claimed for tables one record apart; ``records_apart`` says how many records
    the two worlds differ in. ``secure`` draws discrete noise as real releases do, slower.

    >>> pair = CountWorlds.of([10, 4, 7], [10, 5, 7], Geometric(1.0), epsilon=1.0)
    >>> round(pair.optimal, 4), round(pair.ceiling, 4)
    (0.7311, 0.7311)
    """

    tables: tuple[CountTablePair, ...]
    epsilon: float | None = None
    delta: float = 0.0
    records_apart: int = 1
    clamped: bool = False
    secure: bool = False
    title: str = "noisy counts"
    row: int | None = None
    """Which row of a table the target is, from 0."""

    makes: ClassVar[str] = "counts"
    seen: ClassVar[str] = IN_WORDS["counts"]

    @classmethod
    def of(
        cls,
        without: ArrayLike,
        within: ArrayLike,
        law: Law,
        epsilon: float | None = None,
        delta: float = 0.0,
        records_apart: int = 1,
        secure: bool = False,
    ) -> CountWorlds:
        """Return a pair of single tables."""
        arrays = [np.asarray(counts).ravel() for counts in (without, within)]
        if arrays[0].shape != arrays[1].shape or any(array.dtype.kind not in "iu" for array in arrays):
            raise RiskError(
                f"two tables of whole counts and of one shape are needed, found {arrays[0].dtype} {arrays[0].shape} "
                f"and {arrays[1].dtype} {arrays[1].shape}",
                next_step="give integer counts of the same cells",
            )
        table = CountTablePair(arrays[0].astype(np.int64), arrays[1].astype(np.int64), law)
        return cls((table,), epsilon, delta, records_apart, secure=secure)

    @property
    def ceiling(self) -> float | None:
        """What no attack can exceed under the claimed guarantee."""
        return None if self.epsilon is None else dp_ceiling(self.epsilon, self.delta, self.records_apart)

    @property
    def claim(self) -> str:
        """The claimed guarantee in a few words."""
        if self.epsilon is None:
            return ""
        delta = f", delta {self.delta:.3g}" if self.delta else ""
        apart = f", two tables {self.records_apart} records apart" if self.records_apart > 1 else ""
        return f"epsilon {self.epsilon:g}{delta}{apart}"

    @property
    def optimal(self) -> float | None:
        """What the best attack reaches; none where no exact sum is feasible."""
        moved = [table.essential() for table in self.tables]
        laws = [table.law for table in moved for _ in table.within]
        shifts = [int(s) for table in moved for s in table.within - table.without]
        zeros = [int(c) for table in moved for c in table.without] if self.clamped else None
        try:
            return optimal_accuracy(laws, shifts, zeros)
        except RiskError:
            return None

    @property
    def width(self) -> int:
        """Counts in one release."""
        return sum(len(table.within) for table in self.tables)

    def essential(self) -> CountWorlds:
        """Return the pair reduced to the cells that differ; nothing about the target is lost."""
        return replace(self, tables=tuple(table.essential() for table in self.tables))

    def draw(self, member: bool, trials: int, randomness: Randomness) -> ReleasedBatch:
        """Return fresh releases of one world; the features are the counts of the cells that differ."""
        released = [table.release(member, trials, randomness, self.secure) for table in self.tables]
        if self.clamped:
            released = [np.maximum(counts, 0) for counts in released]
        features = [counts[:, table.moved] for counts, table in zip(released, self.tables, strict=True)]
        return ReleasedBatch(np.concatenate(released, axis=1), np.concatenate(features, axis=1))

    def log_ratio(self, vectors: FloatArray) -> FloatArray:
        """Return the log-likelihood ratio of each release."""
        ends = np.cumsum([len(table.within) for table in self.tables])
        parts: Sequence[FloatArray] = np.split(vectors, ends[:-1], axis=1)
        ratios = [t.log_ratio(part, self.clamped) for t, part in zip(self.tables, parts, strict=True)]
        return np.sum(ratios, axis=0)


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

    optimal: ClassVar[None] = None
    log_ratio: ClassVar[None] = None
    """Neither is known: the law of what an arbitrary method releases has no closed form."""

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

    @cached_property
    def width(self) -> int:
        """Numbers in one release, as the attacks read it."""
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


Worlds = CountWorlds | MethodWorlds
"""Two worlds that can be released as often as one likes."""
