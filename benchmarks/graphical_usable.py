"""Numbers that can be used: AIM on tables as drafted, beside version 0.1 and beside dpmm, each measure with its goal.

    .venv/bin/python benchmarks/graphical.py --only numbers parity [--tables hmeq parity_3] [--seeds 301 302]

Epsilon 1, delta 1e-9 (parity: 1 / (n ln n)), default settings, all rows of the table, schemas as ``Schema.draft``
proposes them; every run is a process of its own. Measures are explained in graphical_numbers.py, tables in
graphical_drafts.py, goals in graphical_goals.py. Version 0.1 was measured once, on the same schemas without rules: its
numbers stand in graphical_v01.json. dpmm is run by graphical_peers.py, once; with --no-peers, or where it cannot be
run, the numbers of graphical_dpmm.json stand for it, "as measured before".
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Sequence
from typing import Any

import graphical_goals as goals
import graphical_peers as peers
from measuring import HERE, measure, over_seeds, print_table, run_child, show_progress, try_child

EPSILON = 1.0
SEEDS = (301, 302, 303, 304, 305)
NUMBERS = (
    "hmeq",
    "california_housing",
    "diamonds",
    "acs_ma2019",
    "bank_marketing",
    "german_credit",
    "house_prices",
    "compas",
)
PARITIES = ("parity_2", "parity_3", "parity_4")
MADE = HERE / "out" / "graphical" / "made"
KEPT = {"0.1": HERE / "graphical_v01.json", "dpmm": HERE / "graphical_dpmm.json"}
SHOWN = ("mean", "sd", "w1", "pearson", "spearman", "worst", "tvd2", "tvd2n")
QUESTIONS = ("r(MORTDUE, VALUE)", "SalePrice off", "accuracy", "contradictions")
TOOK = (("cpu", 1), ("peak_mb", 0))
WORST_OF_SEEDS = ("SalePrice off", "contradictions")
"""What must hold in every seed: the largest counts, not the mean."""
Found = dict[str, Any]


def child(table: str, seed: str) -> None:
    """Release one table in this process, keep the rows, and print what it took, or why there is nothing."""
    from graphical_drafts import DETERMINES, NotAvailableError, drafted, with_rules

    import sfumato

    try:
        given = with_rules(drafted(table)) if table in DETERMINES else drafted(table)
    except NotAvailableError as error:
        print(json.dumps({"error": f"not available: {error}"}))
        return
    chosen = sfumato.AIM(epsilon=EPSILON, delta=given.delta)
    released, took = measure(
        lambda: sfumato.release(sfumato.read(given.frame, given.schema), chosen, seed=int(seed), ledger=False)
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    MADE.mkdir(parents=True, exist_ok=True)
    path = MADE / f"drafted-{table}-{seed}.parquet"
    released.data.to_parquet(path)
    print(json.dumps({**took, "process": used.ru_utime + used.ru_stime, "path": str(path)}))


def ours(table: str, seeds: Sequence[int]) -> Found:
    """Return the measures of a table over the seeds; a run that fails is said, not hidden."""
    runs: list[Found] = []
    for seed in seeds:
        show_progress(f"{table} as drafted: AIM, epsilon {EPSILON:g}, seed {seed}")
        took = try_child("graphical_usable.py", "--child", table, str(seed))
        if "error" in took:
            return took
        measured = run_child("graphical_numbers.py", table, took.pop("path"))
        runs.append({"seed": seed, **took, **measured})
    return summary(runs)


def summary(runs: Sequence[Found]) -> Found:
    """Return means over the seeds, and the worst of those measures that every seed must meet."""
    found = over_seeds(runs)
    return found | {name: max(run[name] for run in runs) for name in WORST_OF_SEEDS if name in found}


def kept(version: str, table: str, part: str = "as drafted") -> Found:
    """Return what was measured before, of version 0.1 or of dpmm; nothing where there is nothing."""
    return json.loads(KEPT[version].read_text(encoding="utf-8"))[part].get(table, {})


def theirs(table: str, given: argparse.Namespace) -> dict[str, Found]:
    """Return the measures of each of dpmm's models; what it cannot do now is taken from what was measured before."""
    before = {f"{name}, as measured before": row for name, row in kept("dpmm", table).items()}
    if given.no_peers:
        return before
    found: dict[str, Found] = {}
    for peer in peers.SETTINGS:
        show_progress(f"{table} as drafted: {peer}")
        took = peers.run_on_values(peer, table, EPSILON, given.fresh_peers)
        if "values" in took:
            took |= run_child("graphical_numbers.py", table, str(peers.CACHE / took["values"]))
        found[peer] = took
    return found if all("values" in took for took in found.values()) else before | found


def compare(table: str, given: argparse.Namespace, seeds: Sequence[int]) -> Found:
    """Run a table as drafted, print it beside 0.1, dpmm and resampled real rows, and return everything."""
    found: Found = {"resampled": run_child("graphical_numbers.py", table, "resampled")}
    found["version 0.1"] = kept("0.1", table)
    found |= theirs(table, given)
    found["AIM"] = ours(table, seeds)
    names = [*SHOWN, *(name for name in QUESTIONS if name in found["resampled"])]
    lines = [_line(name, row, names) for name, row in found.items() if row]
    if found["AIM"].get("sd of seeds"):
        lines.append(_line("  sd of seeds", found["AIM"]["sd of seeds"], names))
    goal = goals.NUMBERS.get(table, {})
    lines.append(_line("  goal", goal, names))
    print_table(f"{table} as drafted, epsilon {EPSILON:g}, {len(seeds)} seeds", ("", *names, "CPU s", "MB"), lines)
    for name, row in found.items():
        if "error" in row:
            print(f"  {name}: {row['error']}")
    return found


def _line(name: str, row: Found, names: Sequence[str]) -> list[str]:
    numbers = [f"{row[key]:.4f}" if key in row else "" for key in names]
    return [name, *numbers, *(f"{row[key]:.{digits}f}" if key in row else "" for key, digits in TOOK)]


def verdicts(table: str, found: Found) -> list[goals.Verdict]:
    """Return the verdicts on a table: its own goals, and what must be no worse than in version 0.1."""
    before = {name: found["version 0.1"][name] for name in goals.NO_WORSE.get(table, ())}
    own = goals.of_goals(table, "target", goals.NUMBERS.get(table, {}), found["AIM"])
    return own + goals.of_goals(table, "as 0.1", before, found["AIM"])


def run(tables: Sequence[str], title: str, given: argparse.Namespace) -> Found:
    """Run the wanted ones of these tables, print the verdicts, and return what is saved."""
    seeds = given.seeds or SEEDS
    chosen = [table for table in tables if given.tables is None or table in given.tables]
    results: Found = {table: compare(table, given, seeds) for table in chosen}
    judged = [verdict for table in chosen for verdict in verdicts(table, results[table])]
    return {"seeds": list(seeds), **results, "verdicts": goals.print_verdicts(f"verdicts: {title}", judged)}


if __name__ == "__main__":
    child(*sys.argv[2:])
