"""Which columns may leave is asked in one place, and everything wrong is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato
from sfumato import Schema
from sfumato.errors import PlanError
from sfumato.schema.column import Column
from sfumato.schema.column_selection import select_columns, selection_problems

SCHEMA = Schema.parse("""
[table]
name = "people"
person = "who"
[columns.who]
kind = "integer"
bounds = [0, 999]
[columns.passport]
kind = "integer"
bounds = [0, 999]
role = "identifier"
[columns.age]
kind = "integer"
bounds = [0, 99]
[columns.sex]
kind = "category"
values = ["f", "m"]
""")


def ordered(column: Column) -> list[str]:
    return [] if column.is_ordered else [f"column {column.name!r} holds levels"]


def test_people_and_identifiers_never_leave():
    assert select_columns(SCHEMA) == ("age", "sex")
    for name in ("who", "passport"):
        assert selection_problems(SCHEMA, [name]) == [f"column {name!r} identifies people and is never released"]
        with pytest.raises(PlanError, match="identifies people"):
            select_columns(SCHEMA, name)


def test_every_problem_at_once_and_each_once():
    found = selection_problems(SCHEMA, ["sex", "shoe", "passport", "sex", "shoe"], ordered)
    assert [problem.split(" (")[0] for problem in found] == [
        "column 'sex' holds levels",
        "table 'people' has no column 'shoe'",
        "column 'passport' identifies people and is never released",
        "columns repeat: sex, shoe",
    ]
    with pytest.raises(PlanError) as caught:
        select_columns(SCHEMA, ["sex", "shoe", "passport"], ordered)
    assert len(caught.value.problems) == 3 and caught.value.next_step


def test_a_method_is_not_asked_about_what_may_not_leave():
    asked: list[str] = []
    selection_problems(SCHEMA, ["who", "age", "shoe"], lambda column: asked.append(column.name) or [])
    assert asked == ["age"]


def test_named_columns_keep_their_order_and_unnamed_ones_must_fit():
    assert select_columns(SCHEMA, ["sex", "age"]) == ("sex", "age")
    assert select_columns(SCHEMA, None, ordered) == ("age",)


def test_the_words_stand_in_one_place():
    source = Path(sfumato.__file__).parent
    words = "identifies people and is never released"
    found = [str(path.relative_to(source)) for path in source.rglob("*.py") if words in path.read_text("utf-8")]
    assert found == ["schema/column_selection.py"]


NAMED = {"columns": ["age", "passport"], "column": "passport"}
BUDGET = {"epsilon": 1, "clusters": 2, "rho": 1, "clip": 1, "rows_at_least": 10}
FIELDS = {name: set(info.parameters) for name, info in sfumato.methods().items()}


@pytest.mark.parametrize("name", [name for name, fields in FIELDS.items() if fields & set(NAMED)])
def test_every_method_that_takes_columns_refuses_identifiers(name):
    given = {key: value for key, value in (NAMED | BUDGET).items() if key in FIELDS[name]}
    with pytest.raises(PlanError) as caught:
        sfumato.plan(SCHEMA, sfumato.methods()[name].cls(**given))
    assert any("identifies people" in problem for problem in caught.value.problems)
