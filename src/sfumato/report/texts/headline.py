"""The released data in one sentence, followed by a short description of their contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sfumato.bundle.document import ReleaseDocument
from sfumato.formatting import counted, format_number, list_names
from sfumato.report.texts import Texts
from sfumato.schema import Schema

PLAIN = ("yes or no", "other")
"""Kinds that have no plural."""
MOST_TABLES = 5
say = Texts("release")


def headline(document: ReleaseDocument) -> str:
    """Say in one short sentence what was released."""
    lines = sum(table.rows for table in document.tables)
    if document.method.makes == "values":
        return say("headline.one_number" if lines == 1 else "headline.numbers", numbers=counted(lines, "number"))
    if document.method.makes == "counts":
        return say("headline.counts", cells=counted(lines, "cell"), tables=counted(len(document.tables), "table"))
    first, *others = document.tables
    what = "row" if document.statistics.get("not_synthesised") else "synthetic row"
    copies = f"{counted(1 + len(others), 'copy')}, the first of " if others else ""
    return f"{copies}{counted(first.rows, what)} with {counted(len(first.columns), 'column')}."


def explanation(document: ReleaseDocument, schema: Schema) -> list[str]:
    """Say where it comes from, what is in it and how it was made."""
    method = document.method
    origin = say("headline.made", table=document.table, method=method.name, summary=method.summary)
    if method.makes == "counts":
        sign = say("headline.clamped" if method.parameters.get("nonnegative") else "headline.unbiased")
        return [origin, f"{_tables(document)}.", f"{say('headline.whole_domain')} {sign}"]
    columns = _columns(document.tables[0].columns, document, schema) if method.makes == "rows" else []
    return [origin, *columns, *filter(None, [method.about])]


def _tables(document: ReleaseDocument) -> str:
    tables = [" x ".join(table.columns) for table in document.tables]
    more = f"; and {format_number(len(tables) - MOST_TABLES)} more" if len(tables) > MOST_TABLES else ""
    return f"{'; '.join(tables[:MOST_TABLES])}{more}"


def _columns(names: Sequence[str], document: ReleaseDocument, schema: Schema) -> list[str]:
    kept = document.statistics.get("not_synthesised") or []
    drawn = [name for name in names if name not in kept]
    columns = [f"Columns ({_kinds(names, schema)}): {list_names(names)}."]
    return columns + ([f"{', '.join(kept)}: released as they are; {', '.join(drawn)}: synthetic."] if kept else [])


def _kinds(names: Sequence[str], schema: Schema) -> str:
    """Return of which kinds columns are, the commonest first; a method may add columns that the schema lacks."""
    words = say.table("headline")["kinds"]
    kinds = Counter(words[schema[name].kind] if name in schema else "other" for name in names)
    return list_names([_so_many(number, kind) for kind, number in kinds.most_common()])


def _so_many(number: int, kind: str) -> str:
    return f"{format_number(number)} {kind}" if kind in PLAIN else counted(number, kind)


def released_columns(document: ReleaseDocument) -> set[str]:
    """Return the columns of the private table of which something is released."""
    names = {name for table in document.tables for name in table.columns}
    used = document.method.parameters.get("columns") or [document.method.parameters.get("column")]
    return names | {name for name in used if isinstance(name, str)} if document.method.makes == "values" else names
