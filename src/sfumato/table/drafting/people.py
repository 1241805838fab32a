"""Whose row is it? Identifiers that repeat ask for the person, because a guarantee for rows would not protect people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sfumato.table.drafting.identifiers import COUNTED, identified, words_of
from sfumato.table.drafting.readings import Seen
from sfumato.table.engine import Engine

MOST_CANDIDATES = 5
"""Columns that are asked about."""


def person_candidates(seen: Iterable[Seen]) -> tuple[Seen, ...]:
    """Return the identifiers that repeat as those of people do, the likeliest first."""
    repeated = [one for one in seen if one.known > one.distinct and _may_be_person(one)]
    return tuple(sorted(repeated, key=lambda one: (one.missing, not _is_called_person(one.name)))[:MOST_CANDIDATES])


def _may_be_person(seen: Seen) -> bool:
    found = identified(seen)
    return found is not None and found.may_be_person


def _is_called_person(name: str) -> bool:
    words = words_of(name)
    joined = "".join(words)
    return bool(COUNTED & set(words)) or joined in ("pid", "hid") or any(joined.startswith(word) for word in COUNTED)


def questions(engine: Engine, candidates: Sequence[Seen]) -> list[str]:
    """Return the notes that ask whose rows these are, with how many rows one value has as a help."""
    if not candidates:
        return []
    notes = ["question: whose row is it? If a person may have several rows, the guarantee should be for persons, not for"]
    notes.append(f"rows: answer person = {candidates[0].name!r} (and rows_per_person), or person = false, in [table]")
    return notes + [f"question: {_help(engine, one)}" for one in candidates]


def _help(engine: Engine, seen: Seen) -> str:
    counts = _rows_each(engine, seen)
    missing = "; it is missing in some rows, and every row needs a person" if seen.missing else ""
    return (
        f"{seen.name} repeats: {counts['typical']:.3g} rows each on average, {counts['most']:,} at most (private: "
        f"choose rows_per_person from what is known about the survey){missing}"
    )


def _rows_each(engine: Engine, seen: Seen) -> dict[str, Any]:
    table = engine.table
    known = table.filter(table[seen.name].notnull())
    rows = known.group_by(one=known[seen.name]).aggregate(rows=known.count())
    return engine.aggregate(rows.aggregate(typical=rows.rows.mean(), most=rows.rows.max())).to_pylist()[0]
