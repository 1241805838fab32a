"""Where the facts of a schema come from: public knowledge with a source in words, bought, or taken from the rows.

A draft marks every fact that it took from the rows with a fingerprint. What still has the fingerprint when a person
confirms the schema is as the rows were; what was changed is that person's word. Fingerprints stay in the draft: of a
bound they could be guessed, so a confirmed schema says only which facts were taken from the rows.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

DOMAIN_FACTS = ("bounds", "values", "edges")
"""What a person must vouch for, or accept as taken from the rows."""
WRITTEN_FACTS = ("trailing_zeros", "grouped", "prefix", "suffix", "true", "false", "date_format", "missing_text")
"""How a file writes its values: nothing but its look follows from them."""
FORM_FACTS = ("missing", "decimals", "step", *WRITTEN_FACTS)
"""What is recorded as taken from the rows where nobody says otherwise, without stopping anybody."""
FACTS = (*DOMAIN_FACTS, *FORM_FACTS)
SOLD_FACTS = (*DOMAIN_FACTS, "missing")
"""What can be bought: noisy counts tell it."""
FINGERPRINT_DIGITS = 12

Origin = Literal["public", "bought", "rows"]


@dataclass(frozen=True)
class Provenance:
    """Where one fact comes from.

    >>> Provenance("public", "questionnaire 2023, q. 7").words
    'public: questionnaire 2023, q. 7'
    """

    origin: Origin
    said: str | None = None
    """The source in words, or the entry of the ledger."""

    @property
    def words(self) -> str:
        """The provenance for people."""
        if self.origin == "rows":
            return "taken from the rows"
        if self.origin == "bought":
            return f"bought: {self.said}"
        return f"public: {self.said}" if self.said else "stated by the custodian, who named no source"


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


def fingerprints(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the marks of all facts that a draft took from the rows."""
    return tuple(fingerprint(key, facts[key]) for key in FACTS if is_stated(key, facts.get(key)))


def unchanged(facts: Mapping[str, Any], marks: Sequence[str]) -> tuple[str, ...]:
    """Return the facts that still are exactly as they were drafted.

    >>> marks = fingerprints({"bounds": (18, 90), "missing": True})
    >>> unchanged({"bounds": (0, 120), "missing": True}, marks)
    ('missing',)
    """
    return tuple(key for key in FACTS if is_stated(key, facts.get(key)) and fingerprint(key, facts[key]) in marks)


def is_stated(fact: str, value: Any) -> bool:
    """Whether a column says something: that no value is missing is a fact, that thousands have no marks is none.

    >>> is_stated("missing", False), is_stated("grouped", False), is_stated("bounds", (0, 9))
    (True, False, True)
    """
    return value is not None and (value is not False or fact not in WRITTEN_FACTS)


def listed(facts: Iterable[str]) -> str:
    """Return facts in words: "bounds and missing"."""
    names = list(facts)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
