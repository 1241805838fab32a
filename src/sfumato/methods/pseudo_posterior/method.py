"""Synthetic columns drawn from a posterior with a guarantee that is proved, for every table and every number of rows.

What the paper printed, posteriors weighted by risk, is the sibling ``PseudoPosterior.as_published``
(:mod:`sfumato.methods.pseudo_posterior.published.method`): exposures, without a formal guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.methods.pseudo_posterior.models import (
    REGRESSIONS,
    column_models,
    complete_numbers,
    names_of,
    naming_problems,
    predictors_of,
    refuse_columns,
)
from sfumato.methods.pseudo_posterior.plan import WAYS, PrivateRegression
from sfumato.methods.pseudo_posterior.published.method import PseudoPosteriorAsPublished
from sfumato.methods.pseudo_posterior.run import RegressionRun
from sfumato.privacy.exact import Number, exact, in_short
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Makes, Output
from sfumato.release.parameters import (
    epsilon_problems,
    name_problems,
    number_problems,
    sound_parameters,
    word_problems,
)
from sfumato.release.plan import Plan, sound_rows
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sfumato.table import Table

FAMILIES = (*REGRESSIONS, "auto")
MOST_COPIES = 1000


@dataclass(frozen=True)
class PseudoPosterior:
    """Synthetic values of one numeric column given predictors, differentially private at ``epsilon``.

    ``predictors`` may be "none"; they are synthesised too, unless ``public_predictors`` says that everybody knows
    them. ``family`` is "normal", "lognormal" or "auto". ``way`` is how the parameters are drawn: from a "clipped"
    posterior, from noisy "statistics", or, as "auto", by whichever is the better at the public number of rows.

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

    name: ClassVar[str] = "pseudo-posterior"
    summary: ClassVar[str] = "a synthetic column drawn from a posterior that is clipped or fitted to noisy statistics"
    about: ClassVar[str] = (
        "The target column is drawn from a model. Predictors are released as they are where they were declared public; "
        "otherwise they are synthetic, too."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"
    as_published: ClassVar[type[PseudoPosteriorAsPublished]] = PseudoPosteriorAsPublished

    def __post_init__(self) -> None:
        sound_parameters(self, self._problems())
        object.__setattr__(self, "predictors", predictors_of(self.predictors))
        object.__setattr__(self, "copies", int(exact(self.copies, "copies")))

    def _problems(self) -> list[str]:
        unnamed = name_problems(self.target, "target") + name_problems(self.predictors or (), "predictors")
        problems = [] if unnamed else naming_problems(names_of(self.target), predictors_of(self.predictors))
        if self.family not in FAMILIES:
            known = ", ".join(FAMILIES)
            problems.append(f"family {in_short(self.family)} has no form with a guarantee; use one of {known}")
        problems += word_problems(self.way, "way", WAYS)
        problems += number_problems(self.copies, "copies", "1", str(MOST_COPIES), whole=True)
        if self.delta is not None:
            problems += number_problems(self.delta, "delta", "0", "0.999999")
        return problems + epsilon_problems(self.epsilon)

    def regression(self, schema: Schema, rows: int | None = None) -> PrivateRegression:
        """Return what is drawn on a schema; ``rows`` are those to make, where they are stated."""
        refuse_columns(self.name, schema, (self.target, *self.predictors))
        (model,) = column_models(schema, (self.target,), self.predictors, self.family, regression=True)
        return PrivateRegression(
            method=self.name,
            schema=schema,
            model=model,
            epsilon=exact(self.epsilon, "epsilon"),
            delta=exact(0 if self.delta is None else self.delta, "delta"),
            way=self.way,
            copies=self.copies,
            public_predictors=self.public_predictors,
            rows=rows,
        )

    def released_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns of the release: what is not named is left out."""
        return tuple(name for name in schema.names if name in (self.target, *self.predictors))

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        sound_rows(rows)
        return self.regression(schema, rows).plan(rows, randomness)

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Read the rows, draw the parameters, and synthesise."""
        return RegressionRun(self.regression(table.schema, rows)).run(table, plan, randomness)

    @classmethod
    def example(cls, schema: Schema) -> PseudoPosterior:
        """Return a small instance that fits a schema."""
        first, second = complete_numbers(schema)[:2]
        return cls(first, [second], "normal", epsilon=2.0, way="statistics")
