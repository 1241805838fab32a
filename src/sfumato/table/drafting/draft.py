"""Draft a schema: profile the columns, propose types, bounds, levels and rules, and mark all as draft.

What columns look like is asked of all of them at once, a few aggregate queries for hundreds of columns
(:mod:`~sfumato.table.drafting.column_profile`). From the answers follow identifiers, columns and notes, the question
whose rows these are, and rules that all rows keep.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.errors import SchemaError, TableError
from sfumato.formatting import percent_fixed
from sfumato.schema import Schema
from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect
from sfumato.schema.provenance import FACTS, WORD_FACTS, fingerprints
from sfumato.schema.round_bounds import rounder_bounds
from sfumato.table.drafting.column_profile import (
    ISO_LENGTH,
    MAX_INTEGER_LEVELS,
    MOST_LEVELS,
    ColumnProfile,
    is_place,
    profile_columns,
)
from sfumato.table.drafting.dialect_hints import DialectHint, combined_options, dialect_hints
from sfumato.table.drafting.identifiers import identifier_reason, named_identifier, person_candidates, person_questions
from sfumato.table.drafting.propose_rules import propose_rules
from sfumato.table.drafting.written_format import with_written_formats
from sfumato.table.engines.engine import engine_errors
from sfumato.table.sources import Source, guess_delimiter, open_source

MOST_YEARLY_EDGES = 40
FEWEST_YEARS = 3
"""Calendar years from which on a date is cut by years: one or two of them are cut by months."""
NEARLY_ALL = 0.95
"""Share of missing values from which on a person should look."""
MOSTLY = 0.8
"""Share of a column's texts that an option must explain before the texts are called by what they hide."""
LONG_TEXT = 40
"""Characters of a text that is more than a name, on average."""
ColumnProposal = tuple[Column | None, str]


def propose_column(profile: ColumnProfile, hint: DialectHint | None = None) -> ColumnProposal:
    """Return a column, or None, and a note: why there is none, or what to look at.

    A hint says which option would read the texts of the column; until it is said, they are texts.
    """
    if hint and _hides_numbers(profile, hint):
        return None, f"left out: {profile.name} ({hint.sentence})"
    reason = identifier_reason(profile)
    if reason:
        return _column(
            profile, f"identifier: {profile.name} ({reason.why}; never released)", kind="category", role="identifier"
        )
    column, note = _by_reading(profile)
    return (
        (column, review_note(profile.name, *_review_reasons(profile), *([hint.sentence] if hint else [])))
        if column
        else (None, note)
    )


def _hides_numbers(profile: ColumnProfile, hint: DialectHint) -> bool:
    """Whether a hint explains why texts are no numbers or dates; a few levels stay a category all the same."""
    numbers = profile.known - profile.facts.get("not numbers", profile.known)
    return profile.distinct > MOST_LEVELS and hint.explained + numbers >= MOSTLY * hint.texts


def review_note(name: str, *words: str) -> str:
    """Return the note that asks to look at a column, or none.

    >>> review_note("age", "98 % missing"), review_note("age")
    ('look at: age (98 % missing)', '')
    """
    return f"look at: {name} ({'; '.join(words)})" if words else ""


def _by_reading(profile: ColumnProfile) -> ColumnProposal:
    match profile.reading:
        case "unknown":
            return None, f"left out: {profile.name} (values of type {profile.raw.type()} are not supported)"
        case "boolean":
            return _column(profile, kind="boolean")
        case "date":
            return _dates(profile)
        case "number":
            return _numbers(profile)
        case "text":
            return _texts(profile)


def _column(profile: ColumnProfile, note: str = "", **facts: Any) -> ColumnProposal:
    """Return a column; where its facts cannot stand in a schema, say which."""
    try:
        return Column(profile.name, missing=profile.missing, **facts), note
    except SchemaError as error:
        return None, f"left out: {profile.name} ({'; '.join(problem.split(': ', 1)[-1] for problem in error.problems)})"


def _texts(profile: ColumnProfile) -> ColumnProposal:
    if not profile.distinct:
        return None, f"left out: {profile.name} (no values)"
    if profile.distinct <= MOST_LEVELS and not profile.is_nearly_unique:
        return _column(profile, kind="category", values=tuple(sorted(profile.facts["values"])))
    return None, f"left out: {profile.name} ({profile.distinct:,} distinct texts: {_many_texts(profile)})"


