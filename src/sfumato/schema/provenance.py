"""Provenance of the facts of a schema: a public source, a purchase under DP, a file, or the private rows.

A draft marks every fact that it took from the rows, or from what a file says of its columns, with a fingerprint. What
still has the fingerprint when a person confirms the schema is as the rows or the file had it; what was changed is that
person's word. Fingerprints stay in the draft: of a bound they could be guessed, so a confirmed schema says only which
facts were taken from where.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

DOMAIN_FACTS = ("bounds", "values", "edges")
"""What a person must vouch for, or accept as taken from the rows."""
FORMAT_FACTS = ("trailing_zeros", "grouped", "prefix", "suffix", "true", "false", "date_format", "missing_text")
"""How a file writes its values: nothing but its look follows from them."""
KIND_FACTS = ("kind", "role")
FORMAT_AND_MISSING_FACTS = ("missing", "decimals", "step", *FORMAT_FACTS, *KIND_FACTS)
"""What is recorded as taken from the rows where nobody says otherwise, without stopping anybody."""
FACTS = (*DOMAIN_FACTS, *FORMAT_AND_MISSING_FACTS)
BUYABLE_FACTS = (*DOMAIN_FACTS, *KIND_FACTS, "missing", "decimals", "trailing_zeros")
"""What can be bought: noisy counts tell it."""
WORD_FACTS = ("description", "unit", "value_labels")
"""What a file or a person says of a column to its readers; no cell follows from it."""
TABLE_FACTS = ("columns", "encoding")
"""What a draft decides about the whole table by its rows: which columns there are, and how the text is encoded."""
FINGERPRINT_DIGITS = 12
OF_FILE = " file"
"""How the mark of a fact ends that the file told."""
Origin = Literal["public", "bought", "file", "rows"]


@dataclass(frozen=True)
class Provenance:
    """Where one fact comes from.

    >>> Provenance("public", "questionnaire 2023, q. 7").words
    'public: questionnaire 2023, q. 7'
    """

    origin: Origin
    source: str | None = None
    """The source in words, or the entry of the ledger."""

    @property
    def words(self) -> str:
        """The provenance for people."""
        if self.origin == "rows":
            return "taken from the rows"
        if self.origin == "file":
            return "told by the file"
        if self.origin == "bought":
            return f"bought: {self.source}"
        return f"public: {self.source}" if self.source else "stated by the custodian, who named no source"


@dataclass(frozen=True)
class Confirmation:
    """Who confirmed a schema, and when."""

    by: str
    on: dt.date
    accepted_unchanged: bool = False
    """Whether facts that were taken from the rows were let stand."""


def fingerprint(fact: str, value: Any) -> str:
    """Return the mark of a drafted fact: its name and a few digits of a hash.

    >>> fingerprint("bounds", (0, 110)) == fingerprint("bounds", [0, 110])
    True
    """
    plain = json.dumps(_plain(value), ensure_ascii=True)
    return f"{fact} {hashlib.sha256(f'{fact} {plain}'.encode()).hexdigest()[:FINGERPRINT_DIGITS]}"


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    return float(value) if isinstance(value, int | float) else str(value)


def fingerprints(facts: Mapping[str, Any], origin: Origin = "rows") -> tuple[str, ...]:
    """Return the marks of all facts that a draft took from the rows, or from a file."""
    return tuple(_mark(key, fact, origin) for key, fact in facts.items() if is_stated(key, fact))


def unchanged(facts: Mapping[str, Any], marks: Sequence[str], origin: Origin = "rows") -> tuple[str, ...]:
    """Return the facts that still are exactly as they were drafted.

    >>> marks = fingerprints({"bounds": (18, 90), "missing": True})
    >>> unchanged({"bounds": (0, 120), "missing": True}, marks)
    ('missing',)
    """
    return tuple(key for key, fact in facts.items() if is_stated(key, fact) and _mark(key, fact, origin) in marks)


def _mark(fact: str, value: Any, origin: Origin) -> str:
    return fingerprint(fact, value) + (OF_FILE if origin == "file" else "")


def is_stated(fact: str, value: Any) -> bool:
    """Whether a value states a fact: "no value is missing" does, "thousands have no marks" does not.

    >>> is_stated("missing", False), is_stated("grouped", False), is_stated("bounds", (0, 9))
    (True, False, True)
    """
    return value is not None and (value is not False or fact not in FORMAT_FACTS)
