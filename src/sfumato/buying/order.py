"""What will be bought, from the header alone: which counts, with how much noise, at which cost.

The header is taken for public: names of columns, and the types of a source that has types. Every column is counted
twice: in which form its values are written (:mod:`sfumato.buying.forms`), and then which values there are
(:mod:`sfumato.buying.bounds`, or texts above a threshold, :mod:`sfumato.privacy.accounting.thresholds`). A row lies in
one cell of each count at most, so each is a contingency table and costs like one; all share one (epsilon, delta).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.buying.bounds import FIRST_YEAR, LAST_YEAR
from sfumato.buying.forms import FORM_CELLS
from sfumato.privacy.accounting.calibration import certified_parts
from sfumato.privacy.accounting.event import Event, Part
from sfumato.privacy.accounting.sensitivity import changed_cells
from sfumato.privacy.accounting.thresholds import smallest_threshold
from sfumato.privacy.exact import exact, round_down, text
from sfumato.release.plan import event_facts
from sfumato.schema import Schema

METHOD = "buy"
NOTE = "facts of a schema; what was saved is the schema, by the SHA-256 of its TOML text"
VALUE_CELLS = LAST_YEAR - FIRST_YEAR + 1
"""Cells of a second count of numbers or dates, at most; texts have as many as there are."""
FORM_SHARE = 0.2
"""Share of the first counts: a form has thousands of rows or none, so little tells them apart."""
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
        asked = [self._part(f"form of {name}", FORM_CELLS) for name in self.forms]
        asked += [self._part(f"values of {name}", VALUE_CELLS) for name in self.values]
        noisy = certified_parts(asked, self._shares(), round_down(self.epsilon), round_down(self.delta - thresholds))
        chance = round_down(thresholds / max(len(self.texts), 1)) * (1 - 1e-6)
        first = len(self.forms)
        return (*noisy[:first], *self._limited(noisy[first:], chance))

    def _part(self, stage: str, cells: int) -> Part:
        moved = changed_cells(self.header.adjacency)
        return Part(stage=stage, cells=cells, sensitivity=self.header.rows_per_person, changed_cells=moved, scale=1.0)

    def _shares(self) -> list[float]:
        if not self.forms or not self.values:
            return [1 / max(len(self.forms) + len(self.values), 1)] * (len(self.forms) + len(self.values))
        return [FORM_SHARE / len(self.forms)] * len(self.forms) + [(1 - FORM_SHARE) / len(self.values)] * len(
            self.values
        )

    def _limited(self, parts: Sequence[Part], chance: float) -> list[Part]:
        """Return the second counts; those that may list texts have a threshold."""
        rows = self.header.rows_per_person
        return [
            part.model_copy(update={"threshold": smallest_threshold(part.scale, chance, rows)})
            if name in self.texts
            else part
            for name, part in zip(self.values, parts, strict=True)
        ]


def order_of(header: Schema, kinds: Any, epsilon: Any, delta: Any) -> Order:
    """Return the order for the columns of a header with these engine types."""
    names = [name for name in header.names if name != header.person]
    asked = [name for name in names if not kinds[name].is_boolean()]
    untyped = [name for name in asked if not (kinds[name].is_date() or kinds[name].is_timestamp())]
    texts = frozenset(name for name in asked if kinds[name].is_string())
    return Order(header, tuple(untyped), tuple(asked), texts, exact(epsilon), exact(delta, "delta"))
