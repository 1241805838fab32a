"""Decide whether an account admits new events; pure functions without a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import AccountingError, BudgetExceeded, LedgerError, PlanError
from sfumato.privacy.accounting import accountant
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.accounting.event_kinds import understated_cost
from sfumato.privacy.exact import (
    LONGEST_TEXT,
    Number,
    at_least,
    format_fraction,
    fraction_to_text,
    to_fraction,
    to_positive_fraction,
)
from sfumato.privacy.ledger.account import TERMS, Account, FilterUsage, to_delta

ADAPTIVE = "releases from bought facts count by their stated cost: their parameters follow from noisy answers"


@dataclass(frozen=True)
class SpendRequest:
    """A request to record events, or the cost of a release that was made elsewhere."""

    events: tuple[Event, ...]
    epsilon: Fraction | None
    delta: Fraction
    note: str

    @classmethod
    def of(
        cls, events: Event | Sequence[Event] | None, epsilon: Number | None, delta: Number, note: str = ""
    ) -> SpendRequest:
        """Read the arguments of ``check`` and ``spend``: events, or an epsilon, never both."""
        checked = validated_events((events,) if isinstance(events, Event) else tuple(events or ()))
        if bool(checked) == (epsilon is not None):
            problem = "both events and an epsilon" if checked else "neither an event nor an epsilon"
            raise LedgerError(f"nothing clear to record: {problem}", next_step="give events, or epsilon=0.5")
        if checked and to_fraction(delta, "delta"):
            raise LedgerError("events carry their own delta", next_step="give delta= only together with epsilon=")
        if not isinstance(note, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LedgerError(f"a note must be text, found {note!r}", next_step="give note='weekly figures'")
        return cls(checked, None if epsilon is None else to_positive_fraction(epsilon), to_delta(delta), note)

    def events_for(self, account: Account) -> tuple[Event, ...]:
        """Return the events to record on this account."""
        if self.epsilon is None:
            return tuple(e if e.note else e.model_copy(update={"note": self.note}) for e in self.events)
        declared = Event(
            kind="declared",
            method="declared",
            table=account.name,
            adjacency=account.adjacency,
            unit=account.unit or "row",
            epsilon=fraction_to_text(self.epsilon),
            delta=fraction_to_text(self.delta),
            note=self.note,
        )
        return (declared,)


def validated_events(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the events as they will be read back, after checking that each costs no more than it states."""
    read = tuple(_as_recorded(event) for event in events)
    costs = ((event, understated_cost(event)) for event in read)
    problems = [f"{event.method}: {problem}" for event, problem in costs if problem is not None]
    if problems:
        hint = "state what the parts cost; give epsilon= instead of events for a release that was made elsewhere"
        raise AccountingError("the stated cost of these events does not hold; nothing was recorded", problems, hint)
    return read


def _as_recorded(event: Event) -> Event:
    """Write an event and read it again: what was changed past the checks of its class does not come back."""
    try:
        return Event.from_json(event.to_json())
    except (ValueError, TypeError, AttributeError, PlanError) as error:
        reason = " ".join(str(error).split())
        hint = "make events with Event(...), which checks them; nothing was recorded"
        raise AccountingError(f"an event cannot be recorded: {reason}", next_step=hint) from error


def admit(account: Account, events: Sequence[Event], past: Callable[[], Sequence[Event]]) -> Account:
    """Return the account after the events, or raise; ``past`` is read only when the exact sums do not fit."""
    problems = event_mismatches(account, events)
    if problems:
        hint = "release under the adjacency and the unit that the account was opened for"
        raise LedgerError(f"events do not belong on the account of table {account.name!r}", problems, hint)
    after = account.plus(events)
    _refuse_endless(after)
    formal = [event for event in events if event.is_formal]
    if formal and account.fixed is not None:
        _refuse_over_totals(account, [*past(), *formal])
        return after
    if not formal or after.within_caps:
        return after
    if account.composition == "basic":
        raise _over_budget(account, after)
    # Parameters fixed in advance: both bounds hold for the same releases, so whichever fits may be relied on.
    total = composed_total([*past(), *formal], account.cap_delta)
    if total is None or total > account.caps[0]:
        adaptive = (ADAPTIVE,) if any(event.adaptive for event in formal) else ()
        raise _over_budget(account, after, _tight_line(account, total), *adaptive)
    return after


def _refuse_over_totals(account: Account, events: Sequence[Event]) -> None:
    """Refuse what would exceed totals that were fixed at the opening; the exact sums say nothing here."""
    problems = exceeded_totals(account, events)
    if problems:
        hint = "ask for less, or work with what was already released: that costs nothing"
        raise BudgetExceeded(f"the totals of table {account.name!r} do not allow this release", problems, hint)


def exceeded_totals(account: Account, events: Sequence[Event]) -> list[str]:
    """Return which fixed totals of the account these formal events exceed together."""
    from sfumato.privacy.accounting.composition import FilterUse

    return [] if account.fixed is None else account.fixed.over(FilterUse.used(events))


