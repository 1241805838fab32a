"""Plan a schema purchase from the header: histograms, noise, cost, and what it can detect.

The header is taken for public: names of columns, and the types of a source that has types. Every column is counted
twice: in which form its values are written (:mod:`sfumato.dp_schema.domains`), and then which values there are
(:mod:`sfumato.dp_schema.domains`, or texts above a threshold,
:mod:`sfumato.privacy.accounting.stability_threshold`). A row lies in
one cell of each count at most, so each is a contingency table and costs like one. Which second count a column gets is
decided by its first, so the costs are added up in zCDP, which allows for that; all share one (epsilon, delta).

How much noise a count gets follows from the number of columns, the budget and the rows of one person. So it is known
before anything is spent how many rows must agree for a value, or the form of a column, to rise above it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.core.parameters import (
    DEFAULT_DELTA,
    check_about_rows,
    delta_or_default,
    delta_problems,
    epsilon_problems,
    number_problems,
)
from sfumato.core.plan import event_facts
from sfumato.dp_schema.domains import FIRST_SEEN_SIGMAS, FIRST_YEAR, FORM_CELLS, LAST_YEAR, detection_threshold
from sfumato.errors import PlanError, TooSmallToBuyError
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma_for_rho, zcdp_rho
from sfumato.privacy.accounting.sensitivity import changed_cells, histogram_l2_squared
from sfumato.privacy.accounting.stability_threshold import stability_threshold
from sfumato.privacy.accounting.strength import require_strong_enough
from sfumato.privacy.exact import Number, format_fraction, fraction_to_text, round_down, to_fraction
from sfumato.schema import Schema
from sfumato.schema.column import Column

METHOD = "buy"
NOTE = "facts of a schema; what was saved is the schema, by the SHA-256 of its TOML text"
VALUE_CELLS = LAST_YEAR - FIRST_YEAR + 1
"""Cells of a second count of numbers or dates, at most; texts have as many as there are."""
TYPE_BUDGET_SHARE = Fraction(1, 5)
"""Share of the first counts: a form has thousands of rows or none, so little tells them apart."""
MOST_ROWS_PER_PERSON = 10_000
"""Rows of one person beyond which the noise hides any table."""
THRESHOLD_SHARE = Fraction(1, 2)
"""Share of delta that pays for texts which only one neighbour holds."""


@dataclass(frozen=True)
class SchemaPlan:
    """The counts that are bought, before anything is counted."""

    header: Schema
    """Name, adjacency, people and columns, all of the latter open: what is known without looking at rows."""
    forms: tuple[str, ...]
    """Columns whose form is counted; flags and dates of typed sources have none to ask for."""
    values: tuple[str, ...]
    """Columns whose values are counted."""
    texts: frozenset[str]
    """Columns that may turn out to hold texts, whose values have no public list."""
    epsilon: Fraction
    delta: Fraction

    def event(self, randomness: Any) -> Event:
        """Return the event that is recorded before anything is counted."""
        return Event(
            kind="thresholded-gaussian",
            epsilon=fraction_to_text(self.epsilon),
            delta=fraction_to_text(self.delta),
            parts=self.parts(),
            note=NOTE,
            **event_facts(METHOD, self.header, randomness),
        )

    def parts(self) -> tuple[EventPart, ...]:
        """Return every count with its noise; thresholds take their share of delta, and noise the rest."""
        thresholds = self.delta * THRESHOLD_SHARE if self.texts else Fraction(0)
        rho = zcdp_rho(self.epsilon, self.delta - thresholds)
        share = TYPE_BUDGET_SHARE if self.forms else Fraction(0)
        first = [self._part(f"form of {name}", FORM_CELLS, rho * share / len(self.forms)) for name in self.forms]
        each = rho * (1 - share) / len(self.values)
        second = [self._part(f"values of {name}", VALUE_CELLS, each) for name in self.values]
        return (*first, *self._limited(second, round_down(thresholds / max(len(self.texts), 1))))

    def _part(self, stage: str, cells: int, rho: Fraction) -> EventPart:
        adjacency, rows = self.header.adjacency, self.header.rows_per_person
        sigma = gaussian_sigma_for_rho(rho, histogram_l2_squared(adjacency, rows))
        return EventPart(
            stage=stage, cells=cells, sensitivity=rows, changed_cells=changed_cells(adjacency), scale=sigma
        )

    def _limited(self, parts: Sequence[EventPart], chance: float) -> list[EventPart]:
        """Return the second counts; those that may list texts have a threshold."""
        rows = self.header.rows_per_person
        return [
            part.model_copy(update={"threshold": stability_threshold(part.scale, chance, rows)})
            if name in self.texts
            else part
            for name, part in zip(self.values, parts, strict=True)
        ]


def validated_budget(epsilon: Any, delta: Any, rows_per_person: Any) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta as they are charged; all problems are reported at once."""
    delta = delta_or_default(delta, DEFAULT_DELTA)
    many = number_problems(rows_per_person, "rows_per_person", 1, MOST_ROWS_PER_PERSON, whole=True)
    if problems := [*epsilon_problems(epsilon), *delta_problems(delta), *many]:
        raise PlanError("these facts cannot be bought", problems, "give epsilon=0.2, and a delta such as 1e-9")
    require_strong_enough(to_fraction(epsilon), to_fraction(delta, "delta"), False)
    return to_fraction(epsilon), to_fraction(delta, "delta")


