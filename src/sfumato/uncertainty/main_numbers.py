"""The main numbers of released rows, which a report shows with their expected errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.errors import ArgumentError
from sfumato.schema import Schema
from sfumato.uncertainty.statistics import Question
from sfumato.uncertainty.uncertainty import FEWEST_RERUNS, asked_of
from sfumato.uncertainty.values import Values
from sfumato.uncertainty.words import MOST_LEVELS, question_of

if TYPE_CHECKING:
    from sfumato.release.plan import Plan
    from sfumato.release.release import Release
    from sfumato.uncertainty.result import Uncertainty

MOST_COLUMNS = 40
LARGEST_SHARES = 3
"""Levels of a column whose shares are main numbers."""
SETTING = "SFUMATO_RERUNS"
"""Environment variable: reruns that the command line makes for a report unless it is told otherwise."""
MOST_FOR_A_REPORT, SECONDS_FOR_A_REPORT = 8, 60.0


def main_questions(schema: Schema, rows: pa.Table) -> list[Question]:
    """Return what the main numbers are: mean, median and sd of numbers, the largest shares of levels."""
    return list(_each(schema, Values(rows, schema)))


def _each(schema: Schema, values: Values) -> Iterator[Question]:
    names = [name for name in schema.names if name in values.rows.column_names][:MOST_COLUMNS]
    for name in names:
        column = schema[name]
        if column.is_ordered:
            yield from (question_of(f'{kind} "{name}"', schema, names) for kind in ("mean", "median", "sd"))
        elif column.present_size <= MOST_LEVELS:
            yield _largest(question_of(f'shares of "{name}"', schema, names), values)


def _largest(question: Question, values: Values) -> Question:
    shares = question.compute(values)
    kept = sorted(shares, key=lambda name: -shares[name])[:LARGEST_SHARES]

    def compute(rows: Values) -> dict[str, float]:
        found = question.compute(rows)
        return {name: found[name] for name in kept}

    return Question(question.words, question.kind, question.columns, compute)


def main_numbers(release: Release, reruns: int) -> Uncertainty:
    """Return the main numbers of a release of rows with their expected errors."""
    return asked_of(release, lambda public: main_questions(public.schema, public.rows), reruns)


def have_main_numbers(release: Release) -> bool:
    """Whether the mechanism can be run again on what was released."""
    return release.method.makes == "rows" and release.guarantee.formal


def reruns_said() -> int | None:
    """Return the number of reruns that the environment asks for, if any."""
    said = os.environ.get(SETTING)
    if said is not None and not said.isdigit():
        raise ArgumentError(f"{SETTING}={said} is no number of reruns", next_step=f"set {SETTING}=0, or 4 and more")
    return None if said is None else int(said)


def reruns_that_fit(plan: Plan) -> int:
    """Return how many reruns fit into about a minute by the plan's own guess; none where too few would.

    The guess rests on public facts: how long the release itself took is nobody's business.
    """
    fit = int(min(MOST_FOR_A_REPORT, SECONDS_FOR_A_REPORT / max(plan.seconds or 1.0, 1.0)))
    return fit if fit >= FEWEST_RERUNS else 0
