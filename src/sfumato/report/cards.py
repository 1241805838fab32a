"""Column cards: distribution, main numbers and missing values of one column.

The page of a release shows one side, a comparison and the custodian's copy show two: released filled, true as an
outline or a diamond. ``templates/column_card.html.j2`` draws what stands here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup

from sfumato.arrays import FloatArray
from sfumato.report.blocks import TableBlock
from sfumato.schema.column import Column

MOST_LEVELS = 12
"""Levels drawn on a card; the table of values holds more."""
LONG_LABEL = 30
FEW_BARS = 6
MISSING = "missing"


@dataclass(frozen=True)
class Bar:
    """One level, or the missing values: its value in words, and lengths in per cent of the longest bar."""

    label: str
    released: str
    released_length: float
    true: str = ""
    true_length: float | None = None
    noise: tuple[float, float] | None = None
    """Ends of the whisker: where the noise may have moved the end of the bar from."""


def level_bar(
    label: str,
    words: str,
    value: float,
    top: float,
    span: tuple[float, float] | None = None,
    true: tuple[str, float] | None = None,
) -> Bar:
    """Return the bar of a level beside its true value, if that is known; its whisker stays on the card."""
    ends = None if span is None else (100 * max(span[0], 0.0) / top, min(100.0, 100 * span[1] / top))
    beside, length = ("", None) if true is None else (true[0], 100 * true[1] / top)
    return Bar(label, words, 100 * max(value, 0.0) / top, beside, length, ends)


def noise_span(value: float, reach: float) -> tuple[float, float] | None:
    """Return where noise of some reach may have moved a value from; none for one that may be noise alone."""
    return (value - reach, value + reach) if value > reach > 0 else None


@dataclass(frozen=True)
class ColumnCard:
    """One column, released or on both sides."""

    place: str
    """The id of the card in its page."""
    name: str
    kind: str
    """Kind and unit in words."""
    label: str = ""
    """What the column means, where the schema says it."""
    sentence: str = ""
    """A sentence about it."""
    standing: str = ""
    """How the sentence is coloured: near, middling or far."""
    picture: Markup | None = None
    bars: tuple[Bar, ...] = ()
    more: int = 0
    """Levels that are not drawn."""
    missing: Bar | None = None
    numbers: TableBlock | None = None
    values: TableBlock | None = None
    links: tuple[tuple[str, str], ...] = ()
    """Words and the place where more of it stands."""
    short: str = ""
    """What the index says beside the name."""
    orders: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the card may be sorted by, beside its name and its place."""

    @property
    def tall(self) -> bool:
        """Whether it takes the room of two small cards: so many levels, or a picture."""
        return self.picture is not None or len(self.bars) > FEW_BARS

    @property
    def two_sided(self) -> bool:
        """Whether true values stand beside released ones."""
        rows = (*self.bars, *(() if self.missing is None else (self.missing,)))
        return any(row.true for row in rows)


def share(value: float) -> str:
    """Return a share in per cent; one that is not 0 never looks like 0.

    >>> share(0.123), share(0.0004), share(0.00001), share(0.0)
    ('12.3 %', '0.04 %', '<0.01 %', '0 %')
    """
    if not 0 < value < 0.0001:
        return "0 %" if value <= 0 else f"{100 * value:.2f} %" if value < 0.001 else f"{100 * value:.1f} %"
    return "<0.01 %"


def largest_indices(sizes: Sequence[float], most: int = MOST_LEVELS) -> list[int]:
    """Return the places of the largest, in their own order.

    >>> largest_indices([5, 1, 9, 7], 2)
    [2, 3]
    """
    order = np.argsort(-np.asarray(sizes, dtype=float), kind="stable")
    return sorted(int(place) for place in order[:most])


def needs_table(labels: Sequence[str]) -> bool:
    """Whether a card cannot show all levels, or not the whole of their names."""
    return len(labels) > MOST_LEVELS or max(map(len, labels), default=0) > LONG_LABEL


def level_words(column: Column) -> tuple[str, ...]:
    """Return what the levels of a column are called, with what the schema says that they mean.

    >>> level_words(Column("sex", "category", values=(1, 2), value_labels={1: "male"}))
    ('1: male', '2')
    """
    meaning = dict(column.value_labels or ())
    return tuple(_level(level, meaning.get(level)) for level in column.levels)


def _level(level: Any, meaning: str | None) -> str:
    name = str(level).lower() if isinstance(level, bool) else str(level)
    return f"{name}: {meaning}" if meaning else name


def edges_of(column: Column) -> FloatArray:
    """Return the ends of a column's cells on a real axis; a whole value lies in the middle of its own.

    >>> edges_of(Column("n", "integer", bounds=(0, 2))).tolist()
    [-0.5, 0.5, 1.5, 2.5]
    """
    half = 0.5 if column.is_discrete else 0.0
    return np.append(column.starts - half, column.numeric_bounds[1] + half)
