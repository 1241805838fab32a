"""A labour-force survey: persons in households. What is protected is a whole household, for its members share much.

python examples/labour_force.py        # about 40,000 made-up persons; writes labour_force-out
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from common import Office, asked, beside

import sfumato

CODE_BOOK = """
[table]
name = "labour_force"
adjacency = "add-remove"
person = "household"
rows_per_person = 6

[columns.household]
kind = "category"
role = "identifier"
[columns.region]
kind = "category"
values = ["north", "east", "south", "west"]
[columns.members]
kind = "integer"
bounds = [1, 12]
[columns.age]
kind = "integer"
bounds = [16, 100]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.education]
kind = "ordinal"
values = ["primary", "lower secondary", "upper secondary", "tertiary"]
[columns.status]
kind = "category"
values = ["employed", "unemployed", "inactive"]
[columns.hours]
kind = "integer"
bounds = [1, 80]
missing = true
[columns.wage]
kind = "number"
bounds = [0.0, 15000.0]
decimals = 0
missing = true
unit = "euro a month"
description = "missing means: does not work, or no answer"
[columns.searching]
kind = "integer"
bounds = [0, 260]
missing = true
unit = "weeks"

[[rules]]
check = 'status in ["unemployed", "inactive"] implies missing(hours)'
[[rules]]
check = 'status in ["unemployed", "inactive"] implies missing(wage)'
[[rules]]
check = 'status in ["employed", "inactive"] implies missing(searching)'
"""
EDUCATION = ("primary", "lower secondary", "upper secondary", "tertiary")


def survey(rows: int, seed: int = 2) -> pd.DataFrame:
    """Return made-up persons of 16 and more; region and level of wages are those of their household."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(1 + rng.poisson(1.1, rows), 8)
    sizes = sizes[np.cumsum(sizes) <= rows]
    household = np.repeat(np.arange(len(sizes)), sizes)
    count = len(household)
    fortune = rng.normal(0, 0.25, len(sizes))[household]
    age = np.clip(16 + 84 * rng.beta(1.5, 2.1, count), 16, 99).astype(int)
    school = np.clip(np.rint(rng.normal(2.1 - 0.012 * (age - 40) + fortune, 0.9)), 0, 3).astype(int)
    working_age = (age >= 20) & (age < 65)
    works = rng.random(count) < np.where(working_age, 0.62 + 0.08 * school, 0.14)
    seeks = ~works & (rng.random(count) < np.where(working_age, 0.22, 0.02))
    sex = rng.choice(("f", "m"), count)
    hours = np.clip(rng.normal(np.where(sex == "m", 39, 33), 8), 1, 80)
    wage = np.exp(rng.normal(7.0 + 0.24 * school + 0.012 * hours + fortune, 0.3))
    silent = rng.random(count) < 0.07
    return pd.DataFrame(
        {
            "household": [f"H{number:06d}" for number in household],
            "region": rng.choice(("north", "east", "south", "west"), len(sizes), p=(0.3, 0.3, 0.25, 0.15))[household],
            "members": sizes[household],
            "age": age,
            "sex": sex,
            "education": np.array(EDUCATION)[school],
            "status": np.where(works, "employed", np.where(seeks, "unemployed", "inactive")),
            "hours": whole(hours, works),
            "wage": whole(np.clip(wage, 0, 15_000), works & ~silent),
            "searching": whole(np.minimum(rng.exponential(30, count), 260), seeks),
        }
    )


def whole(values: np.ndarray, where: np.ndarray) -> pd.Series:
    """Return whole numbers that are missing elsewhere."""
    return pd.Series(np.where(where, np.rint(values), np.nan)).astype("Int64")


def main(arguments: list[str] | None = None) -> None:
    """Release synthetic persons for researchers, and the table that the press asks for."""
    to = asked(__doc__, "labour_force", 40_000, arguments)
    schema = sfumato.Schema.parse(CODE_BOOK).confirm({"*": "questionnaire 2026"}, by="statistical office")
    frame = survey(to.rows)
    office = Office.opened(frame, schema, to, epsilon=5)
    office.release("status-by-region", sfumato.Contingency([["region", "status"], ["sex", "status"]], epsilon=1))
    made = office.release("synthetic-persons", sfumato.AIM(epsilon=3))
    active = {"employed", "unemployed"}
    beside(
        frame,
        made.data,
        {
            "unemployed of the active": lambda t: (t["status"][t["status"].isin(active)] == "unemployed").mean(),
            "mean wage": lambda t: t["wage"].mean(),
            "mean wage, tertiary education": lambda t: t.loc[t["education"] == "tertiary", "wage"].mean(),
            "mean hours of women": lambda t: t.loc[t["sex"] == "f", "hours"].mean(),
        },
    )


if __name__ == "__main__":
    main()
