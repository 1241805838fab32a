"""Releases in a loop and is killed at random points; run by test_crash.py in a process of its own."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pandas as pd

import sfumato

SCHEMA = sfumato.Schema.parse('[table]\nname = "t"\n[columns.x]\nkind = "boolean"\n')


def release_for_ever(ledger: sfumato.Ledger, folder: Path, run: int) -> None:
    table = sfumato.read(pd.DataFrame({"x": [True, False, True]}), SCHEMA)
    number = 0
    while True:
        made = sfumato.release(table, sfumato.Histogram("x", epsilon="0.001"), ledger=ledger)
        number += 1
        partial = folder / f"{run}-{number}.partial"
        with partial.open("w") as file:
            file.write(made.entries[0].hash)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(folder / f"{run}-{number}.released")


def main(folder: Path, seed: int, kills: int) -> None:
    ledger, rng = sfumato.Ledger(folder / "ledger.db"), random.Random(seed)
    ledger.open_table("t", epsilon=1000, adjacency="add-remove")
    sfumato.release(sfumato.read(pd.DataFrame({"x": [True]}), SCHEMA), sfumato.Histogram("x", epsilon=1))
    for run in range(kills):
        child = os.fork()
        if child == 0:
            release_for_ever(ledger, folder, run)
        time.sleep(rng.uniform(0.02, 0.7))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
