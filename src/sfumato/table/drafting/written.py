"""Texts that hide numbers and dates: which option of the command line would read them, and how many it explains.

A draft says what it saw and leaves the choice to a person: "1,5" may be a number or the name of a size. Every text gets
one shape (digits, a decimal comma, groups of thousands, a date with points), and the shapes of a column are counted, all
columns of a batch in one aggregate query.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.schema.dialect import PLAIN, Dialect
from sfumato.table.sources import Source

COLUMNS_AT_ONCE = 50
MOST = 0.8
"""Share of a column's texts that must read as numbers, or as dates, before they are called so."""
FEW_CODES = 8
"""Numbers with at most this many values may be codes, among which a word is a value like any other."""
SURE_MARKS = ("N/A", "n/a", "NA", "#N/A", "<NA>", "NULL", "null", "NaN", "nan", "-", "--", "?", "k.A.", "k. A.")
"""What programs and people write where there is no value, also among words."""
MARKS = (*SURE_MARKS, "N", "n", ".", "..", "x", "X", "*", "none", "None", "unknown", "missing", "keine Angabe")
"""The same among numbers, where nothing else is a word."""

FRONT, BACK = r"^[-+]?\s?[€$£¥]?\s?[-+]?", r"\s?(%|€|\$|£|¥|EUR|USD|CHF|GBP)?$"
SIGN = r"[%€$£¥]|EUR|USD|CHF|GBP"
DAY, LATE, MONTH = r"(0?[1-9]|[12]\d|3[01])", r"(1[3-9]|2\d|3[01])", r"(0?[1-9]|1[0-2])"
YEAR, TIME = r"(1[6-9]|2[01])\d\d", r"([ T]\d{1,2}:\d\d(:\d\d)?)?$"

