"""Suggest dialect options that turn text columns into numbers or dates.

A draft says what it saw and leaves the choice to a person: "1,5" may be a number or the name of a size. The first rows
show which way of writing a column may have: every text has one shape (digits, a decimal comma, groups of thousands, a
date with points). How many texts that way explains is then counted over all rows, all columns in one aggregate query.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.schema.dialect import DEFAULT_DIALECT, Dialect
from sfumato.table.column_expressions import select_as
from sfumato.table.engines.engine import run_aggregates
from sfumato.table.sources import Source
from sfumato.table.sources.normalise_text import BACK, FRONT, SIGN

FIRST_ROWS = 10_000
"""Rows that show how a column is written."""
MOST_KINDS = 2_000
"""Distinct texts of a column that are looked at."""
MOST = 0.8
"""Share of a column's texts that must read as numbers, or as dates, before they are called so."""
FEW_CODES = 8
"""Numbers with at most this many values may be codes, among which a word is a value like any other."""
SURE_MARKS = ("N/A", "n/a", "NA", "#N/A", "<NA>", "NULL", "null", "NaN", "nan", "-", "--", "?", "k.A.", "k. A.")
"""What programs and people write where there is no value, also among words."""
MARKS = (*SURE_MARKS, "N", "n", ".", "..", "x", "X", "*", "none", "None", "unknown", "missing", "keine Angabe")
"""The same among numbers, where nothing else is a word."""
DAY, LATE, MONTH = r"(0?[1-9]|[12]\d|3[01])", r"(1[3-9]|2\d|3[01])", r"(0?[1-9]|1[0-2])"
YEAR, TIME = r"(1[6-9]|2[01])\d\d", r"([ T]\d{1,2}:\d\d(:\d\d)?)?$"
Marks = tuple[str, str | None]
"""A decimal mark and a mark of thousands."""
NUMBERS: tuple[tuple[str, tuple[Marks, ...]], ...] = (
    (r"\d+", ()),
    (r"\d{1,3}\.\d{3}", ((".", None), (",", "."))),
    (r"(\d*\.\d+|\d+\.)([eE][-+]?\d+)?|\d+[eE][-+]?\d+", ((".", None),)),
    (r"\d{1,3},\d{3}", ((".", ","), (",", None))),
    (r"\d+,\d+", ((",", None),)),
    (r"\d{1,3}(\.\d{3})+(,\d+)?", ((",", "."),)),
    (r"\d{1,3}(,\d{3})+(\.\d+)?", ((".", ","),)),
    (r"\d{1,3}( \d{3})+", ((".", " "), (",", " "))),
    (r"\d{1,3}( \d{3})+\.\d+", ((".", " "),)),
    (r"\d{1,3}( \d{3})+,\d+", ((",", " "),)),
    ("\\d{1,3}(\u00a0\\d{3})+(,\\d+)?", ((",", "\u00a0"),)),
    ("\\d{1,3}(\u202f\\d{3})+(,\\d+)?", ((",", "\u202f"),)),
    (r"\d{1,3}('\d{3})+(\.\d+)?", ((".", "'"),)),
)
"""Shapes of numbers, and the ways of writing that explain each; digits alone are explained by every way."""
NUMBER_STYLES = tuple(dict.fromkeys(way for _, explaining in NUMBERS for way in explaining))
DATES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"^{YEAR}-{MONTH}-{DAY}", ()),
    (rf"^{DAY}\.{MONTH}\.{YEAR}", ("%d.%m.%Y",)),
    (rf"^{LATE}/{MONTH}/{YEAR}", ("%d/%m/%Y",)),
    (rf"^{MONTH}/{LATE}/{YEAR}", ("%m/%d/%Y",)),
    (rf"^{MONTH}/{MONTH}/{YEAR}", ("%d/%m/%Y", "%m/%d/%Y")),
    (rf"^{LATE}-{MONTH}-{YEAR}", ("%d-%m-%Y",)),
    (rf"^{MONTH}-{LATE}-{YEAR}", ("%m-%d-%Y",)),
    (rf"^{MONTH}-{MONTH}-{YEAR}", ("%d-%m-%Y", "%m-%d-%Y")),
    (rf"^{YEAR}/{MONTH}/{DAY}", ("%Y/%m/%d",)),
    (rf"^{YEAR}\.{MONTH}\.{DAY}", ("%Y.%m.%d",)),
    (rf"^{DAY} [A-Z][a-z][a-z] {YEAR}", ("%d %b %Y",)),
    (rf"^{DAY}-[A-Z][a-z][a-z]-{YEAR}", ("%d-%b-%Y",)),
    (rf"^{DAY}\.{MONTH}\.\d\d", ("%d.%m.%y",)),
)
"""Shapes of dates, and the formats that explain each; ISO dates need none."""
NEVER = "a^"
"""What no text looks like."""
TIMES = ("", " %H:%M", " %H:%M:%S")
NUMBER_SHAPES = tuple(re.compile(f"{FRONT}({core}){BACK}") for core, _ in NUMBERS)
DATE_SHAPES = tuple(re.compile(core + TIME) for core, _ in DATES)


