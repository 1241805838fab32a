"""Model of a column: its family, and how its predictors enter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.sampling.design_matrix import CoarsePredictors, DesignMatrix
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.column_selection import names_of, selection_problems

REGRESSIONS = ("normal", "lognormal")
CODES = ("categorical", "binary")
TWO_LEVELS, ABOVE_ZERO = ("binary", "logistic"), ("lognormal", "exponential")


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


def public_edges(column: Column) -> list[float]:
    """Return the public edges of a column's bins: its brackets."""
    if not column.is_ordered:
        raise PlanError(
            f"column {column.name!r} holds levels, which have no brackets of numbers",
            next_step="leave the brackets out",
        )
    edges = [*column.starts.tolist(), float(column.numeric_bounds[1])]
    return list(dict.fromkeys(float(edge) for edge in edges))


def family_for(column: Column) -> str:
    """Return the family that fits a column's kind.

    >>> family_for(Column("sex", "category", values=("f", "m"))), family_for(Column("wage", "number", bounds=(1, 9e5)))
    ('categorical', 'lognormal')
    """
    if not column.is_ordered:
        return "binary" if column.kind == "boolean" and not column.missing else "categorical"
    return "lognormal" if column.kind == "number" and column.numeric_bounds[0] > 0 else "normal"


def family_problems(column: Column, family: str) -> list[str]:
    """Return why a family cannot model a column: levels or numbers, missing values, values that it has no place for."""
    if column.is_ordered and column.missing:
        return [f"column {column.name!r} may be missing, and the {family} family needs every value"]
    if family in CODES and column.is_ordered:
        return [f"column {column.name!r} is {column.kind}; the {family} family needs levels"]
    if family in TWO_LEVELS and (column.is_ordered or column.size != 2):
        return [f"column {column.name!r} has {column.size} levels or numbers; the {family} family needs two levels"]
    if family not in (*CODES, *TWO_LEVELS) and not column.is_ordered:
        return [f"column {column.name!r} holds levels; the {family} family needs numbers"]
    if family in ABOVE_ZERO and column.is_ordered and column.numeric_bounds[0] <= 0:
        return [
            f"the bounds of column {column.name!r} allow values that are not above 0 (from "
            f"{column.numeric_bounds[0]:g}), which the {family} family needs: state the smallest value above 0 that "
            "can occur"
        ]
    return []


def predictor_problems(predictors: Sequence[Column]) -> list[str]:
    """Return which predictors have numbers that may be missing."""
    return [
        f"predictor {column.name!r} may be missing, and numbers must be there"
        for column in predictors
        if column.is_ordered and column.missing
    ]


@dataclass(frozen=True)
class ColumnModel:
    """One column, its family, and what it is modelled given."""

    column: Column
    family: str
    given: tuple[Column, ...]

    @property
    def predictors(self) -> DesignMatrix | CoarsePredictors:
        """How the columns before it enter: as a matrix for regressions, as a few cells otherwise."""
        return DesignMatrix(self.given) if self.family in REGRESSIONS else CoarsePredictors.of(self.given)

    def design(self, values: Mapping[str, NDArray[Any]], rows: int) -> Any:
        """Return the predictors of a set of records, true or synthetic; None where there are none."""
        how = self.predictors
        if isinstance(how, DesignMatrix):
            return how.matrix(values, rows) if how.columns else None
        return how.cells(values, rows) if how.columns else None


def column_model(schema: Schema, target: str, predictors: Sequence[str], family: str) -> ColumnModel:
    """Return the model of a target given its predictors, or refuse with every problem."""
    column, given = schema[target], tuple(schema[name] for name in predictors)
    model = ColumnModel(column, family_for(column) if family == "auto" else family, given)
    wrong = family_problems(column, model.family)
    problems = [*wrong, *predictor_problems(given)]
    if problems:
        helps = wrong and family != "auto" and not family_problems(column, family_for(column))
        advice = "name other families, or 'auto', or leave columns out"
        step = advice if helps else "correct the public facts of these columns, or leave them out"
        raise PlanError("these columns cannot be modelled so", tuple(dict.fromkeys(problems)), step)
    return model
