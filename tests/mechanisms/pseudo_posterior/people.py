"""A table of people, and methods on it, that the tests of the pseudo posterior share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from sfumato import PseudoPosterior, Schema
from sfumato.papers.range_restriction import PseudoPosteriorAsPublished
from sfumato.schema import Column

LABEL = "asymptotic, local, draw-based; not differential privacy"


def people(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    z = rng.uniform(0, 4, rows)
    return pd.DataFrame(
        {
            "x": np.exp(1 + 0.5 * z + 0.4 * rng.standard_normal(rows)).clip(0.1, 400),
            "z": z,
            "group": rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]),
            "member": rng.random(rows) < 0.4,
            "visits": rng.poisson(2, rows).clip(0, 20),
            "low": 0.5,
            "high": 1.5,
        }
    )


SCHEMA = Schema(
    name="people",
    columns=(
        Column("x", "number", bounds=(0.1, 400.0), edges=(0.1, 1.0, 5.0, 20.0, 100.0, 400.0), unit="EUR"),
        Column("z", "number", bounds=(0.0, 4.0)),
        Column("group", "category", values=("a", "b", "c")),
        Column("member", "boolean"),
        Column("visits", "integer", bounds=(0, 20)),
        Column("low", "number", bounds=(0.0, 1.0)),
        Column("high", "number", bounds=(1.0, 3.0)),
    ),
)
PUBLIC = replace(SCHEMA, adjacency="replace", rows=500)


def weighted(**changes) -> PseudoPosteriorAsPublished:
    facts = {"target": "x", "predictors": ["z"], "family": "lognormal", "standard": "weighted", "draws": 200}
    return PseudoPosterior.as_published(**(facts | changes))


def private(**changes) -> PseudoPosterior:
    return PseudoPosterior(**({"target": "x", "predictors": ["z"], "family": "lognormal", "epsilon": 1} | changes))
