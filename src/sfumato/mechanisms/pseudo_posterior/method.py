"""PseudoPosterior: synthetic values of one column given predictors, with a guarantee.

What the paper printed, posteriors weighted by risk, is the sibling ``PseudoPosterior.as_published``
(:mod:`sfumato.papers.range_restriction.published.method`): exposures, without a formal guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.argument_errors import checked_parameters
from sfumato.core.method import Makes, Output
from sfumato.core.parameters import (
    check_parameters,
    epsilon_problems,
    name_problems,
    number_problems,
    word_problems,
)
from sfumato.core.plan import Plan, check_row_count
from sfumato.core.registry import PublishedForm
from sfumato.errors import PlanError
from sfumato.mechanisms.pseudo_posterior.column_models import (
    CODES,
    REGRESSIONS,
    column_model,
    naming_problems,
    predictors_of,
    public_edges,
    refuse_columns,
)
from sfumato.mechanisms.pseudo_posterior.plan import WAYS, PrivateTarget
from sfumato.mechanisms.pseudo_posterior.run import TargetRun
from sfumato.privacy.exact import Number, shorten_for_message, to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import complete_numbers, names_of
from sfumato.table.scan_plan import DataRequest

if TYPE_CHECKING:
    from sfumato.table import Table

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
