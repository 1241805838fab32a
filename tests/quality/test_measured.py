"""Sensitivity by brute force: whatever one person does, every part moves by no more than its noise was made for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quality.small import arrow, facts, frame, related_facts, related_frame, subject, table
from sfumato.evaluate.quality.questions import (
    MISPLACED,
    PublicFacts,
    Questions,
    count,
    misplaced,
    sum_and_difference,
)
from sfumato.evaluate.quality.run import prepare_questions
from sfumato.metrics.bounded_scores import BoundedScores, default_target
from sfumato.metrics.rows_view import read_rows_view
from sfumato.schema import Schema

TARGETS = ("sex", "city", "size")


def made(schema, target: str | None, released: pd.DataFrame):
    return prepare_questions(subject(released, schema), 1, target)


@pytest.fixture(scope="module")
def learnt():
    """What is public of one release, for every target: rows in which one city is rare, and so nearly empty cells."""
    schema = facts()
    return {target: made(schema, target, frame(60, seed=3)) for target in TARGETS}


def values_of(rows) -> dict[str, np.ndarray]:
    """Return rows (size or None, sex, city) as they come from a table."""
    sizes, sexes, cities = (list(part) for part in zip(*rows, strict=True)) if rows else ([], [], [])
    return {
        "size": np.array([np.nan if size is None else size for size in sizes], float),
        "sex": np.array(sexes, np.int64),
        "city": np.array(cities, np.int64),
    }


def numbers(one, rows) -> dict[str, np.ndarray]:
    """Return what would be measured of such rows, without noise."""
    values = values_of(rows)
    pair = sum_and_difference(one.public, one.public.released.count(values))
    return {MISPLACED: np.array(pair), "answers": one.answers.sums(values)}


row = st.tuples(st.one_of(st.none(), st.integers(0, 40).map(lambda i: i / 4)), st.integers(0, 1), st.integers(0, 3))


@settings(max_examples=40)
@given(rows=st.lists(row, max_size=12), own=st.lists(row, min_size=1, max_size=3), target=st.sampled_from(TARGETS))
def test_a_person_moves_every_part_by_no_more_than_its_sensitivity(learnt, rows, own, target):
    """Add-remove with up to 3 rows of one person, and replace of one row, on the same numbers."""
    one = learnt[target]
    before, after = numbers(one, rows), numbers(one, rows + own)
    people = facts(per_person=len(own)) if len(own) > 1 else facts()
    for name, part in zip(before, Questions(people, one.public.target, Fraction(1)).parts, strict=True):
        assert np.abs(after[name] - before[name]).sum() <= part.sensitivity
    swapped = numbers(one, [*rows, own[-1]]), numbers(one, [*rows, own[0]])
    whole = facts("replace", len(rows) + 1)
    for name, part in zip(before, Questions(whole, one.public.target, Fraction(1)).parts, strict=True):
        assert np.abs(swapped[1][name] - swapped[0][name]).sum() <= part.sensitivity


def test_the_bounds_are_nearly_reached_so_that_smaller_ones_are_caught(learnt):
    """One record in cells that hardly any released row has moves u1 and u2 by nearly 1; answers move by all of it."""
    one = learnt["sex"]
    rows = [(None, 1, 3)] * 50
    more = numbers(one, [*rows, rows[0]])
    moved = {name: np.abs(more[name] - part).sum() for name, part in numbers(one, rows).items()}
    misplaced, answers = Questions(facts(), one.public.target, Fraction(1)).parts
    assert 0.8 * misplaced.sensitivity < moved[MISPLACED] <= misplaced.sensitivity
    assert moved["answers"] == answers.sensitivity == 1
    assert moved[MISPLACED] > misplaced.sensitivity / 2, "a mutant that forgets the factor 2 of the turned pair"
    right, wrong = numbers(one, [*rows, (9.0, 1, 0)]), numbers(one, [*rows, (9.0, 0, 0)])
    replaced = np.abs(right["answers"] - wrong["answers"]).sum()
    assert replaced == 2 == Questions(facts("replace", 51), one.public.target, Fraction(1)).parts[1].sensitivity


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_products_of_scores_move_by_no_more_than_their_sensitivity(adjacency: str):
    """Every pair of rows on a grid of values, with and without missing ones; the bound is reached in the corners."""
    schema = related_facts(adjacency)
    public = PublicFacts.of(arrow(related_frame(100), schema), schema, correlations=("x", "y", "z"))
    part = Questions(schema, None, Fraction(1), ("x", "y", "z")).parts[-1]
    grid = [np.array(each) for each in ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.1, 0.9], [np.nan, 0.0, 1.0])]
    sums = [public.relations.sums({n: row[i : i + 1] for i, n in enumerate("xyz")}) for row in grid]
    if adjacency == "add-remove":
        moved = [np.abs(each).sum() for each in sums]
        assert max(moved) == part.sensitivity == 3 * 64**2
    else:
        opposite = public.relations.sums({"x": np.array([0.0]), "y": np.array([1.0]), "z": np.array([0.0])})
        moved = [np.abs(a - b).sum() for a in (*sums, opposite) for b in sums]
        assert part.sensitivity / 2 < max(moved) <= part.sensitivity == 6 * 64**2
    values = {name: np.linspace(0, 1, 50) for name in "xyz"}
    alone = sum(public.relations.sums({n: v[i : i + 1] for n, v in values.items()}) for i in range(50))
    assert (alone == public.relations.sums(values)).all()


def test_every_row_lays_one_weight(learnt):
    rows = [(size, sex, city) for size in (None, 0.0, 3.3, 10.0) for sex in (0, 1) for city in range(4)]
    for one in learnt.values():
        weights = one.answers.weights(values_of(rows))
        assert (weights >= 0).all() and (weights.sum(axis=1) == one.answers.grain).all()
        assert weights.shape[1] == (5 if one.public.target.name == "size" else 4)
    gone = learnt["size"].answers.weights(values_of([(None, 0, 0)]))
    assert gone.tolist() == [[0, 0, 0, 0, 1024]], "a row without its target is in neither mean"


def test_a_row_weighs_the_same_in_any_company(learnt):
    """The proof needs it: no prediction may depend on the rows that it is computed together with."""
    values = values_of([(i / 4 if i % 7 else None, i % 2, i % 4) for i in range(40)])
    for one in learnt.values():
        together = one.answers.weights(values)
        alone = [one.answers.weights({n: v[i : i + 1] for n, v in values.items()})[0] for i in range(40)]
        assert (together == np.array(alone)).all()


def test_the_table_itself_is_counted_as_the_numbers_say():
    """From the outside, through the engine: people with several rows count with at most k of them."""
    schema = facts(per_person=2)
    one = made(schema, "sex", frame(80, seed=1))
    private = frame(40, seed=2).assign(who=[0] * 5 + list(range(1, 36)))
    counts = count(table(private, schema), one.public, one.answers, one.questions.parts)
    assert sum(counts.numbers[1]) == 37, "2 of the 5 rows of one person, and 35 others"
    without = count(table(private[private.who > 0], schema), one.public, one.answers, one.questions.parts)
    moved = [np.abs(np.subtract(a, b)).sum() for a, b in zip(counts.numbers, without.numbers, strict=True)]
    assert all(0 < move <= part.sensitivity for move, part in zip(moved, one.questions.parts, strict=True))
    assert moved[1] == 2


def test_cells_follow_from_released_rows_alone():
    schema = facts()
    public = PublicFacts.of(arrow(frame(200), schema), schema)
    cells = public.released.binnings
    assert [cells[name].size for name in ("size", "sex", "city")] == [19, 3, 4], "missing values have the last"
    counts = public.counts(("size",))
    assert counts[1:17].max() - counts[1:17].min() <= 2, "cells of equal mass"
    assert counts[0] == counts[17] == 0, "open cells, which no released row is in"
    assert counts[-1] == frame(200)["size"].isna().sum()
    assert cells["size"].codes(np.array([0.0, 10.0, np.nan])).tolist() == [0, 17, 18]


NUMBER = Schema.parse('[table]\nname = "people"\n[columns.n]\nkind = "integer"\nbounds = [0, 99]\n')
TRUE = np.random.default_rng(5).integers(0, 100, 4000)
POOR = {
    "one constant": (np.full(4000, 50), TRUE, 0.99, 1.0),
    "two values": (np.repeat([10, 90], 2000), TRUE, 0.96, 0.99),
    "a tail cut off": (np.minimum(TRUE, 79), TRUE, 0.19, 0.22),
    "zeros, and the tail is lost": (np.zeros(4000), np.where(TRUE < 95, 0, TRUE), 0.04, 0.06),
    "the same law": (np.random.default_rng(6).integers(0, 100, 4000), TRUE, 0.0, 0.04),
}


@pytest.mark.parametrize("case", POOR)
def test_what_was_not_released_counts(case: str):
    """On 0.2 a constant, whose cells held every private row, was at distance 0, and so was a tail that was cut off."""
    released, private, low, high = POOR[case]
    public = PublicFacts.of(arrow(pd.DataFrame({"n": released}), NUMBER), NUMBER)
    found = public.released.count({"n": private.astype(float)})
    assert low <= misplaced(public, public.singles, found) / len(private) <= high


@settings(max_examples=60)
@given(
    released=st.lists(st.integers(0, 99), min_size=1, max_size=40),
    private=st.lists(st.integers(0, 99), max_size=15),
    own=st.lists(st.integers(0, 99), min_size=1, max_size=3),
)
def test_rows_that_the_release_does_not_reach_move_it_by_no_more_than_one_each(released, private, own):
    public = PublicFacts.of(arrow(pd.DataFrame({"n": released}), NUMBER), NUMBER)
    assert sum(public.counts(("n",))) == len(released)

    def records(values) -> Fraction:
        found = public.released.count({"n": np.array(values, float)})
        assert sum(found["n",]) == len(values), "every row lies in one cell"
        return misplaced(public, public.singles, found)

    assert abs(records([*private, *own]) - records(private)) <= len(own)
    assert abs(records([*private, own[0]]) - records([*private, own[-1]])) <= 1


def test_a_value_in_32_bits_is_the_value_that_was_released():
    schema = facts()
    grades = pd.DataFrame({"size": np.tile([0.1, 0.7, 3.3], 20), "sex": "f", "city": "a"})
    public = PublicFacts.of(arrow(grades, schema), schema)
    narrow = np.array(grades["size"], np.float32).astype(float)
    found = public.released.count({"size": narrow, "sex": np.zeros(60, int), "city": np.zeros(60, int)})
    assert (found["size",] == public.counts(("size",))).all()


def test_the_shares_of_epsilon_sum_to_it():
    for schema, target in ((facts(), None), (facts(), "sex"), (facts("replace", 5), None), (facts(), "size")):
        asked = Questions(schema, schema[target] if target else None, Fraction(1, 20))
        spent = sum(Fraction(part.sensitivity) / Fraction(part.scale) for part in asked.parts)
        assert Fraction(499, 10_000) < spent <= asked.epsilon == sum(asked.shares.values()) / 20


def test_the_target_is_chosen_by_public_facts():
    schema = facts()
    assert default_target(schema, ("size", "sex", "city"), None)[0] == "city"
    assert default_target(schema, ("size",), None) == (None, "one column alone leaves nothing to predict it from")
    stated = facts().parse(facts().to_toml().replace("[columns.sex]\n", '[columns.sex]\nrole = "target"\n'))
    assert default_target(stated, ("size", "sex", "city"), None) == ("sex", "the schema calls it a target")


def test_released_rows_that_teach_nothing_leave_the_guess():
    schema = facts()
    few = frame(5)
    learnt = BoundedScores.learnt(
        schema, schema.names, "sex", read_rows_view(arrow(few, schema), schema, schema.names).by_name()
    )
    assert learnt.model is None
    weights = learnt.weights(values_of([(1.0, 0, 0), (2.0, 1, 1)]))
    assert weights[:, 1:3].sum() == 0, "model and guess agree everywhere"
