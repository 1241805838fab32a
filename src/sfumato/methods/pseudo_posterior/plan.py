"""The pseudo posterior with a guarantee, as far as it is public: what is drawn how, and what it costs.

Nothing here sees a row; :mod:`sfumato.methods.pseudo_posterior.run` does what is planned here, and proves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sfumato.errors import PlanError
from sfumato.methods.pseudo_posterior.models import REGRESSIONS, ColumnModel
from sfumato.methods.pseudo_posterior.private.clipped import ClippedPosterior
from sfumato.methods.pseudo_posterior.private.public_box import public_box
from sfumato.methods.pseudo_posterior.private.statistics import NoisyStatistics
from sfumato.privacy.accounting.event import Event, Part
from sfumato.privacy.exact import Number, exact, positive, text
from sfumato.release.measurement import Measurement
from sfumato.release.plan import Plan, PlanFacts, Stage, event_facts, refuse_memory, unit_of
from sfumato.rows.design import Design
from sfumato.rows.released import as_they_are
from sfumato.rows.rules.refuse import refuse_impossible_rules
from sfumato.rows.tree import tables_of_tree
from sfumato.schema import Schema

WAYS = ("auto", "clipped", "statistics")
MANY = 10_000
"""Public rows times epsilon from which noisy statistics have the smaller error in every parameter."""
PREDICTOR_SHARE = Fraction(1, 3)
"""Share of the budget for the predictors; the rest is for the target given them."""
MOST_EXACT = 2
"""Columns of the design up to which a clipped posterior is drawn exactly from its grid."""
BYTES_PER_VALUE = 64
LARGEST_SCALE = 2.0**54
"""Noise of this scale leaves the 64-bit integers with a probability below exp(-250)."""


def recommended(rows: int, epsilon: Number) -> Literal["clipped", "statistics"]:
    """Return the private regression to use at a public number of rows.

    >>> recommended(2000, 1), recommended(20000, 1)
    ('clipped', 'statistics')
    """
    return "statistics" if rows * positive(epsilon) >= MANY else "clipped"


@dataclass(frozen=True)
class PrivateRegression:
    """One target with a guarantee, on one schema; what cannot be protected is refused."""

    method: str
    schema: Schema
    model: ColumnModel
    epsilon: Fraction
    delta: Fraction
    way: str = "auto"
    copies: int = 1
    public_predictors: bool = False
    rows: int | None = None
    """Rows to make, where they are stated: public, and a guess of the size of the table."""

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.model.family not in REGRESSIONS:
            problems.append(
                f"the target is modelled as normal or lognormal, found {self.model.column.name} as {self.model.family}"
            )
        if self.schema.rows_per_person > 1:
            problems.append(f"a person may hold {self.schema.rows_per_person} rows, and one row is protected")
        if self.public_predictors and not self.model.given:
            problems.append("public_predictors needs predictors")
        if self.public_predictors and self.schema.adjacency != "replace":
            problems.append("public predictors show who is in the table: state adjacency 'replace' and the public rows")
        if problems:
            raise PlanError(
                f"cannot plan {self.method} on table {self.schema.name!r}",
                problems,
                "use marginals for other columns, or what the paper printed, as_published",
            )

    @property
    def modelled(self) -> tuple[str, ...]:
        """The target and its predictors."""
        return (self.model.column.name, *(column.name for column in self.model.given))

    @property
    def unit(self) -> str:
        """What one neighbouring change changes: a row, or nothing but its target where the predictors are public."""
        return f"the value of {self.model.column.name} in one row" if self.public_predictors else unit_of(self.schema)

    @property
    def kept_names(self) -> tuple[str, ...]:
        """The columns that are released as they are."""
        return tuple(column.name for column in self.model.given) if self.public_predictors else ()

    @property
    def design(self) -> Design:
        """How predictors enter: numbers and indicators, all within [-1, 1]."""
        return Design(self.model.given)

    @property
    def budgets(self) -> tuple[Fraction, Fraction]:
        """What the predictors and the target given them may cost."""
        share = PREDICTOR_SHARE if self.model.given and not self.public_predictors else Fraction(0)
        return self.epsilon * share, self.epsilon * (1 - share)

    @property
    def deltas(self) -> tuple[Fraction, Fraction]:
        """How delta is divided; a clipped posterior needs none."""
        both = bool(self.budgets[0]) and self.chosen(self.rows) == "statistics"
        if both:
            return self.delta / 2, self.delta / 2
        return self.delta, Fraction(0) if self.budgets[0] else self.delta

    def chosen(self, rows: int | None) -> str:
        """Return "clipped" or "statistics": as stated, or by ``recommended``."""
        if self.way != "auto":
            return self.way
        if len(self.design.names) > MOST_EXACT:
            return "statistics"
        public = self.schema.rows or rows
        return recommended(public, self.budgets[1]) if public else "clipped"

    def clipped(self) -> ClippedPosterior:
        """Return the clipped posterior; several copies share the budget."""
        column = self.model.column
        low, high = (float(bound) for bound in column.numeric_bounds)
        scale: Any = self.model.family
        box = public_box((low, high), [(-1.0, 1.0)] * len(self.design.names), scale)
        return ClippedPosterior(box=box, epsilon=self.budgets[1] / self.copies, adjacency=self.schema.adjacency)

    def statistics(self) -> NoisyStatistics:
        """Return the noisy statistics."""
        low, high = (float(bound) for bound in self.model.column.numeric_bounds)
        scale: Any = self.model.family
        return NoisyStatistics(
            target=(low, high),
            predictors=((-1.0, 1.0),) * len(self.design.names),
            scale=scale,
            epsilon=self.budgets[1],
            delta=self.deltas[1],
            adjacency=self.schema.adjacency,
            rows=self.schema.rows,
        )

    def predictor_tables(self) -> Measurement:
        """Return the noisy tables that predictors are drawn from."""
        names = [column.name for column in self.model.given]
        return tables_of_tree(self.method, names, (self.budgets[0], self.deltas[0]))

    def plan(self, rows: int | None, randomness: str) -> Plan:
        """Return cost and needs from public facts alone."""
        stages, events = self._target(rows, randomness)
        if self.budgets[0]:
            first = self.predictor_tables().plan(self.schema, randomness)
            stages = (*first.stages, *stages)
            events = (*first.events, *events)
        refuse_impossible_rules(self.schema, tuple(name for name in self.schema.names if name in self.modelled))
        count = self._count(rows)
        memory = max(count or 1, self.schema.rows or 1) * self.row_bytes * self.copies
        refuse_memory(memory, "the rows and their copies", "ask for fewer rows or copies")
        facts: PlanFacts = {"rows": count, "assumptions": self._assumptions(), "notes": self._notes(rows)}
        return Plan.for_(self.method, self.schema, stages, events, memory, **{**facts, "unit": self.unit})

    @property
    def row_bytes(self) -> int:
        """Memory for one row of one copy."""
        return BYTES_PER_VALUE * (1 + len(self.model.given))

    def _notes(self, rows: int | None) -> tuple[str, ...]:
        ignored = ("rows is ignored: public predictors decide how many there are",) if rows is not None else ()
        return (*as_they_are(self.kept_names), *(ignored if self.public_predictors else ()))

    def _count(self, rows: int | None) -> int | None:
        if self.public_predictors:
            return None
        count = rows if rows is not None else self.schema.rows
        if count is None and not self.budgets[0]:
            raise PlanError(
                "without predictors the number of rows to make must be stated",
                next_step="give rows, for example --rows 1000",
            )
        return count

    def _assumptions(self) -> tuple[str, ...]:
        if not self.public_predictors:
            return ()
        names = ", ".join(column.name for column in self.model.given)
        return (
            f"the predictors ({names}) and the number of rows are public and released as they are; what is hidden "
            f"is the value of {self.model.column.name} in any one row",
        )

    def _target(self, rows: int | None, randomness: str) -> tuple[tuple[Stage, ...], tuple[Event, ...]]:
        facts: dict[str, Any] = {**event_facts(self.method, self.schema, randomness), "unit": self.unit}
        epsilon, name = self.budgets[1], f"{self.model.column.name} given its predictors"
        said = "; ".join((*as_they_are(self.kept_names), *self._assumptions()))
        if self.chosen(rows) == "clipped":
            posterior = self.clipped()
            part = Part(stage=name, cells=self.copies, scale=float(1 / posterior.strength))
            event = Event(kind="clipped-posterior", epsilon=text(epsilon), parts=(part,), note=said, **facts)
            words, shown = f"clipped posterior, W = {posterior.width:.3g}", part.scale
        else:
            noisy = self.statistics()
            part, delta = noisy.part.model_copy(update={"stage": name}), exact(noisy.delta)
            _refuse_scale(part.scale)
            kind = "lattice-gaussian" if delta else "discrete-laplace"
            event = Event(kind=kind, epsilon=text(epsilon), delta=text(delta), parts=(part,), note=said, **facts)
            words, shown = "noisy statistics, on a lattice", part.scale / part.sensitivity
        stage = Stage(
            name=name,
            cells=part.cells,
            noise=words,
            scale=shown,
            epsilon=text(epsilon),
            share=text(1 - PREDICTOR_SHARE) if self.budgets[0] else "1",
        )
        return (stage,), (event,)


def _refuse_scale(scale: float) -> None:
    """Refuse noise that 64-bit sums could not hold."""
    if not scale <= LARGEST_SCALE:
        raise PlanError(
            "the noise of this budget does not fit into machine numbers",
            next_step="give a larger epsilon, or fewer predictors",
        )