@dataclass(frozen=True)
class DialectHint:
    """The dialect options that would turn a column's texts into numbers or dates."""

    column: str
    texts: int
    """Values that are there."""
    explained: int
    """How many of them the options explain."""
    options: Dialect
    """What would have to be said, with what was said already."""
    sentence: str
    is_open: bool = False
    """Whether the other decimal mark would do as well, so that other columns decide."""


@dataclass(frozen=True)
class _TextShapes:
    """How the first texts of a column are written: how many have each shape, and which have none."""

    numbers: Counter[int]
    dates: Counter[int]
    times: Counter[int]
    signs: int
    kinds: int
    """Distinct texts that read as numbers."""
    marks: Counter[str]
    words: Counter[str]

    @property
    def texts(self) -> int:
        return sum(count.total() for count in (self.numbers, self.dates, self.marks, self.words))

    @property
    def is_date(self) -> bool:
        return self.dates.total() > self.numbers.total()

    @property
    def is_ordered(self) -> bool:
        """Whether nearly all texts but marks read as numbers, or as dates; one word among them is a mark."""
        values = self.texts - self.marks.total() - (self.words.total() if len(self.words) == 1 else 0)
        return values > 0 and max(self.numbers.total(), self.dates.total()) >= MOST * values

    @property
    def missing(self) -> tuple[str, ...]:
        """Texts that stand for a missing value: known marks, or the only word among numbers or dates."""
        if not self.is_ordered:
            return tuple(mark for mark in self.marks if mark in SURE_MARKS and self.words)
        lone = [word for word in self.words if len(self.words) == 1 and not any(sign.isdigit() for sign in word)]
        return (*self.marks, *(lone if self.kinds > FEW_CODES or self.is_date else ()))


@dataclass(frozen=True)
class _NumberStyle:
    """A way of writing that may explain a column's texts."""

    options: Dialect
    """What would have to be said beyond what was said."""
    pattern: str
    """What a text looks like that is written so."""
    marked: str
    """What a text looks like that only this way explains."""
    words: str
    """The beginning of the sentence, after the number of texts."""
    rival: Dialect | None = None
    """What explains the texts as well, with the other decimal mark: 12 % has none, and of 1.200 nobody knows."""


def dialect_hints(opened: Source, names: Sequence[str]) -> dict[str, DialectHint]:
    """Return a hint for each text column that an option would turn into numbers or dates.

    ``names`` are columns that a draft could not read as they stand; those that hold no texts are passed over.
    """
    table = opened.engine.table
    texts = [name for name in names if table[name].type().is_string()]
    looks = _looks(opened, texts)
    ways = {name: _way(look, opened.dialect) for name, look in looks.items()}
    asked = [name for name in texts if ways[name] or looks[name].missing]
    values = {word: name for name, look in looks.items() if not look.is_ordered for word in look.marks}
    counts = _counts(opened, {name: (ways[name], looks[name].missing) for name in asked})
    return {name: _hint(name, looks[name], ways[name], counts[name], opened.dialect, values) for name in asked}


def suggested_options(opened: Source, names: Sequence[str]) -> str:
    """Return one line with the options that would turn these columns into numbers or dates; empty where none would."""
    return combined_options(dialect_hints(opened, names))


