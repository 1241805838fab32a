"""Eight processes spend against one cap at once: exactly the cap is spent, on SQLite and on PostgreSQL.

The file is also the program that those processes run: they are forked from a fresh interpreter without threads.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.errors import BudgetExceeded
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.ledger import chain as ledger_chain
from sfumato.privacy.ledger import pre_write_check as ledger_guard

PROCESSES = 8
COST = "0.001"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks its processes")


def spend_many(ledger: Ledger) -> int:
    """Spend a fifth of the cap, and return how often that was allowed: eight processes want 1.6 times the cap."""
    accepted = 0
    for _ in range(round(to_fraction(ledger.account("people").cap_epsilon) / to_fraction(COST)) // 5):
        try:
            accepted += len(ledger.spend("people", epsilon=COST))
        except BudgetExceeded:
            continue
    return accepted


def open_account(ledger: Ledger, admitted: int = 1000) -> str:
    """Open the same account as everyone else, in a ledger that nobody has made yet."""
    return ledger.open_table("people", epsilon=admitted * to_fraction(COST)).cap_epsilon


def read_then_update() -> None:
    """Break the ledger on purpose: look at the accounts without holding the head."""
    ledger_guard.checked_accounts = lambda connection, *, hold=False: ledger_chain.all_accounts(connection)


def run_processes(task: str, url: str) -> list[int | str]:
    """Run one task in eight processes forked from a fresh interpreter."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, __file__, task, url]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("admitted", [150, 1000])
def test_exactly_the_cap_is_spent(ledger_url: str, admitted: int) -> None:
    ledger = Ledger(ledger_url)
    open_account(ledger, admitted)
    accepted = run_processes("spend", ledger_url)
    assert sum(map(int, accepted)) == admitted
    assert ledger.account("people").left_epsilon == "0"
    assert len(ledger.history("people")) == admitted
    assert ledger.verify()


@pytest.mark.postgres
def test_read_then_update_overspends_on_postgresql(postgres_ledger_url: str) -> None:
    """The mutant must fail, or the test above would prove nothing; and verify must find what it did."""
    ledger = Ledger(postgres_ledger_url)
    open_account(ledger)
    accepted = run_processes("spend-naively", postgres_ledger_url)
    assert sum(map(int, accepted)) > 1000
    verification = ledger.verify()
    assert any("spends more than the cap" in problem for problem in verification.problems)


def test_processes_make_the_same_ledger_at_once(ledger_url: str) -> None:
    assert run_processes("open", ledger_url) == ["1"] * PROCESSES
    assert len(Ledger(ledger_url).accounts()) == 1
    assert Ledger(ledger_url).verify().entries == 1


def test_threads_share_one_ledger(ledger_url: str) -> None:
    ledger = Ledger(ledger_url)
    ledger.open_table("people", epsilon="0.01")

    def try_to_spend(_: int) -> int:
        try:
            return len(ledger.spend("people", epsilon=COST))
        except BudgetExceeded:
            return 0

    with ThreadPoolExecutor(4) as threads:
        accepted = sum(threads.map(try_to_spend, range(24)))
    assert accepted == 10
    assert sum((entry.event.cost[0] for entry in ledger.history()), Fraction(0)) == to_fraction("0.01")


def main(task: str, url: str) -> None:
    if task == "spend-naively":
        read_then_update()
    work = open_account if task == "open" else spend_many
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        print(json.dumps(pool.map(work, [Ledger(url)] * PROCESSES, chunksize=1)))


if __name__ == "__main__":
    main(*sys.argv[1:])
