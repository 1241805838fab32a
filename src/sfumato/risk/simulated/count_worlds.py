"""Two worlds of counts with known noise and an exact optimal attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import Counts, FloatArray
from sfumato.errors import RiskError
from sfumato.privacy.noise import add_gaussian, add_laplace_scale
from sfumato.privacy.noise_distributions import DiscreteGaussian, Geometric, Laplace
from sfumato.privacy.randomness import Randomness
from sfumato.risk.attacks.attack import dp_ceiling
from sfumato.risk.attacks.attacker_view import IN_WORDS
from sfumato.risk.attacks.likelihood_ratio import Law, count_log_ratio, optimal_accuracy
from sfumato.risk.simulated.membership_game import ReleasedBatch


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

    @property
    def makes(self) -> str:
        """A release consists of counts."""
        return "counts"

    @property
    def seen(self) -> str:
        """Counts know values by their cells only."""
        return IN_WORDS["counts"]

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
