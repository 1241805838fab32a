from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato import Contingency, Histogram, Ledger, Marginals, Schema
from sfumato.arrays import project_counts
from sfumato.entropy import shannon
from sfumato.errors import BudgetExceeded, PlanError
from sfumato.mechanisms.tree_model import fit_tree, iterative_proportional_fitting

TINY = Schema.parse("""
[table]
name = "tiny"
[columns.a]
kind = "category"
values = ["x", "y"]
[columns.b]
kind = "category"
values = [1, 2, 3]
missing = true
""")
FRAME = pd.DataFrame({"a": list("xxyyyx"), "b": pd.array([1, 2, None, 3, 3, 1], dtype="Int64")})
HUGE = 10_000.0
"""At this epsilon the noise is 0 except with probability below 1e-4000: counts must come out exactly."""


def test_one_table_is_a_frame_of_cells():
    data = sfumato.release(
        sfumato.read(FRAME, TINY), Contingency(columns=["a", "b"], epsilon=HUGE), allow_weak=True
    ).data
    assert data["count"].tolist() == [2, 1, 0, 0, 0, 0, 2, 1]
    assert data["a"].tolist() == ["x"] * 4 + ["y"] * 4
    assert [None if pd.isna(v) else int(v) for v in data["b"]] == [1, 2, 3, None] * 2


def test_several_tables_share_epsilon_by_stated_shares():
    method = Contingency(columns=[["a"], ["a", "b"]], epsilon=1.0, shares=[0.25, 0.75])
    made = sfumato.release(sfumato.read(FRAME, TINY), method)
    assert list(made.data) == [("a",), ("a", "b")]
    assert made.data["a"].shape == (2, 2)
    assert made.data["a,b"].equals(made.data["a", "b"])
    assert [stage.epsilon for stage in made.plan.stages] == ["0.25", "0.75"]
    assert [part.scale for part in made.events[0].parts] == pytest.approx([4, 4 / 3])
    assert made.guarantee.exact_epsilon == 1


def test_a_list_with_one_list_is_a_mapping():
    made = sfumato.release(sfumato.read(FRAME, TINY), Contingency(columns=[["a"]], epsilon=1.0))
    assert list(made.data) == [("a",)]


