"""Run a private pseudo posterior: read the rows once, draw private parameters, make rows from them alone.

Proof note. The parameters of the target given its predictors are drawn by
:mod:`sfumato.mechanisms.pseudo_posterior.clipped_posterior`, or from
:mod:`sfumato.mechanisms.pseudo_posterior.sufficient_statistics` (numbers) or
:mod:`sfumato.mechanisms.pseudo_posterior.dirichlet_levels` (levels), at their own cost. The predictors are
synthesised from
noisy marginals (:mod:`sfumato.mechanisms.marginals.method`) with a third of the budget. Released rows are made from
these
alone, so the whole table carries the guarantee; costs add up. Where the predictors are declared public, all of the
budget goes to the target, and neighbours differ in the target value of one row: that is the unit of the event, so that
no ledger adds it to what protects rows. With brackets, neighbours differ in where within its public bracket the target
of one row lies: another unit again, which names the edges; the bracket of a row is not protected. Targets that break a
rule are then drawn again for their own predictors; whether they do depends on public predictors and drawn parameters
alone. Public: schema, families, budget, number of rows, and predictors and brackets where they are declared so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.constraints.draw_rows import (
    DrawnRows,
    redraw_targets_in_place,
    repair_statistics,
    rule_notes,
    sample_values,
)
from sfumato.core.method import Output
from sfumato.core.plan import Plan, sample_size
from sfumato.mechanisms.noisy_marginals import measure_marginals
from sfumato.mechanisms.pseudo_posterior.clipped_posterior import RegressionDraw
from sfumato.mechanisms.pseudo_posterior.dirichlet_levels import LevelShares
from sfumato.mechanisms.pseudo_posterior.plan import PrivateTarget
from sfumato.mechanisms.tree_model import TreeModel, fit_tree_to_plan, noisy_total
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.design_matrix import into_domain
from sfumato.sampling.values import Values, draw_values, rows_table, values_of_column
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.rows import column_arrays

if TYPE_CHECKING:
    from sfumato.table import Table

Draw = RegressionDraw | LevelShares
"""One draw of the parameters, from which any number of targets can be made."""


@dataclass(frozen=True)
class TargetRun:
    """The private half of a release: it reads the rows once, draws parameters, and makes rows from them alone."""

    public: PrivateTarget

    def run(self, table: Table, plan: Plan, randomness: Randomness) -> Output:
        """Draw the parameters, then make rows from them."""
        values = column_arrays(table, self.public.modelled)
        tree, total = self._predictor_model(table, plan, randomness)
        count = sample_size(plan, total, len(self.public.modelled) * self.public.copies)
        tables: dict[tuple[str, ...], pa.Table] = {}
        drawn: list[DrawnRows] = []
        for i, draw in enumerate(self._draws(values, plan, randomness), 1):
            key = (f"synthetic-{i}",) if self.public.copies > 1 else ("synthetic",)
            schema = (drawn[0].bound if drawn else None) or self.public.schema
            if self.public.public_predictors:
                drawn.append(self._with_public(schema, draw, values, randomness.generator))
            else:
                drawn.append(self._synthetic(schema, draw, tree, count, randomness.generator))
            tables[key] = rows_table(self.public.schema, drawn[-1].values)
        choices = {
            "way": self.public.chosen(plan.rows),
            "family": self.public.model.family,
            "copies": self.public.copies,
            "not_synthesised": list(self.public.kept_names),
        }
        facts = choices | repair_statistics(drawn)
        return Output(tables, single=self.public.copies == 1, statistics=facts, notes=rule_notes(drawn))

    def _predictor_model(self, table: Table, plan: Plan, randomness: Randomness) -> tuple[TreeModel | None, float]:
        if not self.public.budgets[0]:
            return None, float(self.public.schema.rows or 0)
        measured = self.public.predictor_tables()
        learned = plan.model_copy(update={"events": plan.events[:1]})
        noisy = measure_marginals(table.marginals(measured.sets), learned, measured.sets, randomness)
        total = float(self.public.schema.rows) if self.public.schema.rows is not None else noisy_total(noisy)
        return fit_tree_to_plan(noisy, learned, total), total

    def _draws(self, values: dict[str, NDArray[Any]], plan: Plan, randomness: Randomness) -> Iterator[Draw]:
        target = values[self.public.model.column.name]
        design = self.public.model.design(values, len(target))
        if self.public.chosen(plan.rows) == "clipped":
            posterior = self.public.clipped()
            law = posterior.law(target, design)
            for _ in range(self.public.copies):
                yield posterior.release(law, randomness.uniform)
            return
        moments = self.public.statistics().release([(target, design)], randomness)
        for _ in range(self.public.copies):
            yield moments.draw(randomness.generator)

    def _synthetic(
        self,
        schema: Schema,
        draw: Draw,
        tree: TreeModel | None,
        count: int,
        generator: np.random.Generator,
    ) -> DrawnRows:
        """Return rows with predictors from the noisy tree and a target for each."""

        def make(wanted: int) -> Values:
            codes = {} if tree is None else tree.draw(wanted, generator)
            given = () if tree is None else self.public.model.given
            return self._completed(draw, _predictor_values(given, codes, generator), wanted, generator)

        return sample_values(schema, make, count, generator)

    def _with_public(
        self,
        schema: Schema,
        draw: Draw,
        known: dict[str, NDArray[Any]],
        generator: np.random.Generator,
    ) -> DrawnRows:
        """Return the public predictors with a target for each, and how many rows the rules cost."""

        def make(places: NDArray[np.int64]) -> Values:
            given = {name: known[name][places] for name in self.public.kept_names}
            return self._completed(draw, given, len(places), generator)

        rows = len(known[self.public.model.column.name])
        return redraw_targets_in_place(schema, make, rows, generator, self.public.kept_names)

    def _completed(
        self, draw: Draw, given: dict[str, NDArray[Any]], rows: int, generator: np.random.Generator
    ) -> Values:
        """Return predictors and a fresh target for each of them, as they are released."""
        column = self.public.model.column
        design = self.public.model.design(given, rows)
        target, _ = into_domain(column, draw.synthesise(design, generator, rows))
        return {
            name: values_of_column(self.public.schema[name], found)
            for name, found in (given | {column.name: target}).items()
        }


def _predictor_values(
    columns: tuple[Column, ...], codes: Mapping[str, NDArray[np.int64]], generator: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return numbers within their bins, and codes of levels."""
    return {
        c.name: np.asarray(draw_values(c, codes[c.name], generator)[0], float) if c.is_ordered else codes[c.name]
        for c in columns
    }
