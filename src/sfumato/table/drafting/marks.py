"""What stands around numbers, between their thousands, and where there is no value: seen in the texts as they are.

Plain reading takes all of it away, so these questions go to the rows before it, in a query for many columns at once.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.schema.column import Column
from sfumato.schema.dialect import Dialect
from sfumato.table.drafting.asking import Answers, ask
from sfumato.table.sources import Source
from sfumato.table.sources.plain import BEFORE, BEHIND, BLANK

AROUND = {"prefix": rf"^[-+]?{BLANK}({BEFORE})[-+]?[\d.,]", "suffix": f"({BEHIND})$"}
"""Where the texts before and behind a number stand."""


def with_written_marks(opened: Source, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns with the marks that their texts are written with; plain texts and typed columns have none."""
    if opened.raw is None:
        return tuple(columns)
    table = opened.raw.table
    asked = [column for column in columns if column.role != "identifier" and table[column.name].type().is_string()]
    seen = {column.name: _Written(column, table[column.name], opened.dialect) for column in asked}
    measures = [((name, asked), measure) for name, one in seen.items() for asked, measure in one.questions()]
    answers = ask(opened.raw, table, measures)
    return tuple(seen[c.name].settled(answers[c.name]) if c.name in answers else c for c in columns)


@dataclass(frozen=True)
class _Written:
    """One column, its texts, and the dialect that they were read by."""

    column: Column
    raw: Any
    dialect: Dialect

    def questions(self) -> Iterator[tuple[str, Any]]:
        """Ask which texts stand around the numbers, whether thousands have marks, and which marks mean no value."""
        text = self.raw.strip()
        if self.column.kind in ("integer", "number") or self.column.has_integer_levels:
            there = (text != "") & ~text.isin(self.dialect.missing or ("",))
            yield from ((key, text.re_extract(like, 1).fill_null("").mode(where=there)) for key, like in AROUND.items())
            if mark := self.dialect.thousands:
                yield "marked", text.re_search(rf"^\D*\d{{1,3}}{re.escape(mark)}\d{{3}}").sum()
                yield "bare", text.re_search(r"^\D*\d{4}").sum()
        if self.column.missing and self.dialect.missing:
            yield "empty", (self.raw.isnull() | (text == "")).sum()
            yield from ((f"mark {mark}", (text == mark).sum()) for mark in self.dialect.missing)

    def settled(self, answers: Answers) -> Column:
        """Return the column with what most of its texts are written with."""
        around = {key: answers[key] for key in AROUND if (answers.get(key) or "").strip()}
        grouped = (answers.get("marked") or 0) > (answers.get("bare") or 0)
        return dataclasses.replace(self.column, grouped=grouped, missing_text=self._missing_text(answers), **around)

    def _missing_text(self, answers: Mapping[str, Any]) -> str | None:
        """Return what most often stands where there is no value, unless it is what the file's first mark says."""
        marks = self.dialect.missing
        counts = {"": answers.get("empty") or 0} | {mark: answers.get(f"mark {mark}") or 0 for mark in marks}
        best = max(counts, key=lambda mark: counts[mark])
        return None if not counts[best] or best == marks[0] else best
