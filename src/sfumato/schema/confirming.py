"""Confirming a draft: a person says where its facts come from, or accepts by name what the rows taught."""

from __future__ import annotations

import dataclasses
import datetime as dt
import getpass
from collections.abc import Mapping
from typing import Any, Literal

from sfumato.errors import UnchangedDraftError
from sfumato.schema.column import Column
from sfumato.schema.provenance import DOMAIN_FACTS, Confirmation, listed
from sfumato.schema.schema import Schema

Answer = tuple[str | Literal[False] | None, int | None]
"""The person column (False: every row is somebody else; None: nobody said), and how many rows one may have."""


def confirmed(
    schema: Schema, sources: Mapping[str, str], accept: bool, by: str | None, on: dt.date | None, answer: Answer
) -> Schema:
    """Return the schema with the provenance of each fact and no mark of a draft, or refuse what nobody vouched for."""
    person, per_person = answer
    columns = tuple(dataclasses.replace(c, source=sources.get(c.name, c.source)) for c in schema.columns)
    standing = {c.name: held for c in columns if (held := standing_facts(c))}
    problems = [f"column {name}: {listed(facts)} as drafted" for name, facts in standing.items()]
    if problems and not accept:
        raise UnchangedDraftError(
            f"{len(problems)} columns of table {schema.name!r} still stand exactly as they were drafted from the rows",
            problems,
            "put public values in their place, name a source for each, or accept them as they are with "
            "accept_unchanged=True (--accept-unchanged), which every guarantee will then state",
        )
    changes: dict[str, Any] = {}
    if person is not None or schema.person_candidates:
        changes = {"person": person or None, "person_candidates": ()}
        changes |= {"rows_per_person": per_person} if per_person is not None else {}
    return dataclasses.replace(
        schema,
        columns=tuple(_settled(c) for c in columns),
        is_draft=False,
        notes=(),
        confirmation=Confirmation(by or getpass.getuser(), on or dt.datetime.now(dt.UTC).date(), bool(standing)),
        **changes,
    )


def standing_facts(column: Column) -> tuple[str, ...]:
    """Return bounds, values and edges that stand as drafted, and for which nobody named a source."""
    return () if column.source else tuple(fact for fact in column.unchanged if fact in DOMAIN_FACTS)


def _settled(column: Column) -> Column:
    held = () if column.source else column.unchanged
    return dataclasses.replace(column, drafted=(), from_rows=tuple(dict.fromkeys((*column.from_rows, *held))))
