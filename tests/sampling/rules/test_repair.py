"""Rows keep every rule after repair, whatever the rules, and change no more than they must."""

from __future__ import annotations

import datetime as dt
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Schema
from sfumato.constraints import repair as repair_module
from sfumato.constraints import repair_rows as mending
from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.constraints.repair import repair, repair_notes
from sfumato.errors import PlanError
from sfumato.sampling.values import Values, draw_values, rows_table
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

START, END = dt.date(2000, 1, 1), dt.date(2009, 12, 31)
COLUMNS = (
    Column("age", "integer", bounds=(0, 110)),
    Column("income", "number", bounds=(0, 1e5), missing=True),
    Column("tax", "number", bounds=(0, 1e5), edges=(0, 1e3, 2e4, 1e5)),
    Column("start", "date", bounds=(START, END)),
    Column("end", "date", bounds=(START, END), missing=True),
    Column("hours", "integer", bounds=(0, 168), bins=8),
    Column("travel", "integer", bounds=(0, 100), bins=5, missing=True),
    Column("city", "category", values=("Bonn", "Lyon", "Nice", "Ulm")),
    Column("state", "category", values=("de", "fr", "it"), missing=True),
    Column("school", "ordinal", values=(1, 2, 3, 4), missing=True),
    Column("works", "boolean", missing=True),
)
PREMISES = (
    "age < 15",
    "works",
    "missing(travel)",
    'city == "Bonn"',
    "school >= 3",
    "income > 5e4",
    'end < "2005-06-01"',
)
CLAIMS = (
    "missing(income)",
    'state == "de"',
    'state != "fr"',
    "not missing(school)",
    "hours + travel <= 60",
    "start <= end",
    'start < "2003-02-01"',
    "tax <= income",
    "age > 17",
    "not works",
    "hours == 2 * school",
    "works != True",
    'city in ["Lyon", "Nice"]',
    "30 < age <= 60",
    "travel < hours",
    "tax * 2 < income and age >= 20",
    "end - start > 30",
    "missing(travel) or missing(state)",
    "income - tax >= 100",
    "school == 1 or age >= 6",
    "tax + 10 == income",
)
CHECKS = st.one_of(
    st.sampled_from(CLAIMS), st.builds("{} implies {}".format, *map(st.sampled_from, (PREMISES, CLAIMS)))
)


def make(*checks: str, columns: tuple[Column, ...] = COLUMNS) -> Schema:
    return Schema("t", columns, rules=tuple(Rule(check) for check in checks))


def uniform(schema: Schema, rows: int, seed: int) -> Values:
    generator = np.random.default_rng(seed)
    return {c.name: draw_values(c, generator.integers(0, c.size, rows), generator) for c in schema}


def assert_valid(schema: Schema, values: Values) -> None:
    assert keeps_rules(schema, values).all()
    for column in schema:
        data, missing = values[column.name]
        assert column.missing or not missing.any()
        present = data[~missing]
        if not column.is_ordered:
            assert set(present) <= set(column.levels)
            continue
        low, high = column.numeric_bounds
        assert np.all((present >= low) & (present <= high))
        assert data.dtype == (np.int64 if column.is_discrete else np.float64)
    rows_table(schema, values)


@settings(max_examples=120)
@given(checks=st.lists(CHECKS, min_size=1, max_size=4), rows=st.integers(1, 60), seed=st.integers(0, 2**31))
def test_every_row_is_valid_whatever_the_rules(checks: list[str], rows: int, seed: int):
    schema = make(*checks)
    values = uniform(schema, rows, seed)
    before = {name: (data.copy(), missing.copy()) for name, (data, missing) in values.items()}
    try:
        refuse_contradictions(schema, schema.names)
    except PlanError:
        return
    broken = {rule.check: int((~keeps_rules(make(rule.check), values)).sum()) for rule in schema.rules}
    found = repair(schema, values, np.random.default_rng(seed))
    assert_valid(schema, found.values)
    assert found.repaired == broken
    kept = keeps_rules(schema, values)
    for name, (data, missing) in values.items():
        assert np.array_equal(data, before[name][0])
        assert np.array_equal(data[kept], found.values[name][0][kept])
        assert np.array_equal(missing[kept], found.values[name][1][kept])


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_single_rule_of_the_list_is_refused_or_needs_a_donor(claim: str):
    for check in (claim, *(f"{premise} implies {claim}" for premise in PREMISES)):
        schema = make(check)
        refuse_contradictions(schema, schema.names)
        assert repair(schema, uniform(schema, 200, 13), np.random.default_rng(13)).replaced == 0


