"""Models of columns as printed: any family, chains or a model of the custodian's own, several targets in order.

Columns come in the order in which they are named. A column is modelled given all predictors and the targets before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.core.custom_objects import OWN, is_custom_object
from sfumato.errors import PlanError
from sfumato.mechanisms.pseudo_posterior.column_models import (
    ColumnModel,
    family_for,
    family_problems,
    predictor_problems,
)
from sfumato.papers.range_restriction.families.interface import FAMILIES, SAMPLED
from sfumato.papers.range_restriction.families.nuts import require_numpyro
from sfumato.papers.range_restriction.families.sampled_models import SampledModel
from sfumato.privacy.exact import shorten_for_message
from sfumato.sampling.design_matrix import CoarsePredictors, DesignMatrix
from sfumato.schema import Schema
from sfumato.schema.column import Column

Families = str | SampledModel | Mapping[str, str | SampledModel]
"""One family for all targets, by name or as a model of one's own, or one by target."""
MOST_COUNTED = 100
"""Span up to which whole numbers from 0 on are modelled as counts, unless a family is named."""


@dataclass(frozen=True)
class PublishedColumnModel(ColumnModel):
    """One column, its family, and what it is modelled given."""

    own: SampledModel | None = None
    """The custodian's own model, where the family is ``own:NAME``; None where only its name is known."""
    sampling: Mapping[str, Any] | None = None
    """How chains are run, where not as usual: what ``Sampling`` takes, less its seed."""

    @property
    def words(self) -> str:
        """The family as reports name it."""
        return f"{self.family.removeprefix(OWN)} (own model)" if is_custom_object(self.family) else self.family

    @property
    def is_sampled(self) -> bool:
        """Whether the posterior needs chains."""
        return self.family in SAMPLED or is_custom_object(self.family)

    @property
    def predictors(self) -> DesignMatrix | CoarsePredictors:
        """How the columns before it enter: as a matrix for regressions and chains, as a few cells otherwise."""
        return DesignMatrix(self.given) if self.is_sampled else super().predictors


def published_family_for(column: Column) -> str:
    """Return the family that fits a column's kind: counts are one of them here.

    >>> published_family_for(Column("children", "integer", bounds=(0, 9)))
    'counts'
    """
    if column.is_ordered and column.kind == "integer":
        low, high = column.numeric_bounds
        if low == 0 and high <= MOST_COUNTED:
            return "counts"
    return family_for(column)


def custom_model_problems(column: Column, model: SampledModel) -> list[str]:
    """Return why a model of the custodian's own cannot model a column."""
    numbers = model.kind in ("continuous", "counts")
    if numbers != column.is_ordered:
        holds, needs = ("levels", "numbers") if numbers else ("numbers", "levels")
        return [f"column {column.name!r} holds {holds}; the model {model.name!r}, of kind {model.kind}, needs {needs}"]
    if model.kind == "counts" and (column.kind != "integer" or column.numeric_bounds[0] < 0):
        return [f"column {column.name!r} must hold whole numbers from 0 on for the model {model.name!r}"]
    return []


def published_family_problems(column: Column, family: str) -> list[str]:
    """Return why a family cannot model a column."""
    if is_custom_object(family):
        missing = f"column {column.name!r} may be missing, and an own model needs every value"
        return [missing] if column.is_ordered and column.missing else []
    if family not in (*FAMILIES, *SAMPLED):
        return [f"family {family!r} is unknown; use one of {', '.join((*FAMILIES, *SAMPLED, 'auto'))}"]
    problems = family_problems(column, family)
    if problems or not column.is_ordered:
        return problems
    low = column.numeric_bounds[0]
    if family in ("counts", "negative-binomial") and low < 0:
        return [f"the bounds of column {column.name!r} allow values below 0, and the {family} family counts from 0 on"]
    return []


def family_choice_problems(families: Any, targets: Sequence[str]) -> list[str]:
    """Return what is wrong with the families as they were named: one for all targets, or one by target."""
    stated: dict[Any, Any] = dict(families) if isinstance(families, Mapping) else dict.fromkeys(targets, families)
    known = (*FAMILIES, *SAMPLED, "auto")
    named = [family for family in stated.values() if not (isinstance(family, SampledModel) or is_custom_object(family))]
    unknown = list(dict.fromkeys(shorten_for_message(name) for name in named if name not in known))
    problems = [f"family {name} is unknown; use one of {', '.join(known)}, or a Model" for name in unknown]
    return problems + [f"family of {name!r}: it is no target" for name in stated if name not in targets]


def column_models(
    schema: Schema,
    targets: Sequence[str],
    predictors: Sequence[str],
    families: Families,
    sampling: Mapping[str, Any] | None = None,
) -> tuple[PublishedColumnModel, ...]:
    """Return the models of the targets in order, or refuse with every problem."""
    given = [schema[name] for name in predictors]
    models: list[PublishedColumnModel] = []
    for name in targets:
        column, stated = schema[name], _stated(families, name)
        own = stated if isinstance(stated, SampledModel) else None
        family = published_family_for(column) if stated == "auto" else str(stated)
        models.append(PublishedColumnModel(column, family, tuple(given), own, sampling))
        given.append(column)
    wrong = {model.column.name: _model_problems(model) for model in models}
    problems = [problem for each in wrong.values() for problem in each]
    problems += predictor_problems(given[: len(predictors)])
    if sampling is not None and not any(model.is_sampled for model in models):
        problems.append(f"sampling belongs to families that need chains: {', '.join(SAMPLED)}, or a Model")
    if problems:
        named = [schema[name] for name, each in wrong.items() if each and _stated(families, name) != "auto"]
        advice = "name other families, or 'auto', or leave columns out"
        helps = any(not published_family_problems(column, published_family_for(column)) for column in named)
        step = advice if helps else "correct the public facts of these columns, or leave them out"
        raise PlanError("these columns cannot be modelled so", tuple(dict.fromkeys(problems)), step)
    _require_sampler(models)
    return tuple(models)


def _stated(families: Families, name: str) -> str | SampledModel:
    return families.get(name, "auto") if isinstance(families, Mapping) else families


def _model_problems(model: PublishedColumnModel) -> list[str]:
    own = [] if model.own is None else custom_model_problems(model.column, model.own)
    return published_family_problems(model.column, model.family) + own


def _require_sampler(models: Sequence[PublishedColumnModel]) -> None:
    """Refuse families that need chains where what draws them is not installed."""
    sampled = [model.words for model in models if model.is_sampled]
    if sampled:
        require_numpyro(sampled[0])
