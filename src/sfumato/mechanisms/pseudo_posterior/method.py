"""PseudoPosterior: synthetic values of one column given predictors, with a guarantee.

What the paper printed, posteriors weighted by risk, is the sibling ``PseudoPosterior.as_published``
(:mod:`sfumato.papers.range_restriction.published.method`): exposures, without a formal guarantee.

A run reads the rows once, draws private parameters, and makes rows from them alone.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.constraints.draw_rows import (
    DrawnRows,
    redraw_targets_in_place,
    repair_statistics,
    rule_notes,
    sample_values,
)
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import (
    check_parameters,
    epsilon_problems,
    name_problems,
    number_problems,
    word_problems,
)
from sfumato.core.plan import Plan, check_row_count, sample_size
from sfumato.core.registry import PublishedForm
from sfumato.errors import PlanError
from sfumato.mechanisms.noisy_marginals import measure_marginals
from sfumato.mechanisms.pseudo_posterior.clipped_posterior import RegressionDraw
from sfumato.mechanisms.pseudo_posterior.column_models import (
    CODES,
    REGRESSIONS,
    column_model,
    naming_problems,
    predictors_of,
    public_edges,
    refuse_columns,
)
from sfumato.mechanisms.pseudo_posterior.dirichlet_levels import LevelShares
from sfumato.mechanisms.pseudo_posterior.plan import WAYS, PrivateTarget
from sfumato.mechanisms.tree_model import TreeModel, fit_tree_to_plan, noisy_total
from sfumato.privacy.exact import Number, shorten_for_message, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.design_matrix import into_domain
from sfumato.sampling.values import Values, draw_values, rows_table, values_of_column
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import complete_numbers, names_of
from sfumato.table.rows import column_arrays
from sfumato.table.scan_plan import DataRequest

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


FAMILIES = (*REGRESSIONS, *CODES, "auto")

MOST_COPIES = 1000


@checked_parameters
@dataclass(frozen=True)
class PseudoPosterior:
    """Synthetic values of one column given predictors, differentially private at ``epsilon``.

    ``predictors`` may be "none"; they are synthesised too, unless ``public_predictors`` says that everybody knows
    them. ``family`` is "normal", "lognormal", "categorical", "binary" or "auto". ``way`` is how the parameters are
    drawn: from a "clipped" posterior, from noisy "statistics", or, as "auto", by whichever is the better at the public
    number of rows; levels are drawn from noisy counts.

    ``brackets`` ("schema", the public bins of the target, or a list of edges) says that everybody knows which bracket
    the target of each row lies in. Only where within its bracket it lies is then protected, at less noise; the bracket
    is not.

    Without ``delta`` the release is pure, whichever way it goes; a delta above 0 buys Gaussian noise on statistics and
    on the counts of predictors. Several ``copies`` have a parameter draw each, and share the budget.
    """

    target: str
    predictors: Sequence[str]
    family: str
    epsilon: Number
    delta: Number | None = None
    way: str = "auto"
    copies: int = 1
    public_predictors: bool = False
    brackets: str | Sequence[Number] | None = None

    name: ClassVar[str] = "pseudo-posterior"
    summary: ClassVar[str] = "a synthetic column drawn from a posterior that is clipped or fitted to noisy statistics"
    about: ClassVar[str] = (
        "The target column is drawn from a model. Predictors are released as they are where they were declared public; "
        "otherwise they are synthetic, too."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"
    as_published: ClassVar[PublishedForm] = PublishedForm("pseudo-posterior-as-published")

    def __post_init__(self) -> None:
        check_parameters(self, self._problems())
        object.__setattr__(self, "predictors", predictors_of(self.predictors))
        object.__setattr__(self, "copies", int(to_fraction(self.copies, "copies")))
        if self.brackets is not None and not isinstance(self.brackets, str):
            object.__setattr__(self, "brackets", tuple(self.brackets))

    def _problems(self) -> list[str]:
        unnamed = name_problems(self.target, "target") + name_problems(self.predictors or (), "predictors")
        problems = [] if unnamed else naming_problems(names_of(self.target), predictors_of(self.predictors))
        if self.family not in FAMILIES:
            known = ", ".join(FAMILIES)
            problems.append(
                f"family {shorten_for_message(self.family)} has no form with a guarantee; use one of {known}"
            )
        problems += check_brackets(self.brackets)
        problems += word_problems(self.way, "way", WAYS)
        problems += number_problems(self.copies, "copies", "1", str(MOST_COPIES), whole=True)
        if self.delta is not None:
            problems += number_problems(self.delta, "delta", "0", "0.999999")
        return problems + epsilon_problems(self.epsilon)

    def private_target(self, schema: Schema, rows: int | None = None) -> PrivateTarget:
        """Return what is drawn on a schema; ``rows`` are those to make, where they are stated."""
        refuse_columns(self.name, schema, (self.target, *self.predictors))
        model = column_model(schema, self.target, self.predictors, self.family)
        return PrivateTarget(
            method=self.name,
            schema=schema,
            model=model,
            epsilon=to_fraction(self.epsilon, "epsilon"),
            delta=to_fraction(0 if self.delta is None else self.delta, "delta"),
            way=self.way,
            copies=self.copies,
            public_predictors=self.public_predictors,
            rows=rows,
            brackets=self._edges(model.column),
        )

    def _edges(self, target: Column) -> tuple[float, ...] | None:
        """Return the edges of the brackets, where there are any; a target of levels is refused with the rest."""
        if self.brackets is None:
            return None
        if isinstance(self.brackets, str):
            return tuple(public_edges(target))
        return tuple(float(to_fraction(edge, "brackets")) for edge in self.brackets)

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release: what is not named is left out."""
        return schema.in_order((self.target, *self.predictors))

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        check_row_count(rows)
        return self.private_target(schema, rows).plan(rows, randomness)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        target = self.private_target(schema, rows)
        records = DataRequest("the target and its predictors", "rows")
        if not target.budgets[0]:
            return (records,)
        return records, DataRequest("tables of the predictors", sets=target.predictor_tables().sets)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Read the rows, draw the parameters, and synthesise."""
        return TargetRun(self.private_target(table.schema, rows)).run(table, plan, randomness)

    @classmethod
    def example(cls, schema: Schema) -> PseudoPosterior:
        """Return a small instance that fits a schema."""
        first, second = complete_numbers(schema)[:2]
        return cls(first, [second], "normal", epsilon=2.0, way="statistics")


def check_brackets(brackets: Any) -> list[str]:
    """Return what is wrong with brackets as far as no column need be known.

    >>> check_brackets("schema"), check_brackets([0, 10, 100])
    ([], [])
    """
    wanted = "brackets must be 'schema' or a list of rising edges, such as [0, 10, 100]"
    if brackets is None or isinstance(brackets, str):
        return [] if brackets in (None, "schema") else [f"{wanted}, found {shorten_for_message(brackets)}"]
    try:
        edges = [to_fraction(edge, "brackets") for edge in brackets]
    except (PlanError, TypeError):
        return []  # said with the types of all parameters
    rising = len(edges) > 1 and all(a < b for a, b in pairwise(edges))
    return [] if rising else [f"{wanted}, found {shorten_for_message(brackets)}"]
