"""Plan: cost, stages, memory and notes of a release, computed without the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, ConfigDict

from sfumato.core.data_access import DataAccess
from sfumato.core.forecast import Forecast
from sfumato.errors import PlanError
from sfumato.lazy import HOOKS
from sfumato.lazy import load_object as registered
from sfumato.privacy.accounting.accountant import basic_composition
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.exact import Number, at_most, format_fraction, fraction_to_text, to_fraction
from sfumato.reprs import ReprMixin
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.system import MEMORY_VARIABLE, allowed_memory

if TYPE_CHECKING:
    from sfumato.privacy.accounting.privacy_curve import PrivacyCurve


LARGEST_SAMPLE = 100_000_000
"""Synthetic rows of one release, at most."""
BYTES_PER_COUNT = 48
"""True count, noisy count, the engine's batch of counts, and the released column."""


UNSUMMED = ("joint", "none")
"""What a stage says in place of an epsilon: paid for together with others, or no formal cost at all."""


@dataclass(frozen=True)
class StageNoise:
    """The public law of the noise on one table."""

    kind: str
    scale: float

    @property
    def is_laplace(self) -> bool:
        """Whether it is discrete Laplace noise; Gaussian otherwise."""
        return "laplace" in self.kind

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on one cell."""
        return self.scale * (math.sqrt(2) if self.is_laplace else 1.0)

    def half_width(self, cells: int = 1) -> float:
        """Return how far 95 % of the noise on a sum of cells lies from 0.

        >>> (
        ...     round(StageNoise("discrete-laplace", 2.0).half_width(), 2),
        ...     StageNoise("discrete-gaussian", 2.0).half_width(),
        ... )
        (5.99, 3.92)
        """
        if self.is_laplace and cells == 1:
            return self.scale * math.log(20)
        return 1.96 * self.deviation * math.sqrt(cells)


class Stage(BaseModel):
    """One table that will be measured, with its share of the cost."""

    model_config = ConfigDict(frozen=True)

    name: str
    cells: int
    noise: str
    scale: float
    epsilon: str
    share: str

    @classmethod
    def of(
        cls, part: EventPart, noise: str, epsilon: Fraction | str, share: Fraction | str, scale: float | None = None
    ) -> Self:
        """Return the stage that measures one part of an event; its scale is the part's unless a plan shows another."""
        return cls(
            name=part.stage,
            cells=part.cells,
            noise=noise,
            scale=part.scale if scale is None else scale,
            epsilon=epsilon if isinstance(epsilon, str) else fraction_to_text(epsilon),
            share=share if isinstance(share, str) else fraction_to_text(share),
        )

    @property
    def law(self) -> StageNoise:
        """The law of the noise on its cells."""
        return StageNoise(self.noise, self.scale)


@dataclass(frozen=True)
class ExposurePlan:
    """What a release without a guarantee does: its stage, the cells of that, and the words of its event."""

    stage: str
    cells: int
    words: str


class PlanFacts(TypedDict, total=False):
    """What some plans say besides cost, stages and memory."""

    rows: int | None
    seconds: float | None
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]
    unit: str
    cells: int


