"""Group the facts of a schema by where they come from and describe them in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sfumato.formatting import join_names, list_names
from sfumato.schema.provenance import DOMAIN_FACTS, Origin, Provenance
from sfumato.schema.schema import Schema

RULE = "rule"
TABLE = "the table"
WHOLE = {"columns": "which columns there are"}
"""Facts about the whole table that a release shows."""
IN_WORDS = {
    "missing": "whether values may be missing in",
    "trailing_zeros": "the zeros at the end of",
    "grouped": "the marks between thousands of",
    "prefix": "what stands before",
    "suffix": "what stands behind",
    "true": "the word for true of",
    "false": "the word for false of",
    "date_format": "the form of dates of",
    "missing_text": "what stands for no value in",
}
"""Facts whose name says too little."""
MOST_NAMED = 6
"""Columns of one kind of fact that a sentence names; the others it counts."""


class FactProvenance(NamedTuple):
    """One fact: the column (or the check of a rule) that it is about, and where it comes from."""

    subject: str
    fact: str
    provenance: Provenance

    @property
    def is_domain(self) -> bool:
        """Whether the fact is about which values are possible, not about how they are written."""
        return self.fact in (*DOMAIN_FACTS, RULE)


@dataclass(frozen=True)
class SchemaProvenance:
    """All facts of a schema with their provenance."""

    facts: tuple[FactProvenance, ...]

    @classmethod
    def of(cls, schema: Schema) -> SchemaProvenance:
        """Return the facts of a schema, column by column and then the rules."""
        columns = [FactProvenance(c.name, fact, came) for c in schema for fact, came in c.provenance.items()]
        whole = [FactProvenance(TABLE, fact, Provenance("rows")) for fact in schema.data_derived_facts if fact in WHOLE]
        return cls((*columns, *whole, *(FactProvenance(rule.check, RULE, rule.provenance) for rule in schema.rules)))

    def domains(self, origin: Origin | None = None) -> tuple[FactProvenance, ...]:
        """Return bounds, values, edges and rules, optionally of one origin: they define the cells of a release."""
        return tuple(fact for fact in self.facts if fact.is_domain and origin in (None, fact.provenance.origin))

    def forms(self, origin: Origin) -> tuple[FactProvenance, ...]:
        """Return the facts about written form of one origin: missing values, decimals, steps, marks, words."""
        return tuple(fact for fact in self.facts if not fact.is_domain and fact.provenance.origin == origin)

    def absences(self) -> tuple[FactProvenance, ...]:
        """Return the bought facts about missing values."""
        return tuple(fact for fact in self.forms("bought") if fact.fact == "missing")

    def by_words(self, origin: Origin) -> dict[str | None, tuple[FactProvenance, ...]]:
        """Group the facts of one origin by source; bought ones by their entry of the ledger."""
        by_source: dict[str | None, list[FactProvenance]] = {}
        for fact in (*self.domains(origin), *(self.absences() if origin == "bought" else ())):
            by_source.setdefault(fact.provenance.source, []).append(fact)
        return {source: tuple(facts) for source, facts in by_source.items()}


def describe_facts(facts: Sequence[FactProvenance], most: int = MOST_NAMED) -> str:
    """Return facts as one phrase, in which only the first columns of each kind are named.

    >>> rows = Provenance("rows")
    >>> describe_facts(
    ...     [
    ...         FactProvenance("age", "bounds", rows),
    ...         FactProvenance("sex", "values", rows),
    ...         FactProvenance("income", "bounds", rows),
    ...     ]
    ... )
    'the bounds of age and income and the values of sex'
    """
    kinds = dict.fromkeys(each.fact for each in facts)
    parts = [_kind_in_words(kind, [each.subject for each in facts if each.fact == kind], most) for kind in kinds]
    return join_names(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def was_or_were(facts: Sequence[FactProvenance], one: str, many: str) -> str:
    """Return the verb that goes with facts in words: a single rule or step is, bounds are."""
    return one if len(facts) == 1 and facts[0].fact in (RULE, "step") else many


def _kind_in_words(kind: str, names: Sequence[str], most: int) -> str:
    if kind == RULE:
        plural = "s" if len(names) > 1 else ""
        return f"the rule{plural} {list_names([repr(name) for name in names], most, 'rules')}"
    if kind in WHOLE:
        return WHOLE[kind]
    return f"{IN_WORDS.get(kind, f'the {kind} of')} {list_names(names, most, 'columns')}"
