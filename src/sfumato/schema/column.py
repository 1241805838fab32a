"""Public facts about one column and the finite domain they define.

A column is encoded as an integer code in ``0 .. size - 1``. Levels (category, ordinal, boolean) take one code
each; ordered kinds (integer, number, date) are cut into public bins; a missing value, where the schema allows
it, is the last code. Nothing here ever looks at private data.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.schema.provenance import BUYABLE_FACTS, FACTS, WORD_FACTS, Provenance, is_stated, unchanged

Kind = Literal["category", "ordinal", "boolean", "integer", "number", "date"]
Role = Literal["identifier", "quasi-identifier", "sensitive", "target"]
Outside = Literal["refuse", "clamp", "missing"]
Scalar = str | int | float | bool | dt.date
LEVEL_KINDS = ("category", "ordinal", "boolean")
ORDERED_KINDS = ("integer", "number", "date")
KINDS = (*LEVEL_KINDS, *ORDERED_KINDS)
ROLES = ("identifier", "quasi-identifier", "sensitive", "target")
OUTSIDE = ("refuse", "clamp", "missing")
MOST_SHOWN = 8
"""Levels that a line about a column names."""
DEFAULT_BINS = 32
"""Equal-width bins of an ordered column for which the schema states neither edges nor a number of bins."""
LARGEST_UNIT_SPAN = 128
"""An integer column with at most this many values keeps one cell per value."""
EPOCH = dt.date(1970, 1, 1)


def day_number(value: dt.date) -> int:
    """Return the days since 1970-01-01: dates are counted as integers."""
    return (value - EPOCH).days


@checked_parameters
@dataclass(frozen=True)
class Column:
    """Public facts about one column; facts that make no sense are refused, all of them at once.

    >>> Column("age", "integer", bounds=(0, 110)).size
    111
    >>> Column("income", "number", bounds=(0, 1e6), edges=(0, 1e4, 1e6), missing=True).labels
    ('[0, 10000)', '[10000, 1000000]', None)
    """

    name: str
    kind: Kind
    bounds: tuple[Any, Any] | None = None
    values: tuple[str | int, ...] | None = None
    edges: tuple[Any, ...] | None = None
    bins: int | None = None
    missing: bool = False
    role: Role | None = None
    unit: str | None = None
    outside: Outside = "refuse"
    description: str | None = None
    decimals: int | None = None
    """Digits behind the decimal point, at most."""
    trailing_zeros: bool | int = False
    """Whether all of them are written, also zeros at the end; a number: at least so many."""
    step: int | float | str | None = None
    """Values are multiples of this; of dates, "week", "month", "quarter" or "year": their first days."""
    true: str | None = None
    false: str | None = None
    """How a boolean is written; true and false by default."""
    date_format: str | None = None
    """How a date is written, such as %d.%m.%Y; that of ``[source]``, or ISO, by default."""
    grouped: bool = False
    """Whether numbers are written with the marks between thousands that ``[source]`` names."""
    prefix: str | None = None
    suffix: str | None = None
    """What is written before and behind each number, such as "€ " and " %"."""
    missing_text: str | None = None
    """What is written where there is no value; the first mark of ``[source]``, or nothing, by default."""
    value_labels: Any = None
    """What listed values mean, for people: {1: "male", 2: "female"}; kept as pairs."""
    source: str | None = None
    """Where the facts are published, in words."""
    bought: str | None = None
    """The entry of the ledger that paid for the facts."""
    from_rows: tuple[str, ...] = ()
    """Facts that were taken from the rows, which somebody accepted by name."""
    drafted: tuple[str, ...] = ()
    """Fingerprints of the facts of a draft, as the rows or the file had them."""
    from_file: tuple[str, ...] = ()
    """Facts that the file tells of its own columns, for which nobody else vouched."""

    def __post_init__(self) -> None:
        from sfumato.schema.column_checks import validated_facts

        stated = {item.name: getattr(self, item.name) for item in fields(Column)}
        for name, fact in validated_facts(stated).items():
            object.__setattr__(self, name, fact)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Facts of a draft that still stand exactly as the rows or the file had them."""
        return (*unchanged(self._facts, self.drafted), *unchanged(self._facts, self.drafted, "file"))

    @property
    def _facts(self) -> dict[str, Any]:
        facts = {key: getattr(self, key) for key in (*FACTS, *WORD_FACTS)}
        return {key: fact for key, fact in facts.items() if is_stated(key, fact)}

    @property
    def data_derived_facts(self) -> tuple[str, ...]:
        """Facts taken from the rows, accepted or not, without a named source."""
        marked = (*self.from_rows, *(() if self.source else unchanged(self._facts, self.drafted)))
        return tuple(fact for fact in self._facts if fact in marked)

    @property
    def file_facts(self) -> tuple[str, ...]:
        """Facts taken from the file's own description of its columns, accepted or not, without a named source."""
        marked = (*self.from_file, *(() if self.source else unchanged(self._facts, self.drafted, "file")))
        return tuple(fact for fact in self._facts if fact in marked)

    @property
    def provenance(self) -> dict[str, Provenance]:
        """Where each fact about the column comes from."""
        of_rows, of_file = self.data_derived_facts, self.file_facts

        def origin(fact: str) -> Provenance:
            if fact in of_rows:
                return Provenance("rows")
            if fact in of_file:
                return Provenance("file")
            bought = self.bought and fact in BUYABLE_FACTS
            return Provenance("bought", self.bought) if bought else Provenance("public", self.source)

        return {key: origin(key) for key in self._facts}

    @property
    def domain_words(self) -> str:
        """The values that may occur, in short: bounds, or the first levels."""
        if self.bounds is not None:
            return f"{self.bounds[0]} to {self.bounds[1]}"
        listed = [str(value) for value in self.values or (() if self.is_open else ("false", "true"))]
        return ", ".join(listed[:MOST_SHOWN]) + (f", ... ({len(listed)} values)" if len(listed) > MOST_SHOWN else "")

    @property
    def unreadable_is_missing(self) -> bool:
        """Whether values that cannot be read count as missing.

        They do where the schema says so, and where facts were bought: noise cannot tell a few strange rows from none,
        and a table must fit the facts that were bought for it.
        """
        return self.outside == "missing" or (self.missing and self.bought is not None)

    @property
    def is_open(self) -> bool:
        """Whether no domain is stated: identifiers, which are never released, need none."""
        return self.kind in ("category", "ordinal") and self.values is None

    @property
    def is_ordered(self) -> bool:
        """Whether the column is cut into bins rather than listed by level."""
        return self.kind in ORDERED_KINDS

    @cached_property
    def levels(self) -> tuple[str | int | bool, ...]:
        """The listed values of a level column, in code order."""
        return (False, True) if self.kind == "boolean" else (self.values or ())

    @cached_property
    def has_integer_levels(self) -> bool:
        """Whether a category or ordinal column lists integers."""
        return self.kind != "boolean" and bool(self.levels) and all(isinstance(v, int) for v in self.levels)

    @cached_property
    def numeric_bounds(self) -> tuple[float, float]:
        """Bounds as numbers; dates as day numbers."""
        low, high = cast("tuple[Any, Any]", self.bounds)
        return (day_number(low), day_number(high)) if self.kind == "date" else (low, high)

    @cached_property
    def starts(self) -> NDArray[np.float64]:
        """Lower ends of the bins of an ordered column; bin i is ``[starts[i], starts[i+1])``, the last one closed."""
        low, high = self.numeric_bounds
        if self.edges is not None:
            inner = [day_number(e) if self.kind == "date" else e for e in self.edges]
            return np.array([low, *(e for e in inner if low < e < high)], float)
        if self.kind == "number":
            return np.linspace(low, high, (self.bins or DEFAULT_BINS) + 1)[:-1]
        return self._equal_integer_starts(int(low), int(high))

    def _equal_integer_starts(self, low: int, high: int) -> NDArray[np.float64]:
        span = high - low + 1
        wanted = self.bins or (span if self.kind == "integer" and span <= LARGEST_UNIT_SPAN else DEFAULT_BINS)
        count = min(wanted, span)
        return np.array([low + (i * span) // count for i in range(count)], dtype=float)

    @property
    def is_discrete(self) -> bool:
        """Whether an ordered column takes whole values only (integers and days)."""
        return self.kind in ("integer", "date")

    @cached_property
    def ends(self) -> NDArray[np.float64]:
        """Upper ends of the bins: exclusive for numbers (but for the last), inclusive for whole values."""
        high = self.numeric_bounds[1]
        if self.is_discrete:
            return np.append(self.starts[1:] - 1, high)
        return np.append(self.starts[1:], high)

    @cached_property
    def present_size(self) -> int:
        """Number of codes without the missing level."""
        return len(self.starts) if self.is_ordered else len(self.levels)

    @cached_property
    def size(self) -> int:
        """Number of codes, the missing level included."""
        return self.present_size + int(self.missing)

    @cached_property
    def labels(self) -> tuple[Scalar | None, ...]:
        """The label of each code in a released table; ``None`` is the missing level."""
        present: tuple[Scalar, ...] = self._bin_labels() if self.is_ordered else self.levels
        return (*present, None) if self.missing else present

    def _bin_labels(self) -> tuple[Scalar, ...]:
        pairs = list(zip(self.starts, self.ends, strict=True))
        if self.kind == "number":
            last = len(pairs) - 1
            return tuple(f"[{a:.15g}, {b:.15g}{']' if i == last else ')'}" for i, (a, b) in enumerate(pairs))
        if all(a == b for a, b in pairs):
            return tuple(self.whole(a) for a, _ in pairs)
        return tuple(f"[{self.whole(a)}, {self.whole(b)}]" for a, b in pairs)

    @property
    def has_unit_bins(self) -> bool:
        """Whether every cell of an ordered column is a single value."""
        return self.is_discrete and bool(np.all(self.starts == self.ends))

    def whole(self, number: float) -> int | dt.date:
        """Return a whole number in the column's own type: an integer or a date."""
        return EPOCH + dt.timedelta(days=int(number)) if self.kind == "date" else int(number)
