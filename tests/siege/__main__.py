"""Runs the parts of the siege one after the other, prints one table, and exits 1 if anything failed.

Run it by ``make siege``, or ``PYTHONPATH=tests python -m siege [PART ...] [--seconds N] [--seed N]``. A part is a
module of this folder with ``run(seconds: float, seed: int) -> list[Result]``; it stops when its seconds are over.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
from collections.abc import Sequence

from siege.results import Result

SHARES = {"disk": 0.08, "kills": 0.17, "spends": 0.35, "commands": 0.4}
"""The parts in their order, and which share of the time each may take; what one leaves over goes to those after it."""
MINUTES = 15


def run_part(name: str, seconds: float, seed: int) -> list[Result] | None:
    """Return the results of one part, or none where this checkout does not have it."""
    if importlib.util.find_spec(f"siege.{name}") is None:
        return None
    return importlib.import_module(f"siege.{name}").run(seconds, seed)


def line(result: Result, seconds: str) -> str:
    """Return one line of the table."""
    held = result.tried - result.failed
    return f"{result.name:<58} {result.tried:>7} {held:>7} {result.failed:>7} {seconds:>8}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, print the table, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="siege", description="Long attacks on commands, ledgers and disks.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(SHARES)}; all of them if left out")
    parser.add_argument("--seconds", type=float, default=60.0 * MINUTES)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.parts) - set(SHARES))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    names = options.parts or list(SHARES)
    end, failed = time.monotonic() + options.seconds, 0
    print(f"{'what':<58} {'tried':>7} {'held':>7} {'failed':>7} {'seconds':>8}")
    for place, name in enumerate(names):
        began = time.monotonic()
        share = SHARES[name] / sum(SHARES[later] for later in names[place:])
        results = run_part(name, (end - began) * share, options.seed)
        if results is None:
            print(f"{name}: skipped, this checkout has no such part")
            continue
        took = f"{time.monotonic() - began:.0f}"
        for number, result in enumerate(results):
            print(line(result, took if number == 0 else ""), flush=True)
            for note in result.notes:
                print(f"    {note}")
            failed += result.failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
