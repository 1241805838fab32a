"""What a purchase will be able to see, foreseen from public facts alone: nobody should pay for noise.

How much noise a count gets follows from the number of columns, the budget and the rows of one person. So it is known
before anything is spent how many rows must agree for a value, or the form of a column, to rise above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sfumato.buying.bounds import rows_of_a_cell
from sfumato.buying.forms import FIRST
from sfumato.buying.order import VALUE_CELLS, Order, sound_budget
from sfumato.errors import PlanError, TooSmallToBuyError
from sfumato.privacy.exact import Number, show
from sfumato.release.parameters import number_problems, sound_about
from sfumato.schema import Schema
from sfumato.schema.column import Column

MOST_COLUMNS = 10_000
PERSON = "person"


@dataclass(frozen=True)
class Foresight:
    """How many rows must agree for anything to be seen."""

    columns: int
    values: int
    """Rows in which a value must stand."""
    forms: int
    """Rows of a column that must be written alike."""
    order: Order

    @classmethod
    def of(cls, order: Order) -> Foresight:
        """Return what an order will be able to see."""
        parts = order.parts() if order.values else ()
        forms = max((FIRST * part.scale for part in parts if part.stage.startswith("form of ")), default=0)
        second = [part for part in parts if part.stage.startswith("values of ")]
        values = max((part.threshold or rows_of_a_cell(VALUE_CELLS, part.scale) for part in second), default=0)
        return cls(len(order.values), _about(values), _about(forms), order)

    @property
    def least_rows(self) -> int:
        """Rows below which a table foreseeably shows nothing."""
        return max(self.values, self.forms)

    @property
    def words(self) -> str:
        """What is foreseen, for people."""
        people = self.order.header.rows_per_person
        counted = f", {people:,} rows of one person" if people > 1 else ""
        columns = "1 column" if self.columns == 1 else f"{self.columns:,} columns"
        return (
            f"foreseen for {columns} at epsilon {show(self.order.epsilon)}{counted}: a value must stand in about "
            f"{self.values:,} rows, and a column's written form in about {self.forms:,} rows, to be seen"
        )

    def require(self, about_rows: Any) -> None:
        """Refuse a table that is foreseeably too small, by a public guess of how many rows it has."""
        if about_rows is None:
            return
        if sound_about(about_rows) < self.least_rows:
            raise TooSmallToBuyError(
                f"a table of about {about_rows:,} rows is too small for this purchase; nothing was spent",
                [self.words],
                "buy for more epsilon, fewer columns (columns=, --columns) or fewer rows of one person; or state "
                "public facts in a schema, which cost nothing (sfumato schema draft DATA)",
            )


def foreseen(
    columns: int,
    epsilon: Number,
    delta: Number | None = None,
    rows_per_person: int = 1,
    adjacency: str = "add-remove",
) -> Foresight:
    """Return what a purchase of so many columns of text can see: no table is needed to know it.

    >>> foreseen(20, 1).words
    "foreseen for 20 columns at epsilon 1: a value must stand in about 200 rows, and a column's written form in about \
270 rows, to be seen"
    """
    budget = sound_budget(epsilon, delta, rows_per_person)
    if problems := number_problems(columns, "columns", 1, MOST_COLUMNS, whole=True):
        raise PlanError("nothing can be foreseen", problems, "give the number of columns that are bought")
    names = [f"column {i}" for i in range(columns)]
    facts: Any = {"adjacency": adjacency, "rows": 1 if adjacency == "replace" else None}
    if rows_per_person > 1:
        facts |= {"person": PERSON, "rows_per_person": rows_per_person}
    held = [*names, *([PERSON] if "person" in facts else [])]
    header = Schema("foreseen", tuple(Column(name, "category", role="identifier") for name in held), **facts)
    return Foresight.of(Order(header, tuple(names), tuple(names), frozenset(names), *budget))


def _about(rows: float) -> int:
    """Return a number of rows with two digits, rounded up: more would only seem exact."""
    step = 10 ** max(math.floor(math.log10(rows)) - 1, 0) if rows > 0 else 1
    return math.ceil(rows / step) * step
