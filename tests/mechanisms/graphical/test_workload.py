"""Workloads: what is asked for, what may be measured for it, and what is refused by name."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import AIM, Schema
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical import aim
from sfumato.mechanisms.graphical import workload as workloads
from sfumato.mechanisms.graphical.candidates import Candidates
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions
from sfumato.mechanisms.graphical.workload import (
    WHOLE,
    check_workload,
    compile_workload,
    downward_closure,
    largest_clique,
    requested_marginals,
    subsample_pairs,
)
from sfumato.privacy.randomness import Randomness

NAMES = ("age", "sex", "ward", "dose")


@pytest.mark.parametrize(("workload", "ways"), [("2-way", 2), ("3-way", 3)])
def test_names_ask_for_all_sets_of_a_size(workload, ways):
    assert requested_marginals(workload, NAMES) == dict.fromkeys(combinations(range(4), ways), 1.0)
    assert largest_clique(workload) == ways
    assert compile_workload(workload, NAMES) == downward_closure(requested_marginals(workload, NAMES))


def test_no_set_is_larger_than_the_table():
    assert requested_marginals("3-way", NAMES[:2]) == {(0, 1): 1.0}
    assert compile_workload("auto", NAMES[:2]) == {(0,): WHOLE // 2, (1,): WHOLE // 2, (0, 1): WHOLE}


def test_auto_offers_pairs_and_larger_sets_at_half_the_weight():
    offered = compile_workload("auto", NAMES)
    sets = [part for size in (1, 2, 3, 4) for part in combinations(range(4), size)]
    assert offered == {part: WHOLE if len(part) == 2 else WHOLE // 2 for part in sets}
    assert largest_clique("auto") == 4


def test_a_target_keeps_the_larger_sets_that_hold_it_and_every_pair():
    offered = compile_workload("auto", NAMES, targets=["ward"])
    assert {part for part in offered if len(part) <= 2} == {p for n in (1, 2) for p in combinations(range(4), n)}
    assert all(2 in part for part in offered if len(part) > 2)
    assert {len(part) for part in offered} == {1, 2, 3, 4}


@pytest.mark.parametrize(("columns", "targets", "most"), [(14, 0, 4), (21, 0, 3), (24, 0, 2), (24, 1, 3), (80, 1, 2)])
def test_auto_takes_as_many_columns_together_as_there_is_time_for(columns, targets, most):
    """1,365 sets of 14 columns; 1,330 triples of 21; 2,024 triples of 24, of which 253 hold the target."""
    names = [f"c{i}" for i in range(columns)]
    offered = compile_workload("auto", names, names[:targets])
    assert max(map(len, offered)) == most
    assert sum(len(part) > 2 for part in offered) <= workloads.MOST_LARGER


def test_too_many_sets_are_refused_where_a_workload_asks_for_them():
    names = [f"c{i}" for i in range(60)]
    with pytest.raises(PlanError, match=r"at most 20,000 can be weighed"):
        compile_workload("3-way", names)


SAME = [
    {("sex", "age"): 2, ("ward",): "0.5"},
    {("age", "sex"): 2.0, ("ward",): 0.5},
    [(("sex", "age"), 2), (("ward",), "1/2")],
    [[["sex", "age"], 2], [["ward"], 0.5]],
]


@pytest.mark.parametrize("workload", SAME)
def test_sets_with_weights_can_be_written_in_many_ways(workload):
    assert requested_marginals(workload, NAMES) == {(0, 1): 2.0, (2,): 0.5}
    assert check_workload(check_workload(workload)) == check_workload(workload)


@pytest.mark.parametrize(
    "workload", [[["sex", "age"], ["ward"]], (("age", "sex"), ("ward",)), [("sex", "age"), ["ward"]]]
)
def test_sets_without_weights_count_alike(workload):
    assert requested_marginals(workload, NAMES) == {(0, 1): 1.0, (2,): 1.0}
    assert largest_clique(check_workload(workload)) == 2


BAD = [
    ("5-way", "'5-way' is unknown"),
    (5, "5 is not a list"),
    (None, "None is not a list"),
    ([], "it is empty"),
    (["age", "sex"], "'age' is not a list"),
    ({"age": 1}, "'age' is not a list"),
    ([[]], "an empty set"),
    ([["age", "age"]], "age x age: name 1 to 4 columns, each once"),
    ([["age", "sex", "ward", "dose", "x"]], "name 1 to 4 columns"),
    ({("age", "sex"): 0}, "age x sex: the weight must be above 0"),
    ({("age", "sex"): "x"}, "age x sex: the weight must be a finite number"),
    ({("age", "sex"): float("nan")}, "finite"),
    ({("age",): 1, ("age", "sex"): -1}, "age x sex: the weight"),
    ({("age", "sex"): 1, ("sex", "age"): 3}, "a column set is listed twice"),
    ([3], "3 is not a list"),
]


@pytest.mark.parametrize(("workload", "says"), BAD)
def test_what_is_no_workload_is_refused_by_name(workload, says):
    with pytest.raises(PlanError, match=says) as caught:
        check_workload(workload)
    assert caught.value.next_step


def test_all_missing_columns_are_named_at_once():
    with pytest.raises(PlanError, match="no synthesised column 'income'") as caught:
        requested_marginals([["age", "income"], ["town", "sex"]], NAMES)
    assert len(caught.value.problems) == 2
    assert "age, sex, ward, dose" in caught.value.next_step


sets = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True).map(lambda c: tuple(sorted(c)))


@given(st.dictionaries(sets, st.floats(0.01, 100), min_size=1, max_size=8))
def test_candidates_are_the_subsets_with_the_weights_of_aim(wanted):
    """Weight of r: the sum over wanted sets s of w_s |r and s|, as a whole number, the largest being WHOLE."""
    found = downward_closure(wanted)
    subsets = {part for s in wanted for size in range(1, len(s) + 1) for part in combinations(s, size)}
    assert set(found) == subsets
    raw = {r: sum(weight * len(set(r) & set(s)) for s, weight in wanted.items()) for r in subsets}
    for r, weight in found.items():
        assert isinstance(weight, int) and weight >= 1
        assert weight == pytest.approx(max(1, WHOLE * raw[r] / max(raw.values())), abs=0.51)


def test_too_many_candidates_are_refused(monkeypatch):
    monkeypatch.setattr(workloads, "MOST_CANDIDATES", 5)
    with pytest.raises(PlanError, match=r"6 tables, at most 5 .*\nNext step: use fewer columns, workload='2-way'"):
        downward_closure({(0, 1): 1.0, (1, 2): 1.0, (3,): 1.0})


def test_of_very_many_pairs_some_are_offered_whatever_the_rows_say():
    names = [f"c{i}" for i in range(40)]
    every = compile_workload("2-way", names)
    some = subsample_pairs(every, kept=[(0, 39)], most=100)
    assert some == subsample_pairs(every, kept=[(0, 39)], most=100)
    assert sum(len(clique) == 2 for clique in some) == 100 and (0, 39) in some
    assert sum(len(clique) == 1 for clique in some) == len(names), "single columns stay"
    assert all(some[clique] == every[clique] for clique in some)
    assert subsample_pairs(every) == every


def test_aim_plans_many_columns_and_says_what_it_leaves_out():
    """Pairs with the target and what the workload names stay; of 250 columns not every pair is looked at."""
    facts = "".join(f"[columns.c{i}]\nkind = 'category'\nvalues = ['a', 'b']\n" for i in range(250))
    schema = Schema.parse(f"[table]\nname = 'wide'\n{facts}")
    for workload in ("auto", "2-way"):
        planned = AIM(1, workload=workload, target="c7").planned(schema)
        pairs = {clique for clique in planned.weights if len(clique) == 2}
        assert len(pairs) == workloads.MOST_CANDIDATES
        assert {(min(7, i), max(7, i)) for i in range(250) if i != 7} <= pairs
        assert any("31,125 pairs 20,000 are offered" in note for note in planned.release_plan(100, "secure").notes)


def test_a_round_looks_at_some_of_very_many_tables(monkeypatch):
    monkeypatch.setattr(aim, "ALL_CANDIDATES", 10)
    monkeypatch.setattr(aim, "SOME_CANDIDATES", 5)
    looks = [CoarsenedMarginal(pair) for pair in combinations(range(6), 2)]
    posed = Candidates(Resolutions((2,) * 6), 10.0, {}, dict.fromkeys(looks, 1), 1)
    drawn = [tuple(aim.subsample_candidates(posed, Randomness.of(seed))) for seed in range(30)]
    assert all(len(set(each)) == 5 for each in drawn) and len(set(drawn)) > 20
    assert set().union(*drawn) == set(looks)