def _many_texts(profile: ColumnProfile) -> str:
    if profile.facts["zeros"] and not profile.facts.get("not numbers"):
        return "codes with leading zeros; cut them to fewer, or list the public ones"
    if profile.facts["blanks"] > profile.known / 2 and (
        profile.uniqueness > 0.5 or profile.facts["length"] > LONG_TEXT
    ):
        return "free text"
    rows = f"{profile.known / profile.distinct:.3g}"
    return f"each in {rows} rows on average; if they are a public list, write it into values"


def _numbers(profile: ColumnProfile) -> ColumnProposal:
    if profile.facts["low"] is None:
        return None, f"left out: {profile.name} (no finite values)"
    if not profile.is_whole:
        return _column(
            profile, kind="number", bounds=_rounded_out(float(profile.facts["low"]), float(profile.facts["high"]))
        )
    if profile.facts.get("no days") == 0:
        return None, f"left out: {profile.name} (whole numbers that look like dates: --date-format '%Y%m%d')"
    low, high = int(profile.facts["low"]), int(profile.facts["high"])
    if _are_codes(profile, low, high):
        return _column(profile, kind="category", values=tuple(sorted(int(value) for value in profile.facts["values"])))
    return _column(profile, kind="integer", bounds=(low, high))


def _are_codes(profile: ColumnProfile, low: int, high: int) -> bool:
    """Whether whole numbers look like codes: one or two values, a few with gaps between them, or postcodes."""
    few = profile.distinct <= MAX_INTEGER_LEVELS and high - low >= profile.distinct
    return profile.distinct <= 2 or few or (profile.distinct <= MOST_LEVELS and is_place(profile.name))


def _dates(profile: ColumnProfile) -> ColumnProposal:
    facts = profile.facts
    if facts["low"] is None:
        return None, f"left out: {profile.name} (no dates of the years 1 to 9999)"
    low, high = (v.date() if isinstance(v, dt.datetime) else v for v in (facts["low"], facts["high"]))
    first, last = dt.date(low.year, 1, 1), dt.date(high.year, 12, 31)
    years = range(low.year, high.year + 1)
    months = range(1, 13) if len(years) < FEWEST_YEARS else (1,)
    cells = [dt.date(year, month, 1) for year in years for month in months]
    edges = (*cells, last) if len(years) <= MOST_YEARLY_EDGES else None
    return _column(profile, kind="date", bounds=(first, last), edges=edges)


def _review_reasons(profile: ColumnProfile) -> Iterator[str]:
    """Yield what a person should look at in a column that is described."""
    facts = profile.facts
    if facts.get("beyond"):
        yield f"{facts['beyond']:,} dates before the year 1 or after 9999 do not fit"
    if facts.get("times") or (profile.reading == "date" and (facts.get("longest") or 0) > ISO_LENGTH):
        yield "times of day are not kept: dates remain"
    if profile.distinct == 1 and profile.reading != "boolean":
        yield "one value in all rows; kept so that the released table has the column"
    if profile.known <= (1 - NEARLY_ALL) * profile.rows:
        yield f"missing in {percent_fixed(1 - profile.known / profile.rows)} of the rows"
    if facts.get("zeros"):
        yield "digits with leading zeros are texts, so that the zeros stay"


def _rounded_out(low: float, high: float) -> tuple[float, float]:
    """Widen bounds to round numbers: less is learned from the rows, and a person sees at once what to correct."""
    span = min(max(high - low, abs(high), 1e-300), 1e308)
    step = 10.0 ** math.floor(math.log10(span))
    bounds = math.floor(low / step) * step, math.ceil(high / step) * step
    return bounds if bounds[0] < bounds[1] else (bounds[0], bounds[0] + step)


DRAFT_WARNING = (
    "DRAFT: proposed from the private rows. Bounds and categories that were learned from data leak (the largest",
    "income, a rare diagnosis). Replace each by what is public knowledge, then: sfumato schema confirm THIS-FILE",
)
MOST_COLUMNS = 2000
"""Columns of a draft: nobody can vouch for more."""


