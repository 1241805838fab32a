"""Plan of a private posterior: how the target is drawn, shares of the budget, notes.

Nothing here sees a row; :mod:`sfumato.mechanisms.pseudo_posterior.method` does what is planned here, and proves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.constraints.draw_rows import unchanged_columns_note
from sfumato.core.plan import Plan, PlanFacts, Stage, event_facts, exact_cost, protected_unit, refuse_memory
from sfumato.errors import PlanError
from sfumato.mechanisms.noisy_marginals import NoisyMarginals
from sfumato.mechanisms.pseudo_posterior.clipped_posterior import ClippedPosterior, parameter_box
from sfumato.mechanisms.pseudo_posterior.column_models import CODES, REGRESSIONS, ColumnModel
from sfumato.mechanisms.pseudo_posterior.dirichlet_levels import NoisyLevelCounts
from sfumato.mechanisms.pseudo_posterior.sufficient_statistics import NoisyStatistics
from sfumato.mechanisms.tree_model import tree_marginals
from sfumato.privacy.accounting.event import Event, EventPart
from sfumato.privacy.accounting.guarantee import ONE_VALUE
from sfumato.privacy.canonical_json import sha256_hex
from sfumato.privacy.exact import Number, to_fraction, to_positive_fraction
from sfumato.sampling.design_matrix import CoarsePredictors, DesignMatrix
from sfumato.schema import Schema

WAYS = ("auto", "clipped", "statistics")
MANY = 10_000
"""Public rows times epsilon from which noisy statistics have the smaller error in every parameter."""
PREDICTOR_SHARE = Fraction(1, 3)
"""Share of the budget for the predictors; the rest is for the target given them."""
MOST_EXACT = 2
"""Columns of the design up to which a clipped posterior is drawn exactly from its grid."""
BYTES_PER_VALUE = 64
MOST_SPELLED = 12
"""Edges of brackets that a unit names one by one; of more it gives the ends and a digest."""
LARGEST_SCALE = 2.0**54
"""Noise of this scale leaves the 64-bit integers with a probability below exp(-250)."""


def default_mechanism(rows: int, epsilon: Number) -> Literal["clipped", "statistics"]:
    """Return the private regression to use at a public number of rows.

    >>> default_mechanism(2000, 1), default_mechanism(20000, 1)
    ('clipped', 'statistics')
    """
    return "statistics" if rows * to_positive_fraction(epsilon) >= MANY else "clipped"


@dataclass(frozen=True)
class PrivateTarget:
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
    brackets: tuple[float, ...] | None = None
    """Public edges of the target, where only the place within a bracket is protected."""

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.model.family not in (*REGRESSIONS, *CODES):
            known = f"{', '.join(REGRESSIONS)}, {' or '.join(CODES)}"
            problems.append(f"the target is modelled as {known}, found {self.model.column.name} as {self.model.family}")
        if self.holds_levels and self.way == "clipped":
            problems.append("levels are drawn from noisy counts: leave way out, or give way='statistics'")
        if self.schema.rows_per_person > 1:
            problems.append(f"a person may hold {self.schema.rows_per_person} rows, and one row is protected")
        if self.public_predictors and not self.model.given:
            problems.append("public_predictors needs predictors")
        if self.public_predictors and self.schema.adjacency != "replace":
            problems.append("public predictors show who is in the table: state adjacency 'replace' and the public rows")
        problems += [] if self.brackets is None else self._bracket_problems(self.brackets)
        if problems:
            raise PlanError(
                f"cannot plan {self.method} on table {self.schema.name!r}",
                problems,
                "correct what is listed, use marginals for other columns, or what the paper printed, as_published",
            )

    def _bracket_problems(self, edges: tuple[float, ...]) -> list[str]:
        """Return why the place of a target within its bracket cannot be what is protected, and nothing else."""
        column, problems = self.model.column, list[str]()
        if self.holds_levels:
            problems.append(f"brackets need numbers, and column {column.name!r} holds levels")
        elif not (edges[0] <= column.numeric_bounds[0] and column.numeric_bounds[1] <= edges[-1]):
            low, high = column.numeric_bounds
            problems.append(f"the brackets miss values from {low:g} to {high:g}, which the schema allows")
        if self.schema.adjacency != "replace":
            problems.append("brackets are known of rows that are there: state adjacency 'replace' and the public rows")
        if self.model.given and not self.public_predictors:
            problems.append(
                "brackets protect a target within its bracket only: say public_predictors, or leave them out"
            )
        if self.way == "clipped":
            problems.append(
                "a clipped posterior costs no less within brackets, since a narrow spread tells their values apart: "
                "leave way out, or give way='statistics'"
            )
        return problems

    @property
    def holds_levels(self) -> bool:
        """Whether the target is a column of levels, drawn from noisy counts."""
        return self.model.family in CODES

    @property
    def modelled(self) -> tuple[str, ...]:
        """The target and its predictors."""
        return (self.model.column.name, *(column.name for column in self.model.given))

    @property
    def unit(self) -> str:
        """What one neighbouring change changes: a row, its target alone, or that within its bracket.

        The brackets are part of the unit: costs for other brackets are costs of another adjacency.
        """
        value = f"{ONE_VALUE}{self.model.column.name}"
        if self.brackets is not None:
            return f"{value} within its public bracket ({_spelled(self.brackets)}) in one row"
        return f"{value} in one row" if self.public_predictors else protected_unit(self.schema)

    @property
    def kept_names(self) -> tuple[str, ...]:
        """The columns that are released as they are."""
        return tuple(column.name for column in self.model.given) if self.public_predictors else ()

    @property
    def design(self) -> DesignMatrix:
        """How predictors enter a regression: numbers and indicators, all within [-1, 1]."""
        return DesignMatrix(self.model.given)

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
        if self.holds_levels or self.brackets is not None or len(self.design.names) > MOST_EXACT:
            return "statistics"
        public = self.schema.rows or rows
        return default_mechanism(public, self.budgets[1]) if public else "clipped"

    def clipped(self) -> ClippedPosterior:
        """Return the clipped posterior; several copies share the budget."""
        column = self.model.column
        low, high = (float(bound) for bound in column.numeric_bounds)
        scale: Any = self.model.family
        box = parameter_box((low, high), [(-1.0, 1.0)] * len(self.design.names), scale)
        return ClippedPosterior(box=box, epsilon=self.budgets[1] / self.copies, adjacency=self.schema.adjacency)

    def statistics(self) -> NoisyStatistics | NoisyLevelCounts:
        """Return the noisy statistics: counts of levels, or moments of numbers."""
        return self._noisy_levels() if self.holds_levels else self._noisy_moments()

    def _noisy_levels(self) -> NoisyLevelCounts:
        how = self.model.predictors
        return NoisyLevelCounts(
            levels=self.model.column.size,
            cells=how.size if isinstance(how, CoarsePredictors) else 1,
            epsilon=self.budgets[1],
            delta=self.deltas[1],
            adjacency=self.schema.adjacency,
        )

    def _noisy_moments(self) -> NoisyStatistics:
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
            known_predictors=self.public_predictors or self.brackets is not None,
            brackets=self.brackets,
        )

    def predictor_tables(self) -> NoisyMarginals:
        """Return the noisy tables that predictors are drawn from."""
        names = [column.name for column in self.model.given]
        return tree_marginals(self.method, names, (self.budgets[0], self.deltas[0]))

    def plan(self, rows: int | None, randomness: str) -> Plan:
        """Return cost and needs from public facts alone."""
        stages, events = self._target(rows, randomness)
        if self.budgets[0]:
            first = self.predictor_tables().plan(self.schema, randomness)
            stages = (*first.stages, *stages)
            events = (*first.events, *events)
        refuse_contradictions(self.schema, self.schema.in_order(self.modelled))
        count = self._count(rows)
        memory = max(count or 1, self.schema.rows or 1) * self.row_bytes * self.copies
        memory += BYTES_PER_VALUE * sum(part.cells for event in events for part in event.parts)
        refuse_memory(memory, "the rows, their copies and the noisy tables", "ask for fewer rows or copies")
        facts: PlanFacts = {"rows": count, "assumptions": self._assumptions(), "notes": self._notes(rows)}
        return Plan.for_(self.method, self.schema, stages, events, memory, **{**facts, "unit": self.unit})

    @property
    def row_bytes(self) -> int:
        """Memory for one row of one copy."""
        return BYTES_PER_VALUE * (1 + len(self.model.given))

    def _notes(self, rows: int | None) -> tuple[str, ...]:
        ignored = ("rows is ignored: public predictors decide how many there are",) if rows is not None else ()
        return (*unchanged_columns_note(self.kept_names), *(ignored if self.public_predictors else ()))

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
        """Return what is taken to be public, in words that the statement, the event and the report repeat."""
        target, names = self.model.column.name, ", ".join(column.name for column in self.model.given)
        hidden = f"the value of {target} in any one row"
        known: tuple[str, ...] = ()
        if self.brackets is not None:
            hidden = f"where within its bracket the value of {target} in any one row lies"
            known = (
                f"which bracket of {target} a row lies in is public for every row; the bracket itself is NOT "
                "protected: whoever does not know it may learn it from this release",
            )
        if not self.public_predictors:
            return known
        sentence = f"the predictors ({names}) and the number of rows are public and released as they are; "
        return (f"{sentence}what is hidden is {hidden}", *known)

    def _noise_words(self, part: EventPart) -> tuple[str, float]:
        """Return what a stage says about noisy statistics, and the scale that it shows."""
        if self.holds_levels:
            return f"noisy counts, discrete {'Gaussian' if self.deltas[1] else 'Laplace'}", part.scale
        within = ", within brackets" if self.brackets is not None else ""
        return f"noisy statistics, on a lattice{within}", part.scale / part.sensitivity

    def _target(self, rows: int | None, randomness: str) -> tuple[tuple[Stage, ...], tuple[Event, ...]]:
        facts: dict[str, Any] = {**event_facts(self.method, self.schema, randomness), "unit": self.unit}
        epsilon, name = self.budgets[1], f"{self.model.column.name} given its predictors"
        if self.chosen(rows) == "clipped":
            posterior = self.clipped()
            part = EventPart(stage=name, cells=self.copies, scale=float(1 / posterior.strength))
            kind, delta = "clipped-posterior", Fraction(0)
            words, shown = f"clipped posterior, W = {posterior.width:.3g}", part.scale
        else:
            noisy = self.statistics()
            part, delta = noisy.part.model_copy(update={"stage": name}), to_fraction(noisy.delta)
            _refuse_scale(part.scale)
            gaussian = "discrete-gaussian" if self.holds_levels else "lattice-gaussian"
            kind = gaussian if delta else "discrete-laplace"
            words, shown = self._noise_words(part)
        event = Event(
            kind=kind,
            parts=(part,),
            note="; ".join((*unchanged_columns_note(self.kept_names), *self._assumptions())),
            **exact_cost(epsilon, delta),
            **facts,
        )
        stage = Stage.of(part, words, epsilon, 1 - PREDICTOR_SHARE if self.budgets[0] else "1", shown)
        return (stage,), (event,)


def _spelled(edges: tuple[float, ...]) -> str:
    """Name brackets by their edges: each of a few, the ends and a digest of many.

    >>> _spelled((0.0, 10.0, 100.0)), _spelled(tuple(range(20)))
    ('edges 0, 10, 100', '19 brackets from 0 to 19, digest 3c69dbeb')
    """
    named = ", ".join(repr(float(edge)).removesuffix(".0") for edge in edges)
    if len(edges) <= MOST_SPELLED:
        return f"edges {named}"
    return f"{len(edges) - 1} brackets from {edges[0]:g} to {edges[-1]:g}, digest {sha256_hex(named)[:8]}"


def _refuse_scale(scale: float) -> None:
    """Refuse noise that 64-bit sums could not hold."""
    if not scale <= LARGEST_SCALE:
        raise PlanError(
            "the noise of this budget does not fit into machine numbers",
            next_step="give a larger epsilon, or fewer predictors",
        )