def used_totals(account: Account, events: Sequence[Event]) -> FilterUsage | None:
    """Return the use of an account's fixed totals by formal events, where it has such totals."""
    from sfumato.privacy.accounting.composition import FilterUse

    if account.fixed is None:
        return None
    used, fixed = FilterUse.used(events), account.fixed
    return FilterUsage(mu_squared=used.mu_squared, cap_mu_squared=fixed.mu_squared, rho=used.rho, cap_rho=fixed.rho)


def composed_total(events: Sequence[Event], delta: Number) -> Fraction | None:
    """Return the smaller of the exact sum and of composed privacy losses at ``delta``; none if unbounded."""
    target = to_fraction(delta, "delta")
    if target <= 0:
        raise LedgerError("tight composition needs a delta above 0", next_step="give delta such as 1e-6")
    epsilon, sum_of_deltas = accountant.basic_composition(events)
    tight = accountant.tight_epsilon(events, target)
    bounds = [epsilon] if sum_of_deltas <= target else []
    return min([*bounds, *([] if tight is None else [tight])], default=None)


def terms_differ_error(present: Account, wanted: Account) -> LedgerError:
    """Return the error of opening an account again with other terms."""
    changed = [(each, getattr(present, each), getattr(wanted, each)) for each in TERMS]
    problems = [f"{each}: {now} in the ledger, {asked} asked" for each, now, asked in changed if now != asked]
    hint = "keep the terms: a cap that can be raised later protects nobody; or open the table in a new ledger"
    return LedgerError(f"table {present.name!r} already has an account with other terms", problems, hint)


def event_mismatches(account: Account, events: Sequence[Event]) -> list[str]:
    """Return why events cannot be added to what the account has spent: another table, adjacency or unit."""
    problems = [problem for event in events for problem in _misfits(account, event)]
    units = {account.unit, *(event.unit for event in events if event.is_formal)} - {""}
    if len(units) > 1:
        named = " and ".join(repr(unit) for unit in sorted(units))
        problems.append(f"costs for different units do not add up: {named}")
    return problems


def _refuse_endless(after: Account) -> None:
    """Exact sums of odd fractions grow; one that could not be read back would lock the account for ever."""
    if max(len(after.spent_epsilon), len(after.spent_delta)) > LONGEST_TEXT:
        hint = "state costs as decimals, such as 0.143 instead of 1/7"
        raise LedgerError(f"the exact sum of table {after.name!r} would need too many digits", next_step=hint)


def _misfits(account: Account, event: Event) -> list[str]:
    problems: list[str] = []
    if event.table != account.name:
        problems.append(f"{event.method} ran on table {event.table!r}: another cap would pay for it")
    if event.adjacency != account.adjacency:
        problems.append(
            f"{event.method} is stated for adjacency {event.adjacency}, the account for {account.adjacency}"
        )
    return problems


def _over_budget(account: Account, after: Account, *more: str) -> BudgetExceeded:
    costs = zip(("epsilon", "delta"), account.caps, account.spent, after.spent, strict=True)
    lines = [_cost_line(*cost) for cost in costs if cost[0] == "epsilon" or cost[3] != cost[2]]  # a delta if asked
    left = account.left_epsilon
    ask = f"ask for epsilon {left} at most, or " if left != "0" and after.spent[1] <= account.caps[1] else ""
    hint = f"{ask}work with what was already released: that costs nothing"
    if after.spent[1] and not account.caps[1]:
        hint = _without_delta(account)
    return BudgetExceeded(f"the cap of table {account.name!r} does not allow this release", [*lines, *more], hint)


def _without_delta(account: Account) -> str:
    """Say what to do where an account was opened without delta and a method needs one."""
    if account.events or account.exposures:
        return "the account was opened without delta: use a method that needs none (marginals, contingency, histogram)"
    return (
        "the account was opened without delta, which this method needs; as nothing was spent, open the table in a new "
        f"ledger: sfumato ledger init NEW.db --schema SCHEMA --epsilon {account.cap_epsilon} --delta 1e-6"
    )


def _cost_line(what: str, cap: Fraction, spent: Fraction, total: Fraction) -> str:
    left = max(cap - spent, Fraction(0))
    return f"{what}: cap {_say(cap)}, spent {_say(spent)}, asked {_say(total - spent)}, left {_say(left, at_least)}"


def _tight_line(account: Account, total: Fraction | None) -> str:
    bound = "no finite epsilon" if total is None else f"epsilon {_say(total)}"
    return f"tight composition of all releases gives {bound} at delta {_say(account.caps[1])}"


def _say(amount: Fraction, shown: Callable[[Fraction], str] = format_fraction) -> str:
    exactly = fraction_to_text(amount)
    return exactly if len(exactly) <= 12 else shown(amount)