def test_values_in_the_wrong_order_are_swapped():
    columns = tuple(Column(name, "number", bounds=(0, 1), bins=1) for name in "abc")
    schema = make("a <= b <= c", columns=columns)
    values = uniform(schema, 20_000, 1)
    found = repair(schema, values, np.random.default_rng(1)).values
    expected = np.sort([values[name][0] for name in "abc"], axis=0)
    assert np.array_equal(np.stack([found[name][0] for name in "abc"]), expected)


def test_a_value_is_drawn_again_inside_its_own_bin_where_there_is_room():
    columns = tuple(Column(name, "number", bounds=(0, 100), bins=5) for name in ("hours", "travel"))
    schema = make("hours + travel <= 100", columns=columns)
    values = uniform(schema, 20_000, 2)
    found = repair(schema, values, np.random.default_rng(2)).values
    bins = np.floor(values["travel"][0] / 20)
    room = values["hours"][0] + 20 * bins < 100
    assert np.array_equal(np.floor(found["travel"][0] / 20)[room], bins[room])
    assert np.array_equal(found["hours"][0][room], values["hours"][0][room])
    assert np.mean(found["hours"][0] + found["travel"][0] > 99.99) < 0.01, "values must not pile up at the limit"
    broken = room & (values["hours"][0] + values["travel"][0] > 100)
    place = (found["travel"][0] - 20 * bins)[broken] / np.minimum(100 - values["hours"][0] - 20 * bins, 20)[broken]
    # Uniform on the room that is left, to five standard errors of a mean of uniforms.
    assert abs(place.mean() - 0.5) < 5 / np.sqrt(12 * broken.sum())


def test_a_premise_makes_its_consequence_true():
    schema = make("age < 15 implies missing(income)", 'city == "Bonn" implies state == "de"')
    values = uniform(schema, 2000, 3)
    found = repair(schema, values, np.random.default_rng(3))
    assert np.array_equal(found.values["age"][0], values["age"][0])
    assert np.array_equal(found.values["city"][0], values["city"][0])
    assert found.values["income"][1][values["age"][0] < 15].all()
    assert found.replaced == 0


def test_values_go_missing_only_as_a_last_resort():
    schema = make("tax <= income")
    values = uniform(schema, 5000, 4)
    found = repair(schema, values, np.random.default_rng(4)).values
    assert np.array_equal(found["income"][1], values["income"][1])


def test_missing_values_that_must_be_there_follow_the_table():
    schema = make("not missing(income)")
    values = uniform(schema, 5000, 5)
    values["income"] = values["income"][0] % 100 + 7e4, values["income"][1] | (np.arange(5000) % 2 == 0)
    found = repair(schema, values, np.random.default_rng(5)).values["income"]
    assert not found[1].any()
    assert np.all((found[0] >= 65625) & (found[0] <= 71875)), "the bins that the table has"


def test_two_columns_that_must_both_change():
    schema = make("hours + travel >= 268")
    refuse_contradictions(schema, schema.names)
    values = uniform(schema, 500, 6)
    values["travel"][1][:] = False
    assert_valid(schema, repair(schema, values, np.random.default_rng(6)).values)


def test_an_equation_holds_to_the_last_digit():
    columns = tuple(Column(name, "number", bounds=(0, high)) for name, high in (("a", 1), ("b", 1), ("total", 2)))
    schema = make("a + b == total", columns=columns)
    refuse_contradictions(schema, schema.names)
    found = repair(schema, uniform(schema, 5000, 7), np.random.default_rng(7))
    assert_valid(schema, found.values)
    assert found.replaced == 0


def test_a_dependency_of_many_levels_is_quick():
    columns = (
        Column("zip", "category", values=tuple(f"z{i}" for i in range(200))),
        Column("town", "category", values=tuple(f"t{i}" for i in range(40))),
    )
    schema = make(*(f'zip == "z{i}" implies town == "t{i % 40}"' for i in range(200)), columns=columns)
    values = uniform(schema, 10_000, 8)
    began = time.process_time()
    found = repair(schema, values, np.random.default_rng(8))
    assert time.process_time() - began < 15
    assert_valid(schema, found.values)
    assert np.array_equal(found.values["zip"][0], values["zip"][0])


