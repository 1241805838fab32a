"""A hospital's visits as people keep them: patients with several rows, and everything that names them."""

from __future__ import annotations

import numpy as np
import pandas as pd

FIRST = ("Anna", "Boris", "Clara", "David", "Emma", "Felix", "Greta", "Hans", "Ida", "Jonas", "Karl", "Lena")
LAST = ("Maier", "Schmidt", "Weber", "Huber", "Koch", "Bauer", "Wolf", "Klein", "Braun", "Lang", "Roth", "Vogel")
DIAGNOSES = ("F32", "I10", "E11", "J45", "M54")
IDENTIFIERS = ("patient_id", "insurance_no", "name", "phone", "mail", "zip", "ssn", "case")


def visits(patients: int = 300, seed: int = 5) -> pd.DataFrame:
    """Return made-up visits, one to five of each patient."""
    rng = np.random.default_rng(seed)
    ids = rng.choice(np.arange(100_000, 110_000), patients, replace=False)
    people = pd.DataFrame(
        {
            "patient_id": ids,
            "insurance_no": rng.choice(10**9, patients, replace=False) + 7 * 10**9,
            "name": [f"{rng.choice(FIRST)} {rng.choice(LAST)}-{rng.choice(LAST)}" for _ in ids],
            "phone": [f"0{n}" for n in rng.integers(1510000000, 1799999999, patients)],
            "mail": [f"p{n}@clinic.example" for n in ids],
            "zip": [f"{n:05d}" for n in rng.integers(1000, 99999, patients)],
            "ssn": [f"{a}-{b:02d}-{c:04d}" for a, b, c in rng.integers((100, 1, 1), (999, 99, 9999), (patients, 3))],
            "born": rng.integers(1930, 2015, patients),
            "sex": rng.choice(["f", "m"], patients),
        }
    )
    rows = people.loc[np.repeat(people.index, rng.integers(1, 6, patients))].reset_index(drop=True)
    n = len(rows)
    rows.insert(0, "case", np.arange(5000, 5000 + n))
    rows["ward"] = rng.choice(["A", "B", "C"], n)
    rows["diagnosis"] = rng.choice(DIAGNOSES, n)
    rows["cost"] = np.round(rng.lognormal(7, 1, n), 2)
    rows["days"] = rng.integers(1, 30, n)
    return rows
