"""Contingency: noisy counts of every cell of one or several column sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import check_parameters
from sfumato.core.plan import Plan
from sfumato.mechanisms.noisy_marginals import Noise, NoisyMarginals, measure_marginals, parse_column_sets
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table.scan_plan import DataRequest
from sfumato.table.writing.frames import marginal_as_rows

if TYPE_CHECKING:
    from sfumato.table import Table


@checked_parameters
@dataclass(frozen=True)
class Contingency:
    """Noisy counts of every cell, empty cells included. Proof: :mod:`sfumato.mechanisms.noisy_marginals`.

    ``columns`` is one list of names, or a list of such lists; several tables share epsilon by ``shares`` (equal ones
    unless stated). Noise is Laplace and ``delta`` 0, or Gaussian where a ``delta`` is given (or
    ``noise="gaussian"``: 1e-9 unless it is). Counts are unbiased and may be negative;
    ``nonnegative=True`` clamps them, which is free but adds bias to cells that are nearly empty.

    >>> Contingency(columns=["age", "sex"], epsilon=1.0).sets
    (('age', 'sex'),)
    """

    columns: Sequence[str] | Sequence[Sequence[str]]
    epsilon: Number
    delta: Number | None = None
    noise: Noise | None = None
    shares: Sequence[Number] | None = None
    nonnegative: bool = False

    name: ClassVar[str] = "contingency"
    summary: ClassVar[str] = "noisy counts of every cell of one or several cross tables"
    about: ClassVar[str] = ""
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "counts"

    def __post_init__(self) -> None:
        check_parameters(self)
        self.measurement()

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The column sets to be released."""
        return parse_column_sets(self.columns)

    def measurement(self) -> NoisyMarginals:
        """Return what will be measured."""
        shares = None if self.shares is None else tuple(self.shares)
        return NoisyMarginals(self.name, self.sets, self.epsilon, self.delta, self.noise, shares)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        return self.measurement().plan(schema, randomness)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return (DataRequest("all tables at once", sets=self.sets),)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Count, add noise, and lay the cells out as rows."""
        noisy = measure_marginals(table.marginals(self.sets), plan, self.sets, randomness)
        if self.nonnegative:
            noisy = {names: np.maximum(counts, 0) for names, counts in noisy.items()}
        tables = {names: marginal_as_rows([table.schema[n] for n in names], counts) for names, counts in noisy.items()}
        return Output(tables, single=len(self.sets) == 1 and isinstance(next(iter(self.columns)), str))

    @classmethod
    def example(cls, schema: Schema) -> Contingency:
        """Return a small instance that fits a schema."""
        return cls(columns=list(schema.releasable[:2]), epsilon=1.0)
