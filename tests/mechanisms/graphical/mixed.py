"""Random tables of every kind of column, with missing values and rules, that are valid under their schema."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sfumato import Schema
from sfumato.constraints.repair import repair
from sfumato.sampling.values import draw_values, rows_table
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

DAYS = (dt.date(2000, 2, 28), dt.date(2024, 3, 1))
KINDS = {
    "few": lambda name, missing: Column(name, "category", values=("a", "b", "c"), missing=missing),
    "many": lambda name, missing: Column(name, "category", values=tuple(f"v{i}" for i in range(40)), missing=missing),
    "grade": lambda name, missing: Column(name, "ordinal", values=(1, 2, 4, 8), missing=missing),
    "flag": lambda name, missing: Column(name, "boolean", missing=missing),
    "small": lambda name, missing: Column(name, "integer", bounds=(-3, 4), missing=missing),
    "wide": lambda name, missing: Column(name, "integer", bounds=(0, 10**7), missing=missing),
    "cut": lambda name, missing: Column(name, "integer", bounds=(0, 99), edges=(0, 1, 18, 99), missing=missing),
    "real": lambda name, missing: Column(name, "number", bounds=(-1.5, 1e6), missing=missing),
    "day": lambda name, missing: Column(name, "date", bounds=DAYS, missing=missing),
    "one": lambda name, missing: Column(name, "category", values=("only",), missing=missing),
}
RULES = {
    frozenset(["wide", "cut"]): "cut <= wide",
    frozenset(["small", "real"]): "small >= 0 implies real >= 0",
    frozenset(["few", "wide"]): "few == 'a' implies wide < 1000",
    frozenset(["grade", "few"]): "few == 'b' implies grade >= 4",
    frozenset(["flag", "cut"]): "flag implies cut >= 18",
    frozenset(["day", "flag"]): "flag implies day >= '2010-01-01'",
}


@st.composite
def schemas(draw) -> Schema:
    """Two to five columns, any of them with missing values, and any of the rules that bind them."""
    chosen = draw(st.lists(st.sampled_from(list(KINDS)), min_size=2, max_size=5, unique=True))
    columns = tuple(KINDS[name](name, draw(st.booleans())) for name in chosen)
    possible = [check for names, check in RULES.items() if names <= set(chosen)]
    rules = [check for check in possible if draw(st.booleans())]
    return Schema("mixed", columns, rules=tuple(Rule(check) for check in rules))


def rows_of(schema: Schema, rows: int, seed: int) -> pa.Table:
    """Uniform rows, mended where they break a rule."""
    generator = np.random.default_rng(seed)
    values = {c.name: draw_values(c, generator.integers(0, c.size, rows), generator) for c in schema}
    return rows_table(schema, repair(schema, values, generator).values)
