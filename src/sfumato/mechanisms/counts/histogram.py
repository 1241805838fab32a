"""Histogram: noisy counts of one column, and the entropy of these counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import check_parameters
from sfumato.core.plan import Plan
from sfumato.entropy.values import shannon
from sfumato.mechanisms.counts.contingency import Contingency
from sfumato.mechanisms.noisy_marginals import Noise, NoisyMarginals
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table.scan_plan import DataRequest
from sfumato.table.writing.frames import marginal_as_rows

if TYPE_CHECKING:
    from sfumato.table import Table


@checked_parameters
@dataclass(frozen=True)
class Histogram:
    """Noisy counts of one column and the Shannon entropy of those counts.

    The entropy is computed from the released counts (negative ones as 0), so it costs nothing; noise on empty cells
    pulls it upwards, which the report says. With ``synthetic`` the noisy counts (negative ones as 0) are only a
    distribution, and what is released are the counts of rows drawn from it: as many as the noisy total says, or the
    public row count. Drawing adds chance and no privacy.

    Noise is Laplace and ``delta`` 0, or Gaussian where a ``delta`` is given (or ``noise="gaussian"``; then it is 1e-9
    unless it is given).
    """

    column: str
    epsilon: Number
    delta: Number | None = None
    noise: Noise | None = None
    nonnegative: bool = False
    synthetic: bool = False

    name: ClassVar[str] = "histogram"
    summary: ClassVar[str] = "noisy counts of one column, with the entropy of the released counts"
    about: ClassVar[str] = ""
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "counts"

    def __post_init__(self) -> None:
        check_parameters(self)
        self.measurement()

    def measurement(self) -> NoisyMarginals:
        """Return what will be measured."""
        return NoisyMarginals(self.name, ((self.column,),), self.epsilon, self.delta, self.noise)

    def _table(self) -> Contingency:
        return Contingency([self.column], self.epsilon, self.delta, self.noise, nonnegative=self.nonnegative)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        return self.measurement().plan(schema, randomness)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return (DataRequest("the counts", sets=((self.column,),)),)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Count, add noise, and compute the entropy of what is released."""
        output = self._table().run(table, plan, randomness)
        names, noisy = next(iter(output.tables.items()))
        counts = np.maximum(noisy.column(1).to_numpy(), 0)
        if self.synthetic:
            total = table.schema.rows if table.schema.rows is not None else int(counts.sum())
            counts = _sampled_counts(counts, total, randomness)
            noisy = marginal_as_rows([table.schema[self.column]], counts)
        return Output({names: noisy}, single=True, statistics={"entropy_bits": shannon(counts)})

    @classmethod
    def example(cls, schema: Schema) -> Histogram:
        """Return a small instance that fits a schema."""
        return cls(column=schema.releasable[0], epsilon=1.0)


def _sampled_counts(counts: NDArray[np.int64], total: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return the counts of ``total`` rows drawn from noisy counts; uniformly where the noise left no count above 0."""
    weights = counts if counts.sum() > 0 else np.ones_like(counts)
    return randomness.generator.multinomial(total, weights / weights.sum()).astype(np.int64)
