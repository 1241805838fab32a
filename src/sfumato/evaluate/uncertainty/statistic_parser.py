"""Parse statistics such as "mean income by region" or "regression of income on age"."""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.evaluate.uncertainty import statistics as st
from sfumato.evaluate.uncertainty.statistics import Inputs, Question, levels_of
from sfumato.schema import Schema
from sfumato.schema.column import Column

STATISTIC_FORMS = (
    "share of COLUMN = LEVEL",
    "share of COLUMN > NUMBER",
    "share of COLUMN missing",
    "shares of COLUMN",
    "mean COLUMN [by GROUP]",
    "median COLUMN [by GROUP]",
    "quantile 0.9 of COLUMN [by GROUP]",
    "sd COLUMN [by GROUP]",
    "correlation of COLUMN and COLUMN",
    "rank correlation of COLUMN and COLUMN",
    "regression of COLUMN on COLUMN, COLUMN, ...",
    "auc of COLUMN = LEVEL on COLUMN, COLUMN, ...",
)
MOST_LEVELS = 200
"""Levels of a group or an input, at most."""
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_COMPARISON = re.compile(r"^(.+?)\s*(>=|<=|!=|==?|>|<)\s*(.+)$")
_QUANTILE = re.compile(r"^quantile\s+(\S+)\s+of\s+(.+)$", re.IGNORECASE)
DATES = "dates are counted in days since 1970-01-01"


def parse_statistic(words: str, schema: Schema, released: Sequence[str]) -> Question:
    """Return the statistic that words ask for; refuse others with the forms and the columns that there are."""
    return _Parser(words.strip(), schema, tuple(name for name in schema.names if name in set(released))).read()


def _bounds(kind: str, column: Column) -> tuple[float, float]:
    """Return what no mean, median or quantile can leave: the public bounds of its column."""
    return column.numeric_bounds if kind != "sd" and column.is_ordered else (-math.inf, math.inf)


