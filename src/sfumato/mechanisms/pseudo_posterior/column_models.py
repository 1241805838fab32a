"""Models of columns: family, predictors and design of each target.

Columns come in the order in which they are named. A column is modelled given all predictors and the targets before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from sfumato.core.custom_objects import OWN, is_custom_object
from sfumato.errors import PlanError
from sfumato.lazy import HOOKS, load_object
from sfumato.mechanisms.pseudo_posterior.families import FAMILIES, SAMPLED, SampledModel
from sfumato.privacy.exact import shorten_for_message
from sfumato.sampling.design_matrix import CoarsePredictors, DesignMatrix
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import selection_problems

Families = str | SampledModel | Mapping[str, str | SampledModel]
"""One family for all targets, by name or as a model of one's own, or one by target."""
REGRESSIONS = ("normal", "lognormal")
CODES = ("categorical", "binary")
MOST_COUNTED = 100
"""Span up to which whole numbers from 0 on are modelled as counts, unless a family is named."""


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return column names as a tuple; one name stands for a list of one."""
    return (names,) if isinstance(names, str) else tuple(names)


def predictors_of(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the predictors; "none" stands for no column.

    >>> predictors_of("none"), predictors_of("z"), predictors_of(["z", "age"])
    ((), ('z',), ('z', 'age'))
    """
    return tuple(name for name in names_of(names or ()) if name not in ("", "none"))


def naming_problems(targets: Sequence[str], predictors: Sequence[str]) -> list[str]:
    """Return what is wrong with the names of the columns, whatever the schema."""
    everything = (*targets, *predictors)
    problems = [] if targets else ["target names no column"]
    problems += [f"column {name!r} is both target and predictor" for name in sorted({*targets} & {*predictors})]
    repeated = sorted({name for i, name in enumerate(everything) if name in everything[:i]})
    return problems + [f"column {name!r} is named twice" for name in repeated]


def refuse_columns(method: str, schema: Schema, names: Sequence[str]) -> None:
    """Refuse columns that the schema does not know, and those that identify people."""
    if problems := selection_problems(schema, tuple(dict.fromkeys(names))):
        raise PlanError(f"cannot plan {method} on table {schema.name!r}", problems, "correct the columns")


def complete_numbers(schema: Schema) -> list[str]:
    """Return the columns that hold a number in every row: what an example can be made of."""
    return [name for name in schema.releasable if schema[name].is_ordered and not schema[name].missing]


def public_edges(column: Column) -> list[float]:
    """Return the public edges of a column's bins: its brackets."""
    if not column.is_ordered:
        raise PlanError(
            f"column {column.name!r} holds levels, which have no brackets of numbers",
            next_step="leave the brackets out",
        )
    edges = [*column.starts.tolist(), float(column.numeric_bounds[1])]
    return list(dict.fromkeys(float(edge) for edge in edges))


def family_for(column: Column, private: bool = False) -> str:
    """Return the family that fits a column's kind; with ``private`` one of those that have a form with a guarantee.

    >>> family_for(Column("sex", "category", values=("f", "m"))), family_for(Column("wage", "number", bounds=(1, 9e5)))
    ('categorical', 'lognormal')
    """
    if not column.is_ordered:
        return "binary" if column.kind == "boolean" and not column.missing else "categorical"
    low, high = column.numeric_bounds
    if not private and column.kind == "integer" and low >= 0 and high <= MOST_COUNTED and low == 0:
        return "counts"
    return "lognormal" if column.kind == "number" and low > 0 else "normal"


def custom_model_problems(column: Column, model: SampledModel) -> list[str]:
    """Return why a model of the custodian's own cannot model a column."""
    numbers = model.kind in ("continuous", "counts")
    if numbers != column.is_ordered:
        holds, needs = ("levels", "numbers") if numbers else ("numbers", "levels")
        return [f"column {column.name!r} holds {holds}; the model {model.name!r}, of kind {model.kind}, needs {needs}"]
    if model.kind == "counts" and (column.kind != "integer" or column.numeric_bounds[0] < 0):
        return [f"column {column.name!r} must hold whole numbers from 0 on for the model {model.name!r}"]
    return []