def test_rows_that_cannot_be_mended_take_the_values_of_rows_that_agree(monkeypatch: pytest.MonkeyPatch):
    schema = make("start <= end", "age > 17")
    values = uniform(schema, 3000, 9)
    broken = int((~keeps_rules(schema, values)).sum())
    for module in (repair_module, mending):
        monkeypatch.setattr(module, "repair_columns", lambda block, pool: None)
    found = repair(schema, values, np.random.default_rng(9))
    assert_valid(schema, found.values)
    assert 0 < found.replaced <= broken
    assert np.array_equal(found.values["hours"][0], values["hours"][0]), "columns without rules stay"


def test_a_table_without_one_good_row_is_mended_from_public_facts():
    schema = make("tax * tax == income", "age > 17")
    values = uniform(schema, 300, 10)
    values["age"][0][:] = 3
    values["income"][1][:] = False
    assert_valid(schema, repair(schema, values, np.random.default_rng(10)).values)


@pytest.mark.parametrize(
    ("checks", "named"),
    [
        (["age < 15", "age > 200"], ["no row keeps 'age > 200'"]),
        (["age < 15", "start <= end", "age > 15"], ["no row keeps 'age < 15' and 'age > 15' at once"]),
        (
            ["hours < travel", "travel < hours", "not missing(travel)"],
            ["'hours < travel' and 'travel < hours' and 'not m"],
        ),
        (["age > 200", "age < 0"], ["no row keeps 'age > 200'", "no row keeps 'age < 0'"]),
        (['city == "Rome"'], ["""no row keeps 'city == "Rome"'"""]),
        (["age < 9 and age > 11"], ["no row keeps 'age < 9 and age > 11'"]),
    ],
)
def test_contradictory_rules_are_named(checks: list[str], named: list[str]):
    with pytest.raises(PlanError) as caught:
        refuse_contradictions(make(*checks), make().names)
    assert len(caught.value.problems) == len(named)
    for problem, part in zip(caught.value.problems, named, strict=True):
        assert part in problem


def test_rules_about_other_columns_are_no_concern():
    """The same rule is refused once its column is released."""
    refuse_contradictions(make("age > 200"), ["income", "tax"])
    with pytest.raises(PlanError):
        refuse_contradictions(make("age > 200"), ["age"])


def test_a_repair_that_forgets_other_rules_is_caught(monkeypatch: pytest.MonkeyPatch):
    """The mutant mends each clause as if it stood alone; rows then break what they kept before."""
    schema = make("age > 17", "age < 19", "hours < age", "hours > 15")
    values = uniform(schema, 2000, 11)
    assert_valid(schema, repair(schema, values, np.random.default_rng(11)).values)
    whole = mending.RowsUnderRepair.of

    def forgetful(bundle, rows):
        block = whole(bundle, rows)
        block.kept[1:] = True
        return block

    monkeypatch.setattr(mending.RowsUnderRepair, "of", forgetful)
    assert not keeps_rules(schema, repair(schema, values, np.random.default_rng(11)).values).all()


def test_a_million_rows():
    schema = make("start <= end", "age < 15 implies missing(income)", 'city == "Bonn" implies state == "de"')
    values = uniform(schema, 100_000, 12)
    kept = keeps_rules(schema, values)
    where = np.concatenate([np.resize(np.flatnonzero(kept), 990_000), np.resize(np.flatnonzero(~kept), 10_000)])
    values = {name: (data[where], missing[where]) for name, (data, missing) in values.items()}
    began = time.process_time()
    found = repair(schema, values, np.random.default_rng(12))
    assert time.process_time() - began < 5
    assert keeps_rules(schema, found.values).all()


@pytest.mark.parametrize("high", [24, 74])
def test_a_rule_that_many_rows_broke_is_told_in_words(high: int):
    """Of 100 rows those with a above ``high`` break it: 75 are many, 25 are a quarter and not more."""
    schema = make("a <= b", columns=tuple(Column(name, "integer", bounds=(0, 99)) for name in "ab"))
    values = {"a": (np.arange(100), np.zeros(100, dtype=bool)), "b": (np.full(100, high), np.zeros(100, dtype=bool))}
    made = repair(schema, values, np.random.default_rng(5))
    notes = [note for note in repair_notes(schema, values, made.values, made) if "do not trust" in note]
    told = (
        "75 of 100 rows broke 'a <= b' as drawn and were mended: do not trust what the rows say about a and b together"
    )
    assert notes == ([told] if high == 24 else [])
