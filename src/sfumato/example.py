"""The built-in example: 20,000 simulated households with a public schema.

Ages, incomes with a long tail, categories, an ordinal, dates, missing values that mean something (no hours for people
who do not work, no income where the question was refused) and rules between columns. Made by this module alone, from
a seed: nobody in it exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.schema import Schema
from sfumato.schema.column import day_number

ROWS = 20_000
WORKING = ("employed", "self-employed")
CODEBOOK = Path(__file__).with_name("example_codebook.toml").read_text(encoding="utf-8")


def codebook() -> Schema:
    """Return the confirmed public schema of the example population."""
    return Schema.parse(CODEBOOK, origin="the example code book")


def households(rows: int = ROWS, seed: int = 2024) -> pa.Table:
    """Return the example population as an Arrow table; the same seed makes the same people."""
    rng, levels = np.random.default_rng(seed), {column.name: column.levels for column in codebook()}
    age = np.clip(np.rint(16 + 84 * rng.beta(1.6, 2.4, rows)), 16, 100).astype(np.int64)
    education = _education(age, rng)
    status = _status(age, levels["status"], rng)
    working = np.isin(status, WORKING)
    persons = np.minimum(1 + rng.poisson(np.where((age > 24) & (age < 60), 1.7, 0.7)), 12)
    moved_in, interviewed = _dates(age, rng)
    hours = np.clip(np.rint(rng.normal(np.where(status == "employed", 37, 44), 9)), 1, 80).astype(np.int64)
    return pa.table(
        {
            "household": pa.array(np.arange(1, rows + 1)),
            "region": rng.choice(levels["region"], rows, p=(0.31, 0.24, 0.22, 0.18, 0.05)),
            "age": age,
            "sex": rng.choice(levels["sex"], rows, p=(0.506, 0.488, 0.006)),
            "education": np.array(levels["education"])[education],
            "status": status,
            "hours": pa.array(hours, mask=~working),
            "income": _income(age, education, working, rng),
            "tenure": _tenure(age, rng),
            "persons": persons,
            "children": np.minimum(rng.binomial(persons - 1, np.where(age < 62, 0.55, 0.05)), 10),
            "insured": rng.random(rows) < 0.62 + 0.06 * education,
            "moved_in": moved_in,
            "interviewed": interviewed,
        }
    )


def _education(age: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    reached = rng.normal(2.9 - 0.016 * (age - 45), 1.15)
    limit = np.where(age < 19, 2, np.where(age < 22, 3, np.where(age < 26, 4, 5)))
    return np.clip(np.rint(reached), 0, limit).astype(np.int64)


def _status(age: NDArray[Any], levels: Sequence[Any], rng: np.random.Generator) -> NDArray[Any]:
    shares = {
        "young": (0.24, 0.02, 0.08, 0.63, 0.0, 0.03),
        "adult": (0.66, 0.12, 0.07, 0.03, 0.02, 0.10),
        "old": (0.06, 0.04, 0.0, 0.0, 0.86, 0.04),
    }
    group = np.where(age < 24, "young", np.where(age < 65, "adult", "old"))
    status = np.empty(len(age), dtype=object)
    for name, weights in shares.items():
        members = group == name
        status[members] = rng.choice(levels, int(members.sum()), p=weights)
    return status


def _income(age: NDArray[Any], education: NDArray[Any], working: NDArray[Any], rng: np.random.Generator) -> pa.Array:
    level = 9.1 + 0.22 * education + 0.75 * working + 0.00055 * np.maximum(0, 900 - (age - 48) ** 2)
    income = np.minimum(np.round(np.exp(rng.normal(level, 0.55)), 2), 1_000_000)
    refused = rng.random(len(age)) < 0.04 + 0.05 * (income > 80_000)
    return pa.array(income, mask=refused)


def _tenure(age: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    owns = rng.random(len(age)) < np.clip((age - 18) / 70, 0.02, 0.72)
    return np.where(owns, "owner", rng.choice(("tenant", "social"), len(age), p=(0.78, 0.22)))


def _dates(age: NDArray[Any], rng: np.random.Generator) -> tuple[pa.Array, pa.Array]:
    import datetime as dt

    interviewed = day_number(dt.date(2024, 1, 1)) + rng.integers(0, 366, len(age))
    years = np.minimum(rng.exponential(9.0, len(age)), np.minimum(age, 70))
    moved_in = np.maximum(interviewed - np.rint(365.25 * years).astype(np.int64), day_number(dt.date(1950, 1, 1)))
    return _as_dates(moved_in), _as_dates(interviewed)


def _as_dates(days: NDArray[Any]) -> pa.Array:
    return pa.array(days.astype(np.int32), pa.int32()).cast(pa.date32())


def write_households(path: str | Path, rows: int = ROWS, seed: int = 2024) -> Path:
    """Write the example population as CSV and return the path."""
    import pyarrow.csv

    target = Path(path)
    pyarrow.csv.write_csv(households(rows, seed), target)
    return target
