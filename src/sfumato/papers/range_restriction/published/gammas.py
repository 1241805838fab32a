"""Share gamma of each record that an outsider is assumed to know (equations 20 and 21).

The paper writes p^(alpha*) = p^((1 - gamma) alpha) p^gamma: record i is weighted by alpha_i in what is sensitive and
enters in full with its share gamma_i, so that alpha* = gamma + (1 - gamma) alpha, and only (1 - gamma_i) alpha_i f_i is
counted. Its averaged standard is gamma_i = lambda_i; here gamma is a column of the table, or a function in Python.
Nothing is proved about it: gamma reads the private rows like everything else in the published form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.core.custom_objects import CustomObject, is_custom_object
from sfumato.errors import TableError
from sfumato.papers.range_restriction.families.interface import FloatArray
from sfumato.schema import Schema


class Gammas(Protocol):
    """A rule that gives each record its gamma."""

    def of(self, values: FloatArray) -> FloatArray:
        """Return the gamma of each record, from 0 to 1."""
        ...

    def without(self, index: int) -> Gammas:
        """Return the rule for the same records less one."""
        ...

    def extended(self) -> Gammas:
        """Return the rule for the same records and one more, last."""
        ...


@dataclass(frozen=True, eq=False)
class GammasByRecord:
    """One number for each record, as a column of the table holds them."""

    numbers: FloatArray

    def of(self, values: FloatArray) -> FloatArray:
        """Return the numbers, or refuse them."""
        return checked_gammas(self.numbers, len(values))

    def without(self, index: int) -> GammasByRecord:
        """Return the numbers less one."""
        return GammasByRecord(np.delete(self.numbers, index))

    def extended(self) -> GammasByRecord:
        """Return the numbers and one more: the largest of all, which lets the new record say most."""
        return GammasByRecord(np.append(self.numbers, self.numbers.max(initial=0.0)))


class SameForAllRecords:
    """A rule that is found anew from the values, so that it stays the same when a record leaves or joins."""

    def without(self, index: int) -> Self:
        """Return the same rule for the records less one."""
        return self

    def extended(self) -> Self:
        """Return the same rule for one more record."""
        return self


@dataclass(frozen=True, eq=False)
class GammasByFunction(SameForAllRecords):
    """A function of all values of the target, found anew for every table."""

    function: CustomObject

    def of(self, values: FloatArray) -> FloatArray:
        """Ask the function, and refuse what is no gamma."""
        return checked_gammas(np.asarray(self.function.call(values), float), len(values))


def checked_gammas(numbers: FloatArray, records: int) -> FloatArray:
    """Return gammas, or refuse them: one for each record, from 0 to 1."""
    problems: list[str] = []
    if numbers.shape != (records,):
        problems.append(f"{records} numbers needed, one for each record; the shape given is {numbers.shape}")
    elif wrong := int((~((numbers >= 0) & (numbers <= 1))).sum()):
        problems.append(f"{wrong} of {records} numbers do not lie between 0 and 1")
    if problems:
        raise TableError("gamma does not fit the records", problems, "give one number from 0 to 1 for each record")
    return numbers


def gamma_problems(gamma: Any) -> list[str]:
    """Return what is wrong with gamma as far as no column need be known."""
    if gamma is None or isinstance(gamma, str | CustomObject):
        return []
    return [
        "gamma must name a column or be a function of the target's values: numbers by record would be written into "
        "the public files"
    ]


def gamma_column(gamma: Any) -> tuple[str, ...]:
    """Return the column that holds gamma, if one does."""
    return (gamma,) if isinstance(gamma, str) and not is_custom_object(gamma) else ()


def gamma_column_problems(gamma: Any, schema: Schema) -> list[str]:
    """Return why a column cannot hold gamma."""
    problems: list[str] = []
    for name in gamma_column(gamma):
        column = schema[name]
        if not column.is_ordered or column.missing:
            problems.append(f"column {name!r} must hold a number in every row to be gamma")
        elif not (column.numeric_bounds[0] >= 0 and column.numeric_bounds[1] <= 1):
            problems.append(f"the bounds of column {name!r} must lie between 0 and 1 to be gamma")
    return problems


def read_gammas(gamma: Any, values: Mapping[str, NDArray[Any]]) -> Gammas | None:
    """Return the rule, with the numbers of a column read."""
    if gamma is None:
        return None
    if isinstance(gamma, CustomObject):
        return GammasByFunction(gamma)
    return GammasByRecord(np.asarray(values[gamma], float))
