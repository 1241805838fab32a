"""How time and memory of AIM grow with rows (Adult resampled to Parquet) and with columns (made-up, correlated).

    .venv/bin/python benchmarks/graphical_growth.py [--rows 100000 1000000 10000000] [--columns 10 20 40 80]

Epsilon 1, delta 1e-9, default settings, one seed, every run in a process of its own. Rows are resampled from Adult's
train rows and stay in the file; 100,000 synthetic rows are made whatever the table's size, so that the growth is that
of counting and fitting (--all-rows makes as many as the noisy total says). The made-up columns have 2 to 12 levels each
and 50,000 rows: every column follows an earlier one and a hidden class, so that there is something to find.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from measuring import HERE, measure, print_table, save, show_progress

OUT = HERE / "out" / "graphical"
SEED = 7
EPSILON, DELTA = 1.0, 1e-9
ROWS = (100_000, 1_000_000, 10_000_000)
COLUMNS = (10, 20, 40, 80)
MADE_UP_ROWS = 50_000
MADE_ROWS = 100_000
BATCH = 1_000_000
LIMIT_SECONDS = 1200
CLASSES = 8
KEPT = 0.6
"""Share of the values that follow an earlier column; the rest follow the hidden class."""


def resampled(rows: int) -> Path:
    """Write Adult's train rows, drawn with replacement, in batches of a million; keep the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from graphical_data import prepare

    path = OUT / f"adult-{rows}.parquet"
    if path.exists():
        return path
    OUT.mkdir(parents=True, exist_ok=True)
    train, rng = prepare("adult").train, np.random.default_rng(SEED)
    unfinished = path.with_suffix(".part")
    with pq.ParquetWriter(unfinished, pa.Table.from_pandas(train, preserve_index=False).schema) as writer:
        for start in range(0, rows, BATCH):
            drawn = train.iloc[rng.integers(0, len(train), min(BATCH, rows - start))]
            writer.write_table(pa.Table.from_pandas(drawn, preserve_index=False))
    return unfinished.rename(path)


def made_up(columns: int, rows: int = MADE_UP_ROWS) -> tuple[Any, Any]:
    """Return a frame of correlated categories with its schema."""
    import pandas as pd

    from sfumato.schema import Schema
    from sfumato.schema.column import Column

    rng = np.random.default_rng(SEED)
    hidden = rng.integers(0, CLASSES, rows)
    made: list[np.ndarray] = []
    sizes = rng.integers(2, 13, columns)
    for place, size in enumerate(sizes):
        of_class = rng.dirichlet(np.full(size, 0.7), CLASSES).cumsum(axis=1)
        values = (rng.random(rows)[:, None] > of_class[hidden]).sum(axis=1).clip(max=size - 1)
        if place:
            parent = int(rng.integers(0, place))
            follows = rng.integers(0, size, sizes[parent])[made[parent]]
            values = np.where(rng.random(rows) < KEPT, follows, values)
        made.append(values)
    names = [f"c{place:02d}" for place in range(columns)]
    facts = [
        Column(name, "category", values=tuple(range(size))) for name, size in zip(names, sizes.tolist(), strict=True)
    ]
    return pd.DataFrame(dict(zip(names, made, strict=True))), Schema("made_up", tuple(facts))


def child(kind: str, count: int, method: str, all_rows: bool) -> None:
    """Release once in this process and print what it took and what came of it."""
    import sfumato

    if kind == "rows":
        from graphical_data import prepare

        source, schema = str(resampled(count)), prepare("adult").schema
    else:
        source, schema = made_up(count)
    chosen = getattr(sfumato, method)(epsilon=EPSILON, delta=DELTA)
    made = None if all_rows else MADE_ROWS
    released, took = measure(
        lambda: sfumato.release(sfumato.read(source, schema), chosen, rows=made, seed=SEED, ledger=False)
    )
    print(json.dumps({**took, "made": len(released.data)} | _error(kind, count, source, schema, released.data)))


def _error(kind: str, count: int, source: Any, schema: Any, made: Any) -> dict[str, float]:
    """Return the two-way distance to the table itself, where its rows are at hand."""
    if kind == "rows":
        return {}
    from graphical_measures import distances

    tables = [source[list(schema.names)].to_numpy(), made[list(schema.names)].to_numpy()]
    return distances([column.size for column in schema], *tables, ways=(2,))


def run(kind: str, count: int, method: str, all_rows: bool) -> dict[str, Any]:
    """Run one size in a process of its own; a run that fails or takes too long is said."""
    show_progress(f"growth: {count:,} {kind}")
    if kind == "rows":
        subprocess.run([sys.executable, __file__, "--write", str(count)], check=True)
    command = [sys.executable, __file__, "--child", kind, str(count), method, "all" if all_rows else "some"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"error": f"not finished after {LIMIT_SECONDS} s"}
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 else {"error": lines[-1] if lines else "no message"}


def growth(
    rows: tuple[int, ...] = ROWS, columns: tuple[int, ...] = COLUMNS, method: str = "AIM", all_rows: bool = False
) -> dict[str, Any]:
    """Measure and print both kinds of growth."""
    found = {
        kind: {str(count): run(kind, count, method, all_rows) for count in counts}
        for kind, counts in (("rows", rows), ("columns", columns))
        if counts
    }
    for kind, sizes in found.items():
        shown = [_line(int(count), row) for count, row in sizes.items()]
        print_table(
            f"growth in {kind} ({method}, epsilon {EPSILON:g})",
            (kind, "CPU s", "wall s", "MB", "rows made", "tvd2"),
            shown,
        )
    return found


def _line(count: int, row: dict[str, Any]) -> list[str]:
    if "error" in row:
        return [f"{count:,}", row["error"], "", "", "", ""]
    distance = f"{row['tvd2']:.4f}" if "tvd2" in row else ""
    return [
        f"{count:,}",
        f"{row['cpu']:.1f}",
        f"{row['wall']:.1f}",
        f"{row['peak_mb']:.0f}",
        f"{row['made']:,}",
        distance,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    parser.add_argument("--columns", type=int, nargs="*", default=list(COLUMNS))
    parser.add_argument("--method", default="AIM")
    parser.add_argument("--all-rows", action="store_true")
    parser.add_argument("--write", type=int)
    parser.add_argument("--child", nargs=4)
    given = parser.parse_args()
    if given.write:
        resampled(given.write)
    elif given.child:
        kind, count, method, made = given.child
        child(kind, int(count), method, made == "all")
    else:
        found = growth(tuple(given.rows), tuple(given.columns), given.method, given.all_rows)
        print(f"\nwritten to {save('graphical_growth.json', found).name}")


if __name__ == "__main__":
    main()