def schema_plan(header: Schema, kinds: Any, epsilon: Fraction, delta: Fraction) -> SchemaPlan:
    """Return the order for the columns of a header with these engine types."""
    names = [name for name in header.names if name != header.person]
    asked = [name for name in names if not kinds[name].is_boolean()]
    untyped = [name for name in asked if not (kinds[name].is_date() or kinds[name].is_timestamp())]
    texts = frozenset(name for name in asked if kinds[name].is_string())
    return SchemaPlan(header, tuple(untyped), tuple(asked), texts, epsilon, delta)


MOST_COLUMNS = 10_000
PERSON = "person"


@dataclass(frozen=True)
class DetectionLimits:
    """How many rows must agree for anything to be seen."""

    columns: int
    values: int
    """Rows in which a value must stand."""
    forms: int
    """Rows of a column that must be written alike."""
    order: SchemaPlan

    @classmethod
    def of(cls, order: SchemaPlan) -> DetectionLimits:
        """Return the detection limits of a plan."""
        parts = order.parts() if order.values else ()
        forms = max((FIRST_SEEN_SIGMAS * part.scale for part in parts if part.stage.startswith("form of ")), default=0)
        second = [part for part in parts if part.stage.startswith("values of ")]
        values = max((part.threshold or detection_threshold(VALUE_CELLS, part.scale) for part in second), default=0)
        return cls(len(order.values), _about(values), _about(forms), order)

    @property
    def least_rows(self) -> int:
        """Rows below which a table foreseeably shows nothing."""
        return max(self.values, self.forms)

    @property
    def words(self) -> str:
        """The detection limits in words."""
        people = self.order.header.rows_per_person
        counted = f", {people:,} rows of one person" if people > 1 else ""
        columns = "1 column" if self.columns == 1 else f"{self.columns:,} columns"
        return (
            f"foreseen for {columns} at epsilon {format_fraction(self.order.epsilon)}{counted}: a value must stand "
            f"in about "
            f"{self.values:,} rows, and a column's written form in about {self.forms:,} rows, to be seen"
        )

    def require(self, about_rows: Any) -> None:
        """Refuse a table that is foreseeably too small, by a public guess of how many rows it has."""
        if about_rows is None:
            return
        if check_about_rows(about_rows) < self.least_rows:
            raise TooSmallToBuyError(
                f"a table of about {about_rows:,} rows is too small for this purchase; nothing was spent",
                [self.words],
                "buy for more epsilon, fewer columns (columns=, --columns) or fewer rows of one person; or state "
                "public facts in a schema, which cost nothing (sfumato schema draft DATA)",
            )


def detection_limits(
    columns: int,
    epsilon: Number,
    delta: Number | None = None,
    rows_per_person: int = 1,
    adjacency: str = "add-remove",
) -> DetectionLimits:
    """Return the detection limits of a purchase of so many text columns; no table is needed.

    >>> detection_limits(20, 1).words
    "foreseen for 20 columns at epsilon 1: a value must stand in about 200 rows, and a column's written form in about \
270 rows, to be seen"
    """
    budget = validated_budget(epsilon, delta, rows_per_person)
    if problems := number_problems(columns, "columns", 1, MOST_COLUMNS, whole=True):
        raise PlanError("invalid number of columns", problems, "give the number of columns that are bought")
    names = [f"column {i}" for i in range(columns)]
    facts: Any = {"adjacency": adjacency, "rows": 1 if adjacency == "replace" else None}
    if rows_per_person > 1:
        facts |= {"person": PERSON, "rows_per_person": rows_per_person}
    held = [*names, *([PERSON] if "person" in facts else [])]
    header = Schema("foreseen", tuple(Column(name, "category", role="identifier") for name in held), **facts)
    return DetectionLimits.of(SchemaPlan(header, tuple(names), tuple(names), frozenset(names), *budget))


def _about(rows: float) -> int:
    """Return a number of rows with two digits, rounded up: more would only seem exact."""
    step = 10 ** max(math.floor(math.log10(rows)) - 1, 0) if rows > 0 else 1
    return math.ceil(rows / step) * step
