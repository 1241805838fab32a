"""A company's customers: analysts may build a model of who leaves, without any customer's row.

python examples/customers.py           # 15,000 made-up customers; writes customers-out
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from common import Office, asked, beside

import sfumato

CODE_BOOK = """
[table]
name = "customers"
adjacency = "add-remove"

[columns.age]
kind = "integer"
bounds = [18, 100]
[columns.region]
kind = "category"
values = ["city", "town", "country"]
[columns.plan]
kind = "ordinal"
values = ["basic", "plus", "family", "business"]
[columns.since]
kind = "date"
bounds = [2010-01-01, 2026-06-30]
[columns.monthly]
kind = "number"
bounds = [0.0, 300.0]
decimals = 2
unit = "euro"
[columns.usage]
kind = "number"
bounds = [0.0, 2000.0]
decimals = 1
missing = true
unit = "GB a month"
[columns.complaints]
kind = "integer"
bounds = [0, 20]
[columns.answered]
kind = "boolean"
missing = true
description = "was the last complaint answered within two days? missing means: no complaint"
[columns.left]
kind = "boolean"
role = "target"

[[rules]]
check = "complaints == 0 implies missing(answered)"
[[rules]]
check = 'plan == "basic" implies monthly <= 40'
"""
PLANS = ("basic", "plus", "family", "business")


def customers(rows: int, seed: int = 3) -> pd.DataFrame:
    """Return made-up customers; those who complain without an answer leave."""
    rng = np.random.default_rng(seed)
    level = rng.choice(4, rows, p=(0.4, 0.33, 0.2, 0.07))
    age = np.clip(rng.normal(46, 17, rows), 18, 95).astype(int)
    years = np.minimum(rng.exponential(4.5, rows), 16)
    complaints = np.minimum(rng.poisson(0.7, rows), 20)
    answered = rng.random(rows) < 0.6
    risk = -2.6 + 0.9 * complaints * ~answered - 0.12 * years - 0.25 * level + 0.6 * (age < 30)
    monthly = np.array([19.9, 39.9, 64.9, 110.0])[level] * rng.lognormal(0, 0.18, rows)
    usage = rng.gamma(2.0, 30.0 * (1 + level))
    since = np.datetime64("2026-06-30") - np.rint(years * 365).astype("timedelta64[D]")
    return pd.DataFrame(
        {
            "age": age,
            "region": rng.choice(("city", "town", "country"), rows, p=(0.45, 0.33, 0.22)),
            "plan": np.array(PLANS)[level],
            "since": np.maximum(since, np.datetime64("2010-01-01")).astype("datetime64[s]"),
            "monthly": np.where(level == 0, np.minimum(monthly, 40), np.minimum(monthly, 299)).round(2),
            "usage": np.where(rng.random(rows) < 0.03, np.nan, np.minimum(usage, 1_999)).round(1),
            "complaints": complaints,
            "answered": pd.array(np.where(complaints > 0, answered, None), dtype="boolean"),
            "left": rng.random(rows) < 1 / (1 + np.exp(-risk)),
        }
    )


def main(arguments: list[str] | None = None) -> None:
    """Release synthetic customers around the column that is to be predicted."""
    to = asked(__doc__, "customers", 15_000, arguments)
    schema = sfumato.Schema.parse(CODE_BOOK).confirm({"*": "price list and contract form"}, by="customer data team")
    frame = customers(to.rows)
    office = Office.opened(frame, schema, to, epsilon=2)
    made = office.release("synthetic-customers", sfumato.AIM(epsilon=1, target="left"))
    beside(
        frame,
        made.data,
        {
            "share that left": lambda t: t["left"].mean(),
            "... of those without an answer": lambda t: t.loc[t["answered"].eq(False).fillna(False), "left"].mean(),
            "... of those under 30": lambda t: t.loc[t["age"] < 30, "left"].mean(),
            "mean monthly payment": lambda t: t["monthly"].mean(),
            "correlation of payment and usage": lambda t: t["monthly"].corr(t["usage"].astype(float)),
        },
    )


if __name__ == "__main__":
    main()
