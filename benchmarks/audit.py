"""How much of its claim does each formal method use? The audit of the whole registry, with its CPU time.

python benchmarks/audit.py [--runs 80] [--seed 1] [--only aim mst]

Every method is taken as its own example describes it, AIM and MST also at epsilon 1 and delta 0.01, on a schema with
all kinds of columns. Nothing private is read.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import sfumato
from sfumato import AIM, MST, Schema
from sfumato.risk.auditing.audit import Audit, audit

SCHEMA = Schema.parse("""
[table]
name = "audited"
[columns.region]
kind = "category"
values = ["north", "east", "south"]
[columns.grade]
kind = "ordinal"
values = ["low", "middle", "high"]
[columns.member]
kind = "boolean"
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.income]
kind = "number"
bounds = [0.0, 1000.0]
[columns.weight]
kind = "number"
bounds = [0.0, 100.0]
""")
SLOW, FEW = ("two-stage",), 8
"""A run takes a second: so few of each world."""
AT = {"epsilon": 1, "delta": "0.01"}


def subjects() -> dict[str, Any]:
    """Return the methods by their names: AIM and MST at one epsilon and delta, then every example."""
    formal = {info.name: info.cls.example(SCHEMA) for info in sfumato.methods().values() if info.formal}
    return {"aim at (1, 0.01)": AIM(**AT), "mst at (1, 0.01)": MST(**AT), **formal}


def line(name: str, found: Audit, seconds: float) -> str:
    """Return one line of the table."""
    verdict = "REFUTED" if found.refuted else ""
    numbers = f"{found.epsilon_low:8.3f} {found.epsilon_claimed:8.3f} {found.mu_low:8.3f} {found.mu_claimed:8.3f}"
    return f"{name:24} {numbers} {found.share:6.3f} {found.attack_mu_low:8.3f} {seconds:7.1f}  {found.score} {verdict}"


def main() -> None:
    """Audit all of them and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="names of methods, as the table prints them")
    asked = parser.parse_args()
    head = ("method", "eps low", "claimed", "mu low", "claimed", "share", "attack", "CPU s")
    print("{:24} {:>8} {:>8} {:>8} {:>8} {:>6} {:>8} {:>7}  way".format(*head))
    start = time.process_time()
    wanted = {name: method for name, method in subjects().items() if not asked.only or name in asked.only}
    for name, method in wanted.items():
        began = time.process_time()
        found = audit(method, SCHEMA, runs=FEW if name in SLOW else asked.runs, seed=asked.seed)
        print(line(name, found, time.process_time() - began), flush=True)
    print(f"CPU seconds in all: {time.process_time() - start:.0f}")


if __name__ == "__main__":
    main()