def family_problems(column: Column, family: str) -> list[str]:
    """Return why a family cannot model a column."""
    if is_custom_object(family):
        missing = f"column {column.name!r} may be missing, and an own model needs every value"
        return [missing] if column.is_ordered and column.missing else []
    if family not in (*FAMILIES, *SAMPLED):
        return [f"family {family!r} is unknown; use one of {', '.join((*FAMILIES, *SAMPLED, 'auto'))}"]
    if column.is_ordered and column.missing:
        return [f"column {column.name!r} may be missing, and the {family} family needs every value"]
    if family in CODES and column.is_ordered:
        return [f"column {column.name!r} is {column.kind}; the {family} family needs levels"]
    if family in ("binary", "logistic") and (column.is_ordered or column.size != 2):
        return [f"column {column.name!r} has {column.size} levels or numbers; the {family} family needs two levels"]
    if family not in (*CODES, "logistic") and not column.is_ordered:
        return [f"column {column.name!r} holds levels; the {family} family needs numbers"]
    return _value_problems(column, family) if column.is_ordered else []


def _value_problems(column: Column, family: str) -> list[str]:
    """Return which values a column's public bounds allow and a family has no place for."""
    low = column.numeric_bounds[0]
    if family in ("lognormal", "exponential") and low <= 0:
        return [
            f"the bounds of column {column.name!r} allow values that are not above 0 (from {low:g}), which the "
            f"{family} family needs: state the smallest value above 0 that can occur"
        ]
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


@dataclass(frozen=True)
class ColumnModel:
    """One column, its family, and what it is modelled given."""

    column: Column
    family: str
    given: tuple[Column, ...]
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
        """How the columns before it enter: as a matrix for regressions, as a few cells otherwise."""
        as_matrix = self.family in REGRESSIONS or self.is_sampled
        return DesignMatrix(self.given) if as_matrix else CoarsePredictors.of(self.given)

    def design(self, values: Mapping[str, NDArray[Any]], rows: int) -> Any:
        """Return the predictors of a set of records, true or synthetic; None where there are none."""
        how = self.predictors
        if isinstance(how, DesignMatrix):
            return how.matrix(values, rows) if how.columns else None
        return how.cells(values, rows) if how.columns else None


def column_models(
    schema: Schema,
    targets: Sequence[str],
    predictors: Sequence[str],
    families: Families,
    private: bool = False,
    sampling: Mapping[str, Any] | None = None,
) -> tuple[ColumnModel, ...]:
    """Return the models of the targets in order, or refuse with every problem."""
    given = [schema[name] for name in predictors]
    models: list[ColumnModel] = []
    for name in targets:
        column, stated = schema[name], _stated(families, name)
        own = stated if isinstance(stated, SampledModel) else None
        family = family_for(column, private) if stated == "auto" else str(stated)
        models.append(ColumnModel(column, family, tuple(given), own, sampling))
        given.append(column)
    wrong = {model.column.name: _model_problems(model) for model in models}
    problems = [problem for found in wrong.values() for problem in found]
    problems += [
        f"predictor {c.name!r} may be missing, and numbers must be there"
        for c in given[: len(predictors)]
        if c.is_ordered and c.missing
    ]
    if sampling is not None and not any(model.is_sampled for model in models):
        problems.append(f"sampling belongs to families that need chains: {', '.join(SAMPLED)}, or a Model")
    if problems:
        named = [schema[name] for name, found in wrong.items() if found and _stated(families, name) != "auto"]
        advice = "name other families, or 'auto', or leave columns out"
        helps = any(_auto_fits(column, private) for column in named)
        step = advice if helps else "correct the public facts of these columns, or leave them out"
        raise PlanError("these columns cannot be modelled so", tuple(dict.fromkeys(problems)), step)
    _require_sampler(models)
    return tuple(models)


def _stated(families: Families, name: str) -> str | SampledModel:
    return families.get(name, "auto") if isinstance(families, Mapping) else families


def _model_problems(model: ColumnModel) -> list[str]:
    own = [] if model.own is None else custom_model_problems(model.column, model.own)
    return family_problems(model.column, model.family) + own


def _require_sampler(models: Sequence[ColumnModel]) -> None:
    """Refuse families that need chains where what draws them is not installed."""
    sampled = [model.words for model in models if model.is_sampled]
    if sampled:
        load_object(HOOKS["PseudoPosterior.require_sampler"])(sampled[0])


def _auto_fits(column: Column, private: bool) -> bool:
    """Return whether 'auto' would find a family for a column: only then is it advised."""
    return not family_problems(column, family_for(column, private))
