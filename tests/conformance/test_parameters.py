"""Whatever is given as a parameter: a method that can be planned, or one PlanError. Never a bare exception."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

import sfumato
from sfumato import Schema
from sfumato.core.method import published_methods
from sfumato.errors import PlanError, SfumatoError

SCHEMA = Schema.parse("""
[table]
name = "clinic"
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.dose]
kind = "number"
bounds = [0, 10]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.id]
kind = "category"
role = "identifier"
""")

AWKWARD = [
    None,
    True,
    False,
    0,
    -1,
    5,
    1e300,
    1e-300,
    1e-20,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "x",
    "1e-400",
    "nan",
    [10**5000],
    b"x",
    [],
    [[]],
    [1, 2],
    ["age"],
    [["age"]],
    ["age", "dose"],
    [["age", "sex"]] * 2,
    {},
    {"sex": 1},
    {"a": [1]},
    (),
    set(),
    object(),
    [None],
    [["age", None]],
    "age",
    "id",
    ["id"],
    3 + 4j,
    "all",
    "\x00",
    "a" * 5000,
]
METHODS = {**sfumato.methods(), **published_methods()}
FIELDS = [(name, key) for name, info in METHODS.items() for key in info.parameters]


@pytest.mark.parametrize(("name", "key"), FIELDS, ids=lambda part: part)
def test_any_value_makes_a_method_or_a_named_error(name, key):
    example = METHODS[name].cls.example(SCHEMA)
    for value in AWKWARD:
        try:
            method = dataclasses.replace(example, **{key: value})
            assert isinstance(value, dict) or hash(method)
            sfumato.plan(SCHEMA, method, allow_weak=True)
        except SfumatoError as error:
            assert error.next_step
            # the net under all plans catches what no check foresaw: nothing here may fall so far
            assert "cannot be planned with these parameters" not in error.headline, (key, value)


@pytest.mark.parametrize("name", sfumato.methods())
def test_budgets_that_no_noise_can_be_drawn_for_are_refused_where_the_method_is_made(name):
    example = METHODS[name].cls.example(SCHEMA)
    for value in (1e-20, 1e-300, 1e300, 10**400, True, None):
        with pytest.raises(PlanError):
            dataclasses.replace(example, epsilon=value)


@pytest.mark.parametrize("name", sfumato.methods())
def test_the_budget_has_the_same_two_names_everywhere(name):
    """``delta=None`` is the method's own default, and a plan shows what that is."""
    info = METHODS[name]
    assert info.parameters["epsilon"] in ("required", "None")
    assert info.parameters["delta"] == "None"
    plan = sfumato.plan(SCHEMA, dataclasses.replace(info.cls.example(SCHEMA), delta=None))
    assert 0 <= float(Fraction(plan.delta)) <= 1e-5


def test_lists_become_tuples_so_that_methods_can_be_compared():
    made = sfumato.Contingency(columns=[["age", "sex"], ["age"]], epsilon=1, shares=[0.5, 0.5])
    assert made.columns == (("age", "sex"), ("age",))
    assert made == sfumato.Contingency(columns=(("age", "sex"), ("age",)), epsilon=1, shares=(0.5, 0.5))
    assert len({made, made}) == 1


def test_every_problem_of_the_parameters_is_named_at_once():
    with pytest.raises(PlanError) as caught:
        sfumato.Contingency(columns=5, epsilon="much", nonnegative="yes", shares=[None])
    found = "\n".join(caught.value.problems)
    assert "columns must be a list of names or a list of lists of names, found 5" in found
    assert "epsilon must be a finite number, found 'much'" in found
    assert "nonnegative must be true or false, found 'yes'" in found
    assert "shares must be a list of finite numbers, found [None]" in found
