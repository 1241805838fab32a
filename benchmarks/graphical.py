"""Graphical synthesizers (AIM, MST) on Adult and on five tables that were never used for tuning, beside dpmm's.

    .venv/bin/python benchmarks/graphical.py [--seeds 101 102 103] [--epsilons 0.3 1 3] [--tables adult hmeq]
        [--others-epsilons 1] [--fresh-peers | --no-peers] [--skip growth]

Default settings, delta 1e-9, every run in a process of its own. Means over the seeds; sd is theirs. CPU s is the time
of ``read`` and ``release``; process s has the imports and the reading of the CSV too; MB is the peak of the process.
Measures are explained in graphical_measures.py, the tables in graphical_data.py, the peers in graphical_peers.py.
``cut`` is the two-way distance of as many rows as the holdout has: read it beside that of the real holdout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import graphical_peers as peers
from measuring import HERE, machine, measure, print_table, run_child, save, show_progress

DELTA = 1e-9
SEEDS = (101, 102, 103)
EPSILONS = (0.3, 1.0, 3.0)
OTHERS = ("bank_marketing", "diamonds", "hmeq", "acs_ma2019", "california_housing")
MADE = HERE / "out" / "graphical" / "made"
QUALITY = ("tvd1", "tvd2", "tvd3", "cut", "hgb", "lr")
TARGETS = {
    ("AIM", 0.3): {"tvd2": 0.047, "tvd3": 0.098, "hgb": 0.885, "cpu": 10, "peak_mb": 300},
    ("AIM", 1.0): {"tvd2": 0.027, "tvd3": 0.067, "hgb": 0.908, "cpu": 10, "peak_mb": 300},
    ("AIM", 3.0): {"tvd2": 0.0175, "tvd3": 0.0485, "hgb": 0.914, "cpu": 25, "peak_mb": 300},
    ("MST", 1.0): {"tvd2": 0.043},
}
STRETCH = {("AIM", 1.0): {"tvd2": 0.025}, ("AIM", 3.0): {"tvd2": 0.016}}
Found = dict[str, Any]


def child(table: str, method: str, epsilon: str, seed: str) -> None:
    """Release one table in this process, keep the rows, and print what it took; "floor" only counts one column."""
    import resource

    from graphical_data import prepare

    import sfumato

    train, schema = prepare(table).train, prepare(table).schema
    if method == "floor":
        print(json.dumps(measure(lambda: sfumato.read(train, schema).marginals([schema.names[:1]]))[1]))
        return
    chosen = getattr(sfumato, method)(epsilon=float(epsilon), delta=DELTA)
    released, took = measure(lambda: sfumato.release(sfumato.read(train, schema), chosen, seed=int(seed), ledger=False))
    used = resource.getrusage(resource.RUSAGE_SELF)
    MADE.mkdir(parents=True, exist_ok=True)
    path = MADE / f"{table}-{method}-{epsilon}-{seed}.parquet"
    released.data.to_parquet(path)
    print(json.dumps({**took, "process": used.ru_utime + used.ru_stime, "path": str(path)}))


def ours(table: str, method: str, epsilon: float, seeds: Sequence[int]) -> Found:
    """Return the mean of every measure over the seeds, with sd; a failed run is said, not hidden."""
    runs: list[Found] = []
    for seed in seeds:
        show_progress(f"{table}: {method}, epsilon {epsilon:g}, seed {seed}")
        took = _try_child("graphical.py", "--child", table, method, f"{epsilon:g}", str(seed))
        if "error" in took:
            return took
        measured = run_child("graphical_measures.py", table, took.pop("path"))
        runs.append({"seed": seed, **took, **measured})
    names = [name for name in runs[0] if name != "seed"]
    found = {name: statistics.fmean(run[name] for run in runs) for name in names}
    spread = {name: statistics.stdev([run[name] for run in runs]) for name in names} if len(runs) > 1 else {}
    return {**found, "sd": spread, "runs": runs}


def _try_child(script: str, *arguments: str) -> Found:
    command = [sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 else {"error": lines[-1] if lines else "no message"}


def theirs(peer: str, table: str, epsilon: float, fresh: bool) -> Found:
    """Return the measures of a peer's table with what it took, or why there is none."""
    show_progress(f"{table}: {peer}, epsilon {epsilon:g}")
    took = peers.run_peer(peer, table, epsilon, fresh)
    if "error" in took:
        return took
    return took | run_child("graphical_measures.py", table, str(peers.CACHE / took["codes"]))


