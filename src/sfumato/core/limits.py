"""Limits on memory and row counts that a plan must respect."""

from __future__ import annotations

from sfumato.core.plan import LARGEST_SAMPLE, Plan, memory_limit
from sfumato.errors import PlanError
from sfumato.schema import Schema

GUESS = 1000
"""Rows that a resolution is chosen for when nobody says how many to expect."""
MOST_EXPECTED = 10**12
"""Rows that anybody may expect."""
MOST_CLUSTERS = 1000
BYTES_PER_VALUE = 64
"""Memory of one synthetic value while rows are drawn."""


def assumed_row_count(schema: Schema, stated: int | None, rows: int | None) -> tuple[int, tuple[str, ...]]:
    """Return the public number of rows that resolutions are chosen for, and a note where it is a mere guess."""
    known = stated or schema.rows or rows
    if known is not None:
        return known, ()
    return GUESS, (
        f"the resolution is chosen for {GUESS:,} rows: give expected_rows, a public guess, for a better one",
    )


def refuse_several_rows_per_person(schema: Schema, method: str) -> None:
    """Refuse tables in which a person may hold several rows: one row is what is protected."""
    if schema.rows_per_person > 1:
        raise PlanError(
            f"{method} protects one row, but a person may hold {schema.rows_per_person} rows of {schema.name!r}",
            next_step="release a table with one row per person, or use marginals",
        )


def sample_size(plan: Plan, noisy_total: float, columns: int) -> int:
    """Return how many rows are drawn: as planned, or the noisy number, at least 1 and at most what memory holds.

    With a small epsilon the noisy number may be anything. The limit is that of the machine, and tells nothing.
    """
    if plan.rows is not None:
        return plan.rows
    most = min(LARGEST_SAMPLE, memory_limit() // (BYTES_PER_VALUE * columns))
    return max(min(round(noisy_total), most), 1)
