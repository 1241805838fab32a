"""What the examples share: an account, releases one after the other, and what a custodian wants to read about them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import sfumato

Question = Callable[[pd.DataFrame], float]


@dataclass(frozen=True)
class Asked:
    """What was said on the command line."""

    rows: int
    folder: Path


def asked(words: str | None, name: str, rows: int, arguments: list[str] | None = None) -> Asked:
    """Return how much to make and where to write it; a folder that is there is left alone."""
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--rows", type=int, default=rows, help=f"about how many rows to make up ({rows:,})")
    parser.add_argument("--out", type=Path, default=Path(f"{name}-out"), help=f"a new folder ({name}-out)")
    found = parser.parse_args(arguments)
    if found.out.exists():
        sys.exit(f"{found.out} exists, and its ledger knows what was spent: name a new folder with --out")
    found.out.mkdir(parents=True)
    return Asked(found.rows, found.out)


@dataclass(frozen=True)
class Office:
    """A custodian's desk: one table, one account, one folder. Noise is secure, so every run has numbers of its own."""

    table: sfumato.Table
    ledger: sfumato.Ledger
    folder: Path
    rows: int

    @classmethod
    def opened(cls, frame: pd.DataFrame, schema: sfumato.Schema, to: Asked, epsilon: float) -> Office:
        """Read the table and open its account: so much epsilon for every release that will ever be made of it."""
        schema.save(to.folder / f"{schema.name}.toml")
        ledger = sfumato.Ledger(to.folder / "ledger.db")
        ledger.open_table(schema.name, epsilon=epsilon, delta="1e-6", adjacency=schema.adjacency)
        people = "" if schema.person is None else f" of {frame[schema.person].nunique():,} {schema.person}s"
        print(f"made up {len(frame):,} rows{people}; budget: epsilon {epsilon:g}, delta 1e-6")
        return cls(sfumato.read(frame, schema), ledger, to.folder, len(frame))

    @property
    def protected(self) -> str:
        """What may be there or not without anybody noticing: a row, or all counted rows of a person."""
        schema = self.table.schema
        return "row" if schema.person is None else f"{schema.person} with up to {schema.rows_per_person} rows"

    def release(self, name: str, method: Any) -> sfumato.Release:
        """Forecast, release and save. The number of rows serves the forecast alone; here it may be known."""
        plan = sfumato.plan(self.table, method, about_rows=self.rows)
        print(f"\n{name}: method {method.name}, epsilon {plan.epsilon}; protects one {self.protected}")
        if plan.forecast is not None:
            print(f"  forecast: {plan.forecast.verdict}")
        made = sfumato.release(self.table, method, ledger=self.ledger, about_rows=self.rows)
        made.save(self.folder / name)
        print(f"  {made.guarantee.statement().splitlines()[0]}")
        print(f"  left of the budget: epsilon {self.ledger.account(self.table.schema.name).left_epsilon}")
        print(f"  report: {self.folder / name / 'report.html'}")
        return made


def beside(true: pd.DataFrame, released: pd.DataFrame, questions: Mapping[str, Question]) -> None:
    """Print the answers of both tables. True answers are for the custodian: nobody else may see them."""
    print(f"  {'for the custodian alone:':<46}{'true':>8}{'released':>12}")
    for words, question in questions.items():
        print(f"    {words:<44}{_short(question(true)):>8}{_short(question(released)):>12}")


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1_000 else f"{number:.3g}"
