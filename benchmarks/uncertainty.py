"""Do the intervals of ``release.uncertainty`` hold the numbers of the confidential table as often as they say?

python benchmarks/uncertainty.py --out coverage.json                          # the reported tables, 20 x 20
python benchmarks/uncertainty.py --out coverage.json --processes 16           # the same on a larger machine
python benchmarks/uncertainty.py --out other.json --tables pums_ca_1000       # a table for the constants
python benchmarks/uncertainty.py --out coverage.json --print                  # the table of what is there

Each table is released by AIM (delta 1e-9, seeds 1, 2, ...) at each epsilon; every release is rerun, and the intervals
of its shares, means, medians, spreads, group means, correlations and coefficients are held against the truth. Results
are kept in one JSON file after each release, so a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import sfumato
from sfumato.evaluate.uncertainty import reruns as made_again
from sfumato.evaluate.uncertainty.interval import rerun_interval, within
from sfumato.evaluate.uncertainty.reruns import PublicRelease
from sfumato.evaluate.uncertainty.run import least_error
from sfumato.evaluate.uncertainty.statistic_parser import parse_statistic
from sfumato.evaluate.uncertainty.statistics import ColumnValues, Question
from sfumato.example import codebook, households
from sfumato.metrics.rows_view import read_rows_view
from sfumato.schema import Schema

DATA = Path(os.environ.get("SFUMATO_DATA", "../shared/data"))
TABLES = ("insurance", "german_credit", "cps_85_wages", "hmeq")
EPSILONS = (0.3, 1.0, 3.0)
MOST_GROUPED, MOST_PAIRS, MOST_REGRESSIONS, MOST_LEVELS = 16, 15, 4, 12
KINDS = ("share", "mean", "median", "sd", "group mean", "correlation", "coefficient")


class TrueValues(ColumnValues):
    """The confidential rows, read as the method reads them."""

    def __init__(self, table: sfumato.Table) -> None:
        names = table.schema.releasable
        self.schema, self.names = table.schema, names
        self.seen = read_rows_view(table, table.schema, names)

    def numbers(self, name: str) -> Any:
        """Return a column as numbers."""
        column, points = self.schema[name], self.seen.points[:, self.names.index(name)]
        if column.is_ordered:
            return points
        levels = np.array([*(float(level) for level in column.levels), np.nan])
        return levels[np.where(np.isnan(points), len(column.levels), points).astype(int)]

    def codes(self, name: str) -> Any:
        """Return the places of levels."""
        codes = self.seen.codes[:, self.names.index(name)]
        return np.where(codes == self.schema[name].present_size, -1, codes)


def questions(schema: Schema) -> list[Question]:
    """Return what is asked of a table: the same in every run."""
    names = list(schema.releasable)
    numbers = [name for name in names if schema[name].is_ordered]
    levels = [name for name in names if not schema[name].is_ordered and schema[name].present_size <= MOST_LEVELS]
    words = [f"shares of `{name}`" for name in levels]
    words += [f"{kind} `{name}`" for name in numbers for kind in ("mean", "median", "sd")]
    words += _some([f"mean `{n}` by `{g}`" for g in levels for n in numbers], MOST_GROUPED)
    words += _some([f"correlation of `{a}` and `{b}`" for a, b in itertools.combinations(numbers, 2)], MOST_PAIRS)
    words += list(_regressions(numbers, levels))[:MOST_REGRESSIONS]
    return [parse_statistic(each, schema, names) for each in words]


def _some(words: list[str], most: int) -> list[str]:
    generator = np.random.default_rng(1)
    return [words[place] for place in sorted(generator.permutation(len(words))[:most])]


def _regressions(numbers: list[str], levels: list[str]) -> Iterator[str]:
    for place, target in enumerate(numbers):
        others = [numbers[(place + step) % len(numbers)] for step in (1, 2) if len(numbers) > step]
        inputs = [each for each in others if each != target] + levels[place % max(len(levels), 1) :][:1]
        if inputs:
            yield f"regression of `{target}` on {', '.join(f'`{each}`' for each in inputs)}"


def measured(table: sfumato.Table, epsilon: float, seed: int, reruns: int) -> list[dict[str, Any]]:
    """Return every statistic of one release: truth, released value, and the values of the reruns."""
    release = sfumato.release(table, sfumato.AIM(epsilon=epsilon), ledger=False, seed=seed)
    public, truth = PublicRelease.of(release), TrueValues(table)
    made = [ColumnValues(rows, public.schema) for rows in made_again.rerun(public.mechanism(), reruns)]
    values, lines = ColumnValues(public.rows, public.schema), list[dict[str, Any]]()
    for question in questions(table.schema):
        right, now = question.compute(truth), question.compute(values)
        again = [question.compute(each) for each in made]
        lines += [
            {
                "kind": question.kind,
                "name": name,
                "bounds": question.bounds,
                "least": least_error(public, question),
                "smallest": public.smallest_relation,
                "truth": right[name],
                "value": now[name],
                "reruns": [each[name] for each in again],
            }
            for name in now
        ]
    return lines


def main() -> None:
    """Measure what the file does not hold yet, round by round, and print the table."""
    asked = _arguments()
    kept: dict[str, Any] = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    if not asked.print:
        jobs = [job for job in _jobs(asked) if len(kept[job[0]][0]["reruns"] if job[0] in kept else ()) < asked.reruns]
        with get_context("spawn").Pool(asked.processes) as pool:
            for key, lines in pool.imap_unordered(_measured, jobs):
                kept[key] = lines
                asked.out.write_text(json.dumps(kept))
                print(key, flush=True)
    print(report(kept))


def _measured(job: tuple[str, str, float, int, int]) -> tuple[str, list[dict[str, Any]]]:
    made_again.WORTH_A_PROCESS = float("inf")  # one process a job: others measure beside it
    key, name, epsilon, seed, reruns = job
    return key, measured(_table(name), epsilon, seed, reruns)


def _table(name: str) -> sfumato.Table:
    if name == "households":
        return sfumato.read(households(rows=1000, seed=1), codebook())
    found = next(path for path in sorted(DATA.glob(f"{name}.csv*")))
    return sfumato.read(found, Schema.draft(found).confirm(accept_unchanged=True, by="benchmark"))


def _jobs(asked: argparse.Namespace) -> Iterator[tuple[str, str, float, int, int]]:
    for seed in range(1, asked.releases + 1):
        for name, epsilon in itertools.product(asked.tables, asked.epsilons):
            yield f"{name} {epsilon:g} {seed}", name, epsilon, seed, asked.reruns


def report(kept: dict[str, list[dict[str, Any]]], level: float = 0.95) -> str:
    """Return coverage, and the error over the expected error, by table, epsilon and sort."""
    cells: dict[tuple[str, str, str], list[tuple[bool, float, float]]] = defaultdict(list)
    for key, lines in kept.items():
        name, epsilon, _ = key.split()
        for line in lines:
            spread = rerun_interval(
                line["kind"], line["value"], line["reruns"], level, (), line["least"], line["smallest"]
            )
            spread = within(spread, *line["bounds"])
            if not (np.isnan(spread.error) or np.isnan(line["truth"])):
                slack = 1e-9 * max(1.0, abs(line["truth"]))
                holds = spread.low - slack <= line["truth"] <= spread.high + slack
                cells[name, epsilon, line["kind"]].append((holds, line["value"] - line["truth"], spread.error))
    shown = ["| table | epsilon | releases | " + " | ".join(KINDS) + " |", "|---" * (3 + len(KINDS)) + "|"]
    for name, epsilon in dict.fromkeys(key[:2] for key in cells):
        times = sum(key.startswith(f"{name} {epsilon} ") for key in kept)
        shares = [_share(cells.get((name, epsilon, kind), [])) for kind in KINDS]
        shown.append(f"| {name} | {epsilon} | {times} | " + " | ".join(shares) + " |")
    return "\n".join(shown)


def _share(found: list[tuple[bool, float, float]]) -> str:
    return f"{np.mean([holds for holds, _, _ in found]):.2f} ({len(found)})" if found else ""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Coverage of intervals for statistics of releases.")
    parser.add_argument("--out", type=Path, required=True, help="JSON file that keeps the results")
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--reruns", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--print", action="store_true", help="measure nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
