"""Check the facts about a column and report all problems at once."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any, cast

import numpy as np

from sfumato.errors import SchemaError
from sfumato.schema.column import DEFAULT_BINS, KINDS, LEVEL_KINDS, OUTSIDE, ROLES
from sfumato.schema.provenance import FACTS, WORD_FACTS

LARGEST_WHOLE = 2**53
"""Integers are compared as 64-bit floats where a source holds them so; beyond this they would not be exact."""
MAX_BINS_OR_LEVELS = 1_000_000
"""Bins or listed values of one column: with more of them, three lines of text would take the machine."""
NARROWEST_BIN = 2
"""Width of a bin of real numbers in floating-point spacings: below that, bins would share their ends."""
SHOWN = 5
WANTED = {"integer": "whole numbers up to 2^53", "number": "finite numbers", "date": "dates like 2024-12-31"}


def validated_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about a column in their own types, or refuse them with every problem listed.

    >>> facts = {"name": "x", "kind": "integer", "edges": [1, 5, 9.0], "missing": False, "outside": "refuse"}
    >>> validated_facts(facts)["bounds"]
    (1, 9)
    """
    check = _Check(dict(facts))
    check.run()
    if check.problems:
        name, count = facts.get("name"), len(check.problems)
        raise SchemaError(
            f"column {name!r} has {count} problem{'s' if count != 1 else ''}",
            [f"column {name if is_text(name) else repr(name)}: {problem}" for problem in check.problems],
            "correct these facts; docs/schema.md lists every one",
        )
    return check.facts


def is_text(value: Any) -> bool:
    """Whether a value is text that a file can hold: no half characters, and no NUL, at which engines stop reading."""
    return isinstance(value, str) and _is_writable(value)


