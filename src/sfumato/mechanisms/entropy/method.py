"""EntropyRelease: the Shannon or Renyi entropy of columns, with its own budget.

Proof note. Adjacency: the schema's. Under replace the number of rows n is public and the sensitivity D of the entropy
over tables of n rows is exact (see :mod:`sfumato.entropy.sensitivity`). Under add-remove n is private,
and noise scaled
by it would give it away; so the scale rests on a public lower bound b. A table with fewer rows is filled up to b with
rows of the first cell, so nothing is promised about the private size: below b, adding a row moves one of b rows;
from b on it adds one. D is the largest change over all of these, times the rows that one person may hold. The entropy
is rounded to a lattice of step D / 2^16: two neighbours lie at most 2^16 + 1 units apart, one more covers rounding in
floating point, and discrete Laplace noise at that sensitivity is epsilon-DP. Clamping to [0, log2 cells] is
post-processing. Public: schema, columns, order, epsilon, n or b.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import ColumnSet, Makes, Output
from sfumato.core.parameters import check_parameters, pure_delta_problems
from sfumato.core.plan import Plan, Stage, event_facts, exact_cost
from sfumato.entropy.sensitivity import sensitivity
from sfumato.entropy.values import check_order, renyi
from sfumato.errors import PlanError
from sfumato.mechanisms.noisy_marginals import NoisyMarginals, parse_column_sets
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.exact import Number, to_fraction
from sfumato.privacy.noise import add_laplace_scale, laplace_scale
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

UNITS = 2**16
"""Lattice units per sensitivity: rounding widens the noise by 3 in 100,000."""
SLACK = 2
NEAR_SHANNON = 1e-2
"""Orders nearer to 1 than this, but not 1, are refused: dividing by 1 - order would magnify rounding."""
FINEST_STEP = 2.0**-40
"""Step of the lattice, in bits, below which rounding of the entropy itself could reach a unit."""
KEY: ColumnSet = ("entropy",)


@checked_parameters
@dataclass(frozen=True)
class EntropyRelease:
    """The Shannon or Renyi entropy of one column, or of several together, with its own budget.

    ``order`` 1 is Shannon, 0 the support, 2 the collision entropy, infinity the min-entropy. Under add-remove
    ``rows_at_least`` is a public lower bound on the number of rows: the larger, the less noise. The noise is pure:
    ``delta`` is 0.
    """

    column: str | Sequence[str]
    epsilon: Number
    order: float | str = 1.0
    rows_at_least: int | None = None
    delta: Number | None = None

    name: ClassVar[str] = "entropy"
    summary: ClassVar[str] = "the entropy of one or several columns as a single noisy number"
    about: ClassVar[str] = (
        "The noise does not depend on how the counts are spread, so a column with many empty cells is no worse than "
        "any other. No counts are released."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "values"

    def __post_init__(self) -> None:
        check_parameters(self, pure_delta_problems(self.delta))
        check_order(self.renyi_order)
        if 0 < abs(self.renyi_order - 1) < NEAR_SHANNON:
            raise PlanError(
                f"order {self.renyi_order!r} is too near 1: its formula loses digits that the proof needs",
                next_step="use order 1, the Shannon entropy",
            )
        # infinity has no number in JSON, so that the parameters of a release write it as a word
        object.__setattr__(self, "order", "inf" if math.isinf(self.renyi_order) else self.renyi_order)
        if self.rows_at_least is not None:
            object.__setattr__(self, "rows_at_least", _whole(self.rows_at_least))
        self._counts()

    @property
    def renyi_order(self) -> float:
        """The order as a number."""
        try:
            return float(self.order)
        except ValueError:
            raise PlanError(
                f"the order must be a number or 'inf', found {self.order!r}", next_step="use 1 for Shannon"
            ) from None

    def _counts(self) -> NoisyMarginals:
        """Return the counts behind the entropy; it checks the budget and the columns."""
        return NoisyMarginals(self.name, parse_column_sets(self.column), self.epsilon)

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        counted = self._counts().plan(schema, randomness)
        bound = self.bound(schema)
        scale = laplace_scale(self.epsilon, UNITS + SLACK)
        stage = f"entropy of {' x '.join(self._counts().sets[0])}"
        part = EventPart(stage=stage, cells=1, sensitivity=UNITS + SLACK, scale=scale)
        event = Event(
            kind="discrete-laplace",
            parts=(part,),
            note=f"lattice step {bound / UNITS!r} bits",
            **exact_cost(self.epsilon),
            **event_facts(self.name, schema, randomness),
        )
        shown = Stage.of(part, "discrete laplace", to_fraction(self.epsilon), "1", scale * bound / UNITS)
        return counted.model_copy(update={"events": (event,), "stages": (shown,), "cells": 1})

    def bound(self, schema: Schema) -> float:
        """Return the public sensitivity in bits."""
        cells = math.prod(schema.shape(self._counts().sets[0]))
        if cells == 1:
            raise PlanError(
                f"column {self.column!r} has one cell: its entropy is 0, and nothing needs releasing",
                next_step="choose a column with at least two cells",
            )
        if schema.rows is not None:
            return _check_lower_bound(sensitivity(schema.rows, cells, self.renyi_order, "replace"), schema.rows)
        least = self._least(schema)
        moved = sensitivity(least, cells, self.renyi_order, "replace")
        added = sensitivity(_worst_size(least, cells, self.renyi_order), cells, self.renyi_order, "add-remove")
        return schema.rows_per_person * _check_lower_bound(max(moved, added), least)

    def _least(self, schema: Schema) -> int:
        if self.rows_at_least is None:
            raise PlanError(
                f"the number of rows of table {schema.name!r} is private, and the noise must not depend on it",
                next_step="give a public lower bound: rows_at_least=1000",
            )
        if 1 < self.renyi_order < math.inf:
            raise PlanError(
                f"order {self.order} has no proved sensitivity over all sizes from a lower bound on",
                next_step="use an order of at most 1 or infinity, or adjacency 'replace' with a public row count",
            )
        return self.rows_at_least

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return (DataRequest("the counts", sets=(self._counts().sets[0],)),)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Count, take the entropy, round it to the lattice, add noise."""
        step = self.bound(table.schema) / UNITS
        units = np.array([round(self._entropy(table) / step)])
        noisy = float(add_laplace_scale(units, plan.events[0].parts[0].scale, randomness)[0]) * step
        most = math.log2(math.prod(table.schema.shape(self._counts().sets[0])))
        released = min(max(noisy, 0.0), most)
        return Output({KEY: self._table(released, plan)}, single=True, statistics=self._statistics(released, plan))

    def true_values(self, table: Table) -> Mapping[ColumnSet, pa.Table]:
        """Return the entropy without noise: confidential."""
        plan = self.plan(table.schema)
        return {KEY: self._table(self._entropy(table), plan)}

    def _entropy(self, table: Table) -> float:
        names = self._counts().sets[0]
        counts = table.marginals([names])[names]
        return renyi(
            counts if table.schema.rows is not None else _pad_to_lower_bound(counts, self.rows_at_least or 0),
            self.renyi_order,
        )

    def _table(self, entropy: float, plan: Plan) -> pa.Table:
        columns = " x ".join(self._counts().sets[0])
        spread = plan.stages[0].scale * math.sqrt(2)
        return pa.table(
            {"column": [columns], "order": [f"{self.renyi_order:g}"], "entropy_bits": [entropy], "noise_sd": [spread]}
        )

    def _statistics(self, released: float, plan: Plan) -> dict[str, float | str]:
        scale = plan.stages[0].scale
        return {
            "released_entropy_bits": released,
            "entropy_order": f"{self.renyi_order:g}",
            "mean_absolute_error_bits": scale,
        }

    @classmethod
    def example(cls, schema: Schema) -> EntropyRelease:
        """Return a small instance that fits a schema."""
        return cls(column=schema.releasable[0], epsilon=1.0, rows_at_least=100)


