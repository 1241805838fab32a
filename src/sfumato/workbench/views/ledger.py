"""View of the ledger page: accounts, entries and cumulative cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape

from sfumato.errors import SfumatoError
from sfumato.privacy.exact import at_least, to_fraction
from sfumato.privacy.exact import format_fraction as in_short
from sfumato.privacy.ledger import Account, Entry, Ledger, Outcome, Verification
from sfumato.privacy.ledger.spend_outcomes import UNKNOWN
from sfumato.workbench.jobs import ErrorText
from sfumato.workbench.project import Project
from sfumato.workbench.texts import words

WIDE, HIGH, EDGE = 640, 180, 34


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
    spent = account.tight_epsilon or account.spent_epsilon
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
    """Return the sum of epsilon after each entry as a small picture, with the cap as a line."""
    totals = [0.0]
    for cost in costs:
        totals.append(totals[-1] + cost)
    top = max(cap, totals[-1]) * 1.08
    wide = (WIDE - 2 * EDGE) / max(len(costs), 1)
    points = [(EDGE, _high(0, top))]
    for place, total in enumerate(totals[1:]):
        points += [(EDGE + wide * place, _high(total, top)), (EDGE + wide * (place + 1), _high(total, top))]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    line, mark = _high(cap, top), escape(words("ledger.cap_mark"))
    label = escape(words("ledger.curve", table=name, total=f"{totals[-1]:.4g}", cap=f"{cap:.4g}"), quote=True)
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{label}" class="total">'
        f'<line x1="{EDGE}" x2="{WIDE - EDGE}" y1="{line:.1f}" y2="{line:.1f}" class="cap"></line>'
        f'<text x="{WIDE - EDGE}" y="{line - 6:.1f}" text-anchor="end">{mark} {cap:g}</text>'
        f'<polyline points="{path}" class="sum"></polyline>'
        f'<text x="{EDGE}" y="{HIGH - 6}">{escape(words("ledger.entries_axis", count=len(costs)))}</text></svg>'
    )


def _high(value: float, top: float) -> float:
    return HIGH - EDGE + 10 - value / top * (HIGH - EDGE - 10)


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
