"""Dependences: in all rows that are made, a determined column is a function of the other, whatever other rules say."""

from __future__ import annotations

import datetime as dt
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import Schema
from sfumato.constraints import draw_rows, pair_weights
from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.constraints.draw_rows import DrawnRows, redraw_targets_in_place, sample_values, shuffled_copies
from sfumato.constraints.functional_dependence import apply_maps, with_maps_from_rows
from sfumato.errors import PlanError
from sfumato.sampling.values import Values, draw_values, rows_table
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

COLUMNS = (
    Column("age", "integer", bounds=(0, 40), missing=True),
    Column("size", "number", bounds=(0, 10), bins=7),
    Column("day", "date", bounds=(dt.date(2020, 1, 1), dt.date(2020, 3, 1)), bins=6, missing=True),
    Column("city", "category", values=("Bonn", "Lyon", "Nice", "Ulm"), missing=True),
    Column("state", "category", values=("de", "fr")),
    Column("school", "ordinal", values=(1, 2, 3)),
    Column("works", "boolean", missing=True),
)
NAMES = tuple(column.name for column in COLUMNS)
OTHERS = (
    "works implies school >= 2",
    'city == "Nice" implies state == "fr"',
    "age < 10 implies not works",
    "size > 5 implies age >= 3",
    "missing(city) implies missing(works)",
    "school in [1, 2]",
)
MAPS = {
    "age determines school": {"0..6": 1, "7..12": 2, "13..40": 3, "missing()": 3},
    "city determines state": {"Bonn": "de", "Ulm": "de", "Lyon": "fr", "Nice": "fr", None: "fr"},
    "size determines works": {"0..2.5": True, "2.5..10": False},
    "state determines school": {"de": 3, "fr": 1},
}
OPEN = st.sampled_from([f"{a} determines {b}" for a, b in permutations(NAMES, 2)])
RULES = st.tuples(
    st.lists(OPEN, min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(sorted(MAPS)), max_size=2, unique=True),
    st.lists(st.sampled_from(OTHERS), max_size=2, unique=True),
)


def schema_of(opened: list[str], mapped: list[str], others: list[str]) -> Schema:
    rules = [Rule(check) for check in (*opened, *others) if check not in mapped]
    return Schema("t", COLUMNS, rules=(*rules, *(Rule(check, MAPS[check]) for check in mapped)))


def drawn(schema: Schema, rows: int, generator: np.random.Generator) -> Values:
    """Rows in which columns hang together loosely, so that there is something to find and much to contradict it."""
    share = generator.random(rows)
    values: Values = {}
    for column in schema:
        moved = np.clip(share + generator.normal(0, 0.15, rows), 0, 1 - 1e-9)
        values[column.name] = draw_values(column, (moved * column.size).astype(np.int64), generator)
    return values


def contradictions(schema: Schema, *tables: Values) -> int:
    """Rows that contradict a dependence in several tables taken together."""
    frame = pd.concat([rows_table(schema, values).to_pandas() for values in tables]).astype(object).astype(str)
    pairs = [rule.dependence for rule in schema.rules if rule.dependence and set(rule.columns) <= set(frame.columns)]
    return sum(int((frame.groupby(a)[b].nunique() > 1).sum()) for a, b in pairs)


@settings(max_examples=60, deadline=None)
@given(RULES, st.integers(0, 2**32 - 1))
def test_nothing_contradicts_a_dependence_and_every_rule_is_kept(chosen, seed: int):
    schema = schema_of(*chosen)
    try:
        refuse_contradictions(schema, NAMES)
    except PlanError:
        return
    generator = np.random.default_rng(seed)
    first = sample_of(schema, generator)
    again = sample_of(first.bound, generator)
    for sampled in (first, again):
        assert keeps_rules(first.bound, sampled.values).all()
    assert contradictions(schema, first.values, again.values) == 0
    assert sfumato.read(rows_table(schema, first.values), schema).check() == ()


def sample_of(schema: Schema, generator: np.random.Generator) -> DrawnRows:
    return sample_values(schema, lambda rows: drawn(schema, rows, generator), 200, generator)


def test_the_map_is_what_most_rows_say():
    schema = schema_of(["city determines state"], [], [])
    rng = np.random.default_rng(1)
    truth = {"Bonn": "de", "Ulm": "de", "Lyon": "fr", "Nice": "fr", None: "de"}
    cities = draw_values(schema["city"], rng.integers(0, 5, 3000), rng)
    right = np.array([truth[None if missing else city] for city, missing in zip(*cities, strict=True)], dtype=object)
    noisy = np.where(rng.random(3000) < 0.3, rng.choice(["de", "fr"], 3000), right).astype(object)
    bound = with_maps_from_rows(schema, {"city": cities, "state": (noisy, np.zeros(3000, dtype=bool))})
    assert dict(bound.rules[0].map) == truth