def combined_options(hints: Mapping[str, DialectHint]) -> str:
    """Return one line with all options of all hints, to be copied; empty where there are none.

    Where columns disagree, the one with more texts is heard: a column's own ``date_format`` can be said in the schema.
    """
    line = DEFAULT_DIALECT
    for hint in sorted(hints.values(), key=lambda hint: (hint.is_open, -hint.explained)):
        missing = tuple(dict.fromkeys((*line.missing, *hint.options.missing)))
        line = dataclasses.replace(_compatible(line, hint.options), missing=missing)
    return line.as_options()


def _compatible(line: Dialect, more: Dialect) -> Dialect:
    """Return a dialect with more said, as far as it does not contradict what was said."""
    theirs, ours = (more.decimal, more.thousands), (line.decimal, line.thousands)
    if ours == (None, None) or (ours[1] is None and theirs[0] == ours[0]):
        ours = theirs if theirs != (None, None) else ours
    return dataclasses.replace(line.over(more), decimal=ours[0], thousands=ours[1])


def _looks(opened: Source, names: Sequence[str]) -> dict[str, _TextShapes]:
    """Return how the first rows are written, by column."""
    if not names:
        return {}
    first = opened.engine.aggregate(opened.engine.table.select(list(names)).limit(FIRST_ROWS))
    return {name: _look(_kinds(first.column(name))) for name in names}


def _kinds(texts: Any) -> Counter[str]:
    """Return the texts of a column with their counts, without the blanks around them; of very many, some."""
    import pyarrow.compute as pc

    counted = pc.value_counts(texts.cast("string")).slice(0, MOST_KINDS)  # pyright: ignore
    counts: Counter[str] = Counter()
    for text, times in zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True):
        if text is not None and text.strip():
            counts[text.strip()] += times
    return counts


def _look(kinds: Counter[str]) -> _TextShapes:
    look = _TextShapes(Counter(), Counter(), Counter(), 0, 0, Counter(), Counter())
    signs = number_kinds = 0
    for text, times in kinds.items():
        if (shape := _first(DATE_SHAPES, text)) is not None:
            look.dates[shape] += times
            look.times[text.count(":")] += times
        elif (shape := _first(NUMBER_SHAPES, text)) is not None:
            look.numbers[shape] += times
            number_kinds += 1
            signs += times if re.search(SIGN, text) else 0
        elif text in MARKS:
            look.marks[text] += times
        else:
            look.words[text] += times
    return dataclasses.replace(look, signs=signs, kinds=number_kinds)


def _first(shapes: Sequence[re.Pattern[str]], text: str) -> int | None:
    if not any(sign.isdigit() for sign in text):
        return None
    return next((i for i, shape in enumerate(shapes) if shape.search(text)), None)


def _way(look: _TextShapes, dialect: Dialect) -> _NumberStyle | None:
    if not look.is_ordered:
        return None
    return _date_way(look, dialect) if look.is_date else _number_way(look, dialect)


def _number_way(look: _TextShapes, dialect: Dialect) -> _NumberStyle | None:
    explained: Counter[Marks] = Counter()
    for i, (_, explaining) in enumerate(NUMBERS):
        for way in {way for way in NUMBER_STYLES for marks in explaining if _covers(way, marks)}:
            explained[way] += look.numbers[i]
    plain = (dialect.decimal or ".", dialect.thousands)
    best = max(
        NUMBER_STYLES, key=lambda way: (explained[way], way == plain, way == (".", None), way == (".", ","), not way[1])
    )
    best = best if explained[best] > max(explained[plain], explained[".", None]) else plain
    if best == plain and (not look.signs or dialect.decimal or dialect.thousands):
        return None
    rivals = [way for way in NUMBER_STYLES if way[0] != best[0] and explained[way] == explained[best]]
    rival = min(rivals, key=lambda way: way[1] is not None, default=None)
    cores = [core for core, explaining in NUMBERS if any(_covers(best, marks) for marks in explaining)]
    marked = f"{FRONT}({'|'.join(cores)}){BACK}" if best != plain else SIGN
    pattern = f"{FRONT}({'|'.join([NUMBERS[0][0], *cores])}){BACK}"
    words = f"look like numbers {_mark_words(best, best != plain, look.signs)}"
    return _NumberStyle(_options(best), pattern, marked, words, _options(rival) if rival else None)


def _options(way: Marks) -> Dialect:
    return Dialect(decimal=way[0] if way[0] == "," or way[1] is None else None, thousands=way[1])


