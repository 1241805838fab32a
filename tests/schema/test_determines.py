"""Dependences in a schema: how they are written, what is refused, and that all hosts of values read them alike."""

from __future__ import annotations

import dataclasses
import datetime as dt
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import Schema
from sfumato.constraints.structural_zeros import cells_of, feasible_cells
from sfumato.errors import SchemaError, TableError
from sfumato.sampling.values import codes_of, draw_values, rows_table
from sfumato.schema.column import Column
from sfumato.schema.functional_dependence import parse_dependence
from sfumato.schema.rules import Rule

DAY = dt.date(2020, 1, 1)
COLUMNS = (
    Column("age", "integer", bounds=(0, 110), missing=True),
    Column("size", "number", bounds=(0, 10), bins=4),
    Column("day", "date", bounds=(DAY, dt.date(2020, 12, 31))),
    Column("zip code", "category", values=(1, 2, 3)),
    Column("city", "category", values=("Bonn", "Ulm"), missing=True),
    Column("odd", "category", values=("missing()", "x")),
    Column("text", "ordinal", values=("Low", "High"), missing=True),
    Column("adult", "boolean"),
)
MAPS = (
    Rule("age determines adult", map={"0..17": False, "18..110": True, "missing()": True}),
    Rule("age determines text", map={"0..17": "Low", "18": "High", (19, 110): "missing()"}),
    Rule("size determines text", map={"0..2.5": "Low", (2.5, 10): "High"}),
    Rule("day determines adult", map={"2020-01-01..2020-06-30": True, (dt.date(2020, 7, 1), "2020-12-31"): False}),
    Rule('col("zip code") determines city', map={1: "Bonn", "2": "Ulm", 3: None}),
    Rule("adult determines age", map={True: 40, "false": 10}),
    Rule('city determines col("zip code")', map={"Bonn": 1, "Ulm": 2, None: 3}),
    Rule("text determines size", map={"Low": 1.5, "High": 7, None: 2}),
)


def schema_of(*rules: Rule) -> Schema:
    return Schema("t", COLUMNS, rules=rules)


@pytest.mark.parametrize(
    ("check", "names"),
    [
        ("a determines b", ("a", "b")),
        (' col("a b")   determines   c ', None),
        ('col("a b") determines c', ("a b", "c")),
        ('col("x determines y") determines col("z determines w")', ("x determines y", "z determines w")),
        ("a < b", None),
        ('a == "it determines all"', None),
        ("a + 1 determines b", None),
    ],
)
def test_sentences_of_this_kind(check: str, names: tuple[str, str] | None):
    found = parse_dependence(check)
    assert (None if found is None else tuple(found)) == names or check.startswith(" ")


def test_blanks_do_not_matter():
    assert Rule(' col("a b")   determines   c ').columns == ("a b", "c")


def test_maps_are_kept_in_the_columns_own_types_and_order():
    rules = schema_of(*MAPS).rules
    assert rules[0].map == (((0, 17), False), ((18, 110), True), (None, True))
    assert rules[1].map == (((0, 17), "Low"), ((18, 18), "High"), ((19, 110), None), (None, None))
    assert rules[2].map == (((0.0, 2.5), "Low"), ((2.5, 10.0), "High"))
    assert rules[3].map[1] == ((dt.date(2020, 7, 1), dt.date(2020, 12, 31)), False)
    assert rules[4].map == ((1, "Bonn"), (2, "Ulm"), (3, None))
    assert rules[5].map == ((False, 10), (True, 40))
    assert rules[7].map == (("Low", 1.5), ("High", 7.0), (None, 2.0))


def test_a_schema_comes_back_from_its_text_and_from_a_draft():
    open_rules = (Rule("age determines city"), Rule('col("zip code") determines text'))
    schema = schema_of(*MAPS, *open_rules)
    assert Schema.parse(schema.to_toml()) == schema
    draft = dataclasses.replace(schema, is_draft=True)
    signed = Schema.parse(draft.to_toml()).confirm()
    assert dataclasses.replace(signed, confirmation=None) == schema
    again = schema.replace_columns({"adult": {"description": "18 or older"}})
    assert again.rules == schema.rules