Way = tuple[str | None, str | None]
"""A decimal mark and a mark of thousands."""
NUMBERS: tuple[tuple[str, tuple[Way, ...]], ...] = (
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
WAYS = tuple(dict.fromkeys(way for _, explaining in NUMBERS for way in explaining))
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
TIMES = ("", " %H:%M", " %H:%M:%S")
WORD, MARK, FIRST_NUMBER, FIRST_DATE = 0, 1, 10, 50
SOME_NUMBER = f"{FRONT}[\\d.,' \u00a0\u202f]*\\d[\\d.,eE+-]*{BACK}"
SOME_DATE = r"^\d{1,4}[ ./-](\d{1,2}|[A-Z][a-z][a-z])[ ./-]\d\d"
"""What every number, and every date, looks like at first sight."""


@dataclass(frozen=True)
class Hint:
    """What would make the texts of a column numbers or dates."""

    column: str
    texts: int
    """Values that are there."""
    explained: int
    """How many of them the options explain."""
    options: Dialect
    """What would have to be said, with what was said already."""
    sentence: str


@dataclass(frozen=True)
class _Look:
    """How often each shape occurs in a column, and the texts that have none."""

    shapes: Counter[int]
    times: Counter[int]
    signs: int
    kinds: int
    marks: tuple[str, ...]
    odd: tuple[str, ...]

    @property
    def texts(self) -> int:
        return sum(self.shapes.values())

    @property
    def numbers(self) -> int:
        return sum(n for code, n in self.shapes.items() if FIRST_NUMBER <= code < FIRST_DATE)

    @property
    def dates(self) -> int:
        return sum(n for code, n in self.shapes.items() if code >= FIRST_DATE)


def hints(opened: Source, names: Sequence[str]) -> dict[str, Hint]:
    """Return, for those text columns that an option would turn into numbers or dates, what to say.

    ``names`` are columns that a draft could not read as they stand; those that hold no texts are passed over.
    """
    texts = [name for name in names if opened.engine.table[name].type().is_string()]
    looks: dict[str, _Look] = {}
    for start in range(0, len(texts), COLUMNS_AT_ONCE):
        looks |= _looks(opened, texts[start : start + COLUMNS_AT_ONCE])
    words = {mark: name for name, look in looks.items() if not _is_ordered(look) for mark in _words(look)}
    found = {name: _hint(name, look, opened.dialect, words) for name, look in looks.items()}
    return {name: hint for name, hint in found.items() if hint is not None}


def together(found: Mapping[str, Hint]) -> str:
    """Return one line with all options of all hints, to be copied; empty where there are none.

    Where columns disagree, the one with more texts is heard: a column's own ``date_format`` can be said in the schema.
    """
    line = PLAIN
    for hint in sorted(found.values(), key=lambda hint: -hint.explained):
        missing = tuple(dict.fromkeys((*line.missing, *hint.options.missing)))
        line = dataclasses.replace(_compatible(line, hint.options), missing=missing)
    return line.as_options()


def _compatible(line: Dialect, more: Dialect) -> Dialect:
    """Return a dialect with more said, as far as it does not contradict what was said."""
    theirs, ours = (more.decimal, more.thousands), (line.decimal, line.thousands)
    if ours == (None, None) or (ours[1] is None and theirs[0] == ours[0]):
        ours = theirs if theirs != (None, None) else ours
    return dataclasses.replace(line.over(more), decimal=ours[0], thousands=ours[1])


def _looks(opened: Source, names: Sequence[str]) -> dict[str, _Look]:
    """Ask for the shapes of several columns at once."""
    table = opened.engine.table
    bare = table.select(**{f"t{i}": table[name].strip() for i, name in enumerate(names)})
    coded = bare.mutate(**{f"s{i}": _shape(bare[f"t{i}"]) for i in range(len(names))})
    measures = {key: value for i in range(len(names)) for key, value in _measures(coded, i).items()}
    row = opened.engine.aggregate(coded.aggregate(**measures)).to_pylist()[0]
    return {name: _look(row, i) for i, name in enumerate(names)}


def _codes() -> list[int]:
    numbers = [FIRST_NUMBER + i for i in range(len(NUMBERS))]
    return [WORD, MARK, *numbers, *(FIRST_DATE + i for i in range(len(DATES)))]


def _shape(text: Any) -> Any:
    """Return the shape of each text; three cheap looks tell words from numbers and dates before any shape is tried."""
    import ibis

    numbers = [(text.re_search(f"{FRONT}({core}){BACK}"), FIRST_NUMBER + i) for i, (core, _) in enumerate(NUMBERS)]
    dates = [(text.re_search(core + TIME), FIRST_DATE + i) for i, (core, _) in enumerate(DATES)]
    return ibis.cases(
        (text == "", ibis.null("int64")),
        (text.re_search(SOME_DATE), ibis.cases(*dates, else_=WORD)),
        (text.re_search(SOME_NUMBER), ibis.cases(*numbers, else_=WORD)),
        (text.isin(MARKS), MARK),
        (text.notnull(), WORD),
        else_=ibis.null("int64"),
    )


def _measures(coded: Any, i: int) -> dict[str, Any]:
    text, shape = coded[f"t{i}"], coded[f"s{i}"]
    is_number = (shape >= FIRST_NUMBER) & (shape < FIRST_DATE)
    dates = shape >= FIRST_DATE
    return {
        **{f"n{i}_{code}": (shape == code).sum() for code in _codes()},
        f"minutes{i}": (dates & text.re_search(r"^[^:]*:\d\d$")).sum(),
        f"seconds{i}": (dates & text.re_search(r"^[^:]*:\d\d:\d\d$")).sum(),
        f"signs{i}": (is_number & text.re_search(SIGN)).sum(),
        f"kinds{i}": text.approx_nunique(where=is_number),
        f"marks{i}": text.collect(where=shape == MARK, distinct=True),
        f"first{i}": text.min(where=shape == WORD),
        f"last{i}": text.max(where=shape == WORD),
    }


def _look(row: Mapping[str, Any], i: int) -> _Look:
    shapes = Counter({code: n for code in _codes() if (n := int(row[f"n{i}_{code}"] or 0))})
    minutes, seconds = int(row[f"minutes{i}"] or 0), int(row[f"seconds{i}"] or 0)
    ends = {word for word in (row[f"first{i}"], row[f"last{i}"]) if word is not None}
    return _Look(
        shapes,
        Counter({1: minutes, 2: seconds}),
        int(row[f"signs{i}"] or 0),
        int(row[f"kinds{i}"] or 0),
        tuple(sorted(row[f"marks{i}"] or ())),
        tuple(sorted(ends)),
    )


def _is_ordered(look: _Look) -> bool:
    """Whether nearly all texts but marks read as numbers, or as dates."""
    told = look.texts - look.shapes[MARK]
    if len(look.odd) == 1:  # one word among numbers is a mark
        told -= look.shapes[WORD]
    return told > 0 and max(look.numbers, look.dates) >= max(MOST * told, look.texts / 2)


def _words(look: _Look) -> list[str]:
    """Return marks that may be values of a column of words: N beside Y."""
    return [mark for mark in look.marks if mark not in SURE_MARKS]


def _hint(name: str, look: _Look, said: Dialect, words: Mapping[str, str]) -> Hint | None:
    if not _is_ordered(look):
        return _among_words(name, look, said)
    parts = _date_parts(look) if look.dates > look.numbers else _number_parts(look, said)
    marks, told = _marks(look, words)
    options = Dialect(decimal=parts.decimal, thousands=parts.thousands, date_format=parts.date_format, missing=marks)
    sentences = [sentence for sentence in (parts.sentence, told) if sentence]
    explained = parts.explained + (look.texts - look.numbers - look.dates if marks else 0)
    if not sentences:
        return None
    return Hint(name, look.texts, explained, _added(options, said), "; ".join(sentences))


def _added(options: Dialect, said: Dialect) -> Dialect:
    missing = tuple(dict.fromkeys((*said.missing, *options.missing)))
    return dataclasses.replace(options.over(said), missing=missing, format=None)


@dataclass(frozen=True)
class _Parts:
    """What to say about numbers or dates, and how many texts that explains."""

    explained: int
    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    sentence: str = ""


def _number_parts(look: _Look, said: Dialect) -> _Parts:
    ways: Counter[Way] = Counter()
    digits = look.shapes[FIRST_NUMBER]
    for i, (_, explaining) in enumerate(NUMBERS):
        alike = {way for way in WAYS for told in explaining if way == told or (told[1] is None and way[0] == told[0])}
        for way in alike:
            ways[way] += look.shapes[FIRST_NUMBER + i]
    plain = (said.decimal or ".", said.thousands)
    best = max(WAYS, key=lambda way: (ways[way], way == plain, way == (".", None), way == (".", ","), way[1] is None))
    best = best if ways[best] > ways[plain] else plain
    explained = digits + ways[best]
    new = best != plain
    if not new and not (look.signs and not said.decimal):
        return _Parts(explained)
    marked = ways[best] if new else look.signs
    sentence = f"{_texts(marked)} look like numbers {_way_words(best, new, look.signs)}"
    decimal = best[0] if best[0] != "." or best[1] is None else None
    parts = Dialect(decimal=decimal, thousands=best[1])
    return _Parts(explained, decimal, best[1], sentence=f"{sentence}: {parts.as_options()}")


def _way_words(way: Way, new: bool, signs: int) -> str:
    names = {",": "commas", ".": "points", "'": "apostrophes"}
    words = ["a decimal comma"] if new and way[0] == "," else []
    words += [f"{names.get(way[1], 'blanks')} between thousands"] if new and way[1] else []
    words += ["a percent sign or a currency"] if signs else []
    return "with " + " and ".join(words)


def _date_parts(look: _Look) -> _Parts:
    formats: Counter[str] = Counter()
    for i, (_, explaining) in enumerate(DATES):
        for form in explaining:
            formats[form] += look.shapes[FIRST_DATE + i]
    iso = look.shapes[FIRST_DATE]
    if not formats or iso >= max(formats.values()):
        return _Parts(iso)
    most = max(formats.values())
    best = [form for form in formats if formats[form] == most]
    time = TIMES[2 if look.times[2] > most / 2 else 1 if look.times[1] > most / 2 else 0]
    if len(best) > 1:
        either = " or ".join(f"--date-format '{form}{time}'" for form in best)
        return _Parts(
            0, sentence=f"{_texts(most)} look like dates, and which number is the month cannot be told: {either}"
        )
    told = Dialect(date_format=best[0] + time)
    sentence = f"{_texts(most)} look like dates: {told.as_options()}"
    return _Parts(most + iso, date_format=told.date_format, sentence=sentence)


def _marks(look: _Look, words: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Return what stands for a missing value among numbers or dates, and the sentence that says so."""
    odd = [word for word in look.odd if not any(sign.isdigit() for sign in word)]
    unknown = odd if len(look.odd) == 1 and (look.kinds > FEW_CODES or look.dates) else []
    marks = (*look.marks, *unknown)
    times = look.shapes[MARK] + (look.shapes[WORD] if unknown else 0)
    if not marks:
        return (), ""
    what = "dates" if look.dates > look.numbers else "numbers"
    told = f"{_texts(times)} {'is' if times == 1 else 'are'} {_listed(marks)} among {what}"
    if clash := [mark for mark in marks if mark in words]:
        where = words[clash[0]]
        return (), f"{told}, and {clash[0]!r} is also a value of {where}: set outside = 'missing' for this column"
    return marks, f"{told}: {Dialect(missing=marks).as_options()}"


def _among_words(name: str, look: _Look, said: Dialect) -> Hint | None:
    """Return the hint for a column of words that holds a sure sign of no value."""
    marks = tuple(mark for mark in look.marks if mark in SURE_MARKS)
    if not marks or not look.shapes[WORD]:
        return None
    options = Dialect(missing=marks)
    sentence = f"{_listed(marks)} may stand for no value: {options.as_options()}"
    return Hint(name, look.texts, look.shapes[MARK], _added(options, said), sentence)


def _texts(count: int) -> str:
    return f"{count:,} text{'' if count == 1 else 's'}"


def _listed(words: Iterable[str]) -> str:
    return " or ".join(repr(word) for word in words)
