"""Privacy events: immutable, versioned records of what was run on a private table."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sfumato.errors import AccountingError
from sfumato.privacy.canonical_json import canonical_json
from sfumato.privacy.exact import fraction_to_text, to_fraction

EVENT_VERSION = 1


class EventPart(BaseModel):
    """One table that was measured inside an event."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    cells: int
    sensitivity: int = 1
    """Laplace: L1 sensitivity of the table. Gaussian: the most by which one cell can move."""
    changed_cells: int = 1
    """Gaussian: how many cells one neighbouring change can move by that much (2 under replace)."""
    scale: float
    """Scale of the discrete Laplace noise, or sigma of the discrete Gaussian noise."""
    threshold: int | None = Field(default=None, exclude_if=lambda limit: limit is None)
    """Where values have no public list: the noisy count from which on one is shown. Not written where there is none."""


class Event(BaseModel):
    """What was run, with everything an accountant needs and nothing about the rows.

    ``epsilon`` is an exact fraction kept as text; ``None`` marks an exposure: a release without a formal
    guarantee, recorded and shown but never added to a total.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = EVENT_VERSION
    kind: str
    method: str
    table: str
    adjacency: Literal["add-remove", "replace"]
    unit: str = "row"
    epsilon: str | None = None
    delta: str = "0"
    parts: tuple[EventPart, ...] = ()
    randomness: Literal["secure", "seeded"] = "secure"
    note: str = ""
    adaptive: bool = Field(default=False, exclude_if=lambda follows: not follows)
    """Parts follow from the noisy answers of an earlier event (a bought schema): composition counts the stated cost."""

    @field_validator("epsilon", "delta", mode="before")
    @classmethod
    def _exact_text(cls, value: Any) -> Any:
        return value if value is None else fraction_to_text(to_fraction(value))

    @model_validator(mode="after")
    def _sound_cost(self) -> Self:
        if to_fraction(self.delta, "delta") < 0 or to_fraction(self.epsilon or 0) < 0:
            raise AccountingError(
                "an event cannot cost less than nothing", next_step="give epsilon and delta of 0 or more"
            )
        if self.kind == "zero-concentrated" and to_fraction(self.delta, "delta") == 0:
            raise AccountingError(
                "a zero-concentrated event is recorded by the (epsilon, delta) that it converts to",
                next_step="convert rho (sfumato.privacy.accounting.gaussian_calibration.concentrated_epsilon), with "
                "a delta",
            )
        return self

    @property
    def is_formal(self) -> bool:
        """Whether the event carries a formal guarantee and may enter a total."""
        return event_kind(self.kind).formal

    @property
    def cost(self) -> tuple[Fraction, Fraction]:
        """The exact (epsilon, delta) of a formal event."""
        if self.epsilon is None or not self.is_formal:
            raise AccountingError(
                f"event {self.kind!r} of method {self.method!r} is an exposure and has no epsilon to add up",
                next_step="compose formal events only; exposures are shown beside the total",
            )
        return to_fraction(self.epsilon), to_fraction(self.delta)

    def to_json(self) -> str:
        """Return canonical JSON: sorted keys, no spaces; the ledger hashes this text."""
        body = self.model_dump(mode="json", warnings="error")  # a copy may hold what its class would have refused
        return canonical_json(body)

    @classmethod
    def from_json(cls, data: str | Mapping[str, Any]) -> Event:
        """Read an event back; an unknown version or kind is refused, never guessed."""
        body: dict[str, Any] = json.loads(data) if isinstance(data, str) else dict(data)
        if body.get("version") != EVENT_VERSION:
            raise AccountingError(
                f"event of version {body.get('version')!r} is not understood",
                next_step=f"this release of sfumato reads version {EVENT_VERSION}; use the one that wrote it",
            )
        event = cls.model_validate(body)
        event_kind(event.kind)
        return event


class EventKind(BaseModel):
    """How accountants treat one kind of event."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    name: str
    formal: bool
    guarantee: str
    loss_parts: Callable[[Event], Any] | None = None
    """Returns what the event adds to a :class:`~sfumato.privacy.accounting.composition.ComposedLoss`. Without it the
    event counts by ``loss``, and without that by the (epsilon, delta) that it states."""
    loss: Callable[[Event], Any] | None = None
    """Returns dp-accounting's privacy loss distribution of the event; imported only when needed."""
    check_cost: Callable[[Event], bool] | None = None
    """Whether the parts, which must then be listed, cost no more than the event states."""
    quick_check: Callable[[Event], bool] | None = None
    """An approximation of ``check_cost`` that takes a millisecond, for events that were admitted before."""
    needs_delta: bool = False
    """Whether no epsilon holds at delta 0."""
    has_thresholds: bool = False
    """Whether parts may have thresholds."""
    totals_known: bool = False
    """Whether the parts have a mu^2 or a rho, which a privacy filter can add up."""
    counts_by_epsilon: bool = False
    """Whether an event without a delta counts as epsilon^2 / 2 in zCDP."""
    rho: Callable[[Event], float] | None = None
    """Returns the rho of an event that is composed by its own law; by default that of its L1 sensitivities."""


_KINDS: dict[str, EventKind] = {}


def register_event_kind(kind: EventKind) -> EventKind:
    """Make a kind of event known to every accountant."""
    _KINDS[kind.name] = kind
    return kind


def event_kind(name: str) -> EventKind:
    """Return a registered kind; an unknown one is refused. The built-in kinds are registered when one is asked for."""
    if name not in _KINDS:
        importlib.import_module("sfumato.privacy.accounting.event_kinds")
    if name not in _KINDS:
        raise AccountingError(
            f"unknown event kind {name!r}: its privacy cost cannot be known",
            next_step=f"use one of: {', '.join(sorted(_KINDS))}",
        )
    return _KINDS[name]