def is_positive(value: Any) -> bool:
    """Whether a value is a whole number of at least 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def shorten_list(values: Sequence[Any]) -> str:
    """Return a few of many values for a message."""
    listed = ", ".join(str(value)[:60] for value in islice(values, SHOWN))
    return f"[{listed}{', ...' if len(values) > SHOWN else ''}]"


@dataclass
class _Check:
    facts: dict[str, Any]
    problems: list[str] = field(default_factory=list[str])

    def need(self, holds: bool, problem: str) -> bool:
        if not holds:
            self.problems.append(problem)
        return holds

    def run(self) -> None:
        for key in ("bins", "missing"):
            self.facts[key] = _plain(self.facts.get(key))
        kind = self.facts.get("kind")
        self.names()
        if self.need(isinstance(kind, str) and kind in KINDS, f"kind {kind!r} is unknown; use one of {_list(KINDS)}"):
            self.treatment(cast("str", kind))
            self.written(cast("str", kind))
            self.levels(cast("str", kind)) if kind in LEVEL_KINDS else self.ordered(cast("str", kind))

    def names(self) -> None:
        name = self.facts.get("name")
        self.need(
            is_text(name) and str(name).strip() != "", "a column needs a name: a text without half or NUL characters"
        )
        for key in ("unit", "description", "source", "bought"):
            words = self.facts.get(key)
            self.need(words is None or is_text(words), f"{key} needs a text, found {_short(words)}")

    def treatment(self, kind: str) -> None:
        missing, role, outside = (self.facts.get(key) for key in ("missing", "role", "outside"))
        self.need(isinstance(missing, bool), f"missing needs true or false, found {_short(missing)}")
        self.need(role is None or _among(role, ROLES), f"role {_short(role)} is unknown; use one of {_list(ROLES)}")
        self.need(_among(outside, OUTSIDE), f"outside {_short(outside)} is unknown; use one of {_list(OUTSIDE)}")
        self.need(outside != "missing" or missing is True, "outside = 'missing' needs missing = true")
        self.need(outside != "clamp" or kind not in LEVEL_KINDS, "only ordered kinds can clamp")

    def written(self, kind: str) -> None:
        """Look at how values are written, and at where facts come from."""

        self.facts |= normalised_format_facts(self.facts)
        self.problems += format_problems(kind, self.facts)

    def levels(self, kind: str) -> None:
        for key in ("bounds", "edges", "bins"):
            self.need(self.facts.get(key) is None, f"{key} has no meaning for kind {kind!r}")
        values = self.facts.get("values")
        if kind == "boolean":
            self.need(values is None, "a boolean lists no values")
        elif values is not None or self.facts.get("role") != "identifier":
            listed = self.listed("values", f"kind {kind!r} needs values = [...]")
            self.facts["values"] = listed
            if listed is not None:
                self.values(listed)

    def listed(self, key: str, problem: str) -> tuple[Any, ...] | None:
        """Return a list of facts as a tuple, or None where it is none, is empty or is too long."""
        raw = self.facts.get(key)
        if not self.need(isinstance(raw, list | tuple | np.ndarray) and len(cast("Any", raw)) > 0, problem):
            return None
        several = cast("Sequence[Any]", raw)
        most = MAX_BINS_OR_LEVELS if key == "values" else MAX_BINS_OR_LEVELS + 1
        if not self.need(len(several) <= most, f"{key}: {len(several):,} of them, at most {most:,} can be counted"):
            return None
        return tuple(several.tolist() if isinstance(several, np.ndarray) else several)

    def values(self, listed: tuple[Any, ...]) -> None:
        kinds = set(map(type, listed))
        if any(issubclass(kind, np.generic) for kind in kinds):
            listed = self.facts["values"] = tuple(map(_plain, listed))
            kinds = set(map(type, listed))
        texts, whole = all(issubclass(kind, str) for kind in kinds), kinds == {int}
        if not self.need(texts or whole, f"values {shorten_list(listed)} must be all texts or all whole numbers"):
            return
        if whole:
            self.need(max(listed) <= LARGEST_WHOLE and min(listed) >= -LARGEST_WHOLE, "values must lie within +-2^53")
        else:
            self.need(_is_writable("".join(listed)), "values hold half or NUL characters, which no file can carry")
        repeated = _repeated(listed)
        self.need(not repeated, f"values repeat: {_list(map(str, repeated[:SHOWN]))}")

    def ordered(self, kind: str) -> None:
        values, bins = self.facts.get("values"), self.facts.get("bins")
        self.need(values is None, f"values has no meaning for kind {kind!r}; give bounds")
        self.need(bins is None or is_positive(bins), f"bins needs a whole number of at least 1, found {_short(bins)}")
        self.need(
            not is_positive(bins) or cast("int", bins) <= MAX_BINS_OR_LEVELS,
            f"bins: at most {MAX_BINS_OR_LEVELS:,} can be counted",
        )
        stated = [key for key in ("bounds", "edges") if self.facts.get(key) is not None]
        self.need(bins is None or "edges" not in stated, "give edges or bins, not both")
        self.need(bool(stated), f"kind {kind!r} needs bounds = [low, high]")
        read = {key: self.numbers(key, kind) for key in stated}
        edges = self.facts["edges"] = read.get("edges")
        bounds = read.get("bounds") if "bounds" in stated or edges is None else (edges[0], edges[-1])
        self.facts["bounds"] = bounds
        if bounds is not None and self.bounds(kind, bounds) and edges is not None:
            self.edges(bounds, edges)

    def numbers(self, key: str, kind: str) -> tuple[Any, ...] | None:
        raw = self.listed(key, f"{key} needs a list")
        if raw is None:
            return None
        read = tuple(parse_as_kind(_plain(value), kind) for value in raw)
        return read if self.need(None not in read, f"{key} {shorten_list(raw)} must be {WANTED[kind]}") else None

    def bounds(self, kind: str, bounds: tuple[Any, ...]) -> bool:
        rising = len(bounds) == 2 and (bounds[0] < bounds[1] or (bounds[0] == bounds[1] and kind != "number"))
        if not self.need(rising, f"bounds {shorten_list(bounds)} must be low < high") or kind != "number":
            return rising
        low, high = bounds
        bins = self.facts.get("bins") if is_positive(self.facts.get("bins")) else DEFAULT_BINS
        cells = 1 if self.facts.get("edges") is not None else min(cast("int", bins), MAX_BINS_OR_LEVELS)
        apart = NARROWEST_BIN * float(np.spacing(max(abs(low), abs(high))))
        room = self.need(
            math.isfinite(high - low), f"bounds {shorten_list(bounds)} lie too far apart to be cut into bins"
        )
        return room and self.need(
            (high - low) / cells >= apart,
            f"bounds {shorten_list(bounds)} lie too close for {cells} bins: floating point cannot tell them apart",
        )

    def edges(self, bounds: tuple[Any, ...], edges: tuple[Any, ...]) -> None:
        rising = len(edges) >= 2 and all(a < b for a, b in pairwise(edges))
        self.need(rising, f"edges {shorten_list(edges)} must rise, two at least")
        self.need(bounds[0] <= min(edges) and max(edges) <= bounds[1], "edges must lie within the bounds")


def parse_as_kind(value: Any, kind: str) -> Any:
    """Return a value of an ordered column in its own type, or None where it is none."""
    if kind == "date":
        return _as_date(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        return None
    if kind == "integer":
        return int(value) if value == int(value) and abs(value) <= LARGEST_WHOLE else None
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def _as_date(value: Any) -> dt.date | None:
    try:
        if isinstance(value, dt.datetime):
            return value.date()
        return value if isinstance(value, dt.date) else dt.date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """Return a number of NumPy's as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _is_writable(text: str) -> bool:
    try:
        return "\x00" not in text and (text.isascii() or bool(text.encode("utf-8")))
    except UnicodeEncodeError:
        return False


