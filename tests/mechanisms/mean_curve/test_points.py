"""Curves from points: the public rule, what one unit of privacy can change, and errors about the user's table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import Ledger
from sfumato.errors import PlanError, TableError
from sfumato.mechanisms.mean_curve import MeanCurve
from sfumato.mechanisms.mean_curve.curves_from_points import onto_grid
from sfumato.mechanisms.mean_curve.integer_sums import count_weight, largest_norm
from sfumato.schema import Column, Schema
from sfumato.table.engines import engine

POINTS = 4
GRID = np.arange(1, POINTS + 1) / POINTS
COLUMNS = (
    Column("id", "category", role="identifier"),
    Column("t", "number", bounds=(0.0, 8.0), missing=True),
    Column("v", "number", bounds=(-9.0, 9.0), missing=True),
    Column("who", "category", role="identifier"),
)
PERSON = Schema(name="long", columns=COLUMNS, person="id", rows_per_person=6)
OTHER = replace(PERSON, person="who", rows_per_person=2)
ROWS = replace(PERSON, person=None, rows_per_person=1)
REPLACED = replace(ROWS, adjacency="replace", rows=4)
SPIKES = [(t, v) for t in (1.0, 8.0) for v in (-9.0, 9.0)]
LONG = {"epsilon": 1, "rho": 0.05, "clip": 1, "time": "t", "value": "v", "points": POINTS}


def frame(*rows: tuple) -> pd.DataFrame:
    listed = [(*row, row[0])[:4] if len(row) == 3 else row for row in rows]
    return pd.DataFrame(listed, columns=["id", "t", "v", "who"]).astype({"t": float, "v": float})


def moved(method: MeanCurve, first: Schema, second: Schema, one: pd.DataFrame, two: pd.DataFrame) -> float:
    """How far two neighbouring tables are apart in what gets noise: the sums, and the count where it is private."""
    sums, counts = zip(*(method.total(sfumato.read(f, s)) for f, s in ((one, first), (two, second))), strict=True)
    lattice = method.lattice(method.points or POINTS)
    weight = count_weight(lattice.basis, lattice.rho) if first.adjacency == "add-remove" else 0
    return float(np.hypot(np.linalg.norm((sums[0] - sums[1]).astype(float)), weight * (counts[0] - counts[1])))


def planned(method: MeanCurve, schema: Schema) -> int:
    return method.plan(schema).events[0].parts[0].sensitivity


@given(st.lists(st.tuples(st.integers(0, 16), st.floats(-9, 9)), max_size=7), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_rule_is_that_of_its_words(points, step):
    points = sorted(points)
    places, values = (np.array([p[i] for p in points], float) for i in (0, 1))
    found = onto_grid(
        np.array([0, len(points)]), places / 16, values, GRID, np.full(4, 7.0), "step" if step else "linear"
    )
    if not points:
        assert found.tolist() == [[7.0] * 4]
        return
    distinct = np.unique(places / 16)
    means = np.array([values[places / 16 == place].mean() for place in distinct])
    if step:
        expected = [means[distinct <= g][-1] if (distinct <= g).any() else 7.0 for g in GRID]
    else:
        expected = np.interp(GRID, distinct, means)
    assert found[0] == pytest.approx(np.array(expected), abs=1e-12)


def test_points_come_in_any_order_and_in_batches_of_any_size(monkeypatch):
    rng = np.random.default_rng(1)
    rows = [(f"p{i:02d}", t, rng.normal()) for i in range(40) for t in rng.uniform(0, 8, rng.integers(1, 6))]
    rows += [("p03", None, 1.0), ("p05", 2.0, None), ("p99", 3.0, None)]
    table, method = frame(*rows), MeanCurve(**LONG, kernel="exponential")
    whole = method.total(sfumato.read(table, PERSON))
    shuffled = table.sample(frac=1, random_state=3)
    assert (method.total(sfumato.read(shuffled, PERSON))[0] == whole[0]).all() and whole[1] == 41
    for size in (1, 3, 2048):
        monkeypatch.setattr(engine, "BATCH_ROWS", size)
        sums, curves = method.total(sfumato.read(table, PERSON))
        assert (sums == whole[0]).all() and curves == 41


def test_a_long_table_has_the_mean_of_the_wide_one():
    rng = np.random.default_rng(2)
    paths = rng.normal(0, 0.5, (30, POINTS))
    rows = [(f"p{i}", 8 * g, v) for i, path in enumerate(paths) for g, v in zip(GRID, path, strict=True)]
    wide = Schema(name="wide", columns=tuple(Column(f"c{j}", "number", bounds=(-9.0, 9.0)) for j in range(POINTS)))
    plain = MeanCurve(epsilon=1, rho=0.05, clip=1)
    expected = plain.total(sfumato.read(pd.DataFrame(paths, columns=wide.names), wide))
    found = MeanCurve(**LONG).total(sfumato.read(frame(*rows), PERSON))
    assert (found[0] == expected[0]).all() and found[1] == expected[1] == 30


def test_gaps_in_wide_tables_are_filled_by_the_same_rule():
    columns = tuple(Column(f"c{j}", "number", bounds=(-9.0, 9.0), missing=True) for j in range(3))
    schema = Schema(name="wide", columns=columns)
    gaps = pd.DataFrame([[0.3, None, 0.9], [None, None, None]], columns=schema.names)
    full = pd.DataFrame([[0.3, 0.6, 0.9], [0.2, 0.2, 0.2]], columns=schema.names)
    how = {"epsilon": 1, "rho": 0.05, "clip": 5, "interpolation": "linear", "default": [0.2]}
    found, expected = (MeanCurve(**how).total(sfumato.read(f, schema)) for f in (gaps, full))
    assert (found[0] == expected[0]).all() and found[1] == 2
    with pytest.raises(PlanError, match="may be missing"):
        MeanCurve(epsilon=1, rho=0.05, clip=5).plan(schema)


ONE = {**LONG, "points": 1, "interpolation": "step"}
"""A grid of one point: a curve is its last value, and every bound is attained."""


def test_one_person_moves_the_sum_by_one_curve_at_most():
    """Exact audit over points of a fourth person: within the plan, and reaching it; many points cost no more."""
    method, base = MeanCurve(**ONE), [("a", 2.0, 3.0), ("b", 5.0, -3.0)]
    joined = [frame(*base, *(("c", t, v) for t, v in points)) for points in (SPIKES, SPIKES[::-1], SPIKES[:1], [])]
    found = [moved(method, PERSON, PERSON, frame(*base), table) for table in joined]
    bound = planned(method, PERSON)
    assert bound - 16 < max(found) <= bound < planned(replace(method, curve="id"), OTHER)
    assert max(found) > largest_norm(1) and bound == planned(method, replace(PERSON, rows_per_person=1))


def test_k_rows_of_a_person_touch_k_curves():
    """Exact audit: removing a person turns two curves over; mutants with one curve, or with U for each, are caught."""
    method = replace(MeanCurve(**ONE), curve="id")
    kept = [("a", 0.0, 9.0, "p"), ("b", 0.0, 9.0, "q")]
    mine = [("a", 1.0, -9.0, "z"), ("b", 1.0, -9.0, "z")]
    found = moved(method, OTHER, OTHER, frame(*kept), frame(*kept, *mine))
    bound, single = planned(method, OTHER), planned(method, ROWS)
    assert bound == 2 * single == 4 * largest_norm(1) and bound - 16 < found <= bound
    turned = moved(method, ROWS, ROWS, frame(*kept), frame(*kept, mine[0]))
    assert largest_norm(1) < single - 16 < turned <= single


def test_replacing_a_row_changes_two_curves():
    """Exact audit: one row leaves one curve and joins another; a mutant with 2 U is caught."""
    method = replace(MeanCurve(**ONE), curve="id", people=3, default=[9])
    always, bound = [("a", 0.0, -9.0), ("b", 0.0, 9.0), ("c", 0.0, 0.0)], planned(method, REPLACED)
    one, two = frame(*always, ("b", 1.0, -9.0)), frame(*always, ("a", 1.0, 9.0))
    assert bound - 16 < moved(method, REPLACED, REPLACED, one, two) <= bound == 4 * largest_norm(1)
    emptied = frame(*always[1:], ("b", 0.0, 9.0), ("d", 0.0, -9.0))
    stays = frame(*always[1:], ("b", 0.0, 9.0), ("b", 0.0, 9.0))
    assert 2 * largest_norm(1) - 16 < moved(method, REPLACED, REPLACED, emptied, stays) <= 2 * largest_norm(1)


def test_people_without_points_have_the_default_curve():
    method = replace(MeanCurve(**LONG), curve="id", people=4, default=[0.1, 0.2, 0.3, 0.4], clip=9)
    alone = frame(("a", 4.0, 0.5), ("a", 4.0, 0.5), ("a", 4.0, 0.5), ("a", 4.0, 0.5))
    lattice = method.lattice(POINTS)
    expected = lattice.quantise(np.array([[0.5] * 4]))[0] + 3 * lattice.quantise(np.array([[0.1, 0.2, 0.3, 0.4]]))[0]
    sums, people = method.total(sfumato.read(alone, REPLACED))
    assert (sums == expected).all() and people == 4


def test_a_release_is_recorded_and_says_whom_it_protects(tmp_path):
    schema, book = replace(PERSON, rows_per_person=3), Ledger(tmp_path / "l.db")
    book.open_table("long", epsilon=5, delta="1e-5")
    rows = [(f"p{i}", t, 1.0) for i in range(200) for t in (1.0, 5.0)]
    made = sfumato.release(sfumato.read(frame(*rows), schema), MeanCurve(**{**LONG, "rho": 0.3}), ledger=book)
    assert "one person" in made.guarantee.statement() and len(made.data) == POINTS
    assert abs(made.statistics["noisy_rows"] - 200) < 6 * made.statistics["noisy_rows_sd"]
    assert made.statistics["grid_error_per_kernel_norm"] > 0 and book.account("long").left_epsilon == "4"


def test_wrong_questions_are_refused_before_anything_is_spent():
    with pytest.raises(PlanError, match="both time and value"):
        MeanCurve(epsilon=1, rho=0.1, clip=1, time="t")
    with pytest.raises(PlanError, match="interpolation 'cubic' is unknown"):
        MeanCurve(epsilon=1, rho=0.1, clip=1, interpolation="cubic")
    with pytest.raises(PlanError, match="either points"):
        MeanCurve(epsilon=1, rho=0.1, clip=1, time="t", value="v")
    with pytest.raises(PlanError, match="people is for long tables"):
        MeanCurve(epsilon=1, rho=0.1, clip=1, people=3)
    with pytest.raises(PlanError, match="default is for gaps"):
        MeanCurve(epsilon=1, rho=0.1, clip=1, default=[3])
    with pytest.raises(PlanError, match="tells curves apart"):
        MeanCurve(**LONG).plan(ROWS)
    with pytest.raises(PlanError, match="public number of curves"):
        replace(MeanCurve(**LONG), curve="id").plan(REPLACED)
    with pytest.raises(PlanError, match="released with noise"):
        replace(MeanCurve(**LONG), people=3).plan(PERSON)
    with pytest.raises(PlanError) as caught:
        replace(MeanCurve(**LONG), curve="x", value="id", default=[1, 2]).plan(ROWS)
    assert len(caught.value.problems) == 3
    many = frame(*((f"p{i}", 1.0, 1.0) for i in range(4)))
    with pytest.raises(TableError, match="4 curves apart, and people says 3"):
        sfumato.release(sfumato.read(many, REPLACED), replace(MeanCurve(**LONG), curve="id", people=3), ledger=False)
