"""A table in which most people have more rows than count, with values that engines write in different ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import sfumato
from sfumato import Schema

SCHEMA = Schema.parse("""
[table]
name = "kept"
person = "id"
rows_per_person = 2
[columns.id]
kind = "category"
role = "identifier"
[columns.ward]
kind = "category"
values = ["Ärzte", "eyes, ears", "外科", ""]
missing = true
[columns.x]
kind = "number"
bounds = [-1.0, 100.5]
bins = 12
missing = true
outside = "clamp"
[columns.tiny]
kind = "number"
bounds = [0.0, 1e-9]
bins = 5
outside = "missing"
missing = true
[columns.n]
kind = "integer"
bounds = [0, 20]
missing = true
outside = "clamp"
[columns.day]
kind = "date"
bounds = [1999-12-25, 2000-01-08]
missing = true
[columns.flag]
kind = "boolean"
missing = true
""")
SETS = [("ward", "flag"), ("x",), ("tiny",), ("n",), ("day",)]


def rows(seed: int = 8, people: int = 60) -> pa.Table:
    """Return rows with duplicates, fractions, dates, missing values and values beyond the bounds."""
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 9, people)
    size = int(times.sum())

    def some(values: list[Any]) -> list[Any]:
        return [values[place] for place in rng.integers(0, len(values), size)]

    days = [np.datetime64("2000-01-01") + int(day) for day in rng.integers(-5, 6, size)]
    return pa.table(
        {
            "id": np.repeat([f"p{i}" for i in range(people)], times),
            "ward": some(["Ärzte", "eyes, ears", "外科", "", None]),
            "x": pa.array(some([1.0, 0.1, 0.1 + 0.2, 1e-7, 100.5, 1e6, -0.0, 33.25, None]), pa.float64()),
            "tiny": pa.array(some([1e-10, 3.3e-10, 9e-10, 1e-300, 0.0]), pa.float64()),
            "n": pa.array(some([0, 1, 2, 20, 700, None]), pa.int64()),
            "day": pa.array([day.astype("O") if i % 7 else None for i, day in enumerate(days)], pa.date32()),
            "flag": pa.array(some([True, False, None]), pa.bool_()),
        }
    )


def counted(source: Any) -> list[list[int]]:
    """Return all counts of the rows that are kept."""
    tables = sfumato.read(source, SCHEMA).marginals(SETS)
    return [tables[names].ravel().tolist() for names in SETS]
