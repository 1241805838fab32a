"""How long a comparison takes and what it needs, and what it says of default releases.

python benchmarks/comparison.py              # adult and house_prices: seconds and peak memory, a process for each
python benchmarks/comparison.py --verdicts   # verdicts of AIM at epsilon 1 on four tables
python benchmarks/comparison.py --fresh      # how often fresh samples of a known population pass as real rows

Rows drawn with replacement stand for the release where only time is measured.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
from graphical_schemas import data_folder

from sfumato import AIM, Schema, Table, compare, read, release
from sfumato.evaluate.compare.result import Comparison

TIMED = {"adult": "adult.csv.gz", "house_prices": "house_prices.csv"}
JUDGED = {
    "hmeq": "hmeq.csv",
    "house_prices": "house_prices.csv",
    "compas": "compas_two_years.csv",
    "acs_ma2019": "acs_ma2019.csv",
}
SEED = 1
FRESH = 20
ROWS = 1000


def main() -> None:
    if "--child" in sys.argv:
        timed(sys.argv[-1])
    elif "--verdicts" in sys.argv:
        for name in sys.argv[2:] or JUDGED:
            table = drafted(JUDGED[name])
            shown(name, compare(release(table, AIM(epsilon=1), ledger=False, seed=SEED), table))
    elif "--fresh" in sys.argv:
        print(Counter(compare(people(i), people_table(FRESH + i)).grade for i in range(FRESH)))
    else:
        for name in TIMED:
            subprocess.run([sys.executable, __file__, "--child", name], check=True)


def drafted(file: str) -> Table:
    """Return a table with its draft, confirmed as it stands."""
    path = data_folder() / file
    return read(path, Schema.draft(path).confirm(accept_unchanged=True, by="benchmark", person=False))


def timed(name: str) -> None:
    """Compare rows drawn with replacement with their table."""
    table = drafted(TIMED[name])
    synthetic = pd.read_csv(data_folder() / TIMED[name], keep_default_na=False, na_values=[""])
    synthetic = synthetic.sample(len(synthetic), replace=True, random_state=SEED)
    wall, cpu = time.perf_counter(), time.process_time()
    found = compare(synthetic, table)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{name}: {found.rows:,} x {len(found.columns)}, {wall:.1f} s ({cpu:.1f} of CPU), peak {peak:.2f} GB")


def shown(name: str, found: Comparison) -> None:
    rows = {use: f"{rows:,.0f}" for use, rows in found.equivalent_rows.items()}
    print(f"{name}: {found.verdict}\n  worth so many of {found.rows:,} rows: {rows}")
    print("  " + ", ".join(f"{m.name} {m.value:.3g} ({m.yardstick:.3g})" for m in found.measures.values()))


FACTS = """
[table]
name = "people"
[columns.age]
kind = "integer"
bounds = [18, 90]
[columns.income]
kind = "number"
bounds = [0, 200]
[columns.region]
kind = "category"
values = ["north", "south", "west"]
[columns.owner]
kind = "boolean"
"""


def people(seed: int) -> pd.DataFrame:
    """Draw rows of a known population."""
    generator = np.random.default_rng(seed)
    age = np.clip(generator.normal(50, 14, ROWS).round(), 18, 90).astype(int)
    income = np.clip(1.2 * age + generator.normal(0, 9, ROWS), 0, 200)
    region = np.where(generator.random(ROWS) < (age - 18) / 72, "south", generator.choice(["north", "west"], ROWS))
    return pd.DataFrame(
        {"age": age, "income": income, "region": region, "owner": income + generator.normal(0, 8, ROWS) > 60}
    )


def people_table(seed: int) -> Table:
    return read(people(seed), Schema.parse(FACTS))


if __name__ == "__main__":
    main()
