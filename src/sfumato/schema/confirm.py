"""Confirm a draft schema: a source for each fact, or who accepted it unchanged; the facts in words, by origin.

What nobody vouched for and what nobody answered is refused, all of it at once, before anything is written.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import getpass
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sfumato.errors import (
    DraftSchemaError,
    SchemaError,
    UnansweredDraftError,
    UnansweredQuestionError,
    UnchangedDraftError,
)
from sfumato.formatting import join_names, list_names
from sfumato.schema.column import Column
from sfumato.schema.column_checks import is_text
from sfumato.schema.provenance import DOMAIN_FACTS, Confirmation, Origin, Provenance
from sfumato.schema.round_bounds import describe_drafted_fact
from sfumato.schema.schema import Schema
from sfumato.schema.toml import DRAFT_COMMENT_PREFIXES, confirmation_section

if TYPE_CHECKING:
    from sfumato.schema.column import Column
    from sfumato.schema.rules import Rule

REST = "*"
"""The key of a source for all columns and rules that have none of their own."""
VOUCH = (
    "edit what is not public, or name its source: sources={'age': 'questionnaire, q. 7', '*': 'code book'}\n"
    "  or: accept_unchanged=True accepts the rest as drafted, and every guarantee will say so"
)
MOST_NAMED = 8
ANSWER = "person={column!r}, rows_per_person=20 protects whole people; person=False: each person has one row"
MOST_LISTED = 40
"""Problems that a refusal lists: nobody reads more, and ``standing_facts`` has all of them."""


class PersonDeclaration(NamedTuple):
    """The person column; False where each person has one row, None where that is not stated."""

    person: str | Literal[False] | None = None
    rows_per_person: int | None = None


def confirm_schema(
    schema: Schema,
    sources: Mapping[str, str],
    accept: bool,
    by: str | None,
    on: dt.date | None,
    answer: PersonDeclaration,
) -> Schema:
    """Return the schema with the provenance of each fact and no marks of a draft; refuse facts without a source."""
    _refuse_odd_sources(schema, sources)
    named = _with_sources(schema, sources)
    standing = unconfirmed_facts(named)
    _refuse_unsettled(named, () if accept else standing, _questions(schema, answer))
    settled = without_fingerprints(named)
    return dataclasses.replace(
        settled,
        is_draft=False,
        notes=(),
        confirmation=Confirmation(confirming_person(by), on or dt.datetime.now(dt.UTC).date(), bool(standing)),
        **_answered(schema, answer),
    )


def unconfirmed_facts(schema: Schema) -> tuple[str, ...]:
    """Describe, column by column, the facts that are still as the draft took them from the rows."""
    columns = (
        f"column {column.name}: {'; '.join(describe_drafted_fact(column, fact) for fact in held)}"
        for column in schema
        if (held := _held(column))
    )
    rules = (
        f"rule {rule.check!r} as drafted: the rows keep it; must every row?"
        for rule in schema.rules
        if rule.is_data_derived
    )
    return (*columns, *rules)


def _held(column: Column) -> tuple[str, ...]:
    return tuple(fact for fact in DOMAIN_FACTS if fact in (*column.data_derived_facts, *column.file_facts))


def without_fingerprints(schema: Schema) -> Schema:
    """Return the schema without fingerprints, from which values could be guessed; the origin of each fact stays."""
    if not any(item.drafted for item in (schema, *schema.columns, *schema.rules)):
        return schema
    columns = tuple(
        dataclasses.replace(c, drafted=(), from_rows=c.data_derived_facts, from_file=c.file_facts)
        for c in schema.columns
    )
    rules = tuple(dataclasses.replace(r, drafted=False, from_rows=r.is_data_derived) for r in schema.rules)
    whole = {"columns": columns, "rules": rules, "drafted": (), "from_rows": schema.data_derived_facts}
    return dataclasses.replace(schema, **whole, is_draft=True)  # until a person confirms it


def released(schema: Schema) -> Schema:
    """Return the schema as a release carries it.

    It has no marks of a draft, no notes, which speak of what was left out, and no encoding that was read off the rows.
    """
    bare = dataclasses.replace(without_fingerprints(schema), notes=())
    if "encoding" not in bare.data_derived_facts:
        return bare
    marks = tuple(fact for fact in bare.from_rows if fact != "encoding")
    return dataclasses.replace(bare, from_rows=marks, source=dataclasses.replace(bare.source, encoding=None))


def _refuse_odd_sources(schema: Schema, sources: Mapping[str, str]) -> None:
    known = {REST, *schema.names, *(rule.check for rule in schema.rules)}
    problems = [f"{key!r} is neither a column nor a rule" for key in sources if key not in known]
    problems += [
        f"the source of {key!r} needs words, found {words!r}"
        for key, words in sources.items()
        if not is_text(words) or not words.strip()
    ]
    if problems:
        raise SchemaError(
            f"{len(problems)} of the sources do not fit table {schema.name!r}",
            problems,
            f"name columns ({list_names(schema.names, MOST_NAMED)}), rules by their check, or '*' for all the rest",
        )


def _with_sources(schema: Schema, sources: Mapping[str, str]) -> Schema:
    """Return columns and rules with their sources. Whoever names one vouches, also for what the rows had taught."""
    columns = (_sourced(column, sources, column.name, bool(column.bought)) for column in schema.columns)
    rules = (_sourced(rule, sources, rule.check, False) for rule in schema.rules)
    named = dataclasses.replace(schema, columns=tuple(columns), rules=tuple(rules))
    return dataclasses.replace(named, drafted=(), from_rows=()) if REST in sources else named


def _sourced(item: Any, sources: Mapping[str, str], name: str, bought: bool) -> Any:
    if name in sources:
        return dataclasses.replace(item, source=sources[name], **_unset(item))
    if REST in sources and item.source is None and not bought:
        return dataclasses.replace(item, source=sources[REST], **_unset(item))
    return item


def _unset(item: Any) -> dict[str, Any]:
    return {key: getattr(type(item), key) for key in ("from_rows", "from_file") if hasattr(item, key)}


def _questions(schema: Schema, answer: PersonDeclaration) -> tuple[str, ...]:
    """Return what the draft asks and nobody has answered."""
    if not schema.person_candidates:
        return ()
    if answer.person is None:
        asked = " or ".join(schema.person_candidates)
        return (f"whose rows are these? Values of {asked} repeat, as those of people with several rows do",)
    if answer.person and answer.rows_per_person is None:
        return (f"how many rows of one {answer.person} may count at most?",)
    return ()


def _refuse_unsettled(schema: Schema, standing: Sequence[str], questions: Sequence[str]) -> None:
    if not standing and not questions:
        return
    error: type[DraftSchemaError] = UnchangedDraftError if standing else UnansweredQuestionError
    if standing and questions:
        error = UnansweredDraftError
    what = "a column or rule stands" if len(standing) == 1 else f"{len(standing)} columns and rules stand"
    parts = [f"{what} exactly as drafted from the rows"] if standing else []
    parts += [f"{len(questions)} question{'s are' if len(questions) > 1 else ' is'} open"] if questions else []
    problems, over = [*questions, *standing][:MOST_LISTED], len(questions) + len(standing) - MOST_LISTED
    raise error(
        f"table {schema.name!r} cannot be confirmed yet: {', and '.join(parts)}",
        [*problems, *([f"... and {over} more"] if over > 0 else [])],
        confirmation_steps(error, schema, VOUCH, ANSWER),
    )


def confirmation_steps(error: type[SchemaError], schema: Schema, vouch: str, answer: str) -> str:
    """Return the steps that resolve a refusal, in the words of the interface that was called."""
    steps = [answer.format(column=schema.person_candidates[0])] if issubclass(error, UnansweredQuestionError) else []
    steps += [vouch] if issubclass(error, UnchangedDraftError) else []
    return "\n  and: ".join(steps)


def _answered(schema: Schema, answer: PersonDeclaration) -> dict[str, Any]:
    if answer.person is None:
        return {} if answer.rows_per_person is None else {"rows_per_person": answer.rows_per_person}
    rows = {"rows_per_person": answer.rows_per_person or (1 if answer.person is False else schema.rows_per_person)}
    return {"person": answer.person or None, "person_candidates": (), **rows}


def confirming_person(by: str | None) -> str:
    """Return who confirms: the name that was given, or that of the account."""
    try:
        name = getpass.getuser() if by is None else by
    except (OSError, KeyError, ImportError):
        name = ""
    if not is_text(name) or not name.strip():
        raise SchemaError("nobody is named who confirms the schema", next_step="give by='your name' (--by 'your name')")
    return name.strip()


MAX_EDITED_CHARACTERS = 400_000
"""Characters of a file that is edited; a library that keeps every value as a node needs hours for a million."""


def confirmed_toml(text: str, schema: Schema) -> str:
    """Return the text of a file as the confirmed schema; written anew where edits alone do not make it."""
    if len(text) > MAX_EDITED_CHARACTERS:
        return schema.to_toml()
    lines = (line for line in text.splitlines(keepends=True) if not line.startswith(DRAFT_COMMENT_PREFIXES))
    try:
        edited = _edited("".join(lines).lstrip("\n"), schema)
        return edited if Schema.parse(edited) == schema else schema.to_toml()
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, SchemaError):  # forms that no draft writes
        return schema.to_toml()


def _edited(text: str, schema: Schema) -> str:
    import tomlkit

    document: Any = tomlkit.parse(text)
    _settle(document["table"], _table(schema))
    for column in schema:
        _settle(document["columns"][column.name], _origin(column))
    for body, rule in zip(document.get("rules", ()), schema.rules, strict=True):
        _settle(body, _origin(rule))
    document.pop("confirmed", None)
    if schema.confirmation is not None:
        document["confirmed"] = tomlkit.item(confirmation_section(schema.confirmation))
    return tomlkit.dumps(document)


def _settle(body: Any, facts: Mapping[str, Any]) -> None:
    """Write the facts that are stated, and take out those that are not."""
    for key, fact in facts.items():
        if fact in (None, False, 0) or fact == []:
            body.pop(key, None)
        elif key not in body or body[key] != fact:
            body[key] = fact


def _table(schema: Schema) -> dict[str, Any]:
    person = {"person": schema.person, "rows_per_person": schema.rows_per_person if schema.person else None}
    return {"draft": None, "person_candidates": None, "drafted": None, "from_rows": list(schema.from_rows), **person}


def _origin(item: Column | Rule) -> dict[str, Any]:
    marks = {key: getattr(item, key) for key in ("from_rows", "from_file") if hasattr(item, key)}
    listed = {key: list(mark) if isinstance(mark, tuple) else mark for key, mark in marks.items()}
    return {"drafted": None, "source": item.source, **listed}


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
MOST_COLUMNS_NAMED = 6
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


def describe_facts(facts: Sequence[FactProvenance], most: int = MOST_COLUMNS_NAMED) -> str:
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
