"""A whole release on DuckDB and on Spark, from the same Parquet file: seconds, and how many times DuckDB's.

    .venv/bin/python benchmarks/scale.py [--rows 3000000] [--columns 10] [--cores 2] [--repeats 1]
                                             [--engines duckdb,spark,rows,grouping] [--methods contingency,aim]

Every release runs in a process of its own, after the same release of a small file: sessions, worker processes and
compiled loops are there before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import counting_data as data
from measuring import machine, measure, print_table, run_child, save, warm_page_cache

ENGINES = ("duckdb", "spark", "rows", "grouping")
"""Spark where workers read the files, where Spark reads them (a filter stands before them), and by GROUP BY alone."""
METHODS = ("contingency", "aim")
ORDER = ("sex", "age", "work", "income", "state", "hours", "insured", "score", "schooling", "day")
"""Kinds in turn, so that any number of columns is a mixture of texts, whole numbers, decimals, flags and dates."""
MADE_ROWS = 10_000
"""Synthetic rows that AIM draws: as many on every engine and from every table, so that counting decides."""
TABLES = (("sex", "age"), ("work", "state"), ("age", "work", "insured"))


def names_of(columns: int) -> tuple[str, ...]:
    """Return the first columns of the benchmark's table, kinds in turn."""
    return (*ORDER, *(name for name in data.NAMES if name not in ORDER))[:columns]


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
    """Release a small file, then the large one; return the cost of the second."""
    import warnings

    import sfumato
    from sfumato.table import spark as spark_engine

    warnings.simplefilter("ignore")
    whole = sfumato.Schema.parse(data.schema_text())
    columns = tuple(whole[name] for name in names_of(options.columns))
    schema = sfumato.Schema(name="scale", columns=columns)
    method = sfumato.AIM(epsilon=1.0) if options.method == "aim" else sfumato.Contingency(TABLES, epsilon=1.0)
    spark = session(options.cores) if options.child != "duckdb" else None
    if spark is not None and options.child == "grouping":
        spark_engine._fit[spark] = "switched off by the benchmark"

    def once(name: str) -> Any:
        path = str(Path(options.folder) / name)
        source = path if spark is None else spark.read.parquet(path)
        source = source.filter("age >= 0") if options.child == "rows" else source
        rows = MADE_ROWS if options.method == "aim" else None
        return sfumato.release(sfumato.read(source, schema), method, ledger=False, seed=1, rows=rows)

    once("small.parquet")
    _, cost = measure(lambda: once("large.parquet"))
    return {"engine": options.child, "method": options.method, **cost}


def arguments() -> argparse.Namespace:
    """Read the command line; ``--child`` is how this script runs one release in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", default="3000000", type=lambda text: int(float(text)))
    parser.add_argument("--columns", default=10, type=int)
    parser.add_argument("--cores", default=2, type=int, help="of Spark; DuckDB takes what the process may use")
    parser.add_argument("--repeats", default=1, type=int, help="the best of so many runs counts")
    parser.add_argument("--engines", default=",".join(ENGINES[:2]), help=f"some of {', '.join(ENGINES)}; DuckDB first")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--folder", help="keep the files here, and use those that are there")
    parser.add_argument("--child", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--method", choices=METHODS, help=argparse.SUPPRESS)
    return parser.parse_args()


def run_all(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Release by every method on every engine, engines in turn; the best wall time of each counts."""
    for name, rows in (("small.parquet", data.WARM_ROWS), ("large.parquet", options.rows)):
        if not (folder / name).exists():
            data.write(folder / name, rows, data.WARM_GROUP_ROWS if rows == data.WARM_ROWS else data.GROUP_ROWS)
    warm_page_cache(folder / "large.parquet")
    fixed = ("--folder", str(folder), "--columns", str(options.columns), "--cores", str(options.cores))
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for _ in range(options.repeats):
        for method in options.methods.split(","):
            for engine in options.engines.split(","):
                cost = run_child("scale.py", "--child", engine, "--method", method, *fixed)
                print(f"{method} {engine}: {cost['wall']:.1f} s", file=sys.stderr, flush=True)
                before = best.get((method, engine), cost)
                best[method, engine] = min(before, cost, key=lambda one: one["wall"])
    return list(best.values())


def main() -> None:
    """Make the data, release, print seconds and ratios, write scale.json."""
    options = arguments()
    if options.child:
        print(json.dumps(run_one(options)))
        return
    facts = machine()
    with tempfile.TemporaryDirectory(prefix="sfumato-scale-") as made:
        folder = Path(options.folder or made)
        folder.mkdir(parents=True, exist_ok=True)
        results = run_all(options, folder)
    base = {r["method"]: r["wall"] for r in results if r["engine"] == "duckdb"}
    lines = [(r["method"], r["engine"], f"{r['wall']:.2f}", f"{r['wall'] / base[r['method']]:.1f}") for r in results]
    title = f"{options.rows:,} rows x {options.columns} columns, Spark local[{options.cores}]"
    print_table(title, ("method", "engine", "seconds", "times DuckDB"), lines)
    save("scale.json", {"machine": facts, "rows": options.rows, "columns": options.columns, "releases": results})


if __name__ == "__main__":
    main()