def _repeated(listed: tuple[Any, ...]) -> list[Any]:
    """Return what stands more than once; 1 and "1" cannot both stand, they are of different types."""
    if len(set(listed)) == len(listed):
        return []
    earlier: set[Any] = set()
    return sorted({value for value in listed if value in earlier or earlier.add(value)})


def _among(value: Any, known: Sequence[str]) -> bool:
    return isinstance(value, str) and value in known


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


MOST_DECIMALS = 15
DATE_STEPS = ("week", "month", "quarter", "year")
"""Steps of dates: each date is the first day of one of these."""
NO_AROUND = re.compile(r"[-+\d]")
"""What would be taken for a part of the number."""
LISTED = ("category", "ordinal")
WRITTEN = {
    "decimals": ("number", "integer", "category", "ordinal"),
    "step": ("number", "integer", "date"),
    "true": ("boolean",),
    "false": ("boolean",),
    "date_format": ("date",),
    "grouped": ("number", "integer", "category", "ordinal"),
    "prefix": ("number", "integer", "category", "ordinal"),
    "suffix": ("number", "integer", "category", "ordinal"),
    "value_labels": ("category", "ordinal"),
}
"""Facts about the written form, and the kinds of columns that have them."""


def normalised_format_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return lists as tuples and a mapping of labels as pairs, so that a column can be compared and hashed."""
    normalised: dict[str, Any] = {key: _listed(facts.get(key)) for key in ("from_rows", "from_file", "drafted")}
    labels = facts.get("value_labels")
    if isinstance(labels, Mapping):
        wanted = {str(value): value for value in facts.get("values") or ()}
        pairs = cast("Mapping[Any, Any]", labels).items()
        normalised["value_labels"] = tuple((wanted.get(str(key), key), words) for key, words in pairs)
    return normalised


def _listed(marks: Any) -> tuple[Any, ...]:
    """Return marks as a tuple; what is no list stays one odd mark, which is refused."""
    return tuple(cast("list[Any]", marks)) if isinstance(marks, list | tuple) else () if marks is None else (marks,)


def format_problems(kind: str, facts: Mapping[str, Any]) -> list[str]:
    """Return the problems of decimals, steps, written forms, labels and marks of origin."""
    wrong = [
        f"{key} has no meaning for kind {kind!r}"
        for key, kinds in WRITTEN.items()
        if facts.get(key) is not None and facts[key] is not False and kind not in kinds
    ]
    if wrong:
        return wrong
    zeros, decimals, known = facts.get("trailing_zeros", False), facts.get("decimals"), (*FACTS, *WORD_FACTS)
    number_formats = [key for key in ("decimals", "grouped", "prefix", "suffix") if facts.get(key)]
    checks = (
        (
            isinstance(zeros, bool) or (_is_count(zeros) and zeros <= (decimals or 0)),
            f"trailing_zeros needs true, false, or how many of the decimals are always written, found {zeros!r}",
        ),
        (not zeros or decimals is not None, "trailing_zeros needs decimals = how many digits"),
        (_is_count(decimals), f"decimals needs a whole number from 0 to {MOST_DECIMALS}, found {decimals!r}"),
        (_is_step(kind, facts.get("step")), _step_words(kind, facts.get("step"))),
        (
            _can_be_written(facts.get("step"), decimals),
            f"step = {facts.get('step')!r} needs more than {decimals} decimals",
        ),
        (
            kind not in LISTED or not number_formats or _are_whole(facts.get("values")),
            f"{', '.join(number_formats)} needs values that are numbers",
        ),
        (isinstance(facts.get("grouped", False), bool), f"grouped needs true or false, found {facts.get('grouped')!r}"),
        *(
            (all(mark in known for mark in facts[key]), f"{key} names facts, of {', '.join(known)}")
            for key in ("from_rows", "from_file")
        ),
        (all(isinstance(mark, str) for mark in facts["drafted"]), "drafted is written by a draft alone"),
    )
    return [problem for holds, problem in checks if not holds] + _around_problems(facts) + _text_problems(facts)


def _around_problems(facts: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with texts around numbers, and with the text that stands for no value."""

    affixes = {key: facts[key] for key in ("prefix", "suffix") if facts.get(key) is not None}
    problems = [
        f"{key} needs a text without digits and without + or -, found {text!r}"
        for key, text in affixes.items()
        if not is_text(text) or not text.strip() or NO_AROUND.search(text)
    ]
    mark = facts.get("missing_text")
    if mark is not None and not (mark == "" or is_text(mark)):
        problems.append(f"missing_text needs a text, found {mark!r}")
    listed = facts.get("values")
    if mark is not None and isinstance(listed, tuple) and mark in listed:
        problems.append(f"missing_text {mark!r} is one of the values")
    return problems