def _covers(way: Marks, marks: Marks) -> bool:
    """Whether a way of writing explains what another does: numbers below a thousand have no marks between groups."""
    return way == marks or (marks[1] is None and way[0] == marks[0])


def _mark_words(way: Marks, new: bool, signs: int) -> str:
    names = {",": "commas", ".": "points", "'": "apostrophes"}
    words = ["a decimal comma"] if new and way[0] == "," else []
    words += [f"{names.get(way[1], 'blanks')} between thousands"] if new and way[1] else []
    words += ["a percent sign or a currency"] if signs else []
    return "with " + " and ".join(words)


def _date_way(look: _TextShapes, dialect: Dialect) -> _NumberStyle | None:
    explained: Counter[str] = Counter()
    for i, (_, explaining) in enumerate(DATES):
        for form in explaining:
            explained[form] += look.dates[i]
    most = max(explained.values(), default=0)
    time = TIMES[min(look.times.most_common(1)[0][0], 2)]
    best = [form for form in explained if explained[form] == most]
    if look.dates[0] >= most or dialect.date_format in {form + time for form in best}:
        return None
    cores = [core for core, explaining in DATES if best[0] in explaining]
    pattern = f"({'|'.join(cores)}){TIME}"
    if len(best) > 1:
        words = "look like dates, and which number is the month cannot be told"
        return _NumberStyle(
            Dialect(), pattern, pattern, f"{words}: " + " or ".join(f"--date-format {f}{time}" for f in best)
        )
    return _NumberStyle(Dialect(date_format=best[0] + time), pattern, pattern, "look like dates")


def _counts(
    opened: Source, asked: Mapping[str, tuple[_NumberStyle | None, tuple[str, ...]]]
) -> dict[str, dict[str, int]]:
    """Count over all rows how many texts each column has, and how many its way and marks explain."""
    table = opened.engine.table
    bare = select_as(table, {name: table[name].strip() for name in asked}) if asked else table
    questions = {
        name: (
            ("texts", (bare[name] != "").sum()),
            ("written", bare[name].re_search(way.pattern if way else NEVER).sum()),
            ("marked", bare[name].re_search(way.marked if way else NEVER).sum()),
            ("missing", bare[name].isin(missing or ("",)).sum()),
        )
        for name, (way, missing) in asked.items()
    }
    answers = run_aggregates(opened.engine, bare, questions)
    return {name: {question: int(count or 0) for question, count in each.items()} for name, each in answers.items()}


def _hint(
    name: str,
    look: _TextShapes,
    way: _NumberStyle | None,
    counts: Mapping[str, int],
    dialect: Dialect,
    values: Mapping[str, str],
) -> DialectHint:
    """Put into words what was counted."""
    marks, sentence = _mark_sentence(look, counts["missing"], values)
    options = dataclasses.replace(way.options if way else DEFAULT_DIALECT, missing=marks)
    sentences = [sentence] if sentence else []
    if way:
        ways = [one.as_options() for one in (way.options, way.rival) if one]
        advice = f": {' or '.join(ways)}" if way.options != DEFAULT_DIALECT else ""
        sentences.insert(0, f"{_texts(counts['marked'])} {way.words}{advice}")
    explained = (counts["written"] if way else 0) + (counts["missing"] if marks else 0)
    missing = tuple(dict.fromkeys((*dialect.missing, *marks)))
    added = dataclasses.replace(options.over(dialect), missing=missing, format=None)
    return DialectHint(name, counts["texts"], explained, added, "; ".join(sentences), is_open=bool(way and way.rival))


def _mark_sentence(look: _TextShapes, times: int, values: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Return the marks that an option should name, and the sentence about them."""
    marks = look.missing
    if not marks:
        return (), ""
    listed = " or ".join(repr(mark) for mark in marks)
    what = ("dates" if look.is_date else "numbers") if look.is_ordered else "words"
    sentence = f"{_texts(times)} {'is' if times == 1 else 'are'} {listed} among {what}"
    if clash := [mark for mark in marks if mark not in SURE_MARKS and mark in values]:
        where = values[clash[0]]
        return (), f"{sentence}, and {clash[0]!r} is a value of {where}: set outside = 'missing' for this column"
    return marks, f"{sentence}: {Dialect(missing=marks).as_options()}"


def _texts(count: int) -> str:
    return f"{count:,} text{'' if count == 1 else 's'}"
