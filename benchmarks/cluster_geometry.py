"""Private cluster geometry of ten million rows against scikit-learn's KMeans on the same rows, in one run.

    .venv/bin/python benchmarks/cluster_geometry.py [--rows 10000000] [--columns 5] [--clusters 8]

Both get the same numbers. Ours reads them from a Parquet file through the engine, in several passes, checks them, adds
certified noise and draws 10,000 rows; KMeans gets them in memory, ready to use, and fits once with its defaults.
Memory is the growth of the resident peak of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import counting_data
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import machine, peak_mb, print_table, run_child, save

SEED = 5
DRAWN = 10_000
LIMITS = {"ratio": 1.0, "peak_mb": 2000.0}


def rows_of(rows: int, columns: int, clusters: int) -> np.ndarray:
    """Return made-up clusters in the box [0, 1]^d."""
    rng = np.random.default_rng(SEED)
    centres = rng.uniform(0.2, 0.8, (clusters, columns))
    drawn = centres[rng.integers(0, clusters, rows)]
    for start in range(0, rows, 1 << 20):
        drawn[start : start + (1 << 20)] += rng.normal(0, 0.06, drawn[start : start + (1 << 20)].shape)
    return np.clip(drawn, 0, 1)


def path_of(rows: int, columns: int) -> Any:
    return counting_data.OUT / f"clusters-{rows}-{columns}.parquet"


def make(rows: int, columns: int, clusters: int) -> None:
    matrix = rows_of(rows, columns, clusters)
    table = pa.table({f"c{i}": matrix[:, i] for i in range(columns)})
    pq.write_table(table, path_of(rows, columns), row_group_size=1 << 20)


def ours(rows: int, columns: int, clusters: int) -> dict[str, float]:
    import sfumato
    from sfumato.schema import Column, Schema

    names = [f"c{i}" for i in range(columns)]
    schema = Schema(name="clusters", columns=tuple(Column(name, "number", bounds=(0.0, 1.0)) for name in names))
    method = sfumato.ClusterGeometry(clusters, epsilon=1, delta="1e-6", columns=names, expected_rows=rows)
    warm = pa.table({name: np.random.default_rng(1).random(2000) for name in names})
    sfumato.release(sfumato.read(warm, schema), method, rows=100, ledger=False)
    before, start, cpu = peak_mb(), time.perf_counter(), time.process_time()
    sfumato.release(sfumato.read(str(path_of(rows, columns)), schema), method, rows=DRAWN, ledger=False)
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "peak_mb": peak_mb() - before}


def theirs(rows: int, columns: int, clusters: int) -> dict[str, float]:
    from sklearn.cluster import KMeans

    table = pq.read_table(path_of(rows, columns))
    matrix = np.column_stack([table.column(i).to_numpy() for i in range(columns)])
    del table
    KMeans(clusters, random_state=0).fit(matrix[:2000])
    before, start, cpu = peak_mb(), time.perf_counter(), time.process_time()
    KMeans(clusters, random_state=0).fit(matrix)
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "peak_mb": peak_mb() - before}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--child", choices=("make", "ours", "theirs"))
    options = parser.parse_args()
    size = (options.rows, options.columns, options.clusters)
    if options.child:
        print(json.dumps({"make": make, "ours": ours, "theirs": theirs}[options.child](*size) or {}))
        return
    print(machine())
    counting_data.OUT.mkdir(exist_ok=True)
    given = ["--rows", str(size[0]), "--columns", str(size[1]), "--clusters", str(size[2])]
    if not path_of(*size[:2]).exists():
        run_child("cluster_geometry.py", *given, "--child", "make")
    found = {name: run_child("cluster_geometry.py", *given, "--child", name) for name in ("ours", "theirs")}
    ratio = found["ours"]["seconds"] / found["theirs"]["seconds"]
    named = (("sfumato, private", found["ours"]), ("scikit-learn KMeans", found["theirs"]))
    lines = [(name, f"{f['seconds']:.1f}", f"{f['cpu']:.1f}", f"{f['peak_mb']:,.0f}") for name, f in named]
    print_table(f"{size[0]:,} rows, {size[1]} columns, {size[2]} clusters", ("", "wall s", "CPU s", "peak MB"), lines)
    print(
        f"ratio {ratio:.2f} (wanted: at most {LIMITS['ratio']}); peak memory wanted: under {LIMITS['peak_mb']:,.0f} MB"
    )
    save("cluster_geometry.json", {"machine": machine(), "size": size, "found": found, "ratio": ratio})


if __name__ == "__main__":
    main()
