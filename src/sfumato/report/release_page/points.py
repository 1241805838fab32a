"""Level names and bin edges of a column, as pictures of released rows show them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.schema.column import Column


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