def _text_problems(facts: Mapping[str, Any]) -> list[str]:

    texts = [key for key in ("true", "false", "date_format") if facts.get(key) is not None and not is_text(facts[key])]
    problems = [f"{key} needs a text, found {facts[key]!r}" for key in texts]
    true, false, labels = facts.get("true"), facts.get("false"), facts.get("value_labels")
    if (true is None) != (false is None) or (true is not None and true == false):
        problems.append("a boolean that is written in words needs both, true = ... and false = ...")
    pairs = cast("tuple[Any, ...]", labels or ())
    if not isinstance(labels, tuple | None) or not all(isinstance(pair, tuple) and is_text(pair[1]) for pair in pairs):
        return [*problems, "value_labels needs a text for each value that it explains"]
    unknown = [str(value) for value, _ in pairs if facts.get("values") is not None and value not in facts["values"]]
    return problems + ([f"value_labels explains {', '.join(unknown[:5])}, not among the values"] if unknown else [])


def _is_count(decimals: Any) -> bool:
    if decimals is None:
        return True
    return isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= MOST_DECIMALS


def _is_step(kind: str, step: Any) -> bool:
    if step is None:
        return True
    if kind == "date":
        return step in DATE_STEPS
    number = isinstance(step, int | float) and not isinstance(step, bool) and 0 < step < float("inf")
    return number and (kind != "integer" or step == int(step))


def _can_be_written(step: Any, decimals: Any) -> bool:
    """Whether a step has no more decimals than its values may have."""
    if decimals is None or not isinstance(step, int | float) or not _is_count(decimals):
        return True
    return step == round(step, decimals)


def _are_whole(values: Any) -> bool:
    return bool(values) and all(isinstance(value, int) for value in values)


def _step_words(kind: str, step: Any) -> str:
    wanted = (
        f"one of {', '.join(DATE_STEPS)}" if kind == "date" else f"a {'whole ' * (kind == 'integer')}number above 0"
    )
    return f"step needs {wanted}, found {step!r}"
