"""Peers of the graphical benchmark: dpmm's AIM and MST in an environment of their own.

The environment is made once with ``python -m venv`` under benchmarks/out/peers (dpmm pins its own NumPy). A peer gets
the cells of the train rows and the public number of cells of each column (``run_peer``), or the values of all rows with
the public bounds and levels of the drafted schema (``run_on_values``). What it makes is kept beside the timings, so
that a later run compares against it without waiting (``fresh=True`` runs it again).

Settings. As installed (80 MB, 1000 steps a round) AIM does not finish here within 15 minutes, so it runs reduced: a
model of 1 MB and 50 steps a round, but the last fit has the stock 1000 steps. MST has its stock 5000 steps. Each runs
once, in one process, with a limit on its CPU seconds. Its seed fixes the selection only: dpmm draws its noise from a
generator that takes no seed. On values dpmm cuts numbers itself, by its private tree, with a tenth of the budget (its
stock amount at epsilon 1) and its own number of cells; the model gets the rest. There MST has 1000 steps: with 5000 it
did not finish on hmeq within the limit.

With the peer's own interpreter this file is also the child: ``graphical_peers.py --child JOB.json``.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ENVIRONMENT = HERE / "out" / "peers" / "dpmm"
CACHE = HERE / "out" / "graphical" / "peers"
DELTA = 1e-9
SEED = 0
LIMIT_SECONDS = 300
"""CPU seconds of a run; on the wall it may take LIMIT_FACTOR times as long, as machines are shared."""
LIMIT_FACTOR = 4
CUTTING_SHARE = 0.1
"""Share of epsilon with which dpmm cuts numbers into cells, where it is given values."""
SETTINGS: dict[str, dict[str, Any]] = {
    "dpmm AIM": {"model": "aim", "n_iters": 50, "last_iters": 1000, "max_model_size": 1},
    "dpmm MST": {"model": "mst", "n_iters": 5000, "last_iters": 5000, "max_model_size": None},
}

ON_VALUES: dict[str, dict[str, Any]] = {
    "dpmm AIM": {"cutting": CUTTING_SHARE},
    "dpmm MST": {"cutting": CUTTING_SHARE, "n_iters": 1000, "last_iters": 1000},
}
"""Where settings on values differ, or are not there otherwise."""


def interpreter() -> Path | str:
    """Return the peer's interpreter, making its environment first; a text says why there is none."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "lib").exists() or not list(ENVIRONMENT.glob("lib/*/site-packages/dpmm")):
        print("making the peer's environment (dpmm)", flush=True)
        commands = [
            [sys.executable, "-m", "venv", str(ENVIRONMENT)],
            [str(python), "-m", "pip", "install", "-q", "dpmm"],
        ]
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return f"dpmm could not be installed: {_last_line(done.stderr)}"
    return python


def run_peer(
    peer: str, table: str, epsilon: float, fresh: bool = False, limit: float = LIMIT_SECONDS
) -> dict[str, Any]:
    """Run a peer once on the cells of the train rows, or take its kept result.

    Returns ``codes`` (a file in CACHE) with seconds and memory, or ``error``.
    """
    return _kept_or_run(
        SETTINGS[peer],
        f"{table}-{SETTINGS[peer]['model']}-{epsilon:g}",
        fresh,
        limit,
        lambda: _cells_job(table, epsilon),
    )


def run_on_values(
    peer: str, table: str, epsilon: float, fresh: bool = False, limit: float = LIMIT_SECONDS
) -> dict[str, Any]:
    """Run a peer once on all values of a drafted table, or take its kept result: ``values`` is a CSV file in CACHE."""
    settings = SETTINGS[peer] | ON_VALUES[peer]
    name = f"drafted-{table}-{settings['model']}-{epsilon:g}"
    return _kept_or_run(settings, name, fresh, limit, lambda: _values_job(table, epsilon))


