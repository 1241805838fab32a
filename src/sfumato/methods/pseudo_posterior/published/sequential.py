"""Whole tables, column by column: which model each column gets, how it is fitted, and how synthetic rows are made.

Columns come in the order in which they are named. A column is modelled given all predictors and the targets before it;
for synthesis the targets before it are the synthetic ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.methods.pseudo_posterior.families import FAMILIES, make_family
from sfumato.methods.pseudo_posterior.families.design import CoarseCells, Design
from sfumato.methods.pseudo_posterior.families.interface import Draws, Family, Posterior
from sfumato.methods.pseudo_posterior.families.regression import NormalInverseGamma
from sfumato.methods.pseudo_posterior.published.joint import JointFamily, JointPosterior
from sfumato.privacy.exact import in_short
from sfumato.schema import Schema
from sfumato.schema.column import Column

Values = dict[str, NDArray[Any]]
REGRESSIONS = ("normal", "lognormal")
CODES = ("categorical", "binary")
SAMPLED = ("logistic", "negative-binomial", "student-t")
"""Families that need chains: extra ``[bayes]``, imported when one is asked for."""
RIDGE = 1e-3
"""Prior precision of a slope where levels are predictors: a level that few records hold must not stop the model."""
WEAK = (0.5, 0.5)
"""Prior (shape, rate) of a rate in a cell: a cell that few records hold must not stop the model."""
MOST_COUNTED = 100
"""Span up to which whole numbers from 0 on are modelled as counts, unless a family is named."""


def family_for(column: Column, regression: bool = False) -> str:
    """Return the family that fits a column's kind; with ``regression`` one of those that have a private standard.

    >>> family_for(Column("sex", "category", values=("f", "m"))), family_for(Column("wage", "number", bounds=(1, 9e5)))
    ('categorical', 'lognormal')
    """
    if not column.is_ordered:
        return "binary" if column.kind == "boolean" and not column.missing else "categorical"
    low, high = column.numeric_bounds
    if not regression and column.kind == "integer" and low >= 0 and high <= MOST_COUNTED and low == 0:
        return "counts"
    return "lognormal" if column.kind == "number" and low > 0 else "normal"


def family_problems(column: Column, family: str) -> list[str]:
    """Return why a family cannot model a column."""
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


def named_families(families: Any, targets: Sequence[str]) -> list[str]:
    """Return what is wrong with the families as they were named: one for all targets, or one by target."""
    stated: dict[Any, Any] = dict(families) if isinstance(families, Mapping) else dict.fromkeys(targets, families)
    known = (*FAMILIES, *SAMPLED, "auto")
    unknown = list(dict.fromkeys(in_short(name) for name in stated.values() if name not in known))
    problems = [f"family {name} is unknown; use one of {', '.join(known)}" for name in unknown]
    return problems + [f"family of {name!r}: it is no target" for name in stated if name not in targets]


@dataclass(frozen=True)
class ColumnModel:
    """One column, its family, and what it is modelled given."""

    column: Column
    family: str
    given: tuple[Column, ...]

    @property
    def predictors(self) -> Design | CoarseCells:
        """How the columns before it enter: as a matrix for regressions, as a few cells otherwise."""
        return Design(self.given) if self.family in (*REGRESSIONS, *SAMPLED) else CoarseCells.of(self.given)

    def design(self, values: Mapping[str, NDArray[Any]], rows: int) -> Any:
        """Return the predictors of a set of records, true or synthetic; None where there are none."""
        how = self.predictors
        if isinstance(how, Design):
            return how.matrix(values, rows) if how.columns else None
        return how.cells(values, rows) if how.columns else None

    def fitted(self, values: Mapping[str, NDArray[Any]], seed: int = 0) -> Family:
        """Return the family over the private records; ``seed`` is for chains."""
        found = values[self.column.name]
        design = self.design(values, len(found))
        if self.family in SAMPLED:
            from sfumato.methods.pseudo_posterior.sampled.family import Sampling, make_sampled_family

            return make_sampled_family(self.family, found, design, sampling=Sampling(seed=seed))
        if self.family in REGRESSIONS:
            return make_family(self.family, found, design, self._prior())
        groups = self.predictors.size if isinstance(self.predictors, CoarseCells) and design is not None else None
        if self.family in CODES:
            return make_family(self.family, found, design, categories=self.column.size, groups=groups)
        return make_family(self.family, found, design, None if design is None else WEAK, groups=groups)

    def _prior(self) -> NormalInverseGamma | None:
        """Return the flat prior, or a weak one on the slopes where levels are among the predictors."""
        if all(column.is_ordered for column in self.given):
            return None
        size = len(Design(self.given).names) + 1
        precision = RIDGE * np.eye(size)
        precision[0, 0] = 0.0
        return NormalInverseGamma(np.zeros(size), precision, 0.0, 0.0)


def column_models(
    schema: Schema,
    targets: Sequence[str],
    predictors: Sequence[str],
    families: str | Mapping[str, str],
    regression: bool = False,
) -> tuple[ColumnModel, ...]:
    """Return the models of the targets in order, or refuse with every problem."""
    problems: list[str] = []
    models: list[ColumnModel] = []
    named = False
    given = [schema[name] for name in predictors]
    for name in targets:
        column = schema[name]
        stated = families if isinstance(families, str) else families.get(name, "auto")
        family = family_for(column, regression) if stated == "auto" else stated
        found = family_problems(column, family)
        problems += found
        named = named or (bool(found) and stated != "auto")
        models.append(ColumnModel(column, family, tuple(given)))
        given.append(column)
    problems += [
        f"predictor {c.name!r} may be missing, and numbers must be there"
        for c in given[: len(predictors)]
        if c.is_ordered and c.missing
    ]
    if problems:
        raise PlanError(
            "these columns cannot be modelled so",
            tuple(dict.fromkeys(problems)),
            "name other families, or 'auto', or leave columns out"
            if named
            else "correct the public facts of these columns, or leave them out",
        )
    if any(model.family in SAMPLED for model in models):
        from sfumato.methods.pseudo_posterior.sampled.engine import require_numpyro

        require_numpyro(next(model.family for model in models if model.family in SAMPLED))
    return tuple(models)


def refuse_draws(models: Sequence[ColumnModel], draws: int) -> None:
    """Refuse more draws than the chains of a sampled family keep."""
    sampled = [model.family for model in models if model.family in SAMPLED]
    if not sampled:
        return
    from sfumato.methods.pseudo_posterior.sampled.family import Sampling

    kept = Sampling(seed=0).kept
    if draws > kept:
        raise PlanError(
            f"{draws:,} draws asked for, the chains of the {sampled[0]} family keep {kept:,}",
            next_step=f"give draws={kept} at most",
        )


def fit_columns(models: Sequence[ColumnModel], values: Mapping[str, NDArray[Any]], seed: int = 0) -> Family:
    """Return one family over all targets; a single target is itself."""
    parts = tuple(model.fitted(values, (seed + i) % 2**32) for i, model in enumerate(models))
    return parts[0] if len(parts) == 1 else JointFamily(parts)


@dataclass(frozen=True)
class SyntheticColumns:
    """Synthetic values of the targets, and how many had to be moved into the public bounds."""

    values: Values
    moved: int


def synthesise_columns(
    models: Sequence[ColumnModel],
    posterior: Posterior,
    draws: Draws,
    index: int,
    kept: Mapping[str, NDArray[Any]],
    rows: int,
    generator: np.random.Generator,
    factor: float = 1.0,
) -> SyntheticColumns:
    """Make synthetic targets from one parameter draw; each sees the synthetic ones before it.

    ``factor`` is the unit in which a single target was modelled.
    """
    parts = posterior.parts if isinstance(posterior, JointPosterior) else (posterior,)
    separate = posterior.separate(draws) if isinstance(posterior, JointPosterior) else [draws]
    known: Values = dict(kept)
    moved = 0
    for model, part, own in zip(models, parts, separate, strict=True):
        raw = part.synthesise(own, index, model.design(known, rows), generator)
        known[model.column.name], outside = into_domain(model.column, raw * factor if model.column.is_ordered else raw)
        moved += outside
    return SyntheticColumns({model.column.name: known[model.column.name] for model in models}, moved)


def into_domain(column: Column, raw: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Return values in the column's own domain (whole where it is whole), and how many lay outside its bounds."""
    if not column.is_ordered:
        return raw.astype(np.int64), 0
    low, high = (float(bound) for bound in column.numeric_bounds)
    outside = int(((raw < low) | (raw > high)).sum())
    inside = np.clip(raw, low, high)
    return (np.rint(inside) if column.is_discrete else inside), outside