def draft_schema(source: Any, name: str | None = None, delimiter: str | None = None, **dialect: Any) -> Schema:
    """Return a draft schema with one column for every column that can be described."""
    written = Dialect.of({"delimiter": delimiter, **dialect})
    opened = open_source(source, written)
    require_right_delimiter(opened)
    with engine_errors(repr(opened.name)):
        profiles = profile_columns(opened.engine, _names(opened))
        hints = _hints(opened, profiles)
        drafts = [propose_column(one, hints.get(one.name)) for one in profiles]
        _refuse_nothing(opened, drafts)
        described = _labelled(opened, with_written_formats(opened, [column for column, _ in drafts if column]))
        people = [one for one in person_candidates(profiles) if one.name in {column.name for column in described}]
        asked = person_questions(opened.engine, people)
        rules = propose_rules(opened, described)
    return Schema(
        name=name or opened.name,
        columns=tuple(_marked(opened, column) for column in described),
        rules=rules,
        is_draft=True,
        source=opened.dialect,
        drafted=fingerprints({"columns": True, "encoding": None if written.encoding else opened.dialect.encoding}),
        person_candidates=tuple(one.name for one in people),
        notes=(*DRAFT_WARNING, *opened.notes, *asked, *(note for _, note in drafts if note), *_one_line(hints)),
    )


def _names(opened: Source) -> list[str]:
    names = list(opened.engine.table.columns)
    if len(names) > MOST_COLUMNS:
        raise TableError(
            f"the table has {len(names):,} columns, a draft describes at most {MOST_COLUMNS:,}",
            next_step="draft from a table with the columns that a release may need",
        )
    return names


def _hints(opened: Source, profiles: Sequence[ColumnProfile]) -> dict[str, DialectHint]:
    """Return which options would read texts as what they look like; databases have types, and need none."""
    texts = [one for one in profiles if one.reading == "text" and one.distinct > 1 and not one.facts["zeros"]]
    names = [one.name for one in texts if not named_identifier(one)]
    return dialect_hints(opened, names) if names and opened.engine.streams else {}


def _one_line(hints: Mapping[str, DialectHint]) -> list[str]:
    options = combined_options(hints)
    return [f"look at: to read it so, draft again with {options}"] if options else []


def require_right_delimiter(opened: Source) -> None:
    """Refuse a text file whose header is one column that another delimiter would split."""
    names = list(opened.engine.table.columns)
    delimiter = guess_delimiter(names[0], ()) if opened.is_text and len(names) == 1 else None
    if delimiter:
        raise TableError(
            f"the header of {opened.name!r} reads {names[0]!r} as one column",
            next_step=f"the delimiter seems to be {delimiter!r}: say so with --delimiter '{delimiter}'",
        )


def _refuse_nothing(opened: Source, drafts: Sequence[ColumnProposal]) -> None:
    """Refuse a table of which nothing could be released."""
    if all(column is None or column.role == "identifier" for column, _ in drafts):
        notes = [note for _, note in drafts if note]
        raise TableError(f"no column of {opened.name!r} can be described", notes, "write the schema by hand")


def _labelled(opened: Source, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns with what the file itself says of them: labels and value lists."""
    return tuple(_with_facts(column, opened.facts.get(column.name, {})) for column in columns)


def _with_facts(column: Column, facts: Any) -> Column:
    listed = {"kind": "category", "bounds": None, "edges": None, "bins": None, "step": None, "decimals": None}
    try:
        return dataclasses.replace(column, **(listed if facts.get("values") else {}), **facts)
    except SchemaError:  # A list that does not fit the values: its words are kept, the values as they were seen.
        return dataclasses.replace(column, **{key: facts[key] for key in ("description", "unit") if key in facts})


def _marked(opened: Source, column: Column) -> Column:
    """Return a column with the fingerprints of what the rows taught, and of what the file itself says.

    Rounder bounds that the program proposes are computed from the rows, so they carry a mark as well.
    """
    file_facts = opened.facts.get(column.name, {})
    facts = {key: getattr(column, key) for key in (*FACTS, *WORD_FACTS)}
    of_file = {key: fact for key, fact in facts.items() if fact is not None and _same(key, file_facts.get(key), fact)}
    of_rows = {key: fact for key, fact in facts.items() if key not in of_file}
    marks = (*fingerprints(of_rows), *fingerprints(of_file, "file"))
    proposed = fingerprints({"bounds": rounder_bounds(column)}) if column.bounds is not None else ()
    return dataclasses.replace(column, drafted=(*marks, *proposed))


def _same(key: str, file_fact: Any, fact: Any) -> bool:
    return file_fact is not None and (key == "value_labels" or file_fact == fact)
