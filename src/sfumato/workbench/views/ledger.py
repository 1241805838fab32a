"""View of the ledger page: accounts, entries and cumulative cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import accumulate

from sfumato.errors import SfumatoError
from sfumato.privacy.exact import at_least, to_fraction
from sfumato.privacy.exact import format_fraction as in_short
from sfumato.privacy.ledger import Account, Entry, Ledger, Outcome, Verification
from sfumato.privacy.ledger.chain import UNKNOWN
from sfumato.report.charts.axis import Axis
from sfumato.report.charts.marks import LineMark, Lines, RuleMark
from sfumato.workbench.jobs import ErrorText
from sfumato.workbench.project import Project
from sfumato.workbench.texts import words

HEIGHT = 220


@dataclass(frozen=True)
class AccountLine:
    """One table's account."""

    name: str
    cap: str
    spent: str
    left: str
    delta: str
    events: int
    exposures: int
    share: float
    words: str
    curve: str
    """The growing total as a drawing."""


@dataclass(frozen=True)
class EntryLine:
    """One recorded event, and what came of it."""

    sequence: int
    recorded_at: str
    table: str
    method: str
    epsilon: str
    delta: str
    outcome: str


@dataclass(frozen=True)
class LedgerView:
    """The whole ledger as the page shows it."""

    accounts: tuple[AccountLine, ...] = ()
    entries: tuple[EntryLine, ...] = ()
    trouble: ErrorText | None = None


def ledger_view(project: Project) -> LedgerView:
    """Return accounts and entries, or why they cannot be shown."""
    try:
        ledger = Ledger(project.ledger)
        entries, outcomes = ledger.history(), ledger.outcomes()
        accounts = tuple(_account(account, entries) for account in ledger.accounts())
        ledger.require_sound()
        return LedgerView(accounts, tuple(_entry(entry, outcomes.get(entry.sequence)) for entry in entries))
    except SfumatoError as error:
        return LedgerView(trouble=ErrorText.of(error))


def _account(account: Account, entries: tuple[Entry, ...]) -> AccountLine:
    spent = account.total_epsilon
    own = [entry for entry in entries if entry.table == account.name and entry.event.is_formal]
    cap = float(to_fraction(account.cap_epsilon))
    return AccountLine(
        name=account.name,
        cap=account.cap_epsilon,
        spent=in_short(to_fraction(spent)),
        left=at_least(account.left_epsilon),
        delta=account.cap_delta,
        events=account.events,
        exposures=account.exposures,
        share=min(float(to_fraction(spent)) / cap, 1.0),
        words=words("ledger.terms", adjacency=account.adjacency, composition=account.composition),
        curve=drawing(account.name, [float(entry.event.cost[0]) for entry in own], cap),
    )


def _entry(entry: Entry, outcome: Outcome | None) -> EntryLine:
    event = entry.event
    came = str(outcome or UNKNOWN)
    return EntryLine(
        entry.sequence, entry.recorded_at[:19], entry.table, event.method, event.epsilon or "-", event.delta, came
    )


def drawing(name: str, costs: list[float], cap: float) -> str:
    """Return the sum of epsilon after each entry as a picture, with the cap as a line."""
    sums = list(accumulate(costs, initial=0.0))
    entries = [float(end) for place in range(len(costs)) for end in (place, place + 1)]
    line = LineMark(
        words("ledger.spent"), [0.0, *entries], [0.0, *(each for each in sums[1:] for _ in "12")], dots=False
    )
    axes = Axis(words("ledger.entries_axis", count=len(costs)), kind="integer"), Axis("epsilon", 0.0)
    label = words("ledger.curve", table=name, total=f"{sums[-1]:.4g}", cap=f"{cap:.4g}")
    rule = RuleMark(f"{words('ledger.cap_mark')} {cap:g}", cap, goal=True)
    return str(Lines([line], *axes, [rule]).html(label, HEIGHT))


def open_account(project: Project, table: str, adjacency: str = "add-remove", composition: str = "basic") -> Account:
    """Open an account with the caps that were typed."""
    state = project.state
    return Ledger(project.ledger).open_table(
        table, epsilon=state.cap_epsilon, delta=state.cap_delta, adjacency=adjacency, composition=composition
    )


def export_ledger(project: Project) -> str:
    """Return the whole ledger as JSON, for auditors."""
    return json.dumps(Ledger(project.ledger).export(), indent=2)


def verify_ledger(project: Project) -> Verification:
    """Check the hash chain and the totals."""
    return Ledger(project.ledger).verify()
