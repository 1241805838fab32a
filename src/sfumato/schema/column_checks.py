"""Do the facts about a column make sense? Every problem at once, however the column was made."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any, cast

import numpy as np

from sfumato.errors import SchemaError
from sfumato.schema.column import DEFAULT_BINS, KINDS, LEVEL_KINDS, OUTSIDE, ROLES

LARGEST_WHOLE = 2**53
"""Integers are compared as 64-bit floats where a source holds them so; beyond this they would not be exact."""
MOST_CELLS = 1_000_000
"""Bins or listed values of one column: with more of them, three lines of text would take the machine."""
NARROWEST_BIN = 2
"""Width of a bin of real numbers in floating-point spacings: below that, bins would share their ends."""
SHOWN = 5
WANTED = {"integer": "whole numbers up to 2^53", "number": "finite numbers", "date": "dates like 2024-12-31"}


def sound_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about a column in their own types, or refuse them with every problem listed.

    >>> facts = {"name": "x", "kind": "integer", "edges": [1, 5, 9.0], "missing": False, "outside": "refuse"}
    >>> sound_facts(facts)["bounds"]
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


def shown(values: Sequence[Any]) -> str:
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
        from sfumato.schema.form_checks import form_problems, settled_form

        self.facts |= settled_form(self.facts)
        self.problems += form_problems(kind, self.facts)

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
        most = MOST_CELLS if key == "values" else MOST_CELLS + 1
        if not self.need(len(several) <= most, f"{key}: {len(several):,} of them, at most {most:,} can be counted"):
            return None
        return tuple(several.tolist() if isinstance(several, np.ndarray) else several)

    def values(self, listed: tuple[Any, ...]) -> None:
        kinds = set(map(type, listed))
        if any(issubclass(kind, np.generic) for kind in kinds):
            listed = self.facts["values"] = tuple(map(_plain, listed))
            kinds = set(map(type, listed))
        texts, whole = all(issubclass(kind, str) for kind in kinds), kinds == {int}
        if not self.need(texts or whole, f"values {shown(listed)} must be all texts or all whole numbers"):
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
            not is_positive(bins) or cast("int", bins) <= MOST_CELLS, f"bins: at most {MOST_CELLS:,} can be counted"
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
        read = tuple(as_kind(_plain(value), kind) for value in raw)
        return read if self.need(None not in read, f"{key} {shown(raw)} must be {WANTED[kind]}") else None

    def bounds(self, kind: str, bounds: tuple[Any, ...]) -> bool:
        rising = len(bounds) == 2 and (bounds[0] < bounds[1] or (bounds[0] == bounds[1] and kind != "number"))
        if not self.need(rising, f"bounds {shown(bounds)} must be low < high") or kind != "number":
            return rising
        low, high = bounds
        bins = self.facts.get("bins") if is_positive(self.facts.get("bins")) else DEFAULT_BINS
        cells = 1 if self.facts.get("edges") is not None else min(cast("int", bins), MOST_CELLS)
        apart = NARROWEST_BIN * float(np.spacing(max(abs(low), abs(high))))
        room = self.need(math.isfinite(high - low), f"bounds {shown(bounds)} lie too far apart to be cut into bins")
        return room and self.need(
            (high - low) / cells >= apart,
            f"bounds {shown(bounds)} lie too close for {cells} bins: floating point cannot tell them apart",
        )

    def edges(self, bounds: tuple[Any, ...], edges: tuple[Any, ...]) -> None:
        rising = len(edges) >= 2 and all(a < b for a, b in pairwise(edges))
        self.need(rising, f"edges {shown(edges)} must rise, two at least")
        self.need(bounds[0] <= min(edges) and max(edges) <= bounds[1], "edges must lie within the bounds")


def as_kind(value: Any, kind: str) -> Any:
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
    seen: set[Any] = set()
    return sorted({value for value in listed if value in seen or seen.add(value)})


def _among(value: Any, known: Sequence[str]) -> bool:
    return isinstance(value, str) and value in known


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
