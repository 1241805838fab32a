"""Do the facts about a table go together? Every problem at once, however the schema was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import RuleError
from sfumato.schema.column import Column
from sfumato.schema.column_checks import is_positive, is_text
from sfumato.schema.rules import Rule

ADJACENCIES = ("add-remove", "replace")


def table_problems(facts: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the facts about the table itself."""
    name, rows, per_person = facts["name"], facts["rows"], facts["rows_per_person"]
    draft = facts["is_draft"]
    return [
        *_unless(is_text(name) and name.strip() != "", "[table] name: needs a text"),
        *_unless(isinstance(draft, bool), "[table] draft: needs true or false"),
        *_unless(is_positive(per_person), "[table] rows_per_person: needs a whole number of at least 1"),
        *_unless(
            facts["person"] is not None or not is_positive(per_person) or per_person == 1,
            "[table] rows_per_person needs person = the column that tells people apart",
        ),
        *_adjacency_problems(facts["adjacency"], rows, facts["person"]),
    ]


def _adjacency_problems(adjacency: Any, rows: Any, person: Any) -> list[str]:
    if not isinstance(adjacency, str) or adjacency not in ADJACENCIES:
        return [f"[table] adjacency: {adjacency!r} is unknown; use 'add-remove' or 'replace'"]
    if adjacency == "add-remove":
        return _unless(rows is None, "[table] rows: under 'add-remove' the row count is private; remove it")
    return [
        *_unless(is_positive(rows), "[table] adjacency 'replace' needs the public row count, e.g. rows = 20000"),
        *_unless(person is None, "[table] person: rows per person need adjacency 'add-remove'"),
    ]


def name_problems(names: Sequence[str]) -> list[str]:
    """Return what is wrong with the names of the columns."""
    problems = _unless(bool(names), "no [columns.NAME] section: name at least one column")
    return problems + [f"column {name}: stands {n} times" for name, n in Counter(names).items() if n > 1]


def person_problems(person: Any, columns: Mapping[str, Column | None]) -> list[str]:
    """Return what is wrong with the column that tells people apart; a column that could not be read is None."""
    if person is None:
        return []
    if not isinstance(person, str) or person not in columns:
        return [f"[table] person: {person!r} is not among the columns"]
    column = columns[person]
    # Rows without a person would share one allowance, and one more such row could displace another's.
    shared = f"column {person}: the person column cannot be missing, or people share a bound"
    return _unless(column is None or not column.missing, shared)


def rule_problems(rules: Sequence[Rule], columns: Mapping[str, Column | None]) -> list[str]:
    """Return what is wrong with the rules: how they are written, and what they say about the columns."""
    problems: list[str] = []
    for rule in rules:
        try:
            rule.require_meaning(columns)
        except RuleError as error:
            problems.append(error.headline)
    return problems


def _unless(holds: bool, problem: str) -> list[str]:
    return [] if holds else [problem]
