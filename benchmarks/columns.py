"""How time and memory grow with columns: MST up to 1,000 of them and AIM up to 200; and what a small count takes.

    .venv/bin/python benchmarks/columns.py [--mst 100 200 400 1000] [--aim 100 200] [--rows 20000]

Epsilon 1, delta 1e-9, default settings, seed 1, every run in a process of its own, from a frame in memory. The made-up
columns are a quarter each numbers, whole numbers, categories of five levels and truth values; each follows one of eight
hidden normal variables with correlation .8, so that there is something to find: pairs of the same hidden variable.
``found`` is the share of the measured pairs that are such pairs; 1 in 8 by chance.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measuring import measure, print_table, run_child, show_progress

HIDDEN, KEPT = 8, 0.8
FACTS = (
    "kind = 'number'\nbounds = [0, 100]\n",
    "kind = 'integer'\nbounds = [0, 40]\n",
    "kind = 'category'\nvalues = ['a', 'b', 'c', 'd', 'e']\n",
    "kind = 'boolean'\n",
)


def made_up(columns: int, rows: int) -> tuple[Any, Any]:
    """Return a table of columns that hang together, with its schema."""
    import pyarrow as pa

    from sfumato import Schema

    rng = np.random.default_rng(1)
    hidden = rng.standard_normal((rows, HIDDEN))
    values: dict[str, Any] = {}
    for place in range(columns):
        own = KEPT * hidden[:, place % HIDDEN] + np.sqrt(1 - KEPT**2) * rng.standard_normal(rows)
        values[f"c{place}"] = (
            np.clip(50 + 10 * own, 0, 100),
            np.clip(np.round(20 + 5 * own), 0, 40).astype(np.int64),
            np.array(list("abcde"))[np.digitize(own, [-1, -0.3, 0.3, 1])],
            own > 0,
        )[place // HIDDEN % len(FACTS)]
    facts = [f"[columns.c{i}]\n{FACTS[i // HIDDEN % len(FACTS)]}" for i in range(columns)]
    head = "[table]\nname = 'wide'\n[confirmed]\nby = 'a benchmark'\non = 2026-01-01\n"
    return pa.table(values), Schema.parse(head + "".join(facts))


def release_wide(method: str, columns: int, rows: int) -> dict[str, Any]:
    """Release a wide table and return time, memory and how many pairs were rightly found."""
    import sfumato

    table, schema = made_up(columns, rows)
    chosen = {"mst": sfumato.MST, "aim": sfumato.AIM}[method](epsilon=1.0, delta=1e-9)
    made, cost = measure(lambda: sfumato.release(sfumato.read(table, schema), chosen, rows=rows, seed=1, ledger=False))
    pairs = [[int(name[1:]) for name in names] for names in made.statistics["measured_tables"] if len(names) == 2]
    found = [one % HIDDEN == other % HIDDEN for one, other in pairs]
    return {"method": method, "columns": columns, "rows": rows, "pairs": len(pairs), "found": np.mean(found), **cost}


def count_small(kind: str) -> dict[str, Any]:
    """Read a small file and count a pair, in as little memory as that takes."""
    import sfumato

    folder = Path(tempfile.gettempdir())
    path, facts = folder / f"columns-small.{kind}", folder / "columns-small.toml"
    counts, cost = measure(lambda: sfumato.read(path, facts).marginals([("c8", "c16")]))
    assert counts["c8", "c16"].sum() == 2000
    return {"file": kind, **cost}


def write_small() -> None:
    """Write 2,000 rows of 32 columns as CSV and as Parquet."""
    import pyarrow.csv
    import pyarrow.parquet

    folder = Path(tempfile.gettempdir())
    table, schema = made_up(32, 2000)
    pyarrow.csv.write_csv(table, folder / "columns-small.csv")
    pyarrow.parquet.write_table(table, folder / "columns-small.parquet")
    schema.save(folder / "columns-small.toml")


def _short(fact: Any) -> str:
    return f"{fact:.2f}" if isinstance(fact, float) else str(fact)


def show(title: str, runs: list[dict[str, Any]], facts: list[str]) -> None:
    """Print what the runs are and took."""
    costs = ["wall", "cpu", "peak_mb"]
    rows = [[*(_short(run[name]) for name in facts), *(f"{run[name]:.1f}" for name in costs)] for run in runs]
    print_table(title, [*facts, *costs], rows)


def main() -> None:
    """Run every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mst", type=int, nargs="*", default=[100, 200, 400, 1000])
    parser.add_argument("--aim", type=int, nargs="*", default=[100, 200])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--child", nargs="+")
    given = parser.parse_args()
    if given.child:
        what, *numbers = given.child
        if what == "write":
            write_small()
            print(json.dumps({}))
            return
        answer = count_small(what) if not numbers else release_wide(what, *map(int, numbers))
        print(json.dumps(answer, default=float))
        return
    run_child("columns.py", "--child", "write")
    small = [run_child("columns.py", "--child", kind) for kind in ("csv", "parquet")]
    show("a small count", small, ["file"])
    wide = []
    for method, sizes in (("mst", given.mst), ("aim", given.aim)):
        for columns in sizes:
            show_progress(f"{method}, {columns} columns")
            wide.append(run_child("columns.py", "--child", method, str(columns), str(given.rows)))
    if wide:
        show("releases", wide, ["method", "columns", "rows", "pairs", "found"])


if __name__ == "__main__":
    main()