def _pad_to_lower_bound(counts: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Return the counts with rows of the first cell added up to the public lower bound."""
    filled = counts.copy()
    filled.flat[0] += max(least - int(counts.sum()), 0)
    return filled


def _worst_size(least: int, cells: int, order: float) -> int:
    """Return the size, from the lower bound on, at which one more row changes the entropy most.

    Orders up to 1: the change falls with n. Infinity: with M = ceil(n / cells) it rises with n while M stays and falls
    with M, so it is largest at the end of the first block.
    """
    return least if order <= 1 else cells * math.ceil(least / cells)


def _check_lower_bound(bound: float, rows: int) -> float:
    if bound / UNITS >= FINEST_STEP:
        return float(bound)
    if bound > 0:
        raise PlanError(
            f"with {rows:,} rows one record moves the entropy by too little for exact noise",
            next_step="give a smaller public lower bound, or release the counts",
        )
    raise PlanError(f"with {rows} row the entropy is always 0", next_step="a table needs at least two rows")


def _whole(rows: int) -> int:
    number = to_fraction(rows, "rows_at_least")
    if number.denominator != 1 or number < 2:
        raise PlanError(
            f"rows_at_least must be a whole number of at least 2, found {rows}",
            next_step="give a public lower bound on the number of rows, for example 1000",
        )
    return int(number)
