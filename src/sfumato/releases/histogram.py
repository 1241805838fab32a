"""A histogram of one column, with its entropy as free post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.entropy import shannon
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness
from sfumato.releases.contingency import Contingency
from sfumato.releases.measurement import Measurement, Noise
from sfumato.releases.method import Output
from sfumato.releases.plan import Plan
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.table import Table


@dataclass(frozen=True)
class Histogram:
    """Noisy counts of one column and the Shannon entropy of those counts.

    The entropy is computed from the released counts (negative ones as 0), so it costs nothing; noise on empty cells
    pulls it upwards, which the report says.
    """

    column: str
    epsilon: Number
    delta: Number = 0
    noise: Noise | None = None
    nonnegative: bool = False

    name: ClassVar[str] = "histogram"
    summary: ClassVar[str] = "noisy counts of one column, with the entropy of the released counts"
    formal: ClassVar[bool] = True
    makes_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.measurement()

    def measurement(self) -> Measurement:
        """Return what will be measured."""
        return Measurement(self.name, ((self.column,),), self.epsilon, self.delta, self.noise)

    def _table(self) -> Contingency:
        return Contingency([self.column], self.epsilon, self.delta, self.noise, nonnegative=self.nonnegative)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        return self.measurement().plan(schema, randomness)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Count, add noise, and compute the entropy of what is released."""
        output = self._table().run(table, plan, randomness)
        counts = np.maximum(next(iter(output.tables.values())).column(1).to_numpy(), 0)
        return Output(output.tables, single=True, statistics={"entropy_bits": shannon(counts)})

    @classmethod
    def example(cls, schema: Schema) -> Histogram:
        """Return a small instance that fits a schema."""
        return cls(column=schema.releasable[0], epsilon=1.0)
