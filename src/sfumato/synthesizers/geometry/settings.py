"""Public settings that the grid, the cluster geometry and the two-stage method share, and how they are read.

The readers append what is wrong to a list, so that a constructor can name every problem at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from sfumato.errors import PlanError
from sfumato.privacy.exact import exact
from sfumato.releases.plan import LARGEST_SAMPLE, Plan, memory_limit
from sfumato.schema import Schema

GUESS = 1000
"""Rows that a resolution is chosen for when nobody says how many to expect."""
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, LARGEST_SAMPLE), Fraction(10**6)
"""Below, the noise of one count is larger than any table; above, whole counts have no noise to speak of."""
LEAST_DELTA = Fraction(1, 10**100)
MOST_EXPECTED = 10**12
"""Rows that anybody may expect."""
MOST_CLUSTERS = 1000
BYTES_PER_VALUE = 64
"""Memory of one synthetic value while rows are drawn."""


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


def drawn_rows(plan: Plan, noisy_total: float, columns: int) -> int:
    """Return how many rows are drawn: as planned, or the noisy number, at least 1 and at most what memory holds.

    With a small epsilon the noisy number may be anything. The limit is that of the machine, and tells nothing.
    """
    if plan.rows is not None:
        return plan.rows
    most = min(LARGEST_SAMPLE, memory_limit() // (BYTES_PER_VALUE * columns))
    return max(min(round(noisy_total), most), 1)


def whole(number: int | None, what: str) -> int | None:
    """Read a whole number of at least 1, or nothing; refuse anything else."""
    problems: list[str] = []
    read = whole_number(number, what, problems)
    if problems:
        raise PlanError(problems[0], next_step=f"give {what}=1000")
    return read


def whole_number(number: Any, what: str, problems: list[str], most: int = MOST_EXPECTED) -> Any:
    """Read a whole number of at least 1; nothing stays nothing, and what is wrong goes to the problems."""
    read = None if number is None else _fraction(number, what, problems)
    if read is None:
        return number
    if read.denominator != 1 or not 1 <= read <= most:
        problems.append(f"{what} must be a whole number from 1 to {most:,}, found {_shown(number)}")
        return number
    return int(read)


def between(
    number: Any, what: str, problems: list[str], low: Fraction | int = 0, high: Fraction | int = 1, *, ends: bool = True
) -> None:
    """Check a number between two others, with these themselves or without."""
    read = _fraction(number, what, problems)
    if read is not None and not (low <= read <= high if ends else low < read < high):
        problems.append(f"{what} must lie between {float(low):g} and {float(high):g}, found {_shown(number)}")


def budget(epsilon: Any, problems: list[str]) -> None:
    """Check an epsilon: above 0, and such that noise on whole counts makes sense."""
    between(epsilon, "epsilon", problems, LEAST_EPSILON, LARGEST_EPSILON)


def chance(delta: Any, problems: list[str]) -> None:
    """Check a delta above 0."""
    between(delta, "delta", problems, LEAST_DELTA, 1 - LEAST_DELTA)


def names(value: Any, what: str, problems: list[str]) -> Any:
    """Read one name or several as a tuple; nothing stays nothing, and what is no name goes to the problems."""
    if value is None:
        return None
    several = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    listed: list[Any] = list(value) if several else [value]
    if not all(isinstance(name, str) for name in listed):
        problems.append(f"{what} must be a name or a list of names, found {_shown(value)}")
        return value
    return tuple(listed)


def one_of(value: Any, what: str, known: Iterable[str], problems: list[str]) -> None:
    """Check a word against those that are known."""
    if not isinstance(value, str) or value not in known:
        problems.append(f"{what} {_shown(value)} is unknown; use one of {', '.join(known)}")


def _fraction(number: Any, what: str, problems: list[str]) -> Fraction | None:
    try:
        if not isinstance(number, bool):
            return exact(number, what)
    except PlanError:
        pass
    problems.append(f"{what} must be a finite number, found {_shown(number)}")
    return None


def _shown(value: Any) -> str:
    """Return a value for a message; a number of hundreds of digits is not written out."""
    try:
        text = repr(value)
    except ValueError:
        return "a number with thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."