def test_a_map_may_be_written_in_one_line():
    text = (
        schema_of().to_toml() + '\n[[rules]]\ncheck = "adult determines text"\nmap = {true = "High", false = "Low"}\n'
    )
    assert Schema.parse(text).rules[0].map == ((False, "Low"), (True, "High"))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("age determines age"), ["itself"]),
        (Rule("age determines shoe"), ["unknown column shoe"]),
        (Rule("age + 1 determines city"), ["between two columns"]),
        (Rule("age determines city determines text"), ["between two columns"]),
        (Rule("age < 3", map={1: 2}), ["only 'a determines b' has a map"]),
        (Rule("adult determines text", map={True: "High"}), ["no entry for false"]),
        (Rule("adult determines text", map={True: "High", False: "Huge", "yes": "Low"}), ["false = Huge", "yes = Low"]),
        (Rule("adult determines text", map={}), ["must say for each value"]),
        (Rule("adult determines text", map=7), ["must say for each value"]),
        (Rule("adult determines text", map=[(True, ["High"])]), ["text has no such value"]),
        (Rule("adult determines text", map=[(True, "Low"), (True, "High"), (False, "Low")]), ["true: two entries"]),
        (Rule("adult determines age", map={True: 300, False: 1.5}), ["outside the bounds", "no such value"]),
        (Rule("age determines adult", map={"0..17": False, "18..110": True}), ["may be missing"]),
        (Rule("age determines text", map={"0..17": "Low", "17..100": "High"}), ["overlap", "above 100"]),
        (Rule("age determines text", map={"1..17": "Low", "19..110": "High"}), ["below 1", "leave a gap"]),
        (
            Rule("age determines text", map={"17..0": "Low", "0..5..9": "Low", "x": "Low"}),
            ["low..high", "no such value"],
        ),
        (Rule("size determines text", map={3: "Low"}), ["needs intervals"]),
        (Rule("size determines text", map={(0, 5, 10): "Low"}), ["two ends"]),
        (Rule("odd determines adult", map={"x": True, "missing()": False}), ["a level is called missing()"]),
        (Rule("size determines adult", map={None: True, "0..10": False}), ["size cannot be missing"]),
    ],
)
def test_what_is_refused_is_told_at_once(rule: Rule, words: list[str]):
    with pytest.raises(SchemaError) as caught:
        schema_of(rule, Rule("age < nobody"))
    told = " | ".join(caught.value.problems)
    assert all(word in told for word in [*words, "unknown column nobody"]), told


def test_two_maps_of_the_same_columns_are_refused():
    with pytest.raises(SchemaError, match="in two ways"):
        schema_of(MAPS[0], Rule("age determines adult"))
    assert len(schema_of(MAPS[0], MAPS[0]).rules) == 2


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(MAPS), st.integers(0, 2**32 - 1))
def test_arrays_engines_and_cells_read_a_map_alike(rule: Rule, seed: int):
    schema, rng = schema_of(rule), np.random.default_rng(seed)
    columns = {column.name: column for column in schema}
    values = {c.name: draw_values(c, rng.integers(0, c.size, 60), rng) for c in schema}
    (first,) = schema.rules
    source, target = first.columns
    images = dict.fromkeys(value for _, value in first.map)
    kept = first.keeps(values, columns)
    wanted = [_image(first, value) for value in rows_table(schema, values)[source].to_pylist()]
    assert kept.tolist() == [
        a == b for a, b in zip(wanted, rows_table(schema, values)[target].to_pylist(), strict=True)
    ]
    broken = sum(v.count for v in sfumato.read(rows_table(schema, values), schema).check())
    assert broken == int((~kept).sum())
    cells = [(name, cells_of(columns[name])) for name in first.columns]
    allowed = feasible_cells(first, columns, cells)
    codes = [codes_of(columns[name], *values[name]) for name in first.columns]
    assert allowed[tuple(codes)][kept].all(), "no cell of a kept row is forbidden"
    assert allowed.any(axis=1).all() and allowed.any(axis=0).sum() <= len(images)


def _image(rule: Rule, value):
    for key, image in rule.map:
        if isinstance(key, tuple):
            low, high = key
            closed = not isinstance(value, float) or high == 10
            if value is not None and low <= value and (value <= high if closed else value < high):
                return image
        elif key == value and type(key) is type(value):
            return image
    raise AssertionError(value)


def test_a_broken_map_refuses_the_table_and_a_contradicted_dependence_does_not():
    frame = pd.DataFrame(
        {"age": [3, 30, 30, 30], "adult": [True, True, True, False], "city": ["Bonn", "Ulm", "Ulm", None]}
    )
    columns = tuple(column for column in COLUMNS if column.name in frame)
    opened = Schema("t", columns, rules=(Rule("age determines adult"), Rule("age determines city")))
    table = sfumato.read(frame, opened)
    table.require_valid()
    told = [str(violation) for violation in table.check()]
    assert [v.count for v in table.check()] == [1, 1]
    assert told[0] == "rule: 'age determines adult' is contradicted by 1 row: 1 value of age has more than one adult"
    closed = Schema("t", columns, rules=(MAPS[0],))
    with pytest.raises(TableError, match="'age determines adult' is broken by 2 rows"):
        sfumato.read(frame, closed).require_valid()


def test_a_map_of_many_levels_is_read_fast():
    """A lookup, not a comparison for each level: 2,000 levels and 200,000 rows take less than 2 CPU seconds."""
    levels = tuple(f"level {i}" for i in range(2000))
    columns = (Column("a", "category", values=levels), Column("b", "integer", bounds=(0, 9)))
    schema = Schema(
        "t", columns, rules=(Rule("a determines b", map={level: i % 10 for i, level in enumerate(levels)}),)
    )
    rng = np.random.default_rng(0)
    values = {c.name: draw_values(c, rng.integers(0, c.size, 200_000), rng) for c in columns}
    start = time.process_time()
    kept = schema.rules[0].keeps(values, {c.name: c for c in columns})
    assert time.process_time() - start < 2
    assert 0.05 < kept.mean() < 0.15
