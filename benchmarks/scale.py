"""How the cost of a release grows with rows and columns, on DuckDB and on Spark: seconds, memory and ratios.

    .venv/bin/python benchmarks/scale.py [--rows 1e6 1e7] [--columns 10] [--cores 2] [--repeats 1]
        [--engines duckdb csv spark rows grouping] [--methods contingency aim] [--folder DIR] [--peer PYTHON]

Every release runs in a process of its own, after the same release of a small file: sessions, worker processes and
compiled loops are there before the clock starts. Peak memory is that of the process and of what it started, without
Spark's Java. The seconds of 1e9 rows are extrapolated from the two largest tables, and marked so. A peer counts one of
the three tables at the same epsilon (``scale_peer.py`` says how to install it), from the same files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import scale_data as data
from measuring import machine, measure, print_table, run_child, save, show_progress, warm_page_cache

ENGINES = ("duckdb", "csv", "spark", "rows", "grouping")
"""DuckDB from Parquet and from CSV; Spark where workers read the files, where Spark reads them (a filter stands before
them), and by GROUP BY alone."""
METHODS = ("contingency", "aim")
MADE_ROWS, SMALL_ROWS, FAR = 10_000, 40_000, 1_000_000_000
"""Synthetic rows that AIM draws: as many on every engine and from every table, so that counting decides."""
TABLES = (("sex", "age"), ("work", "state"), ("age", "work", "insured"))
PEER_TABLE = ("work", "state")


def session(cores: int) -> Any:
    """Start Spark on this machine."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", "4g")
    for key, value in {"ui.enabled": "false", "ui.showConsoleProgress": "false", "driver.host": "127.0.0.1"}.items():
        builder = builder.config(f"spark.{key}", value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def run_one(options: argparse.Namespace) -> dict[str, Any]:
    """Release a small table, then the large one; return the cost of the second."""
    import warnings

    import sfumato
    from sfumato.table.engines import spark as spark_engine

    warnings.simplefilter("ignore")
    engine, method, rows, columns = options.child
    schema = sfumato.Schema.parse(data.schema_text(int(columns)))
    asked = {
        "aim": sfumato.AIM(epsilon=1.0),
        "contingency": sfumato.Contingency(TABLES, epsilon=1.0),
        "one": sfumato.Contingency([PEER_TABLE], epsilon=1.0),
    }[method]
    form = "csv" if engine == "csv" else "parquet"
    spark = session(options.cores) if engine not in ("duckdb", "csv") else None
    if spark is not None and engine == "grouping":
        spark_engine._fit[spark] = "switched off by the benchmark"

    def once(count: int) -> Any:
        pattern = str(Path(options.folder) / f"{count}x{columns}-*.{form}")
        source = pattern if spark is None else spark.read.parquet(pattern)
        source = source.filter("age >= 0") if engine == "rows" else source
        made = MADE_ROWS if method == "aim" else None
        return sfumato.release(sfumato.read(source, schema), asked, ledger=False, seed=1, rows=made)

    once(SMALL_ROWS)
    _, cost = measure(lambda: once(int(rows)))
    return {"engine": engine, "method": method, "rows": int(rows), "columns": int(columns), **cost}


def arguments() -> argparse.Namespace:
    """Read the command line; ``--child`` is how this script runs one release in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    whole = lambda text: int(float(text))  # noqa: E731  1e6 is how people write it
    parser.add_argument("--rows", default=[1_000_000, 10_000_000], type=whole, nargs="+")
    parser.add_argument("--columns", default=[10], type=int, nargs="+")
    parser.add_argument("--cores", default=2, type=int, help="of Spark; DuckDB takes what the process may use")
    parser.add_argument("--repeats", default=1, type=int, help="the best of so many runs counts")
    parser.add_argument("--engines", default=["duckdb", "csv", "spark"], choices=ENGINES, nargs="+")
    parser.add_argument("--methods", default=list(METHODS), choices=METHODS, nargs="+")
    parser.add_argument("--folder", help="keep the files here, and use those that are there")
    parser.add_argument("--peer", help="the Python of an environment with PipelineDP")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


def write_all(options: argparse.Namespace, folder: Path) -> None:
    """Write the tables that are absent, and read them once, so that nobody pays for the disk."""
    forms = ["parquet", *(["csv"] if "csv" in options.engines else [])]
    for rows, columns, form in product([SMALL_ROWS, *options.rows], options.columns, forms):
        data.write(folder, rows, columns, form, show_progress)
        for path, _, _ in data.files(folder, rows, columns, form):
            warm_page_cache(path)


def run_all(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Release by every method on every engine, engines in turn; the best wall time of each counts."""
    fixed = ("--folder", str(folder), "--cores", str(options.cores))
    best: dict[tuple[Any, ...], dict[str, Any]] = {}
    sizes = list(product(options.rows, options.columns, options.methods))
    for _, (rows, columns, method), engine in product(range(options.repeats), sizes, options.engines):
        asked = (engine, method, str(rows), str(columns))
        cost = run_child("scale.py", *fixed, "--child", *asked)
        show_progress(f"{method} {engine} {rows:,} x {columns}: {cost['wall']:.1f} s")
        best[asked] = min(best.get(asked, cost), cost, key=lambda one: one["wall"])
    return list(best.values())


def run_peer(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Count one table with a peer and with Sfumato, on local Spark, from the same files."""
    rows, columns = min(options.rows), min(options.columns)
    kinds = dict(data.named_kinds(columns))
    levels = [json.loads(kinds[name].facts.split("values = ")[1].replace("'", '"')) for name in PEER_TABLE]
    warm, paths = (
        [str(path) for path, _, _ in data.files(folder, count, columns, "parquet")] for count in (SMALL_ROWS, rows)
    )
    asked = {"warm": warm, "paths": paths, "names": PEER_TABLE, "epsilon": 1.0, "cores": options.cores}
    asked["cells"] = list(product(*levels))
    command = [options.peer, str(Path(__file__).with_name("scale_peer.py"))]
    environment = {**os.environ, "PYSPARK_PYTHON": options.peer, "PYSPARK_DRIVER_PYTHON": options.peer}
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True, env=environment)
    theirs = {"engine": "PipelineDP on Spark", **json.loads(done.stdout.strip().splitlines()[-1])}
    fixed = ("--folder", str(folder), "--cores", str(options.cores))
    ours = [
        run_child("scale.py", *fixed, "--child", name, "one", str(rows), str(columns))
        for name in ("duckdb", "spark", "rows")
    ]
    return [{"method": "one", "rows": rows, "columns": columns, **found} for found in (*ours, theirs)]


def far_away(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what 1e9 rows would take: a straight line through the two largest tables of each engine and method."""
    lines: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for found in sorted(results, key=lambda one: one["rows"]):
        lines.setdefault((found["engine"], found["method"], found["columns"]), []).append(found)
    made: list[dict[str, Any]] = []
    for (engine, method, columns), runs in lines.items():
        if len(runs) > 1 and runs[-1]["rows"] < FAR:
            one, other = runs[-2:]
            slope = (other["wall"] - one["wall"]) / (other["rows"] - one["rows"])
            wall = other["wall"] + slope * (FAR - other["rows"])
            made.append({"engine": engine, "method": method, "rows": FAR, "columns": columns, "wall": wall})
    return made


def show(title: str, results: list[dict[str, Any]]) -> None:
    """Print seconds, and how many times those of DuckDB from Parquet in the same run."""
    keys = ("method", "rows", "columns")
    base = {tuple(r[k] for k in keys): r["wall"] for r in results if r["engine"] == "duckdb"}
    lines = [
        (
            r["method"],
            r["engine"],
            f"{r['rows']:,}",
            str(r["columns"]),
            f"{r['wall']:.1f}",
            f"{r['cpu']:.1f}" if "cpu" in r else "",
            f"{r['peak_mb']:.0f}" if "peak_mb" in r else "",
            f"{r['wall'] / base[key]:.1f}" if (key := tuple(r[k] for k in keys)) in base else "",
        )
        for r in results
    ]
    print_table(title, ("method", "engine", "rows", "columns", "seconds", "CPU s", "peak MB", "times DuckDB"), lines)


def main() -> None:
    """Make the data, release, print seconds and ratios, write scale.json."""
    options = arguments()
    if options.child:
        print(json.dumps(run_one(options)))
        return
    facts = machine()
    with tempfile.TemporaryDirectory(prefix="sfumato-scale-") as made:
        folder = Path(options.folder or made)
        write_all(options, folder)
        results = run_all(options, folder)
        peers = run_peer(options, folder) if options.peer else []
    far = far_away(results)
    show(f"releases, Spark local[{options.cores}]", results)
    if far:
        show("extrapolated, not measured", far)
    if peers:
        show(f"one table of counts, {' x '.join(PEER_TABLE)}, epsilon 1", peers)
    save("scale.json", {"machine": facts, "releases": results, "extrapolated": far, "peers": peers})


if __name__ == "__main__":
    sys.exit(main())