@dataclass(frozen=True)
class _Parser:
    words: str
    schema: Schema
    names: tuple[str, ...]

    def read(self) -> Question:
        low = self.words.lower()
        for start, form in self._forms().items():
            if low.startswith(start + " "):
                return form(self.words[len(start) + 1 :].strip())
        raise self._refusal(f"{self.words!r} is no statistic that has a name")

    def _forms(self) -> dict[str, Callable[[str], Question]]:
        """Return what reads the rest, by the words that it begins with; longer beginnings stand first."""
        return {
            "rank correlation of": lambda rest: self._correlation(rest, True),
            "correlation of": lambda rest: self._correlation(rest, False),
            "regression of": self._regression,
            "shares of": self._shares,
            "share of": self._share,
            "auc of": self._auc,
            "quantile": self._quantile,
            **{f"{kind} of": lambda rest, k=kind: self._number(k, rest) for kind in ("mean", "median", "sd")},
            **{kind: lambda rest, k=kind: self._number(k, rest) for kind in ("mean", "median", "sd")},
        }

    def _refusal(self, problem: str, step: str = "") -> ArgumentError:
        shown = ", ".join(self.names[:40]) + (", ..." if len(self.names) > 40 else "")
        return ArgumentError(
            problem,
            next_step=step
            or f"write one of: {'; '.join(STATISTIC_FORMS)}; or give a function of a frame. Columns are: {shown}",
        )

    def _known(self, text: str) -> str | None:
        """Return the column that is meant: quotes may stand around it, and case may differ where nothing else does."""
        name = text.strip().strip("`'\"").strip()
        alike = [known for known in self.names if known.lower() == name.lower()]
        return name if name in self.names else alike[0] if len(alike) == 1 else None

    def _column(self, text: str) -> Column:
        name = self._known(text)
        if name is None:
            near = difflib.get_close_matches(text.strip(), self.names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            listed = ", ".join(self.names[:40]) + (", ..." if len(self.names) > 40 else "")
            raise self._refusal(f"there is no released column {text.strip()!r}{hint}", f"columns are: {listed}")
        return self.schema[name]

    def _numeric(self, text: str) -> Column:
        column = self._column(text)
        if not (column.is_ordered or column.has_integer_levels or column.kind == "boolean"):
            raise self._refusal(
                f"{column.name} holds levels and no numbers", f"ask for the shares: 'shares of {column.name}'"
            )
        return column

    def _levelled(self, text: str) -> Column:
        column = self._column(text)
        if column.is_ordered and not column.has_unit_bins:
            raise self._refusal(
                f"{column.name} holds numbers and no levels",
                f"ask for 'mean {column.name}', or for 'share of {column.name} > NUMBER'",
            )
        if column.present_size > MOST_LEVELS:
            raise self._refusal(f"{column.name} has {column.present_size:,} levels", "take a column with fewer of them")
        return column

    def _split(self, text: str, word: str) -> tuple[str, str] | None:
        """Split at a word where a known column stands behind it; a name may hold the word as well."""
        for found in reversed(list(re.finditer(rf"\s{word}\s", text, re.IGNORECASE))):
            if word == "on" or self._known(text[found.end() :]) is not None:
                return text[: found.start()], text[found.end() :]
        return None

    def _number(self, kind: str, rest: str, share: float = 0.5, words: str = "") -> Question:
        reduce = st.column_statistic(kind, share)
        name = words or kind
        parts = None if self._known(rest) else self._split(rest, "by")
        column = self._numeric(parts[0] if parts else rest)
        notes, step = (DATES,) if column.kind == "date" else (), float(column.is_discrete)
        bounds = _bounds(kind, column)
        titled = f"{name} {'of ' if words else ''}{column.name}"
        if parts is None:
            if re.search(r"\sby\s", rest, re.IGNORECASE) and self._known(rest) is None:
                self._column(re.split(r"\sby\s", rest, flags=re.IGNORECASE)[-1])
            compute = st.of_column(column.name, titled, reduce)
            return Question(titled, kind, (column.name,), compute, notes, bounds, step)
        group = self._levelled(parts[1])
        compute = st.by_group(column.name, group.name, titled, levels_of(group), reduce)
        names = (column.name, group.name)
        return Question(f"{titled} by {group.name}", f"group {kind}", names, compute, notes, bounds, step)

    def _quantile(self, rest: str) -> Question:
        found = _QUANTILE.match(f"quantile {rest}")
        try:
            share = float(found[1]) if found else -1.0
        except ValueError:
            share = -1.0
        if found is None or not 0 <= share <= 1:
            raise self._refusal(f"{self.words!r} names no quantile", "write for example 'quantile 0.9 of income'")
        return self._number("quantile", found[2], share, f"quantile {share:g}")

    def _shares(self, rest: str) -> Question:
        column = self._levelled(rest)
        return Question(f"shares of {column.name}", "share", (column.name,), st.shares(column.name, levels_of(column)))

    def _share(self, rest: str) -> Question:
        absent = re.match(r"^(.+?)\s+(?:is\s+)?missing$", rest, re.IGNORECASE)
        if absent and self._known(absent[1]):
            name = self._column(absent[1]).name
            words = f"share of {name} missing"
            return Question(words, "share", (name,), st.missing_share(name, words))
        found = _COMPARISON.match(rest)
        if found is None:
            raise self._refusal(
                f"{self.words!r} says no level", f"write 'share of {rest} = LEVEL' or 'shares of {rest}'"
            )
        sign = found[2].replace("==", "=")
        column = self._column(found[1])
        if column.is_ordered:
            return self._share_of_numbers(column, sign, found[3])
        level = self._level(column, found[3])
        if sign != "=":
            raise self._refusal(f"{column.name} holds levels, which are not compared by {sign}", "write = LEVEL")
        compute = st.shares(column.name, levels_of(column), level)
        return Question(f"share of {column.name} = {level}", "share", (column.name,), compute)

    def _share_of_numbers(self, column: Column, sign: str, text: str) -> Question:
        border = self._border(column, text)
        words = f"share of {column.name} {sign} {text.strip()}"
        compute = st.share_where(column.name, words, lambda x: COMPARED[sign](x, border))
        return Question(words, "share", (column.name,), compute)

    def _border(self, column: Column, text: str) -> float:
        import datetime as dt

        from sfumato.schema.column import day_number

        try:
            return float(day_number(dt.date.fromisoformat(text.strip())) if column.kind == "date" else float(text))
        except ValueError:
            kind = "date such as 2020-01-31" if column.kind == "date" else "number"
            raise self._refusal(f"{column.name} is compared with {text.strip()!r}", f"give a {kind}") from None

    def _level(self, column: Column, text: str) -> str | int | bool:
        wanted = text.strip().strip("`'\"")
        found = [level for level in levels_of(column) if str(level).lower() == wanted.lower()]
        same = [level for level in found if str(level) == wanted]
        if len(same or found) != 1:
            levels = ", ".join(str(level) for level in levels_of(column)[:20])
            raise self._refusal(f"{column.name} has no level {wanted!r}", f"its levels are: {levels}")
        return (same or found)[0]

    def _correlation(self, rest: str, ranks: bool) -> Question:
        parts = self._split(rest, "and")
        if parts is None:
            raise self._refusal(f"{self.words!r} names no two columns", "write 'correlation of COLUMN and COLUMN'")
        one, other = self._numeric(parts[0]).name, self._numeric(parts[1]).name
        words = f"{'rank ' if ranks else ''}correlation of {one} and {other}"
        return Question(words, "correlation", (one, other), st.correlation(one, other, words, ranks))

    def _inputs(self, text: str, target: str) -> tuple[Inputs, tuple[str, ...]]:
        columns = [self._column(part) for part in text.split(",") if part.strip()]
        names = tuple(column.name for column in columns)
        if target in names or len(set(names)) < len(names):
            raise self._refusal("a column stands twice in the regression", "name each column once")
        levelled = [self._levelled(c.name) for c in columns if not c.is_ordered]
        numbers = tuple(c.name for c in columns if c.is_ordered)
        return Inputs(numbers, tuple((c.name, tuple(levels_of(c))) for c in levelled)), names

    def _sides(self, rest: str, form: str) -> tuple[str, str]:
        parts = self._split(rest, "on")
        if parts is None:
            raise self._refusal(f"{self.words!r} says no inputs", f"write {form!r}")
        return parts

    def _regression(self, rest: str) -> Question:
        left, right = self._sides(rest, STATISTIC_FORMS[-2])
        target = self._numeric(left)
        inputs, names = self._inputs(right, target.name)
        words = f"regression of {target.name} on {', '.join(names)}"
        return Question(words, "coefficient", (target.name, *names), st.regression(target.name, inputs))

    def _auc(self, rest: str) -> Question:
        left, right = self._sides(rest, STATISTIC_FORMS[-1])
        found = _COMPARISON.match(left)
        column = self._levelled(found[1] if found and self._known(left) is None else left)
        levels = levels_of(column)
        if len(levels) > 2 and (found is None or self._known(left) is not None):
            raise self._refusal(
                f"{column.name} has {len(levels)} levels", f"say which: 'auc of {column.name} = LEVEL on'"
            )
        level = self._level(column, found[3]) if found else levels[-1]
        inputs, names = self._inputs(right, column.name)
        words = f"auc of {column.name} = {level} on {', '.join(names)}"
        compute = st.auc_of_level(column.name, level, levels.index(level), inputs)
        return Question(words, "auc", (column.name, *names), compute)
