"""A table of three columns with everything that matters here, small enough to look at every neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import sfumato
from sfumato.metrics.evaluation_input import EvaluationInput
from sfumato.schema import Schema

TOML = """
[table]
name = "people"
{table}
[columns.size]
kind = "number"
bounds = [0, 10]
missing = true
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.city]
kind = "ordinal"
values = ["a", "b", "c"]
missing = true
{more}
"""
PERSON = '[columns.who]\nkind = "integer"\nbounds = [0, 100000]\nrole = "identifier"\n'


def facts(adjacency: str = "add-remove", rows: int | None = None, per_person: int = 1) -> Schema:
    """Return the schema; with several rows per person, a column that tells people apart."""
    said = f'adjacency = "{adjacency}"\n' + (f"rows = {rows}\n" if rows is not None else "")
    said += f'person = "who"\nrows_per_person = {per_person}\n' if per_person > 1 else ""
    return Schema.parse(TOML.format(table=said, more=PERSON if per_person > 1 else ""))


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    """Return rows in which sex follows from size, mostly."""
    generator = np.random.default_rng(seed)
    size = np.round(generator.uniform(0, 10, rows), 3)
    sex = np.where(size + generator.normal(0, 1, rows) > 5, "m", "f")
    city = generator.choice(["a", "b", "c", None], rows, p=[0.5, 0.2, 0.2, 0.1])
    shown = np.where(generator.uniform(size=rows) < 0.1, np.nan, size)
    return pd.DataFrame({"size": shown, "sex": sex, "city": city, "who": np.arange(rows)})


def arrow(data: pd.DataFrame, schema: Schema) -> Any:
    """Return rows as a release has them."""
    import pyarrow as pa

    return pa.Table.from_pandas(data[[n for n in schema.names if n != "who" and n in data]], preserve_index=False)


def subject(data: pd.DataFrame, schema: Schema) -> EvaluationInput:
    """Return rows as if they had been released."""
    rows = arrow(data, schema)
    return EvaluationInput("rows", {("synthetic",): rows}, schema, copies=(rows,))


def table(data: pd.DataFrame, schema: Schema) -> sfumato.table.Table:
    """Return the private table."""
    return sfumato.read(data, schema)


def related_facts(adjacency: str = "add-remove") -> Schema:
    """Return the schema of three numbers."""
    columns = "".join(f'[columns.{name}]\nkind = "number"\nbounds = [0, 1]\nmissing = true\n' for name in "xyz")
    rows = "rows = 1000\n" if adjacency == "replace" else ""
    return Schema.parse(f'[table]\nname = "people"\nadjacency = "{adjacency}"\n{rows}{columns}')


def related_frame(rows: int, strength: float = 0.9, seed: int = 0) -> pd.DataFrame:
    """Return numbers of which x and y are related and z is not, some of x missing."""
    generator = np.random.default_rng(seed)
    x, z = generator.uniform(size=(2, rows))
    y = np.where(generator.uniform(size=rows) < strength, x, generator.uniform(size=rows))
    return pd.DataFrame({"x": np.where(generator.uniform(size=rows) < 0.1, np.nan, x), "y": y, "z": z})
