"""Releases onto disks that are nearly full: refused before the spend, or a bundle that verifies, and never lost.

Disks are small file systems in memory, which only root can mount; elsewhere this part says that it was skipped.
"""

from __future__ import annotations

import importlib
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato import Ledger
from sfumato.bundle.verify import verify_bundle
from sfumato.cli.main import run as command
from sfumato.example import codebook, write_households
from siege.results import Result

FREE = (8, 60, 180, 700, 1_200, 2_000, 8_000, 40_000)
"""KB that are free when a release begins."""
WITHOUT_THE_CHECK = (8, 30, 60, 90, 120, 150, 180, 250)
"""KB that become free only after the check of free space: another program fills the disk meanwhile."""
LONGEST, LONGEST_WORDS = 120, 2_000
"""Seconds of one release, and letters of what is said of it."""
METHODS = (
    ("histogram", "--set", "column=age"),
    ("marginals", "--set", "pairs=none"),
    ("contingency", "--set", "columns=age,sex"),
)
HEAVY = (
    "duckdb",
    "ibis.backends.duckdb",
    "pandas",
    "pyarrow.parquet",
    "sfumato.bundle.verify",
    "sfumato.cli.release.release",
)


@contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a small file system in memory, and unmount it at the end."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=700", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PermissionError(done.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def attack(work: Path, method: tuple[str, ...], kilobytes: int, check: bool) -> str | None:
    """Release once onto a disk; return what went wrong."""
    number = f"{kilobytes}-{'checked' if check else 'unchecked'}"
    with disk(work / number, kilobytes) as place:
        return in_child(lambda: release(work, work / f"{number}.db", place, method, check))


def in_child(task: Callable[[], str | None]) -> str | None:
    """Return what a task says that runs in a process of its own; a fork costs less than an import."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        try:
            said = task() or ""
        except BaseException as error:  # noqa: BLE001  whatever it is, this process must end here
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said[:LONGEST_WORDS].encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read().decode()
    _, status = os.waitpid(child, 0)
    return said or None if status == 0 else f"the process ended by signal {status}"


def release(work: Path, book: Path, place: Path, method: tuple[str, ...], check: bool) -> str | None:
    """Run the command and judge what it left behind."""
    os.environ.update({"SFUMATO_RERUNS": "0", "HOME": str(work)})
    tempfile.tempdir = str(work)
    if not check:
        from sfumato.bundle import target_folder as places

        places.refuse_full_disks = lambda needs: None
    Ledger(book).open_table("households", epsilon=5, delta="1e-6")
    files = (work / "t.csv", "-s", work / "s.toml", "--ledger", book, "--out", place / "b")
    said = ("release", *files, "-m", *method, "--epsilon", "1", "--about-rows", "300", "--anyway")
    sys.argv = ["sfumato", *map(str, said)]
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    code = command()
    return judged(code, sys.stderr.getvalue(), Ledger(book), place, work)


def judged(code: int, told: str, ledger: Ledger, place: Path, work: Path) -> str | None:
    """Return what is wrong after a release, if anything is."""
    spent, last = ledger.history(), told.strip().splitlines()[-1:]
    if code not in (0, 2) or "Traceback" in told:
        return f"exit {code}: {last}"
    if any(path.name.endswith(".partial") for path in place.iterdir()):
        return "half a bundle was left"
    if not spent:
        return None if code == 2 and not (place / "b").exists() else "a bundle without a record"
    outcome = ledger.outcomes().get(spent[0].sequence)
    if outcome is None or outcome.kind != "saved":
        return f"spent for nothing: {outcome}, {last}"
    homes = [place / "b", *work.glob("sfumato-kept-*/b")]
    known = [folder for folder in homes if folder.exists() and verify_bundle(folder, ledger).ok]
    if not known:
        return f"no bundle verifies: {last}"
    return None if (code == 0) == (known[-1] == place / "b") else f"exit {code}: {last}"


def prepare(work: Path) -> None:
    """Write the table and its schema."""
    write_households(work / "t.csv", 300)
    codebook().confirm(sources={"*": "code book"}, by="siege").save(work / "s.toml")


def run(seconds: float, seed: int) -> list[Result]:
    """Release onto disks of many sizes, with the check of free space and without it."""
    end, methods = time.monotonic() + seconds, random.Random(seed)
    results: list[Result] = []
    for name in HEAVY:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        in_child(lambda: prepare(work))
        try:
            with disk(work / "probe", 64):
                pass
        except (OSError, PermissionError) as error:
            return [Result(f"disk full: skipped, nothing can be mounted ({error})", 0, 0)]
        for name, sizes, check in (("", FREE, True), (", filled after the check", WITHOUT_THE_CHECK, False)):
            faults: list[str] = []
            tried = 0
            for size in sizes:
                if time.monotonic() > end:
                    break
                tried += 1
                fault = attack(work, methods.choice(METHODS), size, check)
                faults += [] if fault is None else [f"{size} KB: {fault}"]
            results.append(Result(f"disk full{name}", tried, len(faults), tuple(faults[:5])))
    return results
