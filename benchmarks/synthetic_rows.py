"""Rows drawn from one fitted model into a folder of Parquet files: by one process, by two, by Spark's workers.

    .venv/bin/python benchmarks/synthetic_rows.py [--rows 10000000] [--columns 10] [--cores 2]
                                                  [--ways here,processes,spark]

The model is AIM's at epsilon 1 of a table of 200,000 rows. Every way runs in a process of its own, after a folder of
few rows: sessions, worker processes and compiled loops are there before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import counting_data as data
import psutil
from measuring import machine, print_table, run_child, save
from scale import names_of, session

WAYS = ("here", "processes", "spark")
FITTED_ROWS, FEW_ROWS = 200_000, 40_000


def fit(folder: Path, columns: int) -> Path:
    """Fit the model once, and return its file."""
    import sfumato

    source = folder / "private.parquet"
    data.write(source, FITTED_ROWS)
    whole = sfumato.Schema.parse(data.schema_text())
    schema = sfumato.Schema(name="people", columns=tuple(whole[name] for name in names_of(columns)))
    made = sfumato.release(sfumato.read(source, schema), sfumato.AIM(epsilon=1.0), rows=1000, ledger=False)
    assert made.model is not None
    return made.model.save(folder / "model.sfumato")


def run_one(options: argparse.Namespace) -> dict[str, Any]:
    """Write few rows, then the many; return the cost of the second."""
    import sfumato

    model = sfumato.FittedModel.load(options.model)
    how: dict[str, Any] = {"spark": session(options.cores)} if options.way == "spark" else {}
    how |= {"processes": options.cores} if options.way == "processes" else {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        model.write_parts(Path(folder, "few"), FEW_ROWS, part_rows=FEW_ROWS // 4, **how)
        began = time.perf_counter()
        made = model.write_parts(Path(folder, "many"), options.rows, **how)
        seconds = time.perf_counter() - began
        sizes = [part.stat().st_size for part in made.glob("*.parquet")]
    return {"wall": seconds, "mb_on_disk": sum(sizes) / 1e6, "files": len(sizes), "peak_mb": peak_python_mb()}


def peak_python_mb() -> float:
    """Return the peak memory of the largest Python process, those included that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ended = [] if psutil.Process().children() else [resource.getrusage(kind).ru_maxrss for kind in kinds]
    alive = [p for p in [psutil.Process(), *psutil.Process().children(recursive=True)] if "python" in p.name()]
    status = [Path(f"/proc/{process.pid}/status").read_text() for process in alive]
    return max(*ended, *(int(text.split("VmHWM:")[1].split()[0]) for text in status)) * 1024 / 1e6


def arguments() -> argparse.Namespace:
    """Read the command line; ``--way`` is how this script runs one way in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", default="10000000", type=lambda text: int(float(text)))
    parser.add_argument("--columns", default=10, type=int)
    parser.add_argument("--cores", default=2, type=int)
    parser.add_argument("--ways", default=",".join(WAYS))
    for name in ("--way", "--model", "--folder"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Fit, draw every way, print seconds and rows a second, write synthetic_rows.json."""
    options = arguments()
    if options.way:
        print(json.dumps(run_one(options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        fixed = ("--rows", str(options.rows), "--cores", str(options.cores), "--folder", folder)
        fixed = (*fixed, "--model", str(fit(Path(folder), options.columns)))
        results = [{"way": w, **run_child("synthetic_rows.py", "--way", w, *fixed)} for w in options.ways.split(",")]
    lines = [
        (
            r["way"],
            f"{r['wall']:.1f}",
            f"{options.rows / r['wall']:,.0f}",
            f"{r['mb_on_disk']:.0f}",
            f"{r['peak_mb']:.0f}",
        )
        for r in results
    ]
    title = f"{options.rows:,} rows x {options.columns} columns, {options.cores} cores"
    print_table(title, ("way", "seconds", "rows a second", "MB on disk", "MB of the largest process"), lines)
    save(
        "synthetic_rows.json", {"machine": machine(), "rows": options.rows, "columns": options.columns, "ways": results}
    )


if __name__ == "__main__":
    main()