class Plan(ReprMixin, BaseModel):
    """What a release would do: cost by stage, adjacency, cells, memory. Made without touching the data."""

    model_config = ConfigDict(frozen=True)

    method: str
    table: str
    adjacency: Literal["add-remove", "replace"]
    unit: str
    epsilon: str | None
    delta: str
    stages: tuple[Stage, ...]
    events: tuple[Event, ...]
    cells: int
    memory_bytes: int
    rows: int | None = None
    seconds: float | None = None
    """A rough guess of the time of the run, for methods that may take long."""
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    """What the guarantee rests on besides the proof, in words that its statement repeats."""
    left_before: str | None = None
    left_after: str | None = None
    _foreseen: ClassVar[Any] = None
    """Schema, method and number of rows, from which the forecast is computed when it is asked for."""

    _reading: ClassVar[DataAccess | None] = None
    """How the rows are read: beside the fields, since it belongs to an engine and not to the method."""

    @property
    def reading(self) -> DataAccess | None:
        """What will run where, in how many passes over the rows, and what leaves the engine; None where unsaid."""
        return self._reading

    def read_by(self, reading: DataAccess | None) -> Self:
        """Return the plan with what it says about the engine of the table at hand."""
        plan = self.model_copy()
        object.__setattr__(plan, "_reading", reading)
        return plan

    def foreseen_by(self, schema: Schema, method: Any, rows: int | None) -> Self:
        """Return the plan with what its forecast needs: no file holds it, since all of it follows from public facts."""
        plan = self.model_copy()
        vars(plan).pop("forecast", None)  # that of another number of rows
        object.__setattr__(
            plan, "_foreseen", (schema, method, rows)
        )  # beside the fields: two plans are equal without it
        return plan

    @property
    def foreseen(self) -> tuple[Schema, Any, int | None]:
        """Schema, method, and the number of private rows that is public or was said."""
        if self._foreseen is None:
            raise PlanError("this plan does not hold its schema", next_step="make it with sfumato.plan")
        return self._foreseen

    @cached_property
    def forecast(self) -> Forecast | None:
        """What the release will be good for; None where no forecast is known of the method."""
        return None if self._foreseen is None else self.forecast_for(self._foreseen[2])

    @property
    def expects_rows(self) -> bool:
        """Whether a number of rows is public or was said, so that the forecast can tell errors."""
        return self._foreseen is not None and self._foreseen[2] is not None

    def forecast_for(self, rows: int | None) -> Forecast | None:
        """Return what the release would be good for with another number of rows."""
        if self._foreseen is None:
            return None
        schema, method, _ = self._foreseen
        return registered(HOOKS["Plan.forecast"])(self, schema, method, rows)

    @property
    def curve(self) -> PrivacyCurve:
        """The privacy curve of all that the release would run; AccountingError for an exposure."""
        from sfumato.privacy.accounting.privacy_curve import privacy_curve

        return privacy_curve(self.events)

    @property
    def advantage(self) -> float | None:
        """The most by which an attacker's hits can exceed the false alarms; None for an exposure."""
        return self.curve.advantage if self._is_formal else None

    @property
    def _is_formal(self) -> bool:
        return bool(self.events) and all(event.is_formal for event in self.events)

    def risk(self) -> str:
        """Return in words what the curve bounds; empty for an exposure."""
        from sfumato.privacy.accounting.strength import advantage_text

        return advantage_text(self.curve) if self._is_formal else ""

    def needs(self) -> str:
        """Return in words how long the release will take, where that is known, and how much memory it needs."""
        time = "" if self.seconds is None else f"about {max(self.seconds, 1):,.0f} s, "
        return f"{time}about {max(self.memory_bytes / 1e6, 0.1):,.1f} MB of memory"

    def _line(self) -> str:
        tables = f"{self.cells:,} cells in {len(self.stages)} table{'s' if len(self.stages) > 1 else ''}"
        return f"{self.method} of table {self.table!r}, {cost_summary(self)}; {tables}"

    def _lines(self) -> list[tuple[str, str]]:
        memory, time = f"about {max(self.memory_bytes / 1e6, 0.1):,.1f} MB", self.seconds
        left = "" if self.left_before is None else f"epsilon {self.left_before} before, {self.left_after} after"
        facts = [
            ("protects", self.unit),
            ("risk", self.risk()),
            ("memory", memory),
            ("time", "" if time is None else f"about {max(time, 1):,.0f} s"),
            ("left in the ledger", left),
            *((("runs on", access.where()), ("reads", access.how_often())) if (access := self._reading) else ()),
            *(("note", words) for words in self.notes),
            *(("rests on", words) for words in self.assumptions),
        ]
        return [fact for fact in facts if fact[1]]

    @classmethod
    def for_(
        cls,
        method: str,
        schema: Schema,
        stages: Sequence[Stage],
        events: Sequence[Event],
        memory_bytes: int,
        **more: Unpack[PlanFacts],
    ) -> Self:
        """Return a plan on a schema: the cost is what the events add up to, the cells are those of the stages.

        A plan with an exposure among its events has no cost: no sum would be true.
        """
        facts: dict[str, Any] = {"unit": protected_unit(schema), "cells": sum(stage.cells for stage in stages), **more}
        formal = bool(events) and all(event.is_formal for event in events)
        epsilon, delta = basic_composition(events) if formal else (None, Fraction(0))
        return cls(
            method=method,
            table=schema.name,
            adjacency=schema.adjacency,
            epsilon=None if epsilon is None else fraction_to_text(epsilon),
            delta=fraction_to_text(delta),
            stages=tuple(stages),
            events=tuple(events),
            memory_bytes=memory_bytes,
            **facts,
        )

    @classmethod
    def exposure(
        cls, method: str, schema: Schema, what: ExposurePlan, memory_bytes: int, randomness: str, notes: Sequence[str]
    ) -> Self:
        """Return the plan of a release without a formal guarantee: one event, one stage, no cost to add up."""
        event = Event(kind="heuristic", note=what.words, **event_facts(method, schema, randomness))
        stage = Stage(name=what.stage, cells=what.cells, noise="heuristic", scale=1.0, epsilon="none", share="1")
        return cls.for_(method, schema, (stage,), (event,), memory_bytes, notes=tuple(notes))


def cost_summary(plan: Plan) -> str:
    """Return the cost in a few words: epsilon, delta and adjacency."""
    if plan.epsilon is None or not all(event.is_formal for event in plan.events):
        return "an exposure: no formal guarantee"
    delta = f", delta {at_most(plan.delta, 3)}" if to_fraction(plan.delta) else ""
    return f"epsilon {format_fraction(to_fraction(plan.epsilon))}{delta} under {plan.adjacency}"


def protected_unit(schema: Schema) -> str:
    """Return what one neighbouring change adds, removes or replaces."""
    if schema.person is None:
        return "row"
    return f"person (at most {schema.rows_per_person} row{'s' if schema.rows_per_person > 1 else ''})"


