"""Peers of the graphical benchmark: dpmm's AIM and MST in an environment of their own.

The environment is made once with ``python -m venv`` under benchmarks/out/peers (dpmm pins its own NumPy). A peer gets
the cells of the train rows and the public number of cells of each column; the cells that it makes are kept beside the
timings, so that a later run compares against them without waiting (``fresh=True`` runs them again).

Settings. As installed (80 MB, 1000 steps a round) AIM does not finish here within 15 minutes, so it runs reduced: a
model of 1 MB and 50 steps a round, but the last fit has the stock 1000 steps. MST has its stock 5000 steps. Each runs
once, in one process, with a limit on its CPU seconds. Its seed fixes the selection only: dpmm draws its noise from a
generator that takes no seed.

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
SETTINGS: dict[str, dict[str, Any]] = {
    "dpmm AIM": {"model": "aim", "n_iters": 50, "last_iters": 1000, "max_model_size": 1},
    "dpmm MST": {"model": "mst", "n_iters": 5000, "last_iters": 5000, "max_model_size": None},
}


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
    """Run a peer once, or take its kept result: ``codes`` (path) with seconds and memory, or ``error``."""
    CACHE.mkdir(parents=True, exist_ok=True)
    name = f"{table}-{SETTINGS[peer]['model']}-{epsilon:g}"
    kept = CACHE / f"{name}.json"
    before = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() and not fresh else {}
    if before.get("settings") == SETTINGS[peer]:
        return before
    python = interpreter()
    if isinstance(python, str):
        return {"error": python}
    job = _write_job(peer, table, epsilon, name, limit)
    result = _run_job(python, job, limit) | {"settings": SETTINGS[peer], "limit": limit, "limit_of": "CPU s"}
    if not result.get("error", "").startswith("failed"):
        kept.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


def _write_job(peer: str, table: str, epsilon: float, name: str, limit: float) -> Path:
    from graphical_data import prepare

    prepared = prepare(table)
    np.save(CACHE / f"{table}-train.npy", prepared.codes(prepared.train))
    job = CACHE / f"{name}.job.json"
    facts = {"sizes": prepared.sizes, "columns": prepared.schema.names, "epsilon": epsilon, "delta": DELTA}
    places = {"train": f"{table}-train.npy", "made": f"{name}.npy"}
    wanted = {**facts, **places, "seed": SEED, "limit": limit, **SETTINGS[peer]}
    job.write_text(json.dumps(wanted), encoding="utf-8")
    return job


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
    """Fit the peer and write the cells that it makes; print what it took. Runs in the peer's environment."""
    import pandas as pd

    job = json.loads(path.read_text(encoding="utf-8"))
    resource.setrlimit(resource.RLIMIT_CPU, (int(job["limit"]), int(job["limit"]) + 5))
    frame = pd.DataFrame(np.load(path.parent / job["train"]).astype(int), columns=job["columns"])
    start = time.perf_counter()
    made = _fitted(job, frame).generate(n_records=len(frame))[job["columns"]]
    wall = time.perf_counter() - start
    np.save(path.parent / job["made"], made.to_numpy(np.int32))
    used = resource.getrusage(resource.RUSAGE_SELF)
    took = {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "peak_mb": used.ru_maxrss * 1024 / 1e6}
    print(json.dumps({"codes": job["made"], **took}))


def _fitted(job: dict[str, Any], frame: Any) -> Any:
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    model = {"aim": AIMGM, "mst": MSTGM}[job["model"]](
        epsilon=job["epsilon"],
        delta=job["delta"],
        n_iters=job["n_iters"],
        max_model_size=job["max_model_size"],
        n_jobs=1,
    )
    model.set_random_state(np.random.RandomState(job["seed"]))
    model.set_domain(dict(zip(job["columns"], job["sizes"], strict=True)))
    measure = model.generator._fit

    def with_last_steps(*arguments: Any, **named: Any) -> Any:
        """Measure with the reduced steps, then let the last fit have the stock number."""
        answer = measure(*arguments, **named)
        model.generator.n_iters = job["last_iters"]
        return answer

    model.generator._fit = with_last_steps
    model.fit(frame)
    return model


def made_codes(result: dict[str, Any]) -> np.ndarray:
    """Return the cells that a peer made."""
    return np.load(CACHE / result["codes"])


if __name__ == "__main__":
    child(Path(sys.argv[2]))
