"""What will be bought, from the header alone: which counts, with how much noise, at which cost.

The header is taken for public: names of columns, and the types of a source that has types. Every column is counted
twice: in which form its values are written (:mod:`sfumato.buying.forms`), and then which values there are
(:mod:`sfumato.buying.bounds`, or texts above a threshold, :mod:`sfumato.privacy.accounting.thresholds`). A row lies in
one cell of each count at most, so each is a contingency table and costs like one. Which second count a column gets is
decided by its first, so the costs are added up in zCDP, which allows for that; all share one (epsilon, delta).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.buying.bounds import FIRST_YEAR, LAST_YEAR
from sfumato.buying.forms import FORM_CELLS
from sfumato.errors import PlanError
from sfumato.privacy.accounting.concentrated import concentrated_rho, sigma_for
from sfumato.privacy.accounting.event import Event, Part
from sfumato.privacy.accounting.sensitivity import changed_cells, histogram_l2_squared
from sfumato.privacy.accounting.strength import refuse_weak
from sfumato.privacy.accounting.thresholds import smallest_threshold
from sfumato.privacy.exact import exact, round_down, text
from sfumato.release.parameters import DEFAULT_DELTA, delta_or, delta_problems, epsilon_problems, number_problems
from sfumato.release.plan import event_facts
from sfumato.schema import Schema

METHOD = "buy"
NOTE = "facts of a schema; what was saved is the schema, by the SHA-256 of its TOML text"
VALUE_CELLS = LAST_YEAR - FIRST_YEAR + 1
"""Cells of a second count of numbers or dates, at most; texts have as many as there are."""
FORM_SHARE = Fraction(1, 5)
"""Share of the first counts: a form has thousands of rows or none, so little tells them apart."""
MOST_ROWS_PER_PERSON = 10_000
"""Rows of one person beyond which the noise hides any table."""
THRESHOLD_SHARE = Fraction(1, 2)
"""Share of delta that pays for texts which only one neighbour holds."""


@dataclass(frozen=True)
class Order:
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
        """Return what is recorded before anything is counted."""
        return Event(
            kind="thresholded-gaussian",
            epsilon=text(self.epsilon),
            delta=text(self.delta),
            parts=self.parts(),
            note=NOTE,
            **event_facts(METHOD, self.header, randomness),
        )

    def parts(self) -> tuple[Part, ...]:
        """Return every count with its noise; thresholds take their share of delta, and noise the rest."""
        thresholds = self.delta * THRESHOLD_SHARE if self.texts else Fraction(0)
        rho = concentrated_rho(self.epsilon, self.delta - thresholds)
        share = FORM_SHARE if self.forms else Fraction(0)
        first = [self._part(f"form of {name}", FORM_CELLS, rho * share / len(self.forms)) for name in self.forms]
        each = rho * (1 - share) / len(self.values)
        second = [self._part(f"values of {name}", VALUE_CELLS, each) for name in self.values]
        return (*first, *self._limited(second, round_down(thresholds / max(len(self.texts), 1))))

    def _part(self, stage: str, cells: int, rho: Fraction) -> Part:
        adjacency, rows = self.header.adjacency, self.header.rows_per_person
        sigma = sigma_for(rho, histogram_l2_squared(adjacency, rows))
        return Part(stage=stage, cells=cells, sensitivity=rows, changed_cells=changed_cells(adjacency), scale=sigma)

    def _limited(self, parts: Sequence[Part], chance: float) -> list[Part]:
        """Return the second counts; those that may list texts have a threshold."""
        rows = self.header.rows_per_person
        return [
            part.model_copy(update={"threshold": smallest_threshold(part.scale, chance, rows)})
            if name in self.texts
            else part
            for name, part in zip(self.values, parts, strict=True)
        ]


def sound_budget(epsilon: Any, delta: Any, rows_per_person: Any) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta as they are charged; refuse what cannot be a price, all problems at once."""
    delta = delta_or(delta, DEFAULT_DELTA)
    many = number_problems(rows_per_person, "rows_per_person", 1, MOST_ROWS_PER_PERSON, whole=True)
    if problems := [*epsilon_problems(epsilon), *delta_problems(delta), *many]:
        raise PlanError("these facts cannot be bought", problems, "give epsilon=0.2, and a delta such as 1e-9")
    refuse_weak(exact(epsilon), exact(delta, "delta"), False)
    return exact(epsilon), exact(delta, "delta")


def order_of(header: Schema, kinds: Any, epsilon: Fraction, delta: Fraction) -> Order:
    """Return the order for the columns of a header with these engine types."""
    names = [name for name in header.names if name != header.person]
    asked = [name for name in names if not kinds[name].is_boolean()]
    untyped = [name for name in asked if not (kinds[name].is_date() or kinds[name].is_timestamp())]
    texts = frozenset(name for name in asked if kinds[name].is_string())
    return Order(header, tuple(untyped), tuple(asked), texts, epsilon, delta)
