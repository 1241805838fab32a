"""Accounts, ledger entries, their outcomes and verification results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

from sfumato.errors import LedgerError, PlanError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.exact import Number, fraction_to_text, to_fraction, to_positive_fraction

if TYPE_CHECKING:
    from sfumato.privacy.accounting.composition import FilterTotals

Adjacency = Literal["add-remove", "replace"]
Composition = Annotated[str, Field(pattern=r"^(basic|tight|filter [0-9]+(/[0-9]+|\.[0-9]+)?)$")]
"""How costs are put together: exact sums, composed losses, or fixed totals with the share of them for choices."""
FILTER, DEFAULT_CHOICES = "filter", Fraction(1, 10)
TERMS = ("cap_epsilon", "cap_delta", "adjacency", "composition")
TOTALS = ("unit", "spent_epsilon", "spent_delta", "events", "exposures")


class FilterUsage(BaseModel):
    """The fixed totals of an account, and what its releases use of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mu_squared: float
    cap_mu_squared: float
    rho: float
    cap_rho: float

    def __str__(self) -> str:
        return (
            f"mu^2 {self.mu_squared:.4g} of {self.cap_mu_squared:.4g} and rho {self.rho:.4g} of {self.cap_rho:.4g} used"
        )


class Account(BaseModel):
    """Caps of one table and what was spent so far; all amounts are exact fractions kept as text.

    ``spent_epsilon`` and ``spent_delta`` are the exact sums (basic composition). Under tight composition they may
    pass the caps: ``tight_epsilon`` is then the total that counts, and ``left_epsilon`` is what it leaves. So it is
    under fixed totals, but there ``totals`` decides what is admitted.

    >>> account = Account.opened("people", epsilon=5)
    >>> account.cap_epsilon, account.left_epsilon
    ('5', '5')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    cap_epsilon: str
    cap_delta: str
    adjacency: Adjacency
    composition: Composition
    unit: str = ""
    """Whom the guarantee protects (``row``, ``person``): decided by the first formal event, empty before it."""
    spent_epsilon: str = "0"
    spent_delta: str = "0"
    events: int = 0
    """Number of formal events."""
    exposures: int = 0
    """Number of releases without a formal guarantee: recorded, never added to a total."""
    tight_epsilon: str | None = None
    """Under tight composition and fixed totals, epsilon of all formal events together at the cap's delta."""
    totals: FilterUsage | None = Field(default=None, exclude_if=lambda used: used is None)
    """Under fixed totals, what is used of them; not written for other accounts."""

    @classmethod
    def opened(
        cls, name: str, epsilon: Number, delta: Number = 0, adjacency: str = "add-remove", composition: str = "basic"
    ) -> Account:
        """Return a new account after checking its terms."""
        _refuse_odd_name(name)
        _refuse_unknown("adjacency", adjacency, ("add-remove", "replace"))
        composed = _composition(composition)
        cap = to_delta(delta)
        if composed != "basic" and not cap:
            kind = composed.partition(" ")[0]
            raise PlanError(f"{kind} composition needs a cap on delta above 0", next_step="give delta such as 1e-6")
        terms: dict[str, Any] = {"adjacency": adjacency, "composition": composed}
        return cls(
            name=name,
            cap_epsilon=fraction_to_text(to_positive_fraction(epsilon)),
            cap_delta=fraction_to_text(cap),
            **terms,
        )

    @property
    def fixed(self) -> FilterTotals | None:
        """The totals of mu^2 and rho that were fixed at the opening, where the account has such."""
        from sfumato.privacy.accounting.composition import FilterTotals

        kind, _, share = self.composition.partition(" ")
        return FilterTotals.of(*self.caps, Fraction(share)) if kind == FILTER else None

    @property
    def caps(self) -> tuple[Fraction, Fraction]:
        """The caps on epsilon and delta."""
        return to_fraction(self.cap_epsilon), to_fraction(self.cap_delta, "delta")

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """The exact sums of epsilon and delta so far."""
        return to_fraction(self.spent_epsilon), to_fraction(self.spent_delta, "delta")

    @property
    def total_epsilon(self) -> str:
        """What was spent of epsilon under the account's composition."""
        return self.tight_epsilon or self.spent_epsilon

    @computed_field
    @property
    def left_epsilon(self) -> str:
        """The rest of the cap on epsilon, under the account's composition."""
        return fraction_to_text(max(self.caps[0] - to_fraction(self.total_epsilon), Fraction(0)))

    @computed_field
    @property
    def left_delta(self) -> str:
        """The rest of the cap on delta, by the exact sum."""
        return fraction_to_text(max(self.caps[1] - self.spent[1], Fraction(0)))

    @property
    def within_caps(self) -> bool:
        """Whether the exact sums stay within both caps."""
        return all(spent <= cap for spent, cap in zip(self.spent, self.caps, strict=True))

    def plus(self, events: Iterable[Event]) -> Account:
        """Return the account as it stands after these events; exposures are counted, not added."""
        (epsilon, delta), unit, formal, exposures = self.spent, self.unit, self.events, self.exposures
        for event in events:
            if not event.is_formal:
                exposures += 1
                continue
            cost = event.cost
            epsilon, delta, formal = epsilon + cost[0], delta + cost[1], formal + 1
            unit = unit or event.unit
        totals = {"spent_epsilon": fraction_to_text(epsilon), "spent_delta": fraction_to_text(delta)}
        return self.model_copy(update={**totals, "unit": unit, "events": formal, "exposures": exposures})

    @property
    def terms(self) -> tuple[str, ...]:
        """Caps, adjacency and composition: fixed when the account is opened."""
        return tuple(getattr(self, each) for each in TERMS)

    def standing(self) -> dict[str, Any]:
        """Return terms and running totals, as they are sealed in every row of the account."""
        return self.model_dump(include={*TERMS, *TOTALS})

    @classmethod
    def from_terms(cls, name: str, terms: Mapping[str, Any]) -> Account:
        """Return a new account with the terms of a row; they are checked as at its opening."""
        epsilon, delta, adjacency, composition = (terms[each] for each in TERMS)
        return cls.opened(name, epsilon, delta, adjacency, composition)


