"""What AIM and MST share: their parameters are checked, planned and run in one way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from sfumato.errors import PlanError
from sfumato.methods.graphical.asking import asks_of
from sfumato.methods.graphical.cells.one_way import Binning
from sfumato.methods.graphical.choosing.rounds import Engine, Settings
from sfumato.methods.graphical.plan import GraphicalPlan
from sfumato.methods.graphical.run import release_rows
from sfumato.privacy.exact import Number, exact, positive
from sfumato.privacy.randomness import Randomness
from sfumato.release.method import Output
from sfumato.release.parameters import DEFAULT_DELTA, delta_or, sound_parameters
from sfumato.release.plan import Plan, sound_rows
from sfumato.schema import Schema
from sfumato.table.passes import Ask

if TYPE_CHECKING:
    from sfumato.table import Table

Bins = Literal["adaptive", "schema"]
BINNINGS = {"adaptive": Binning(fine_cells=128, most_groups=32), "schema": Binning(fine_cells=1, most_groups=None)}


class GraphicalMethod(ABC):
    """A method that fits a graphical model to noisy marginals."""

    epsilon: Any
    delta: Any
    columns: Any
    bins: Any
    rounding: Any

    @abstractmethod
    def planned(self, schema: Schema) -> GraphicalPlan:
        """Return what will be done, from public facts alone."""

    @abstractmethod
    def settings(self) -> Settings:
        """Return how the budget is spread."""

    @property
    @abstractmethod
    def chosen_engine(self) -> Engine:
        """What chooses and measures tables after the one-way ones, and fits the model."""

    @property
    def spent_delta(self) -> Number:
        """The delta of the release."""
        return delta_or(self.delta, DEFAULT_DELTA)

    def _check_parameters(self) -> None:
        """Refuse parameters that no schema could make sound, all at once."""
        sound_parameters(self)
        problems: list[str] = []
        for check in (lambda: positive(self.epsilon), lambda: positive(self.spent_delta, "delta")):
            try:
                check()
            except PlanError as error:
                problems.append(error.headline)
        if not problems and not exact(self.spent_delta) < 1:
            problems.append(f"delta must be below 1, found {self.delta}")
        if self.bins not in BINNINGS:
            problems.append(f"bins {self.bins!r} is unknown: use one of {', '.join(BINNINGS)}")
        if problems:
            raise PlanError(
                "the parameters are not sound", problems, "give for example epsilon=1.0, delta=1e-9, bins='adaptive'"
            )

    def plan(self, schema: Schema, rows: int | None = None, randomness: str = "secure") -> Plan:
        """Return cost and needs, or raise PlanError with every problem."""
        sound_rows(rows)
        return self.planned(schema).release_plan(rows, randomness)

    def asks(self, schema: Schema, rows: int | None = None) -> tuple[Ask, ...]:
        """Return what will be asked of the rows, from public facts alone."""
        return asks_of(self.planned(schema))

    def run(self, table: Table, plan: Plan, randomness: Randomness, rows: int | None = None) -> Output:
        """Measure tables, fit the model, draw rows."""
        planned = self.planned(table.schema)
        return release_rows(planned, table, plan, self.chosen_engine, self.settings(), bool(self.rounding), randomness)
