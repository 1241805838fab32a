"""Asking about many columns at once: a few aggregate queries, whatever the number of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.table.engine import Engine

MEASURES_AT_ONCE = 500
"""Measures that one query takes: engines plan larger ones slowly."""

Answers = dict[str, Any]
Measure = tuple[tuple[str, str], Any]
"""The column, the name of the question, and the expression that answers it."""


def ask(engine: Engine, measures: Iterable[Measure]) -> dict[str, Answers]:
    """Return the answers by column and question."""
    found: dict[str, Answers] = {}
    wanted = list(measures)
    for start in range(0, len(wanted), MEASURES_AT_ONCE):
        part = wanted[start : start + MEASURES_AT_ONCE]
        query = engine.table.aggregate(**{f"m{i}": measure for i, (_, measure) in enumerate(part)})
        row = engine.aggregate(query).to_pylist()[0]
        for i, ((name, question), _) in enumerate(part):
            found.setdefault(name, {})[question] = row[f"m{i}"]
    return found


def distinct_values(values: Any) -> Any:
    """Return how many different values there are; missing ones are none."""
    return values.nunique(where=values.notnull())


def merged(answers: Mapping[str, Answers], more: Mapping[str, Answers]) -> dict[str, Answers]:
    """Return answers with those to further questions.

    >>> merged({"a": {"low": 1}}, {"a": {"high": 2}})
    {'a': {'low': 1, 'high': 2}}
    """
    return {name: {**answers.get(name, {}), **more.get(name, {})} for name in (*answers, *more)}