def test_fifty_tenths_fill_a_cap_of_five(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_table("tiny", epsilon=5, adjacency="add-remove")
    table = sfumato.read(FRAME, TINY)
    for _ in range(50):
        sfumato.release(table, Histogram("a", epsilon=0.1), ledger=ledger)
    with pytest.raises(BudgetExceeded):
        sfumato.release(table, Histogram("a", epsilon=0.1), ledger=ledger)
    assert len(ledger.history()) == 50


def test_thirds_add_up_exactly(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_table("tiny", epsilon=1, adjacency="add-remove")
    method = Contingency(columns=[["a"], ["b"], ["a", "b"]], epsilon=Fraction(1, 3))
    for _ in range(3):
        sfumato.release(sfumato.read(FRAME, TINY), method, ledger=ledger)
    assert ledger.account("tiny").left_epsilon == "0"


def test_gaussian_tables_are_jointly_certified():
    method = Contingency(columns=[["a"], ["b"], ["a", "b"]], epsilon=1, delta=1e-6, noise="gaussian")
    made = sfumato.release(sfumato.read(FRAME, TINY), method)
    (event,) = made.events
    assert event.kind == "discrete-gaussian"
    assert made.guarantee.kind == "approximate"
    assert "1e-06" in made.guarantee.statement()
    mus = [1 / part.scale for part in event.parts]
    assert np.sqrt(np.sum(np.square(mus))) == pytest.approx(0.2364, rel=0.01)


def test_a_delta_alone_asks_for_gaussian_noise():
    assert sfumato.plan(TINY, Contingency(["a"], epsilon=1, delta=1e-6)).events[0].kind == "discrete-gaussian"
    assert sfumato.plan(TINY, Contingency(["a"], epsilon=1, delta="0")).events[0].kind == "discrete-laplace"
    assert sfumato.plan(TINY, Histogram("a", epsilon=1)).events[0].kind == "discrete-laplace"


def test_a_person_with_several_rows_gets_more_noise():
    schema = dataclasses.replace(TINY, person="a", rows_per_person=3)
    made = sfumato.plan(schema, Histogram("b", epsilon=1))
    assert made.events[0].parts[0].sensitivity == 3
    assert made.events[0].parts[0].scale == 3
    assert "person" in made.unit
    with pytest.raises(PlanError, match="identifies people"):
        sfumato.plan(schema, Histogram("a", epsilon=1))


def test_clamped_counts_are_never_negative():
    table = sfumato.read(FRAME[:0], TINY)
    raw = [sfumato.release(table, Contingency(["a", "b"], epsilon=0.05)).data["count"].min() for _ in range(5)]
    clamped = sfumato.release(table, Contingency(["a", "b"], epsilon=0.05, nonnegative=True)).data["count"]
    assert min(raw) < 0
    assert clamped.min() >= 0


def test_the_histogram_s_entropy_is_that_of_the_released_counts():
    made = sfumato.release(sfumato.read(FRAME, TINY), Histogram("b", epsilon=0.5))
    assert made.statistics["entropy_bits"] == shannon(np.maximum(made.data["count"], 0))
    assert shannon([]) == shannon([0, 0]) == shannon([7]) == 0.0


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: Contingency(columns=[], epsilon=1), "list of names"),
        (lambda: Contingency(columns=[["a"], "b"], epsilon=1), "list of names"),
        (lambda: Contingency(columns=[["a"], ["a"]], epsilon=1), "twice"),
        (lambda: Contingency(columns=["a"], epsilon=1, delta=0, noise="gaussian"), "delta"),
        (lambda: Contingency(columns=["a"], epsilon=1, delta=1e-6, noise="laplace"), "delta 0"),
        (lambda: Contingency(columns=["a"], epsilon=1, noise="pink"), "pink"),
        (lambda: Contingency(columns=[["a"], ["b"]], epsilon=1, shares=[0.5, 0.6]), "sum to 1"),
        (lambda: Contingency(columns=[["a"], ["b"]], epsilon=1, shares=[1]), "2 shares"),
        (lambda: Marginals(epsilon=1, pairs="some"), "pairs"),
        (lambda: sfumato.plan(TINY, Contingency(columns=["a", "zz"], epsilon=1)), "no column 'zz'"),
        (lambda: sfumato.plan(TINY, Contingency(columns=["a", "a"], epsilon=1)), "repeat"),
        (lambda: sfumato.plan(TINY, Marginals(epsilon=1, pairs=[["a", "zz"]])), "synthesised columns"),
        (lambda: sfumato.plan(TINY, Marginals(epsilon=1), rows=0), "rows must be"),
        (lambda: sfumato.plan(TINY, Histogram("zz", epsilon=1)), "no column 'zz'"),
    ],
)
def test_wrong_parameters_are_refused_by_name(build, word: str):
    with pytest.raises(PlanError, match=word):
        build()


def test_cells_beyond_memory_are_refused_with_the_number(monkeypatch, schema):
    everything = Contingency(columns=list(schema.releasable), epsilon=1)
    with pytest.raises(PlanError, match=r"[\d,]{12,} cells need about"):
        sfumato.plan(schema, everything)
    monkeypatch.setenv("SFUMATO_MEMORY", "1KB")
    with pytest.raises(PlanError, match=r"the limit is 0\.0 GB"):
        sfumato.plan(schema, Histogram("age", epsilon=1))
    monkeypatch.setenv("SFUMATO_MEMORY", "lots")
    with pytest.raises(PlanError, match="SFUMATO_MEMORY"):
        sfumato.plan(schema, Histogram("age", epsilon=1))


