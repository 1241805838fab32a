"""Graphical synthesizers (AIM, MST): can their numbers be used? Quality, time and memory beside version 0.1 and dpmm.

    .venv/bin/python benchmarks/graphical.py [--only numbers parity adult others growth] [--tables adult hmeq]
        [--seeds 101 102 103] [--epsilons 0.3 1 3] [--others-epsilons 1] [--fresh-peers | --no-peers] [--skip growth]

Five parts, each of which can be run alone:

* numbers: eight tables as drafted, measured on their values, beside version 0.1 (graphical_usable.py; 5 seeds);
* parity: the same for generated tables whose structure no pair shows;
* adult: the coded Adult table at three epsilons;
* others: five tables with schemas written by hand, measured in 32 equal-width cells;
* growth: time and memory as rows and columns grow (graphical_growth.py).

Default settings, delta 1e-9, every run in a process of its own. Means over the seeds; sd is theirs. CPU s is the time
of ``read`` and ``release``; process s has the imports and the reading of the CSV too; MB is the peak of the process.
Measures of adult and others are explained in graphical_measures.py, the tables in graphical_data.py, the peers in
graphical_peers.py, goals in graphical_goals.py. ``cut`` is the two-way distance of as many rows as the holdout has:
read it beside that of the real holdout.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from typing import Any

import graphical_goals as goals
import graphical_peers as peers
import graphical_usable as usable
from graphical_growth import growth
from measuring import HERE, machine, measure, over_seeds, print_table, run_child, save, show_progress, try_child

DELTA = 1e-9
SEEDS = (101, 102, 103)
EPSILONS = (0.3, 1.0, 3.0)
OTHERS = ("bank_marketing", "diamonds", "hmeq", "acs_ma2019", "california_housing")
MADE = HERE / "out" / "graphical" / "made"
QUALITY = ("tvd1", "tvd2", "tvd3", "cut", "hgb", "lr")
OLDER = "older measure"
"""The name of what was measured in 32 equal-width cells before, in the kept files."""
PARTS = ("numbers", "parity", "adult", "others", "growth")
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
        took = try_child("graphical.py", "--child", table, method, f"{epsilon:g}", str(seed))
        if "error" in took:
            return took
        measured = run_child("graphical_measures.py", table, took.pop("path"))
        runs.append({"seed": seed, **took, **measured})
    return over_seeds(runs)


def theirs(peer: str, table: str, epsilon: float, given: argparse.Namespace) -> Found:
    """Return the measures of a peer's table with what it took; what it cannot do now may have been measured before."""
    show_progress(f"{table}: {peer}, epsilon {epsilon:g}")
    took = {"error": "not run"} if given.no_peers else peers.run_peer(peer, table, epsilon, given.fresh_peers)
    if "error" in took:
        return usable.kept("dpmm", table, OLDER).get(f"{peer} {epsilon:g}", took)
    return took | run_child("graphical_measures.py", table, str(peers.CACHE / took["codes"]))


def compare(table: str, wanted: Iterable[tuple[str, float]], given: argparse.Namespace) -> Found:
    """Run a table by every wanted method and epsilon, each beside its peer, and print the comparison."""
    found: Found = {"yardsticks": run_child("graphical_measures.py", table, "yardsticks")}
    for method, epsilon in wanted:
        key = f"{method} {epsilon:g}"
        before = usable.kept("0.1", table, OLDER)
        if key in before:
            found[f"0.1 {key}"] = before[key]
        found[key] = ours(table, method, epsilon, given.seeds or SEEDS)
        if f"dpmm {method}" in peers.SETTINGS:
            found[f"dpmm {key}"] = theirs(f"dpmm {method}", table, epsilon, given)
    _print_comparison(table, found, len(given.seeds or SEEDS))
    return found


def _print_comparison(table: str, found: Found, seeds: int) -> None:
    lines = [_line(name, row) for name, row in found["yardsticks"].items()]
    for name, row in found.items():
        if name == "yardsticks":
            continue
        lines.append(_line(name, row, found.get(f"dpmm {name}")))
        if row.get("sd of seeds"):
            lines.append(_line("  sd", row["sd of seeds"]))
    header = ("rows", *QUALITY, "CPU s", "process s", "MB", "tvd2 / peer's", "peer's CPU / ours")
    print_table(f"{table}, delta {DELTA:g}, {seeds} seeds", header, lines)
    for name, row in found.items():
        if "error" in row:
            print(f"  {name}: {row['error']}")
        if "note" in row:
            print(f"  {name}: {row['note']}")
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


def judge_adult(found: Found) -> list[Found]:
    """Print each goal of the Adult table beside what was measured."""
    rows = goals.print_verdicts("verdicts: Adult", goals.adult(found))
    floor = run_child("graphical.py", "--child", "adult", "floor", "0", "0")
    print(f"  a process that reads Adult and counts one column, no more: {floor['peak_mb']:.0f} MB")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=PARTS, help="parts to run; all by default")
    parser.add_argument("--skip", nargs="*", default=[], choices=PARTS)
    parser.add_argument("--tables", nargs="+", help="tables of the parts to run; all by default")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--others-epsilons", type=float, nargs="+", default=[1.0])
    parser.add_argument("--methods", nargs="+", default=["AIM", "MST"], help="names in sfumato, e.g. AIM Marginals")
    parser.add_argument("--fresh-peers", action="store_true", help="run the peers again, though results are kept")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--child", nargs=4)
    given = parser.parse_args()
    if given.child:
        child(*given.child)
        return
    run(given)


def run(given: argparse.Namespace) -> None:
    """Run every part that was asked for, print it and save it."""
    parts = [part for part in PARTS if part in given.only and part not in given.skip]
    results: Found = {"machine": machine(), "delta": DELTA, "peers": peers.SETTINGS}
    for part in parts:
        results[part] = run_part(part, given)
    name = "graphical.json" if parts == list(PARTS) else f"graphical-{'-'.join(parts)}.json"
    print(f"\nwritten to {save(name, results).name}")


def run_part(part: str, given: argparse.Namespace) -> Found:
    """Run one part and return what is saved of it."""
    if part == "growth":
        return growth()
    if part in ("numbers", "parity"):
        tables = usable.NUMBERS if part == "numbers" else usable.PARITIES
        return usable.run(tables, part, given)
    every = ("adult",) if part == "adult" else OTHERS
    tables = [table for table in every if given.tables is None or table in given.tables]
    found: Found = {table: compare(table, wanted_runs(table, given), given) for table in tables}
    if "adult" in found:
        found["verdicts"] = judge_adult(found["adult"])
    elif found:
        found["verdicts"] = goals.print_verdicts("verdicts: other tables, 32 equal-width cells", goals.others(found))
    return {"seeds": list(given.seeds or SEEDS), **found}


def wanted_runs(table: str, given: argparse.Namespace) -> list[tuple[str, float]]:
    """Return methods and epsilons of a table; MST is there for comparison: on Adult, at epsilon 1."""
    epsilons = given.epsilons if table == "adult" else given.others_epsilons
    return [
        (method, epsilon)
        for method in given.methods
        for epsilon in epsilons
        if method != "MST" or (table == "adult" and epsilon == 1.0)
    ]


if __name__ == "__main__":
    main()
