"""Rows are drawn again where that helps and mended where it does not; what is fixed stays fixed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np
import pytest

from sfumato import Schema
from sfumato.constraints import draw_rows as drawing
from sfumato.constraints.clauses import keeps_rules
from sfumato.constraints.contradictions import refuse_contradictions
from sfumato.constraints.draw_rows import (
    redraw_targets_in_place,
    repair_statistics,
    rows_from_public_domain,
    rule_notes,
    sample_rows,
    sample_values,
    shuffle_rows,
)
from sfumato.constraints.repair import repair
from sfumato.sampling.values import (
    Codes,
    RowIndices,
    Values,
    distinct_rows,
    draw_values,
    overwrite_rows,
    row_count,
    rows_at,
)
from sfumato.schema.column import Column
from sfumato.schema.rules import Rule

COLUMNS = (
    Column("a", "integer", bounds=(0, 999)),
    Column("b", "number", bounds=(0, 1000)),
    Column("k", "category", values=("x", "y", "z"), missing=True),
)


def make(*checks: str) -> Schema:
    return Schema("t", COLUMNS, rules=tuple(Rule(check) for check in checks))


def drawer(schema: Schema, generator: np.random.Generator, sizes: list[int]) -> Callable[[int], Codes]:
    """Return even draws from the public domain that remember how many rows were asked for."""

    def codes(rows: int) -> Codes:
        sizes.append(rows)
        return {column.name: generator.integers(0, column.size, rows) for column in schema}

    return codes


def sampled(schema: Schema, rows: int = 400, seed: int = 1) -> tuple[drawing.DrawnRows, list[int]]:
    generator, sizes = np.random.default_rng(seed), list[int]()
    return sample_rows(schema, drawer(schema, generator, sizes), rows, generator), sizes


def test_without_rules_rows_are_drawn_once():
    made, sizes = sampled(make())
    assert sizes == [400]
    assert made.statistics == {
        "rows_redrawn_for_rules": 0,
        "rows_repaired_for_rules": {},
        "rows_replaced_for_rules": 0,
    }
    assert not [note for note in made.notes if "were mended" not in note], "neither copies nor few different rows"


def test_rows_are_drawn_again_while_that_helps():
    """Half of the rows keep the rule: the others are drawn until they do, and none is mended."""
    schema = make("b < 500")
    made, sizes = sampled(schema)
    assert keeps_rules(schema, made.values).all()
    assert sizes[:2] == [400, made.redrawn]
    assert 3 < len(sizes) < 30
    assert made.repaired == {"b < 500": 0}


def test_an_equation_is_mended_after_one_more_draw():
    schema = make("a + 1 == b")
    made, sizes = sampled(schema)
    assert sizes == [400, 400]
    assert keeps_rules(schema, made.values).all()
    assert made.repaired == {"a + 1 == b": 400}
    assert made.replaced == 0
    assert distinct_rows(schema, made.values) > 350


def test_rows_that_keep_the_rules_have_the_law_of_the_draw():
    """Rows accepted from even draws are even where the rule leaves room: five standard errors of a mean."""
    schema = make("a <= 499")
    made, _ = sampled(schema, rows=20_000)
    assert made.repaired == {"a <= 499": 0}
    assert abs(made.values["a"][0].mean() - 249.5) < 5 * np.sqrt(500**2 / 12 / 20_000)


def test_no_row_at_all_is_no_trouble():
    made, _ = sampled(make("a + 1 == b"), rows=0)
    assert row_count(made.values) == 0


def test_the_number_of_rounds_has_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drawing, "LEAST_HELP", 0.0)
    _, sizes = sampled(make("a + 1 == b"))
    assert len(sizes) == 1 + drawing.REDRAWS


def test_public_rows_keep_the_rules():
    schema = make("a + 1 == b", 'a > 500 implies k == "x"')
    rows = rows_from_public_domain(schema, schema.names, np.random.default_rng(4))
    assert row_count(rows) == drawing.PUBLIC_ROWS
    assert keeps_rules(schema, rows).all()


def test_several_tables_are_added_up():
    one, _ = sampled(make("a + 1 == b"))
    two, _ = sampled(make("a + 1 == b"), rows=100, seed=2)
    assert repair_statistics([one, two])["rows_repaired_for_rules"] == {"a + 1 == b": 500}
    assert [note.split(" rows ")[0] for note in rule_notes([one, two])] == ["400 of 400", "100 of 100"]


def in_place(schema: Schema, fixed: tuple[str, ...], rows: int = 300) -> tuple[drawing.DrawnRows, Values]:
    """Complete fixed columns with even draws of the others."""
    generator = np.random.default_rng(7)
    known = {c.name: draw_values(c, generator.integers(0, c.size, rows), generator) for c in schema}

    def complete(places: RowIndices) -> Values:
        free = [c for c in schema if c.name not in fixed]
        fresh = {c.name: draw_values(c, generator.integers(0, c.size, len(places)), generator) for c in free}
        return rows_at({name: known[name] for name in fixed}, places) | fresh

    return redraw_targets_in_place(schema, complete, rows, generator, fixed), known


def sorted_rows(values: Values, names: tuple[str, ...]) -> list[tuple[object, ...]]:
    return sorted(zip(*(values[name][0].tolist() for name in names), strict=True))


@pytest.mark.parametrize("check", ["a + 1 == b", "b == a + 1", "b - a <= 2 and a <= b"])
def test_targets_are_mended_around_fixed_predictors(check: str):
    schema = make(check)
    made, known = in_place(schema, ("a",))
    assert keeps_rules(schema, made.values).all()
    assert made.left_out == 0
    assert sorted_rows(made.values, ("a",)) == sorted_rows(known, ("a",))
    assert len(np.unique(made.values["b"][0])) >= len(np.unique(known["a"][0])) > 200


def test_rows_whose_predictors_forbid_every_target_are_left_out():
    schema = make("a < 300", "a + 1 == b")
    made, known = in_place(schema, ("a",))
    kept = known["a"][0] < 300
    assert made.left_out == int((~kept).sum()) > 0
    assert sorted_rows(made.values, ("a",)) == sorted_rows(rows_at(known, np.flatnonzero(kept)), ("a",))
    assert keeps_rules(schema, made.values).all()
    assert made.statistics["rows_left_out_for_rules"] == made.left_out
    assert "rows_replaced_for_rules" not in made.statistics


def test_where_everything_is_fixed_broken_rows_are_left_out():
    schema = make("a < b")
    made, known = in_place(schema, ("a", "b", "k"))
    assert made.left_out == int((known["a"][0] >= known["b"][0]).sum()) > 0


def test_a_repair_that_forgets_what_is_fixed_is_caught(monkeypatch: pytest.MonkeyPatch):
    """The mutant mends rows as if predictors were free, and changes what is released as it is."""
    from sfumato.constraints import draw_rows

    monkeypatch.setattr(draw_rows, "repair", lambda schema, values, generator, fixed: repair(schema, values, generator))
    made, known = in_place(make("a < 300", "a + 1 == b"), ("a",))
    assert sorted_rows(made.values, ("a",)) != sorted_rows(known, ("a",))


def test_what_a_paper_printed_is_left_out_and_never_mended():
    schema = make("a < b")
    values = {"a": np.array([1.0, 5.0, 7.0]), "b": np.array([2.0, 3.0, 9.0])}
    table, broken = shuffle_rows(schema, values, np.random.default_rng(1))
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == [(1, 2.0), (7, 9.0)]
    assert broken == 1


def test_the_algebra_of_values():
    values = {
        "a": (np.arange(5), np.zeros(5, dtype=bool)),
        "k": (np.array(list("xyxyx"), dtype=object), np.arange(5) > 3),
    }
    chosen = rows_at(values, np.array([4, 0]))
    assert chosen["a"][0].tolist() == [4, 0]
    assert chosen["k"][1].tolist() == [True, False]
    overwrite_rows(values, np.array([0, 1]), {"a": (np.array([8, 9]), np.array([False, True]))})
    assert values["a"][0].tolist() == [8, 9, 2, 3, 4]
    assert values["a"][1].tolist() == [False, True, False, False, False]
    assert values["k"][0].tolist() == list("xyxyx")
    assert row_count(values) == 5


def test_rows_with_missing_values_are_compared_by_what_is_there():
    """What stands under a mask means nothing, so two missing values are alike."""
    schema = make()
    levels = np.array(["x", "y", "x", "x"], dtype=object)
    values: Values = {
        "a": (np.array([1, 1, 1, 2]), np.zeros(4, dtype=bool)),
        "k": (levels, np.array([True, True, False, False])),
    }
    assert distinct_rows(schema, values) == 3


def test_a_draw_is_not_asked_for_rows_that_are_good():
    schema, asked = make("a < 900"), list[int]()
    generator = np.random.default_rng(3)

    def draws(rows: int) -> Values:
        asked.append(rows)
        return {c.name: draw_values(c, generator.integers(0, c.size, rows), generator) for c in schema}

    made = sample_values(schema, draws, 1000, generator)
    assert asked[0] == 1000
    assert asked[1] == made.redrawn < 200


OTHERS = (
    Column("start", "date", bounds=(dt.date(2000, 1, 1), dt.date(2009, 12, 31))),
    Column("end", "date", bounds=(dt.date(2000, 1, 1), dt.date(2009, 12, 31)), missing=True),
    Column("school", "ordinal", values=(1, 2, 3, 4), missing=True),
    Column("zip", "category", values=tuple(f"z{i}" for i in range(60))),
    Column("town", "category", values=tuple(f"t{i}" for i in range(20))),
    Column("hours", "integer", bounds=(0, 168)),
    Column("pay", "number", bounds=(0, 5000), missing=True),
)


@pytest.mark.parametrize(
    "checks",
    [
        ["start + 30 == end"],
        ["start <= end", "end - start <= 3"],
        ["missing(end) or end == start"],
        ["hours == 0 implies missing(pay)", "hours > 0 implies pay == 20 * hours"],
        ["school >= 3 implies hours == 40", "not missing(school)"],
        [f'zip == "z{i}" implies town == "t{i % 20}"' for i in range(60)],
        ["pay * pay == hours"],
    ],
    ids=["dates", "close dates", "missing or equal", "missing pay", "ordinals", "dependency", "squares"],
)
def test_rules_of_every_kind_are_kept_without_copies(checks: list[str]):
    schema = Schema("t", OTHERS, rules=tuple(Rule(check) for check in checks))
    refuse_contradictions(schema, schema.names)
    made, _ = sampled(schema)
    assert keeps_rules(schema, made.values).all()
    assert distinct_rows(schema, made.values) >= 390
    assert not [note for note in made.notes if "were mended" not in note], "neither copies nor few different rows"
    for column in schema:
        data, missing = made.values[column.name]
        assert column.missing or not missing.any()
        if column.is_ordered:
            low, high = column.numeric_bounds
            assert np.all((data[~missing] >= low) & (data[~missing] <= high))
