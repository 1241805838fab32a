"""The pseudo posterior with a guarantee: a clipped posterior or noisy statistics, and synthetic predictors.

Proof note. The parameters of the target given its predictors are drawn by
:mod:`sfumato.methods.pseudo_posterior.private.clipped` or from
:mod:`sfumato.methods.pseudo_posterior.private.statistics`, at their own cost. The predictors are synthesised from
noisy marginals (:mod:`sfumato.methods.marginals.method`) with a third of the budget. Released rows are made from these
alone, so the whole table carries the guarantee; costs add up. Where the predictors are declared public, all of the
budget goes to the target, and neighbours differ in the target value of one row: that is the unit of the event, so that
no ledger adds it to what protects rows. Targets that break a rule are then drawn again for their own predictors;
whether they do depends on public predictors and drawn parameters alone. Public: schema, families, budget, number of
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.methods.marginals.method import Marginals
from sfumato.methods.pseudo_posterior.families.design import Design
from sfumato.methods.pseudo_posterior.private.choice import PREDICTOR_SHARE, recommended
from sfumato.methods.pseudo_posterior.private.clipped import ClippedPosterior, RegressionDraw
from sfumato.methods.pseudo_posterior.private.public_box import public_box
from sfumato.methods.pseudo_posterior.private.statistics import NoisyStatistics
from sfumato.methods.pseudo_posterior.published.sequential import REGRESSIONS, ColumnModel, into_domain
from sfumato.privacy.accounting.event import Event, Part
from sfumato.privacy.exact import exact, text
from sfumato.privacy.randomness import Randomness
from sfumato.release.measurement import measure
from sfumato.release.method import Output
from sfumato.release.plan import (
    LARGEST_SAMPLE,
    Plan,
    Stage,
    event_facts,
    memory_limit,
    refuse_memory,
    unit_of,
)
from sfumato.rows.draw import Sampled, rule_notes, rule_statistics, sample_values
from sfumato.rows.released import as_they_are, redrawn_in_place, released_values
from sfumato.rows.rules.refuse import refuse_impossible_rules
from sfumato.rows.tree import TreeModel, fit_noisy, noisy_total
from sfumato.rows.values import Values, draw_values, rows_table
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.table.rows import row_values

if TYPE_CHECKING:
    from sfumato.methods.pseudo_posterior.method import PseudoPosterior
    from sfumato.table import Table

MOST_EXACT = 2
"""Columns of the design up to which a clipped posterior is drawn exactly from its grid."""
BYTES_PER_VALUE = 64
LARGEST_SCALE = 2.0**54
"""Noise of this scale leaves the 64-bit integers with a probability below exp(-250)."""


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
            problems.append(
                f"a private standard models one numeric target as normal or lognormal, found "
                f"{', '.join(f'{m.column.name} as {m.family}' for m in models)}"
            )
        if schema.rows_per_person > 1:
            problems.append(f"a person may hold {schema.rows_per_person} rows, and one row is protected")
        if method.public_predictors and not method.predictors:
            problems.append("public_predictors needs predictors")
        if method.public_predictors and schema.adjacency != "replace":
            problems.append("public predictors show who is in the table: state adjacency 'replace' and the public rows")
        if problems:
            raise PlanError(
                f"cannot plan {method.name} on table {schema.name!r}",
                problems,
                "use marginals for other columns, or a published standard",
            )
        return cls(method, schema, models[0], rows)

    @property
    def keeps_predictors(self) -> bool:
        """Whether predictors are released as they are, because they are public."""
        return self.method.public_predictors

    @property
    def unit(self) -> str:
        """What one neighbouring change changes: a row, or nothing but its target where the predictors are public."""
        return f"the value of {self.model.column.name} in one row" if self.keeps_predictors else unit_of(self.schema)

    @property
    def kept_names(self) -> tuple[str, ...]:
        """The columns that are released as they are."""
        return tuple(column.name for column in self.model.given) if self.keeps_predictors else ()

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
        return NoisyStatistics(
            target=(low, high),
            predictors=((-1.0, 1.0),) * len(self.design.names),
            scale=scale,
            epsilon=self.budgets[1],
            delta=self.deltas[1],
            adjacency=self.schema.adjacency,
            rows=self.schema.rows,
        )

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
        memory = max(count or 1, self.schema.rows or 1) * self._row_bytes * self.method.copies
        refuse_memory(memory, "the rows and their copies", "ask for fewer rows or copies")
        cost = (sum(Fraction(e.epsilon or 0) for e in events), sum(Fraction(exact(e.delta)) for e in events))
        return Plan(
            method=self.method.name,
            table=self.schema.name,
            adjacency=self.schema.adjacency,
            unit=self.unit,
            epsilon=text(Fraction(cost[0])),
            delta=text(Fraction(cost[1])),
            stages=stages,
            events=events,
            cells=sum(stage.cells for stage in stages),
            rows=count,
            assumptions=self._assumptions(),
            memory_bytes=memory,
            notes=self._notes(rows),
        )

    @property
    def _row_bytes(self) -> int:
        return BYTES_PER_VALUE * (1 + len(self.model.given))

    def _notes(self, rows: int | None) -> tuple[str, ...]:
        ignored = ("rows is ignored: public predictors decide how many there are",) if rows is not None else ()
        return (*as_they_are(self.kept_names), *(ignored if self.keeps_predictors else ()))

    def _count(self, rows: int | None) -> int | None:
        if self.keeps_predictors:
            return None
        count = rows if rows is not None else self.schema.rows
        if count is None and not self.budgets[0]:
            raise PlanError(
                "without predictors the number of rows to make must be stated",
                next_step="give rows, for example --rows 1000",
            )
        return count

    def _assumptions(self) -> tuple[str, ...]:
        if not self.keeps_predictors:
            return ()
        names = ", ".join(column.name for column in self.model.given)
        return (
            f"the predictors ({names}) and the number of rows are public and released as they are; what is hidden "
            f"is the value of {self.model.column.name} in any one row",
        )

    def _target(self, rows: int | None, randomness: str) -> tuple[tuple[Stage, ...], tuple[Event, ...]]:
        facts: dict[str, Any] = {**event_facts(self.method.name, self.schema, randomness), "unit": self.unit}
        epsilon, name = self.budgets[1], f"{self.model.column.name} given its predictors"
        said = "; ".join((*as_they_are(self.kept_names), *self._assumptions()))
        if self.chosen(rows) == "clipped":
            posterior = self.clipped()
            part = Part(stage=name, cells=self.method.copies, scale=float(1 / posterior.strength))
            event = Event(kind="clipped-posterior", epsilon=text(epsilon), parts=(part,), note=said, **facts)
            words, shown = f"clipped posterior, W = {posterior.width:.3g}", part.scale
        else:
            noisy = self.statistics()
            part, delta = noisy.part.model_copy(update={"stage": name}), exact(noisy.delta)
            _refuse_scale(part.scale)
            kind = "lattice-gaussian" if delta else "discrete-laplace"
            event = Event(kind=kind, epsilon=text(epsilon), delta=text(delta), parts=(part,), note=said, **facts)
            words, shown = "noisy statistics, on a lattice", part.scale / part.sensitivity
        stage = Stage(
            name=name,
            cells=part.cells,
            noise=words,
            scale=shown,
            epsilon=text(epsilon),
            share=text(1 - PREDICTOR_SHARE) if self.budgets[0] else "1",
        )
        return (stage,), (event,)

    def run(self, table: Table, plan: Plan, randomness: Randomness) -> Output:
        """Draw the parameters, then make rows from them."""
        values = row_values(table, [self.model.column.name, *(column.name for column in self.model.given)])
        tree, total = self._predictor_model(table, plan, randomness)
        count = plan.rows or self._affordable(total)
        tables: dict[tuple[str, ...], pa.Table] = {}
        drawn: list[Sampled] = []
        for i, draw in enumerate(self._draws(values, plan, randomness), 1):
            key = (f"synthetic-{i}",) if self.method.copies > 1 else ("synthetic",)
            if self.keeps_predictors:
                drawn.append(self._with_public(draw, values, randomness.generator))
            else:
                drawn.append(self._synthetic(draw, tree, count, randomness.generator))
            tables[key] = rows_table(self.schema, drawn[-1].values)
        said = {
            "standard": self.chosen(plan.rows),
            "family": self.model.family,
            "copies": self.method.copies,
            "not_synthesised": list(self.kept_names),
        }
        facts = said | rule_statistics(drawn)
        return Output(tables, single=self.method.copies == 1, statistics=facts, notes=rule_notes(drawn))

    def _affordable(self, total: float) -> int:
        """Return the noisy number of rows within public limits: noise can make it larger than any memory."""
        most = memory_limit() // (self._row_bytes * self.method.copies)
        return max(min(round(total), LARGEST_SAMPLE, most), 1)

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

    def _synthetic(
        self,
        draw: RegressionDraw,
        tree: TreeModel | None,
        count: int,
        generator: np.random.Generator,
    ) -> Sampled:
        """Return rows with predictors from the noisy tree and a target for each."""

        def make(wanted: int) -> Values:
            codes = {} if tree is None else tree.draw(wanted, generator)
            given = () if tree is None else self.model.given
            return self._completed(draw, _predictor_values(given, codes, generator), wanted, generator)

        return sample_values(self.schema, make, count, generator)

    def _with_public(
        self,
        draw: RegressionDraw,
        known: dict[str, NDArray[Any]],
        generator: np.random.Generator,
    ) -> Sampled:
        """Return the public predictors with a target for each, and how many rows the rules cost."""

        def make(places: NDArray[np.int64]) -> Values:
            given = {name: known[name][places] for name in self.kept_names}
            return self._completed(draw, given, len(places), generator)

        rows = len(known[self.model.column.name])
        return redrawn_in_place(self.schema, make, rows, generator, self.kept_names)

    def _completed(
        self, draw: RegressionDraw, given: dict[str, NDArray[Any]], rows: int, generator: np.random.Generator
    ) -> Values:
        """Return predictors and a fresh target for each of them, as they are released."""
        column = self.model.column
        design = self.design.matrix(given, rows) if self.model.given else ()
        target, _ = into_domain(column, draw.synthesise(design, generator, rows))
        return {
            name: released_values(self.schema[name], found) for name, found in (given | {column.name: target}).items()
        }


def _refuse_scale(scale: float) -> None:
    """Refuse noise that 64-bit sums could not hold."""
    if not scale <= LARGEST_SCALE:
        raise PlanError(
            "the noise of this budget does not fit into machine numbers",
            next_step="give a larger target_epsilon, or fewer predictors",
        )


def _predictor_values(
    columns: tuple[Column, ...], codes: Mapping[str, NDArray[np.int64]], generator: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return numbers within their bins, and codes of levels."""
    return {
        c.name: np.asarray(draw_values(c, codes[c.name], generator)[0], float) if c.is_ordered else codes[c.name]
        for c in columns
    }
