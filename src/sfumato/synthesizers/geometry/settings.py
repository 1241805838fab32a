"""Public settings that the grid and the cluster geometry share."""

from __future__ import annotations

from sfumato.errors import PlanError
from sfumato.privacy.exact import exact
from sfumato.schema import Schema

GUESS = 1000
"""Rows that a resolution is chosen for when nobody says how many to expect."""


def expected(schema: Schema, stated: int | None, rows: int | None) -> tuple[int, tuple[str, ...]]:
    """Return the public number of rows that resolutions are chosen for, and a note where it is a mere guess."""
    known = stated or schema.rows or rows
    if known is not None:
        return known, ()
    return GUESS, (
        f"the resolution is chosen for {GUESS:,} rows: give expected_rows, a public guess, for a better one",
    )


def one_row_per_person(schema: Schema, method: str) -> None:
    """Refuse tables in which a person may hold several rows: one row is what is protected."""
    if schema.rows_per_person > 1:
        raise PlanError(
            f"{method} protects one row, but a person may hold {schema.rows_per_person} rows of {schema.name!r}",
            next_step="release a table with one row per person, or use marginals",
        )


def whole(number: int | None, what: str) -> int | None:
    """Read a whole number of at least 1, or nothing."""
    if number is None:
        return None
    read = exact(number, what)
    if read.denominator != 1 or read < 1:
        raise PlanError(f"{what} must be a whole number of at least 1, found {number}", next_step=f"give {what}=1000")
    return int(read)