def test_rules_that_no_row_can_keep_are_refused_before_spending(tmp_path):
    rules = Schema.parse(TINY.to_toml() + '\n[[rules]]\ncheck = "b > 3"\n[[rules]]\ncheck = "not missing(b)"\n').rules
    schema = dataclasses.replace(TINY, rules=rules)
    ledger = Ledger(tmp_path / "l.db")
    ledger.open_table("tiny", epsilon=5, adjacency="add-remove")
    with pytest.raises(PlanError, match="leave no row"):
        sfumato.release(sfumato.read(FRAME[:0], schema), Marginals(epsilon=1), ledger=ledger)
    assert ledger.history() == ()


def test_synthetic_rows_follow_the_table_at_a_large_epsilon(frame, schema):
    made = sfumato.release(
        sfumato.read(frame, schema),
        Marginals(epsilon=1e6, columns=["age", "status", "hours"]),
        rows=20_000,
        seed=4,
        allow_weak=True,
    )
    true = frame["status"].value_counts(normalize=True)
    synthetic = made.data["status"].value_counts(normalize=True)
    assert (true - synthetic).abs().max() < 0.02
    works = made.data["status"].isin(["employed", "self-employed"])
    assert made.data.loc[works, "hours"].notna().mean() > 0.95
    assert made.data.loc[~works, "hours"].isna().all()


def test_rows_default_to_the_noisy_total_never_the_true_one(frame, schema):
    table, method = sfumato.read(frame, schema), Marginals(epsilon=1, columns=["sex", "age"])
    sizes = {len(sfumato.release(table, method).data) for _ in range(6)}
    assert len(sizes) > 1, "six noisy totals agree with probability below 1e-6"
    replace = dataclasses.replace(schema, adjacency="replace", rows=len(frame))
    assert len(sfumato.release(sfumato.read(frame, replace), method).data) == len(frame)


def test_an_empty_table_can_be_synthesised(schema, frame):
    made = sfumato.release(sfumato.read(frame[:0], schema), Marginals(epsilon=1), rows=50)
    assert len(made.data) == 50


@given(st.lists(st.integers(-50, 500), min_size=1, max_size=40), st.floats(0, 1000))
def test_projection_is_nonnegative_with_the_total(counts: list[int], total: float):
    table = project_counts(np.array(counts), total)
    assert (table >= 0).all()
    assert table.sum() == pytest.approx(total, abs=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_raking_meets_both_margins(seed: int):
    rng = np.random.default_rng(seed)
    rows, columns = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3))
    fitted = iterative_proportional_fitting(rng.random((4, 3)), rows, columns)
    assert np.allclose(fitted.sum(0), columns, atol=1e-6)
    assert np.allclose(fitted.sum(1), rows, atol=1e-3)


def test_the_tree_finds_the_dependence_and_not_the_noise():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 5000)
    b = (a + (rng.random(5000) < 0.1)) % 3
    c = rng.integers(0, 40, 5000)
    counts = {"a": np.bincount(a, minlength=3), "b": np.bincount(b, minlength=3), "c": np.bincount(c, minlength=40)}
    columns = {"a": a, "b": b, "c": c}
    noise = {k: rng.normal(0, 30, (len(counts[k[0]]), len(counts[k[1]]))) for k in (("a", "b"), ("a", "c"), ("b", "c"))}
    pairs = {k: np.histogram2d(columns[k[0]], columns[k[1]], bins=n.shape)[0] + n for k, n in noise.items()}
    model = fit_tree(counts, pairs, dict.fromkeys(pairs, 900.0), 5000)
    assert {(e.parent, e.child) for e in model.edges if e.weight > 0.01} == {("a", "b")}
    drawn = model.draw(20_000, rng)
    agreement = (drawn["a"] == drawn["b"]).mean()
    assert abs(agreement - (a == b).mean()) < 0.03
