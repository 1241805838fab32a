"""Named cuts: constants of rules begin groups of the model, so that a rule is a structural zero."""

from __future__ import annotations

import dataclasses
import datetime as dt

import numpy as np
import pandas as pd
import pytest

import sfumato
from mechanisms.graphical.watching import watch
from sfumato import AIM, Column, Schema
from sfumato.mechanisms.graphical import named_cuts, one_way_marginals
from sfumato.mechanisms.graphical import plan as plans
from sfumato.mechanisms.graphical.named_cuts import MOST_EDGES
from sfumato.schema.rules import Rule

AGE = Column("age", "integer", bounds=(0, 99))
SCHOOL = Schema("school", (AGE, Column("school", "category", values=("none", "pupil", "left"))))
ENDS = (3, 7, 13, 22, 41)
STAGES = tuple("abcde")
LIVES = Schema(
    "lives",
    (AGE, Column("stage", "category", values=(*STAGES, "f"))),
    rules=tuple(
        Rule(f'age >= {begin} and age < {end} implies stage == "{stage}"')
        for begin, end, stage in zip((0, *ENDS), ENDS, STAGES, strict=False)
    ),
)


def repaired(seed: int) -> int:
    """Rows of a release that were repaired for rules by which every age below 41 has one stage of life."""
    age = np.random.default_rng(6).integers(0, 60, 3000)
    people = pd.DataFrame({"age": age, "stage": np.array([*STAGES, "f"])[np.searchsorted(ENDS, age, side="right")]})
    made = sfumato.release(sfumato.read(people, LIVES), AIM(1, "1e-9"), ledger=False, seed=seed)
    kept = made.data.age < ENDS[-1]
    assert (np.array(STAGES)[np.searchsorted(ENDS, made.data.age[kept], side="right")] == made.data.stage[kept]).all()
    return sum(made.statistics["rows_repaired_for_rules"].values())


def test_no_row_is_repaired_for_a_constant_and_without_named_cuts_many_are(monkeypatch):
    assert [repaired(seed) for seed in (1, 2, 3)] == [0, 0, 0]
    for module in (named_cuts, one_way_marginals, plans):
        monkeypatch.setattr(module, "named_cuts", lambda schema, column: np.zeros(0))
    assert min(repaired(seed) for seed in (1, 2, 3)) > 30


@pytest.mark.parametrize(
    ("check", "cuts"),
    [
        ("age < 15", [15]),
        ("age >= 15", [15]),
        ("age <= 15", [16]),
        ("age > 15", [16]),
        ("15 > age", [15]),
        ("15 <= age", [15]),
        ("15 >= age", [16]),
        ("age == 15", [15, 16]),
        ("age != 14.5", [15]),
        ('not (age < 3) or (school == "none" and age > 1)', [2, 3]),
        ("age < 200", []),
        ("age <= 99", []),
        ("age < 0", []),
        ("age + 1 < 15", []),
        ('school == "none"', []),
    ],
)
def test_a_cell_begins_where_the_comparison_changes(check, cuts):
    schema = dataclasses.replace(SCHOOL, rules=(Rule(check),))
    assert named_cuts.named_cuts(schema, AGE).tolist() == cuts


def test_real_numbers_and_dates_are_cut_at_the_constant_itself():
    price = Column("price", "number", bounds=(0.0, 10.0))
    day = Column("day", "date", bounds=(dt.date(2020, 1, 1), dt.date(2021, 1, 1)))
    schema = Schema("t", (price, day), rules=(Rule('price <= 2.5 implies day >= "2020-07-01"'),))
    assert named_cuts.named_cuts(schema, price).tolist() == [2.5]
    (cut,) = named_cuts.named_cuts(schema, day)
    assert cut - day.starts[0] == (dt.date(2020, 7, 1) - dt.date(2020, 1, 1)).days


def test_listed_edges_are_cuts_unless_they_are_a_grid():
    few = dataclasses.replace(AGE, edges=(0, 18, 65, 99))
    many = dataclasses.replace(AGE, edges=tuple(range(0, 99, 2)))
    assert len(many.edges) > MOST_EDGES
    assert named_cuts.named_cuts(Schema("t", (few,)), few).tolist() == [18, 65]
    assert named_cuts.named_cuts(Schema("t", (many,)), many).tolist() == []


def test_named_cuts_are_among_the_most_groups_that_the_plan_says(monkeypatch):
    """At epsilon 15 mass alone would make 32 groups; the mutant adds those of 20 edges to them."""
    age = Column("age", "integer", bounds=(0, 199), edges=tuple(range(0, 200, 10)))
    schema = Schema("t", (age, Column("sex", "boolean")))
    generator = np.random.default_rng(8)
    rows = pd.DataFrame({"age": generator.integers(0, 200, 20_000), "sex": generator.random(20_000) < 0.5})

    def groups() -> int:
        with monkeypatch.context() as patch:
            seen = watch(patch)
            sfumato.release(sfumato.read(rows, schema), AIM(15, "1e-9"), ledger=False, seed=1)
        return seen.stages[0][0].sizes[0]

    planned = AIM(15, "1e-9").planned(schema)
    assert groups() <= planned.largest_sizes[0] == 32
    monkeypatch.setattr(one_way_marginals.Discretisation, "groups_beside", lambda binning, named: 32 + named)
    assert groups() > 32