def _kept_or_run(
    settings: dict[str, Any], name: str, fresh: bool, limit: float, facts: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = CACHE / f"{name}.json"
    before = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() and not fresh else {}
    if before.get("settings") == settings:
        return before
    python = interpreter()
    if isinstance(python, str):
        return {"error": python}
    job = CACHE / f"{name}.job.json"
    job.write_text(json.dumps({**facts(), "name": name, "seed": SEED, "limit": limit, **settings}), encoding="utf-8")
    result = _run_job(python, job, limit) | {"settings": settings, "limit": limit, "limit_of": "CPU s"}
    if not result.get("error", "").startswith("failed"):
        kept.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


def _cells_job(table: str, epsilon: float) -> dict[str, Any]:
    """Write the cells of the train rows and return what the child must know about them."""
    from graphical_data import prepare

    prepared = prepare(table)
    np.save(CACHE / f"{table}-train.npy", prepared.codes(prepared.train))
    facts = {"sizes": prepared.sizes, "columns": prepared.schema.names, "epsilon": epsilon, "delta": DELTA}
    return {"kind": "cells", "train": f"{table}-train.npy", **facts}


def _values_job(table: str, epsilon: float) -> dict[str, Any]:
    """Write all rows and return what the child must know: levels, bounds, and which numbers are whole."""
    from graphical_drafts import drafted

    given = drafted(table)
    given.frame[list(given.schema.names)].to_csv(CACHE / f"drafted-{table}.csv", index=False)
    numbers = {column.name: column for column in given.schema if column.is_ordered}
    facts = {
        "bounds": {name: column.numeric_bounds for name, column in numbers.items()},
        "whole": [name for name, column in numbers.items() if column.is_discrete],
        "levels": {column.name: [str(v) for v in column.levels] for column in given.schema if not column.is_ordered},
    }
    return {"kind": "values", "train": f"drafted-{table}.csv", **facts, "epsilon": epsilon, "delta": given.delta}


def _run_job(python: Path, job: Path, limit: float) -> dict[str, Any]:
    """Run the child at low priority with one thread, and stop it when its time is over."""
    command = ["nice", "-n", "10", str(python), str(Path(__file__).resolve()), "--child", str(job)]
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_FACTOR * limit,
            env=os.environ | one_thread,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not finished after {LIMIT_FACTOR * limit:g} s on the wall"}
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": f"not finished after {limit:g} CPU s"}
    if done.returncode != 0:
        return {"error": f"failed: {_last_line(done.stderr)}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def child(path: Path) -> None:
    """Fit the peer and write what it makes; print what it took. Runs in the peer's environment."""
    job = json.loads(path.read_text(encoding="utf-8"))
    resource.setrlimit(resource.RLIMIT_CPU, (int(job["limit"]), int(job["limit"]) + 5))
    start = time.perf_counter()
    made = (_make_cells if job["kind"] == "cells" else _make_values)(job, path.parent)
    wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    took = {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "peak_mb": used.ru_maxrss * 1024 / 1e6}
    print(json.dumps({**made, **took}))


def _make_cells(job: dict[str, Any], folder: Path) -> dict[str, str]:
    import pandas as pd

    frame = pd.DataFrame(np.load(folder / job["train"]).astype(int), columns=job["columns"])
    model = _model(job, job["epsilon"])
    model.set_random_state(np.random.RandomState(job["seed"]))
    model.set_domain(dict(zip(job["columns"], job["sizes"], strict=True)))
    model.fit(frame)
    made = model.generate(n_records=len(frame))[job["columns"]]
    np.save(folder / f"{job['name']}.npy", made.to_numpy(np.int32))
    return {"codes": f"{job['name']}.npy"}


def _make_values(job: dict[str, Any], folder: Path) -> dict[str, str]:
    """Let dpmm cut the numbers between the public bounds; whole numbers beside missing ones are made whole again."""
    import pandas as pd
    from dpmm.pipelines.base import GenerativePipeline
    from dpmm.processing.table_binner import TableBinner

    texts = dict.fromkeys(job["levels"], str)
    frame = pd.read_csv(folder / job["train"], keep_default_na=False, na_values=[""], dtype=texts)
    cutting = job["cutting"] * job["epsilon"]
    binner = TableBinner(binner_type="priv-tree", binner_settings={"epsilon": cutting, "n_bins": "auto"})
    pipeline = GenerativePipeline(_model(job, job["epsilon"] - cutting), binner)
    bounds = {name: {"lower": low, "upper": high} for name, (low, high) in job["bounds"].items()}
    domain = bounds | {name: {"categories": levels} for name, levels in job["levels"].items()}
    pipeline.fit(frame, domain, random_state=job["seed"])
    made = pipeline.generate(n_records=len(frame), random_state=job["seed"])
    made[job["whole"]] = made[job["whole"]].round()
    made.to_csv(folder / f"{job['name']}.csv", index=False)
    return {"values": f"{job['name']}.csv"}


def _model(job: dict[str, Any], epsilon: float) -> Any:
    """Return dpmm's model, which measures with the reduced steps and then gives the last fit the stock number."""
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    model = {"aim": AIMGM, "mst": MSTGM}[job["model"]](
        epsilon=epsilon,
        delta=job["delta"],
        n_iters=job["n_iters"],
        max_model_size=job["max_model_size"],
        n_jobs=1,
    )
    fit = model.generator._fit

    def with_last_steps(*arguments: Any, **named: Any) -> Any:
        answer = fit(*arguments, **named)
        model.generator.n_iters = job["last_iters"]
        return answer

    model.generator._fit = with_last_steps
    return model


if __name__ == "__main__":
    child(Path(sys.argv[2]))
