"""A population whose truth is known: two numbers that go together, levels that follow them, gaps and a rule."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sfumato import Schema
from sfumato.table import Table, read

ROWS = 600
FACTS = """
[table]
name = "people"
[columns.age]
kind = "integer"
bounds = [18, 90]
[columns.income]
kind = "number"
bounds = [0, 200]
missing = true
[columns.region]
kind = "category"
values = ["north", "south", "west"]
[columns.owner]
kind = "boolean"
[columns.years]
kind = "integer"
bounds = [0, 72]
[[rules]]
check = "years <= age"
"""


def schema() -> Schema:
    return Schema.parse(FACTS)


def people(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Draw rows of the population."""
    generator = np.random.default_rng(seed)
    age = np.clip(generator.normal(50, 14, rows).round(), 18, 90).astype(int)
    income = np.clip(1.2 * age + generator.normal(0, 9, rows), 0, 200)
    region = np.where(generator.random(rows) < (age - 18) / 72, "south", generator.choice(["north", "west"], rows))
    owner = income + generator.normal(0, 8, rows) > 60
    years = (age * generator.random(rows) * 0.8).astype(int)
    income[generator.random(rows) < 0.08] = np.nan
    return pd.DataFrame({"age": age, "income": income, "region": region, "owner": owner, "years": years})


def shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Every column in an order of its own: right columns, no relation."""
    generator = np.random.default_rng(seed)
    return pd.DataFrame({name: generator.permutation(frame[name].to_numpy()) for name in frame})


def noise(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Rows without any information: uniform in the public domain."""
    generator = np.random.default_rng(seed)
    income = generator.uniform(0, 200, rows)
    income[generator.random(rows) < 0.5] = np.nan
    return pd.DataFrame(
        {
            "age": generator.integers(18, 91, rows),
            "income": income,
            "region": generator.choice(["north", "south", "west"], rows),
            "owner": generator.random(rows) < 0.5,
            "years": generator.integers(0, 73, rows),
        }
    )


def table(seed: int = 1, rows: int = ROWS) -> Table:
    return read(people(seed, rows), schema())