def test_a_followed_column_keeps_the_other_one_as_it_is():
    schema = schema_of([], ["city determines state"], [])
    values = drawn(schema, 500, np.random.default_rng(3))
    followed, changed = apply_maps(schema, values)
    assert changed["city determines state"] == int((~schema.rules[0].keeps(values, {c.name: c for c in schema})).sum())
    assert changed["city determines state"] > 0
    assert keeps_rules(schema, followed).all()
    for name in set(NAMES) - {"state"}:
        assert np.array_equal(followed[name][0], values[name][0]) and np.array_equal(followed[name][1], values[name][1])


def test_chains_are_composed_so_that_nothing_need_be_mended():
    schema = schema_of(["age determines city", "city determines state", "age determines state"], [], [])
    bound = with_maps_from_rows(schema, drawn(schema, 400, np.random.default_rng(4)))
    fresh = drawn(schema, 400, np.random.default_rng(5))
    assert keeps_rules(bound, apply_maps(bound, fresh)[0]).all()


def test_columns_that_determine_each_other_are_matched_one_to_one():
    schema = schema_of(["state determines works", "works determines state"], [], [])
    generator = np.random.default_rng(6)
    made = sample_of(schema, generator).values
    pairs = rows_table(schema, made).select(["state", "works"]).to_pandas().astype(str).drop_duplicates()
    assert len(pairs) == 2, "two states are left, each with a value of its own"
    assert pairs["works"].is_unique and pairs["state"].is_unique


def test_a_map_keeps_away_from_what_other_rules_forbid():
    """Most rows say de; the rule says that it cannot be."""
    schema = Schema("t", COLUMNS, rules=(Rule("city determines state"), Rule('city == "Bonn" implies state == "fr"')))
    rows = 300
    values = drawn(schema, rows, np.random.default_rng(7))
    values["city"] = np.full(rows, "Bonn", dtype=object), np.zeros(rows, dtype=bool)
    values["state"] = np.full(rows, "de", dtype=object), np.zeros(rows, dtype=bool)
    assert dict(with_maps_from_rows(schema, values).rules[0].map)["Bonn"] == "fr"


def test_where_maps_and_rules_leave_no_row_another_map_is_taken():
    """All rows say state de, which the rules allow in no row: a row from public facts says what is possible."""
    rules = (
        Rule("school determines state"),
        Rule('state == "de" implies works'),
        Rule("not works"),
        Rule("not missing(works)"),
    )
    schema = Schema("t", COLUMNS, rules=rules)
    rows = 200
    generator = np.random.default_rng(8)

    def draw(count: int) -> Values:
        values = drawn(schema, count, generator)
        return values | {"state": (np.full(count, "de", dtype=object), np.zeros(count, dtype=bool))}

    made = sample_values(schema, draw, rows, generator)
    assert set(made.values["state"][0]) == {"fr"}
    assert keeps_rules(made.bound, made.values).all()


def test_fixed_columns_stay_and_rows_that_contradict_them_are_left_out():
    schema = schema_of(["city determines state", "school determines city"], [], [])
    generator = np.random.default_rng(9)
    known = drawn(schema, 300, generator)

    def make(places):
        fresh = drawn(schema, len(places), generator)
        return {n: (known[n][0][places], known[n][1][places]) if n == "city" else fresh[n] for n in NAMES}

    made = redraw_targets_in_place(schema, make, 300, generator, ("city",))
    assert contradictions(schema, made.values) == 0
    assert len(made.values["city"][1]) == 300 - made.left_out
    assert 0 <= made.left_out < 300


def test_copies_of_one_release_follow_one_map():
    schema = schema_of(["school determines state"], [], [])
    generator = np.random.default_rng(10)
    codes = {"school": np.repeat([0, 1, 2], 60)}
    copies = [codes | {"state": (np.arange(180) % 3 + shift) // 2 % 2} for shift in (0, 1)]
    alone = [shuffled_copies(schema, [copy], generator)[0][0].to_pandas() for copy in copies]
    assert (pd.concat(alone).groupby("school")["state"].nunique() > 1).any(), "each copy by itself finds another map"
    both = [table.to_pandas() for table, _ in shuffled_copies(schema, copies, generator)]
    assert (pd.concat(both).groupby("school")["state"].nunique() == 1).all()


def test_columns_of_many_cells_are_cut_into_few_places(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pair_weights, "MOST_PLACES", 3)
    schema = schema_of(["age determines city", "city determines day"], [], [])
    made = sample_of(schema, np.random.default_rng(11))
    assert contradictions(schema, made.values) == 0
    assert len(made.bound.rules[0].map) <= 4


def test_a_release_that_followed_nothing_would_be_caught(monkeypatch: pytest.MonkeyPatch):
    """The mutant: maps are found, and rows neither follow nor are mended."""
    monkeypatch.setattr(draw_rows, "with_maps_from_rows", lambda schema, _: schema)
    schema = schema_of(["age determines city"], [], [])
    assert contradictions(schema, sample_of(schema, np.random.default_rng(12)).values) > 0
