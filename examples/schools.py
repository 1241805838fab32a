"""A school authority: tables by district for the public, synthetic pupils for researchers, both from one budget.

python examples/schools.py             # 25,000 made-up pupils; writes schools-out
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from common import Office, asked, beside

import sfumato

CODE_BOOK = """
[table]
name = "pupils"
adjacency = "add-remove"

[columns.district]
kind = "category"
values = ["harbour", "old town", "hills", "lakeside", "new town", "villages"]
[columns.school]
kind = "category"
values = ["primary", "secondary", "grammar", "special"]
[columns.grade]
kind = "integer"
bounds = [1, 13]
[columns.language]
kind = "category"
values = ["local", "other", "both"]
[columns.free_meals]
kind = "boolean"
[columns.support]
kind = "boolean"
description = "special educational needs"
role = "sensitive"
[columns.absent]
kind = "integer"
bounds = [0, 190]
unit = "days"
[columns.reading]
kind = "integer"
bounds = [0, 100]
missing = true
[columns.maths]
kind = "integer"
bounds = [0, 100]
missing = true
description = "points in the test of May; missing means: was not there"

[[rules]]
check = 'school == "primary" implies grade <= 4'
[[rules]]
check = 'school in ["secondary", "grammar"] implies grade >= 5'
"""
DISTRICTS = ("harbour", "old town", "hills", "lakeside", "new town", "villages")
POOR = np.array([0.42, 0.24, 0.12, 0.16, 0.33, 0.22])


def pupils(rows: int, seed: int = 4) -> pd.DataFrame:
    """Return made-up pupils: where they live decides more than it should."""
    rng = np.random.default_rng(seed)
    district = rng.choice(6, rows, p=(0.2, 0.15, 0.17, 0.13, 0.25, 0.1))
    grade = rng.integers(1, 14, rows)
    poor = rng.random(rows) < POOR[district]
    support = rng.random(rows) < 0.05 + 0.05 * poor
    ability = rng.normal(0, 1, rows) - 0.45 * poor - 0.7 * support
    upper = np.where(ability > 0.3, "grammar", "secondary")
    special = support & (rng.random(rows) < 0.3)
    language = np.where(rng.random(rows) < 0.1 + 0.5 * POOR[district], rng.choice(("other", "both"), rows), "local")
    points = 58 + 12 * ability
    tested = rng.random((2, rows)) > 0.05 + 0.03 * poor
    reading = np.clip(np.rint(points + rng.normal(0, 8, rows) - 4 * (language == "other")), 0, 100)
    maths = np.clip(np.rint(points + rng.normal(0, 10, rows)), 0, 100)
    return pd.DataFrame(
        {
            "district": np.array(DISTRICTS)[district],
            "school": np.where(special, "special", np.where(grade <= 4, "primary", upper)),
            "grade": grade,
            "language": language,
            "free_meals": poor,
            "support": support,
            "absent": np.minimum(rng.negative_binomial(1.3, np.where(poor, 0.11, 0.17)), 190),
            "reading": pd.Series(np.where(tested[0], reading, np.nan)).astype("Int64"),
            "maths": pd.Series(np.where(tested[1], maths, np.nan)).astype("Int64"),
        }
    )


def main(arguments: list[str] | None = None) -> None:
    """Release counts first, then synthetic pupils; the ledger adds both up."""
    to = asked(__doc__, "schools", 25_000, arguments)
    schema = sfumato.Schema.parse(CODE_BOOK).confirm({"*": "school statistics act, annex 1"}, by="school authority")
    frame = pupils(to.rows)
    office = Office.opened(frame, schema, to, epsilon=2)
    tables = [["district", "school"], ["district", "free_meals", "support"]]
    office.release("tables-by-district", sfumato.Contingency(tables, epsilon=0.5))
    made = office.release("synthetic-pupils", sfumato.AIM(epsilon=1))
    beside(
        frame,
        made.data,
        {
            "free meals at the harbour": lambda t: t.loc[t["district"] == "harbour", "free_meals"].mean(),
            "pupils with support": lambda t: t["support"].mean(),
            "mean points in maths": lambda t: t["maths"].mean(),
            "... with free meals": lambda t: t.loc[t["free_meals"], "maths"].mean(),
            "correlation of reading and maths": lambda t: t["reading"].astype(float).corr(t["maths"].astype(float)),
        },
    )


if __name__ == "__main__":
    main()
