"""How long attacks on a release take on a table of the size of Adult, and how often they cry wolf.

python benchmarks/attack_release.py            # adult: a copy of 48,842 rows, three quarters in the table
python benchmarks/attack_release.py --aim      # adult: AIM at epsilon 1 and 10 on three quarters of it
python benchmarks/attack_release.py --fresh    # fresh samples of a known population: how often an attack "works"

Seeds are fixed. The copy is rows drawn with replacement: the most work, since every attack finds something.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pandas as pd
from graphical_schemas import data_folder

from comparison import drafted, people, people_table
from sfumato import AIM, Table, read, release
from sfumato.risk import attack_release
from sfumato.risk.on_release.result import ReleaseAttackReport

SEED = 1
FRESH = 40


def main() -> None:
    if "--fresh" in sys.argv:
        false_alarms()
        return
    table = drafted("adult.csv.gz")
    frame = pd.read_csv(data_folder() / "adult.csv.gz", keep_default_na=False, na_values=[""])
    order = np.random.default_rng(SEED).permutation(len(frame))
    inside, outside = frame.iloc[order[: 3 * len(frame) // 4]], frame.iloc[order[3 * len(frame) // 4 :]]
    true = read(inside, table.schema)
    if "--aim" in sys.argv:
        for epsilon in (1, 10):
            made = release(true, AIM(epsilon), ledger=False, seed=SEED)
            shown(f"aim at epsilon {epsilon}", timed(made, true, outside))
        return
    copy = inside.sample(len(frame), replace=True, random_state=SEED)
    shown("copy", timed(copy, true, outside))


def timed(released: object, table: Table, holdout: object) -> ReleaseAttackReport:
    """Attack once, with a clock."""
    start, cpu = time.perf_counter(), time.process_time()
    found = attack_release(released, table, holdout, seed=SEED)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{took:.1f} s ({cpu:.1f} of CPU), peak {peak:,.0f} MB, {found.targets:,} targets on each side")
    return found


def shown(name: str, found: ReleaseAttackReport) -> None:
    print(f"{name}: {found.verdict}")
    for each in found.results:
        control = "" if each.control is None else f", others {each.control:.3f}"
        ceiling = "" if each.ceiling is None else f", ceiling {each.ceiling:.3f}"
        print(f"  {each.attack}: {each.rate:.3f}{control}, without {each.baseline:.3f}{ceiling}, p {each.adjusted:.3g}")
    for line in found.left_out:
        print(f"  {line}")


def false_alarms() -> None:
    """Count how often anything is found in a release that is a fresh sample: at most 1 in 20 is promised."""
    alarms = 0
    for seed in range(FRESH):
        found = attack_release(people(200 + seed), people_table(100 + seed), people(300 + seed), seed=seed)
        alarms += found.grade != "nothing found"
    print(f"{alarms} of {FRESH} fresh samples raised an alarm")


if __name__ == "__main__":
    main()
