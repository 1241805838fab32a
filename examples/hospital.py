"""A hospital lets researchers work with its stays: patients come back, and a patient is protected, not a stay.

python examples/hospital.py            # 20,000 made-up stays; writes hospital-out
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from common import Office, asked, beside

import sfumato

CODE_BOOK = """
[table]
name = "stays"
adjacency = "add-remove"
person = "patient"
rows_per_person = 3

[columns.patient]
kind = "category"
role = "identifier"
[columns.age]
kind = "integer"
bounds = [0, 110]
[columns.sex]
kind = "category"
values = ["f", "m", "x"]
[columns.diagnosis]
kind = "category"
values = ["circulatory", "respiratory", "digestive", "injury", "neoplasm", "mental", "birth", "other"]
role = "sensitive"
[columns.emergency]
kind = "boolean"
[columns.admitted]
kind = "date"
bounds = [2025-01-01, 2025-12-31]
[columns.days]
kind = "integer"
bounds = [0, 365]
[columns.systolic]
kind = "integer"
bounds = [60, 260]
missing = true
description = "blood pressure on admission; missing means: not measured"
[columns.intensive]
kind = "boolean"
[columns.ventilated]
kind = "integer"
bounds = [1, 2000]
missing = true
unit = "hours"
[columns.cost]
kind = "number"
bounds = [0.0, 200000.0]
decimals = 2
unit = "euro"

[[rules]]
check = "not intensive implies missing(ventilated)"
[[rules]]
check = "ventilated <= 24 * days + 24"
[[rules]]
check = 'diagnosis == "birth" implies 12 <= age <= 60'
"""
DIAGNOSES = ("circulatory", "respiratory", "digestive", "injury", "neoplasm", "mental", "birth", "other")


def stays(rows: int, seed: int = 1) -> pd.DataFrame:
    """Return made-up stays; some patients have several, a few have more than three."""
    rng = np.random.default_rng(seed)
    patient = np.sort(rng.integers(0, max(1, int(rows / 1.6)), rows))
    age = np.clip(rng.normal(52, 24, rows), 0, 104).astype(int)[patient]
    old = age >= 60
    diagnosis = np.where(
        old,
        rng.choice(DIAGNOSES, rows, p=(0.30, 0.16, 0.13, 0.10, 0.15, 0.05, 0.0, 0.11)),
        rng.choice(DIAGNOSES, rows, p=(0.10, 0.12, 0.17, 0.19, 0.08, 0.11, 0.12, 0.11)),
    )
    diagnosis = np.where((diagnosis == "birth") & ((age < 16) | (age > 48)), "other", diagnosis)
    emergency = rng.random(rows) < np.where(np.isin(diagnosis, ("injury", "respiratory")), 0.7, 0.35)
    intensive = rng.random(rows) < np.where(emergency, 0.12, 0.03)
    days = np.minimum(rng.gamma(1.6, np.where(intensive, 6.0, 2.4) * (1 + old * 0.5)), 300).astype(int)
    ventilated = intensive & (rng.random(rows) < 0.6)
    hours = np.clip(rng.exponential(40, rows), 1, 24 * days + 24)
    systolic = np.where(rng.random(rows) < 0.12, np.nan, np.clip(rng.normal(118 + 0.35 * age, 17), 62, 250))
    cost = rng.lognormal(7.2, 0.4, rows) + 640 * days + 4200 * intensive
    return pd.DataFrame(
        {
            "patient": [f"P{number:06d}" for number in patient],
            "age": age,
            "sex": rng.choice(("f", "m", "x"), rows, p=(0.52, 0.475, 0.005))[patient],
            "diagnosis": diagnosis,
            "emergency": emergency,
            "admitted": np.datetime64("2025-01-01", "s") + 86_400 * rng.integers(0, 365, rows),
            "days": days,
            "systolic": pd.Series(np.rint(systolic)).astype("Int64"),
            "intensive": intensive,
            "ventilated": pd.Series(np.where(ventilated, np.rint(hours), np.nan)).astype("Int64"),
            "cost": np.minimum(cost, 199_999).round(2),
        }
    )


def main(arguments: list[str] | None = None) -> None:
    """Release a synthetic table of stays under the hospital's budget."""
    to = asked(__doc__, "hospital", 20_000, arguments)
    schema = sfumato.Schema.parse(CODE_BOOK).confirm({"*": "admission form 2025"}, by="hospital data office")
    frame = stays(to.rows)
    office = Office.opened(frame, schema, to, epsilon=4)
    made = office.release("synthetic-stays", sfumato.AIM(epsilon=2))
    beside(
        frame,
        made.data,
        {
            "mean days": lambda t: t["days"].mean(),
            "share of emergencies": lambda t: t["emergency"].mean(),
            "mean cost of intensive care": lambda t: t.loc[t["intensive"], "cost"].mean(),
            "intensive care after an injury": lambda t: t.loc[t["diagnosis"] == "injury", "intensive"].mean(),
        },
    )


if __name__ == "__main__":
    main()