class Entry(BaseModel):
    """One recorded event and its place in the hash chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: int
    """Position in the whole ledger; the opening of an account takes one too."""
    table: str
    event: Event
    recorded_at: str
    previous_hash: str
    hash: str


class Outcome(BaseModel):
    """The outcome of a recorded event: a saved bundle, or none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["saved", "lost"]
    sha256: str | None = None
    """Of the release.json that was saved last."""
    reason: str = ""
    """Why no bundle came of it."""
    recorded_at: str
    bundles: tuple[str, ...] = ()
    """The SHA-256 of every release.json that was saved for this event, oldest first; saving again is free."""

    def __str__(self) -> str:
        return (
            f"bundle saved (sha256 {self.sha256})" if self.kind == "saved" else f"no bundle came of it: {self.reason}"
        )


class Verification(BaseModel):
    """Whether a ledger holds together; true in a condition when it does."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What is odd and proves nothing, such as times that go backwards."""
    entries: int = 0
    """Number of rows in the chain, openings and marks included."""
    head: str = ""
    """Hash of the last row: write it down elsewhere, and a shortened or rewritten ledger will show."""

    def __bool__(self) -> bool:
        return self.ok


def to_delta(delta: Number) -> Fraction:
    """Read a delta that must be at least 0 and below 1."""
    value = to_fraction(delta, "delta")
    if not 0 <= value < 1:
        raise PlanError(f"delta must be at least 0 and below 1, found {delta}", next_step="give delta such as 1e-6")
    return value


def _composition(wanted: str) -> str:
    """Return how costs are put together, with the share for choices where totals are fixed: "filter 1/10"."""
    kind, _, share = wanted.partition(" ")
    _refuse_unknown("composition", kind, ("basic", "tight", FILTER))
    if kind != FILTER:
        _refuse_unknown("composition", wanted, ("basic", "tight", FILTER))
        return kind
    part = to_fraction(share or DEFAULT_CHOICES, "the share for choices")
    if not 0 <= part < 1:
        raise PlanError(f"the share for choices must be at least 0 and below 1, found {share}", next_step=_SHARE)
    return f"{FILTER} {part}"


_SHARE = "give composition='filter 1/10', or 'filter 1/3' where MST is used"


def _refuse_unknown(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise PlanError(f"unknown {what} {value!r}", next_step=f"use one of: {', '.join(known)}")


def _refuse_odd_name(name: str) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LedgerError(f"{name!r} cannot name a table", next_step="give the name that stands in its schema")