def event_facts(method: str, schema: Schema, randomness: str) -> dict[str, Any]:
    """Return what every event of a release says about itself, whatever its mechanism."""
    return {
        "method": method,
        "table": schema.name,
        "adjacency": schema.adjacency,
        "unit": protected_unit(schema),
        "randomness": randomness,
        **({"adaptive": True} if schema.purchases else {}),
    }


def exact_cost(epsilon: Number, delta: Number = 0) -> dict[str, Any]:
    """Return a cost as events record it: exact fractions as texts."""
    return {"epsilon": fraction_to_text(to_fraction(epsilon)), "delta": fraction_to_text(to_fraction(delta))}


def memory_limit() -> int:
    """Return how many bytes a release may use, as :func:`sfumato.system.allowed_memory` says."""
    try:
        return allowed_memory()
    except ValueError as error:
        raise PlanError(str(error), next_step="write for example 4GB") from error


def cell_bytes(columns: Iterable[Column]) -> int:
    """Return the bytes of one released cell: counts, and a label in every column."""
    lengths = (max(len(str(label)) for label in column.labels) for column in columns)
    return BYTES_PER_COUNT + sum(8 + length for length in lengths)


def table_memory(schema: Schema, sets: Sequence[tuple[str, ...]]) -> int:
    """Return the bytes that counting and releasing these tables needs."""
    total = 0
    for names in sets:
        columns = [schema[name] for name in names]
        total += cells_of(schema, names) * cell_bytes(columns)
    return total


def cells_of(schema: Schema, names: Iterable[str]) -> int:
    """Return the number of cells of one contingency table, as an exact integer."""
    cells = 1
    for size in schema.shape(names):
        cells *= size
    return cells


def check_row_count(rows: Any) -> None:
    """Refuse a number of synthetic rows that nobody can want."""
    whole = hasattr(rows, "__index__") and not isinstance(rows, bool)  # integers of NumPy have it too
    if rows is not None and not (whole and 1 <= int(rows) <= LARGEST_SAMPLE):
        raise PlanError(
            f"rows must be a whole number between 1 and {LARGEST_SAMPLE:,}, found {rows!r:.60}",
            next_step="give for example --rows 20000, or leave rows out",
        )


def refuse_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse what does not fit into memory, with both numbers."""
    limit = memory_limit()
    if needed > limit:
        raise PlanError(
            f"{what} need about {needed / 1e9:,.1f} GB, the limit is {limit / 1e9:,.1f} GB",
            next_step=f"{remedy}, or raise {MEMORY_VARIABLE} (for example 16GB)",
        )


def _size(schema: Schema, names: tuple[str, ...]) -> str:
    product = " x ".join(str(n) for n in schema.shape(names))
    return f"{' x '.join(names)}: {product} = {cells_of(schema, names):,} cells"


def refuse_beyond_memory(schema: Schema, sets: Sequence[tuple[str, ...]]) -> None:
    """Refuse tables that do not fit into memory, with the numbers that say why."""
    needed, limit = table_memory(schema, sets), memory_limit()
    if needed <= limit:
        return
    largest = sorted(sets, key=lambda names: -cells_of(schema, names))[:3]
    raise PlanError(
        f"{sum(cells_of(schema, names) for names in sets):,} cells need about {needed / 1e9:,.1f} GB, "
        f"the limit is {limit / 1e9:,.1f} GB",
        [_size(schema, names) for names in largest],
        f"use fewer columns or coarser public edges, or raise {MEMORY_VARIABLE} (for example 16GB)",
    )


GUESS = 1000
"""Rows that a resolution is chosen for when nobody says how many to expect."""
MOST_EXPECTED = 10**12
"""Rows that anybody may expect."""
MOST_CLUSTERS = 1000
BYTES_PER_VALUE = 64
"""Memory of one synthetic value while rows are drawn."""


def assumed_row_count(schema: Schema, stated: int | None, rows: int | None) -> tuple[int, tuple[str, ...]]:
    """Return the public number of rows that resolutions are chosen for, and a note where it is a mere guess."""
    known = stated or schema.rows or rows
    if known is not None:
        return known, ()
    return GUESS, (
        f"the resolution is chosen for {GUESS:,} rows: give expected_rows, a public guess, for a better one",
    )


def refuse_several_rows_per_person(schema: Schema, method: str) -> None:
    """Refuse tables in which a person may hold several rows: one row is what is protected."""
    if schema.rows_per_person > 1:
        raise PlanError(
            f"{method} protects one row, but a person may hold {schema.rows_per_person} rows of {schema.name!r}",
            next_step="release a table with one row per person, or use marginals",
        )


def sample_size(plan: Plan, noisy_total: float, columns: int) -> int:
    """Return how many rows are drawn: as planned, or the noisy number, at least 1 and at most what memory holds.

    With a small epsilon the noisy number may be anything. The limit is that of the machine, and tells nothing.
    """
    if plan.rows is not None:
        return plan.rows
    most = min(LARGEST_SAMPLE, memory_limit() // (BYTES_PER_VALUE * columns))
    return max(min(round(noisy_total), most), 1)
