"""Asking about many columns at once: a few aggregate queries, whatever the number of columns."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sfumato.table.engine import Engine

MEASURES_AT_ONCE = 600
"""Measures that one query takes: engines plan larger ones slowly."""

Answers = dict[str, Any]
Measure = tuple[tuple[str, str], Any]
"""The column, the name of the question, and the expression that answers it."""


def ask(engine: Engine, table: Any, measures: Sequence[Measure]) -> dict[str, Answers]:
    """Return the answers by column and question, from columns of the engine's table or from what was made of them."""
    found: dict[str, Answers] = {}
    for start in range(0, len(measures), MEASURES_AT_ONCE):
        part = measures[start : start + MEASURES_AT_ONCE]
        query = table.aggregate(**{f"m{i}": measure for i, (_, measure) in enumerate(part)})
        row = engine.aggregate(query).to_pylist()[0]
        for i, ((name, question), _) in enumerate(part):
            found.setdefault(name, {})[question] = _plain(row[f"m{i}"])
    return found


def _plain(answer: Any) -> Any:
    """Return a count as a number: sums of whole numbers come back as decimals."""
    return int(answer) if isinstance(answer, Decimal) and answer == int(answer) else answer


def distinct_values(values: Any) -> Any:
    """Return how many different values there are; missing ones are none."""
    return values.nunique(where=values.notnull())
