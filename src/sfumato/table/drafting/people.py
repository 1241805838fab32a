"""Whose row is it? Identifiers that repeat ask for the person: a guarantee for rows would not protect people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sfumato.table.drafting.identifiers import identified
from sfumato.table.drafting.names import is_person
from sfumato.table.drafting.readings import Seen
from sfumato.table.engine import Engine

MOST_CANDIDATES = 5
"""Columns that are asked about."""


def person_candidates(seen: Iterable[Seen]) -> tuple[Seen, ...]:
    """Return the identifiers that repeat as those of people do, the likeliest first."""
    repeated = [one for one in seen if one.known > one.distinct and _may_be_person(one)]
    return tuple(sorted(repeated, key=lambda one: (one.missing, not is_person(one.name)))[:MOST_CANDIDATES])


def _may_be_person(seen: Seen) -> bool:
    found = identified(seen)
    return found is not None and found.may_be_person


def questions(engine: Engine, candidates: Sequence[Seen]) -> list[str]:
    """Return the notes that ask whose rows these are, with how many rows one value has as a help."""
    if not candidates:
        return []
    names = ", ".join(one.name for one in candidates)
    verb = "repeats" if len(candidates) == 1 else "repeat"
    asked = (
        f"question: whose row is it? {names} {verb}, so a person may have several rows. Answer in [table]: person = "
        f"{candidates[0].name!r} and rows_per_person, or person = false where every row is somebody else's"
    )
    counts = "; ".join(_help(engine, one) for one in candidates)
    return [asked, f"question: rows of one value (private; choose rows_per_person by what is publicly known): {counts}"]


def _help(engine: Engine, seen: Seen) -> str:
    counts = _rows_each(engine, seen)
    missing = ", missing in some rows, though every row needs a person" if seen.missing else ""
    return f"{seen.name} {counts['typical']:.3g} on average, {counts['most']:,} at most{missing}"


def _rows_each(engine: Engine, seen: Seen) -> dict[str, Any]:
    table = engine.table
    known = table.filter(table[seen.name].notnull())
    rows = known.group_by(one=known[seen.name]).aggregate(rows=known.count())
    return engine.aggregate(rows.aggregate(typical=rows.rows.cast("float64").mean(), most=rows.rows.max())).to_pylist()[
        0
    ]
