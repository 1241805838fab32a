"""The pseudo posterior with a guarantee: a clipped posterior or noisy statistics, and synthetic predictors.

Proof note. The parameters of the target given its predictors are drawn by :mod:`sfumato.synthesizers.pseudo.clipped`
or from :mod:`sfumato.synthesizers.pseudo.statistics`, at their own cost. The predictors are synthesised from noisy
marginals (:mod:`sfumato.releases.marginals`) with a third of the budget. Released rows are made from these alone, so
the whole table carries the guarantee; costs add up. Where the predictors are declared public, all of the budget goes to
the target, neighbours differ in the target value of one row, and the statement says so. Public: schema, families,
budget, number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.columns import Column
from sfumato.errors import PlanError
from sfumato.privacy.event import Event, Part
from sfumato.privacy.exact import exact, text
from sfumato.privacy.randomness import Randomness
from sfumato.releases.marginals import Marginals, fit_noisy, noisy_total
from sfumato.releases.measurement import measure
from sfumato.releases.method import Output
from sfumato.releases.plan import Plan, Stage, event_facts, unit_of
from sfumato.releases.sampling import Values, draw_values, refuse_impossible_rules, rows_table, sample_values
from sfumato.releases.tree import TreeModel
from sfumato.schema import Schema
from sfumato.synthesizers.pseudo.clipped import ClippedPosterior, RegressionDraw
from sfumato.synthesizers.pseudo.design import Design
from sfumato.synthesizers.pseudo.private_choice import PREDICTOR_SHARE, recommended
from sfumato.synthesizers.pseudo.public_box import public_box
from sfumato.synthesizers.pseudo.release_rows import released_values
from sfumato.synthesizers.pseudo.sequential import REGRESSIONS, ColumnModel, into_domain
from sfumato.synthesizers.pseudo.statistics import NoisyStatistics
from sfumato.table.rows import row_values

if TYPE_CHECKING:
    from sfumato.synthesizers.pseudo_posterior import PseudoPosterior
    from sfumato.table import Table

MOST_EXACT = 2
"""Columns of the design up to which a clipped posterior is drawn exactly from its grid."""
BYTES_PER_VALUE = 64


@dataclass(frozen=True)
class PrivateRegression:
    """One target with a guarantee, on one schema."""

    method: PseudoPosterior
    schema: Schema
    model: ColumnModel
    rows: int | None = None
    """Rows to make, where they are stated: public, and a guess of the size of the table."""

    @classmethod
    def of(cls, method: PseudoPosterior, schema: Schema, rows: int | None = None) -> PrivateRegression:
        """Return the mechanism, or refuse what it cannot protect."""
        problems: list[str] = []
        models = list(method.models(schema))
        if len(models) > 1 or models[0].family not in REGRESSIONS:
            problems.append(f"a private standard models one numeric target as normal or lognormal, found "
                            f"{', '.join(f'{m.column.name} as {m.family}' for m in models)}")  # fmt: skip
        if schema.rows_per_person > 1:
            problems.append(f"a person may hold {schema.rows_per_person} rows, and one row is protected")
        if method.public_predictors and not method.predictors:
            problems.append("public_predictors needs predictors")
        if method.public_predictors and schema.adjacency != "replace":
            problems.append("public predictors show who is in the table: state adjacency 'replace' and the public rows")
        if problems:
            raise PlanError(f"cannot plan {method.name} on table {schema.name!r}", problems,
                            "use marginals for other columns, or a published standard")  # fmt: skip
        return cls(method, schema, models[0], rows)

    @property
    def keeps_predictors(self) -> bool:
        """Whether predictors are released as they are, because they are public."""
        return self.method.public_predictors

    @property
    def design(self) -> Design:
        """How predictors enter: numbers and indicators, all within [-1, 1]."""
        return Design(self.model.given)

    @property
    def budgets(self) -> tuple[Fraction, Fraction]:
        """What the predictors and the target given them may cost."""
        whole = exact(self.method.target_epsilon or 0, "target_epsilon")
        share = PREDICTOR_SHARE if self.model.given and not self.keeps_predictors else Fraction(0)
        return whole * share, whole * (1 - share)

    @property
    def deltas(self) -> tuple[Fraction, Fraction]:
        """How delta is divided; a clipped posterior needs none."""
        whole = exact(self.method.delta, "delta")
        both = bool(self.budgets[0]) and self.chosen(self.rows) == "statistics"
        return (whole / 2, whole / 2) if both else (whole, whole) if not self.budgets[0] else (whole, Fraction(0))

    def chosen(self, rows: int | None) -> str:
        """Return "clipped" or "statistics": as stated, or by the rule of the page."""
        if self.method.standard != "private":
            return self.method.standard
        if len(self.design.names) > MOST_EXACT:
            return "statistics"
        public = self.schema.rows or rows
        return recommended(public, self.budgets[1]) if public else "clipped"

    def clipped(self) -> ClippedPosterior:
        """Return the clipped posterior; several copies share the budget."""
        column = self.model.column
        low, high = (float(bound) for bound in column.numeric_bounds)
        scale: Any = self.model.family
        box = public_box((low, high), [(-1.0, 1.0)] * len(self.design.names), scale)
        return ClippedPosterior(box=box, epsilon=self.budgets[1] / self.method.copies, adjacency=self.schema.adjacency)

    def statistics(self) -> NoisyStatistics:
        """Return the noisy statistics."""
        low, high = (float(bound) for bound in self.model.column.numeric_bounds)
        scale: Any = self.model.family
        return NoisyStatistics(target=(low, high), predictors=((-1.0, 1.0),) * len(self.design.names), scale=scale,
                               epsilon=self.budgets[1], delta=self.deltas[1], adjacency=self.schema.adjacency,
                               rows=self.schema.rows)  # fmt: skip

    def predictors(self) -> Marginals:
        """Return the synthesizer of the predictors."""
        names = [column.name for column in self.model.given]
        return Marginals(self.budgets[0], names, delta=self.deltas[0])

    def plan(self, rows: int | None, randomness: str) -> Plan:
        """Return cost and needs from public facts alone."""
        stages, events = self._target(rows, randomness)
        if self.budgets[0]:
            first = self.predictors().plan(self.schema, randomness=randomness)
            stages = (*first.stages, *stages)
            events = (*(event.model_copy(update={"method": self.method.name}) for event in first.events), *events)
        refuse_impossible_rules(self.schema, self.method.released_columns(self.schema))
        count = self._count(rows)
        cost = (sum(Fraction(e.epsilon or 0) for e in events), sum(Fraction(exact(e.delta)) for e in events))
        return Plan(
            method=self.method.name, table=self.schema.name, adjacency=self.schema.adjacency, unit=unit_of(self.schema),
            epsilon=text(Fraction(cost[0])), delta=text(Fraction(cost[1])), stages=stages, events=events,
            cells=sum(stage.cells for stage in stages), rows=count, assumptions=self._assumptions(),
            memory_bytes=(count or self.schema.rows or 1) * BYTES_PER_VALUE * (1 + len(self.model.given)),
        )  # fmt: skip

    def _count(self, rows: int | None) -> int | None:
        if self.keeps_predictors:
            return None
        count = rows if rows is not None else self.schema.rows
        if count is None and not self.budgets[0]:
            raise PlanError("without predictors the number of rows to make must be stated",
                            next_step="give rows, for example --rows 1000")  # fmt: skip
        return count

    def _assumptions(self) -> tuple[str, ...]:
        if not self.keeps_predictors:
            return ()
        names = ", ".join(column.name for column in self.model.given)
        return (f"the predictors ({names}) and the number of rows are public and released as they are; what is hidden "
                f"is the value of {self.model.column.name} in any one row",)  # fmt: skip

    def _target(self, rows: int | None, randomness: str) -> tuple[tuple[Stage, ...], tuple[Event, ...]]:
        facts = event_facts(self.method.name, self.schema, randomness)
        epsilon, name = self.budgets[1], f"{self.model.column.name} given its predictors"
        said = "; ".join(self._assumptions())
        if self.chosen(rows) == "clipped":
            posterior = self.clipped()
            part = Part(stage=name, cells=self.method.copies, scale=float(1 / posterior.strength))
            event = Event(kind="clipped-posterior", epsilon=text(epsilon), parts=(part,), note=said, **facts)
            words, shown = f"clipped posterior, W = {posterior.width:.3g}", part.scale
        else:
            noisy = self.statistics()
            part, delta = noisy.part.model_copy(update={"stage": name}), exact(noisy.delta)
            kind = "lattice-gaussian" if delta else "discrete-laplace"
            event = Event(kind=kind, epsilon=text(epsilon), delta=text(delta), parts=(part,), note=said, **facts)
            words, shown = "noisy statistics, on a lattice", part.scale / part.sensitivity
        stage = Stage(name=name, cells=part.cells, noise=words, scale=shown, epsilon=text(epsilon),
                      share=text(1 - PREDICTOR_SHARE) if self.budgets[0] else "1")  # fmt: skip
        return (stage,), (event,)

    def run(self, table: Table, plan: Plan, randomness: Randomness) -> Output:
        """Draw the parameters, then make rows from them."""
        names = [column.name for column in self.model.given]
        values = row_values(table, [self.model.column.name, *names])
        tree, total = self._predictor_model(table, plan, randomness)
        count = len(values[self.model.column.name]) if self.keeps_predictors else plan.rows or max(round(total), 1)
        tables: dict[tuple[str, ...], Any] = {}
        redrawn = replaced = 0
        for i, draw in enumerate(self._draws(values, plan, randomness), 1):
            make = self._maker(draw, tree, values if self.keeps_predictors else None, randomness)
            sampled = sample_values(self.schema, make, count, randomness.generator)
            redrawn, replaced = redrawn + sampled.redrawn, replaced + sampled.replaced
            key = (f"synthetic-{i}",) if self.method.copies > 1 else ("synthetic",)
            tables[key] = rows_table(self.schema, sampled.values)
        facts = {"standard": self.chosen(plan.rows), "family": self.model.family, "copies": self.method.copies,
                 "not_synthesised": names if self.keeps_predictors else [], "rows_redrawn_for_rules": redrawn,
                 "rows_replaced_for_rules": replaced}  # fmt: skip
        return Output(tables, single=self.method.copies == 1, statistics=facts)

    def _predictor_model(self, table: Table, plan: Plan, randomness: Randomness) -> tuple[TreeModel | None, float]:
        if not self.budgets[0]:
            return None, float(self.schema.rows or 0)
        measured = self.predictors().measurement(self.schema)
        learned = plan.model_copy(update={"events": plan.events[:1]})
        noisy = measure(table.marginals(measured.sets), learned, measured.sets, randomness)
        total = float(self.schema.rows) if self.schema.rows is not None else noisy_total(noisy)
        return fit_noisy(noisy, learned, total), total

    def _draws(self, values: dict[str, NDArray[Any]], plan: Plan, randomness: Randomness) -> Iterator[RegressionDraw]:
        target = values[self.model.column.name]
        design = self.design.matrix(values, len(target)) if self.model.given else None
        if self.chosen(plan.rows) == "clipped":
            posterior = self.clipped()
            law = posterior.law(target, design)
            for _ in range(self.method.copies):
                yield posterior.release(law, randomness.uniform)
            return
        moments = self.statistics().release([(target, design)], randomness)
        for _ in range(self.method.copies):
            yield moments.draw(randomness.generator)

    def _maker(self, draw: RegressionDraw, tree: TreeModel | None, known: dict[str, NDArray[Any]] | None,
               randomness: Randomness) -> Any:  # fmt: skip
        """Return what makes rows: predictors from the noisy tree, or the public ones, and a target for each."""
        generator, column = randomness.generator, self.model.column

        def make(count: int) -> Values:
            rows: dict[str, NDArray[Any]] = {}
            if known is not None:
                rows = {c.name: known[c.name] for c in self.model.given}
            elif tree is not None:
                rows = _predictor_values(self.model.given, tree.draw(count, generator), generator)
            design = self.design.matrix(rows, count) if self.model.given else ()
            target, _ = into_domain(column, draw.synthesise(design, generator, count))
            return {
                name: released_values(self.schema[name], found)
                for name, found in (rows | {column.name: target}).items()
            }

        return make


def _predictor_values(columns: tuple[Column, ...], codes: dict[str, NDArray[np.int64]],
                      generator: np.random.Generator) -> dict[str, NDArray[Any]]:  # fmt: skip
    """Return numbers within their bins, and codes of levels."""
    return {c.name: np.asarray(draw_values(c, codes[c.name], generator)[0], float) if c.is_ordered else codes[c.name]
            for c in columns}  # fmt: skip