def compare(table: str, wanted: Iterable[tuple[str, float]], given: argparse.Namespace) -> Found:
    """Run a table by every wanted method and epsilon, each beside its peer, and print the comparison."""
    found: Found = {"yardsticks": run_child("graphical_measures.py", table, "yardsticks")}
    for method, epsilon in wanted:
        key = f"{method} {epsilon:g}"
        found[key] = ours(table, method, epsilon, given.seeds)
        if not given.no_peers and f"dpmm {method}" in peers.SETTINGS:
            found[f"dpmm {key}"] = theirs(f"dpmm {method}", table, epsilon, given.fresh_peers)
    _print_comparison(table, found, len(given.seeds))
    return found


def _print_comparison(table: str, found: Found, seeds: int) -> None:
    lines = [_line(name, row) for name, row in found["yardsticks"].items()]
    for name, row in found.items():
        if name == "yardsticks":
            continue
        lines.append(_line(name, row, found.get(f"dpmm {name}")))
        if row.get("sd"):
            lines.append(_line("  sd", row["sd"]))
    header = ("rows", *QUALITY, "CPU s", "process s", "MB", "tvd2 / peer's", "peer's CPU / ours")
    print_table(f"{table}, delta {DELTA:g}, {seeds} seeds", header, lines)
    for name, row in found.items():
        if "error" in row:
            print(f"  {name}: {row['error']}")
        if "settings" in row:
            facts = ", ".join(f"{key} {value}" for key, value in row["settings"].items())
            print(f"  {name}: one run; {facts}; at most {row['limit']:g} {row.get('limit_of', 'CPU s')}")


def _line(name: str, row: Found, peer: Found | None = None) -> list[str]:
    numbers = [f"{row[key]:.4f}" if key in row else "" for key in QUALITY]
    times = [
        f"{row[key]:.{digits}f}" if key in row else "" for key, digits in (("cpu", 1), ("process", 1), ("peak_mb", 0))
    ]
    ratios = ["", ""]
    if peer and "error" not in peer and "error" not in row:
        ratios = [f"{row['tvd2'] / peer['tvd2']:.2f}", f"{peer['cpu'] / row['process']:.0f}x"]
    return [name, *numbers, *times, *ratios]


def print_verdicts(found: Found) -> list[Found]:
    """Print each target of the Adult table beside what was measured."""
    rows: list[Found] = []
    for goals, kind in ((TARGETS, "target"), (STRETCH, "stretch")):
        for (method, epsilon), wanted in goals.items():
            measured = found.get(f"{method} {epsilon:g}", {})
            rows += [_verdict(kind, method, epsilon, name, goal, measured.get(name)) for name, goal in wanted.items()]
    shown = [
        [
            f"{row['method']} {row['epsilon']:g} {row['measure']}",
            row["kind"],
            f"{row['goal']:g}",
            "not run" if row["found"] is None else f"{row['found']:.4f}",
            row["verdict"],
        ]
        for row in rows
    ]
    print_table("verdicts on Adult (hgb at least, all others at most)", ("what", "", "goal", "found", ""), shown)
    floor = run_child("graphical.py", "--child", "adult", "floor", "0", "0")
    print(f"  a process that reads Adult and counts one column, no more: {floor['peak_mb']:.0f} MB")
    return rows


def _verdict(kind: str, method: str, epsilon: float, name: str, goal: float, value: float | None) -> Found:
    met = value is not None and (value >= goal if name == "hgb" else value <= goal)
    verdict = "not run" if value is None else "met" if met else "MISSED"
    facts = {"kind": kind, "method": method, "epsilon": epsilon, "measure": name}
    return {**facts, "goal": goal, "found": value, "verdict": verdict}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--others-epsilons", type=float, nargs="+", default=[1.0])
    parser.add_argument("--tables", nargs="+", default=["adult", *OTHERS])
    parser.add_argument("--methods", nargs="+", default=["AIM", "MST"], help="names in sfumato, e.g. AIM Marginals")
    parser.add_argument("--fresh-peers", action="store_true", help="run the peers again, though results are kept")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--skip", nargs="*", default=[], choices=("growth",))
    parser.add_argument("--child", nargs=4)
    given = parser.parse_args()
    if given.child:
        child(*given.child)
        return
    run(given)


def run(given: argparse.Namespace) -> None:
    """Run everything that was asked for, print it and save it."""
    results: Found = {"machine": machine(), "seeds": given.seeds, "delta": DELTA, "peers": peers.SETTINGS}
    for table in given.tables:
        epsilons = given.epsilons if table == "adult" else given.others_epsilons
        # MST is there for comparison: on Adult, at epsilon 1.
        wanted = [
            (method, epsilon)
            for method in given.methods
            for epsilon in epsilons
            if method != "MST" or (table == "adult" and epsilon == 1.0)
        ]
        results[table] = compare(table, wanted, given)
        if table == "adult":
            results["verdicts"] = print_verdicts(results[table])
    if "growth" not in given.skip:
        from graphical_growth import growth

        results["growth"] = growth()
    path: Path = save("graphical.json", results)
    print(f"\nwritten to {path.name}")


if __name__ == "__main__":
    main()
