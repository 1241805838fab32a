"""Access to the private rows in a release: the engine that reads them, the number of passes, and what leaves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from sfumato.schema import Schema
from sfumato.table.column_expressions import has_many_levels
from sfumato.table.scan_plan import DataRequest, ScanPlan, Transferred, local_scan

if TYPE_CHECKING:
    from sfumato.table import Table

FILE = "a file on this machine"
ORDER: tuple[Transferred, ...] = ("nothing", "counts", "distinct rows", "rows")
LEAVING = {
    "nothing": "rows and counts stay in this process",
    "counts": "only counts come to this process",
    "distinct rows": "cells that hold rows come to this process with their counts: as telling as rows",
    "rows": "rows come to this process, so it belongs where they may be",
}


@runtime_checkable
class DeclaresScans(Protocol):
    """A method that says from public facts what it will ask of the rows."""

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[DataRequest, ...]:
        """Return the questions in the order in which they are asked."""
        ...


class ScanStep(BaseModel):
    """One thing that is asked of the rows, and how the engine answers it."""

    model_config = ConfigDict(frozen=True)

    what: str
    where: str
    passes: int
    at_most: bool
    leaves: Transferred


class DataAccess(BaseModel):
    """Where a release reads the rows, how often, and what comes out of the engine."""

    model_config = ConfigDict(frozen=True)

    engine: str
    steps: tuple[ScanStep, ...]
    passes: int
    at_most: bool
    """Whether that is the most there can be."""
    leaves: Transferred

    @classmethod
    def of(cls, engine: str, steps: Sequence[ScanStep]) -> DataAccess:
        """Add the steps up."""
        leaving = {step.leaves for step in steps}
        most: Transferred = next(each for each in reversed(ORDER) if each in leaving)
        passes, at_most = sum(step.passes for step in steps), any(step.at_most for step in steps)
        return cls(engine=engine, steps=tuple(steps), passes=passes, at_most=at_most, leaves=most)

    def where(self) -> str:
        """Return in a line where the method's questions are answered."""
        places = dict.fromkeys(step.where for step in self.steps[1:])
        return f"{self.engine}: {'; '.join(places)}"

    def how_often(self) -> str:
        """Return in a line how often the rows are passed over, what for, and what leaves the engine."""
        parts = ", ".join(f"{_most(step)}{step.passes} for {step.what}" for step in self.steps)
        times = "once" if self.passes == 1 else f"{self.passes:,} times"
        return f"{'at most ' if self.at_most else ''}{times} over the rows ({parts}); {LEAVING[self.leaves]}"


def _most(step: ScanStep) -> str:
    return "up to " if step.at_most and step.passes > 1 else ""


def data_access_of(
    method: object, schema: Schema, table: Table | None = None, rows: int | None = None
) -> DataAccess | None:
    """Return how a method reads a table, or a file where none is at hand; None for a method that does not say."""
    if not isinstance(method, DeclaresScans):
        return None
    engine = None if table is None else table.source.engine
    title, answer = (FILE, _from_file) if engine is None else (engine.title, engine.scan_plan)
    many = sum(has_many_levels(column) for column in schema)
    asks = (DataRequest("the check against the schema", "check", times=1 + many), *method.asks(schema, rows))
    return DataAccess.of(title, [_step(ask, answer, schema) for ask in asks])


def _from_file(ask: DataRequest, schema: Schema) -> ScanPlan:
    """Answer as Parquet does, where the check may take two passes; other files take one."""
    return local_scan(ask, extra=int(ask.kind == "check" and schema.person is None))


def _step(ask: DataRequest, answer: Callable[[DataRequest, Schema], ScanPlan], schema: Schema) -> ScanStep:
    answered = answer(ask, schema)
    return ScanStep(
        what=ask.what, where=answered.where, passes=answered.passes, at_most=answered.at_most, leaves=answered.leaves
    )
