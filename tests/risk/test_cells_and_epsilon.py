"""Cells of real tables, classical companions, the Dirichlet fit, and epsilon chosen by risk."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sfumato
from sfumato.errors import RiskError
from sfumato.risk.homogeneity import (
    Cells,
    Geometric,
    Laplace,
    attack,
    companions,
    epsilon_for,
    fit_dirichlet,
    local,
    plurality,
    soft,
    weighted_mean,
)
from sfumato.risk.homogeneity.epsilon_search import MOST_EVALUATIONS


def category_schema(frame: pd.DataFrame, sensitive: str) -> sfumato.Schema:
    from sfumato.schema.column import Column

    columns = [
        Column(
            name,
            "category",
            values=tuple(sorted(frame[name].astype(str).unique())),
            role="sensitive" if name == sensitive else "quasi-identifier",
        )
        for name in frame.columns
    ]
    return sfumato.Schema(name="t", columns=tuple(columns))


@pytest.fixture(scope="module")
def adult(shared_data) -> Cells:
    frame = pd.read_csv(shared_data / "adult_dr_ha.csv.gz", dtype=str)
    return Cells.of(sfumato.read(frame, category_schema(frame, "income")))


@pytest.fixture(scope="module")
def bankruptcy(shared_data) -> tuple[Cells, Cells]:
    frame = pd.read_csv(shared_data / "qualitative_bankruptcy.csv", dtype=str)
    full = Cells.of(sfumato.read(frame, category_schema(frame, "class")))
    five = [c for c in frame.columns if c not in ("class", "financial_flexibility")]
    subset = Cells.of(sfumato.read(frame, category_schema(frame, "class")), five, "financial_flexibility")
    return full, subset


def test_real_counts_reproduce(adult, bankruptcy):
    assert len(adult.counts) == 5009
    assert int(adult.homogeneous.sum()) == 4044
    assert int((adult.counts > 0).sum()) == 5974
    assert int(adult.sizes[adult.homogeneous].sum()) == 11112
    assert int(adult.sizes.max()) == 308
    full, subset = bankruptcy
    assert len(full.counts) == 103
    assert bool(full.homogeneous.all())
    assert (len(subset.counts), int(subset.homogeneous.sum())) == (78, 54)
    assert int(subset.sizes[subset.homogeneous].sum()) == 142


EPSILONS = [
    ("laplace", "conservative", 0.220171),
    ("geometric", "conservative", 0.210473),
    ("laplace", "record", 0.344542),
]


@pytest.mark.parametrize(("mechanism", "view", "answer"), EPSILONS)
def test_epsilon_for_adult(adult, mechanism, view, answer):
    choice = epsilon_for(0.35, adult, mechanism, view)
    assert choice.epsilon == pytest.approx(answer, abs=1e-5)
    assert len(choice.intervals) == 1


def test_epsilon_for_bankruptcy(bankruptcy):
    full, subset = bankruptcy
    assert epsilon_for(0.35, subset, "laplace", "conservative").epsilon == pytest.approx(1.116776, abs=1e-5)
    assert epsilon_for(0.35, subset, "geometric", "conservative").epsilon == pytest.approx(0.907148, abs=1e-5)
    assert epsilon_for(0.35, full, "laplace", "conservative").epsilon == pytest.approx(0.196203, abs=1e-5)


def test_two_intervals_come_out_as_two(adult):
    table = np.array([[30, 1]] * 9 + [[5, 0]])
    (first, second) = epsilon_for(0.35, table, "laplace", "record").intervals
    assert first == pytest.approx((0, 0.0221045), abs=1e-6)
    assert second[0] == pytest.approx(0.860466, abs=1e-5)
    assert second[1] == math.inf
    only = epsilon_for(0.35, table, "laplace", "conservative")
    assert only.safe is None
    assert only.intervals[0][0] == pytest.approx(0.935939, abs=1e-5)
    assert "even pure noise gives" in only.statement()
    (low, high) = epsilon_for(0.268, adult, "laplace", "record", "record").intervals
    assert low[1] == pytest.approx(0.0076755, abs=1e-6)
    assert high == pytest.approx((0.0959338, 0.249022), abs=1e-5)


@pytest.mark.parametrize("target", [0.25, 0.5, 0.75])
def test_a_target_on_an_asymptote_is_decided_quickly(target):
    for table in ([[3, 0], [2, 0]], [[3, 1]], [[5, 5], [1, 0]]):
        choice = epsilon_for(target, table, "geometric", "record")
        assert choice.evaluations < 20_000
        for low, high in choice.intervals:
            inside = Geometric(min(max(low, 1e-4) * 1.01, high, 100.0))
            assert local(table, inside, "record").mean() <= target


def test_infeasible_targets_say_the_floor():
    choice = epsilon_for(0.1, [[3, 0], [2, 0]], "geometric", "record")
    assert choice.intervals == ()
    assert choice.floor == pytest.approx(0.25, abs=1e-6)
    assert "cannot be met" in choice.statement()
    assert "0.25" in choice.statement()


@settings(max_examples=25)
@given(
    counts=hnp.arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(2, 4)), elements=st.integers(0, 15)),
    target=st.floats(0.05, 0.95),
    view=st.sampled_from(["conservative", "record"]),
    weights=st.sampled_from(["cell", "record"]),
)
def test_intervals_are_certified(counts, target, view, weights):
    """On a fine grid every epsilon inside an interval keeps the target and every one outside misses it."""
    if counts.sum() == 0:
        return
    choice = epsilon_for(target, counts, "geometric", view, weights)
    for epsilon in np.geomspace(1e-5, 1e3, 150):
        risk = weighted_mean(local(counts, Geometric(float(epsilon)), view), counts, weights)
        inside = any(low <= epsilon <= high for low, high in choice.intervals)
        if abs(risk - target) > 1e-5 and choice.evaluations < MOST_EVALUATIONS:
            assert inside == (risk < target)
        if inside:
            assert risk <= target


@pytest.mark.parametrize("target", [0, 1, -0.1, 1.5, math.nan])
def test_targets_outside_zero_and_one_are_refused(target):
    with pytest.raises(RiskError, match="between 0 and 1"):
        epsilon_for(target, [[1, 0]])


TABLE = [  # epsilon: Adult cells: conservative, record, hard, soft; by record: hard, soft
    (0.1, 0.325, 0.291, 0.456, 0.451, 0.648, 0.609),
    (1, 0.514, 0.501, 0.718, 0.696, 0.797, 0.744),
    (5, 0.799, 0.799, 0.936, 0.921, 0.846, 0.798),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"epsilon {row[0]}")
def test_adult_under_geometric_noise(adult, row):
    noise = Geometric(row[0])
    hard, proportional = plurality(adult, noise), soft(adult, noise)
    measured = [
        local(adult, noise).mean(),
        local(adult, noise, "record").mean(),
        hard.cell_average,
        proportional.cell_average,
        hard.record_average,
        proportional.record_average,
    ]
    assert measured == pytest.approx(list(row[1:]), abs=6e-4)
    assert hard.baseline == pytest.approx(0.7457, abs=6e-5)


def test_adult_companions(adult, bankruptcy):
    found = companions(adult)
    assert (found.k_anonymity, found.distinct_l, found.entropy_l) == (1, 1, 1.0)
    assert found.t_closeness == pytest.approx(0.7457, abs=6e-5)
    assert found.homogeneous_cells == pytest.approx(0.8073, abs=6e-5)
    assert companions(bankruptcy[1]).t_closeness == pytest.approx(0.772, abs=6e-4)


def test_companions_by_hand():
    frame = pd.DataFrame({"q": list("aaaabbbb"), "s": list("xxyyxxxz")})
    found = companions(sfumato.read(frame, category_schema(frame, "s")))
    assert (found.cells, found.records, found.k_anonymity, found.distinct_l) == (2, 8, 4, 2)
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert found.entropy_l == pytest.approx(math.exp(entropy))
    assert found.t_closeness == pytest.approx(0.25)
    assert found.t_closeness_ordered == pytest.approx((0.125 + 0.125) / 2)
    assert found.homogeneous_cells == 0.0


def test_a_synthetic_table_can_be_attacked(frame, schema):
    table = sfumato.read(frame, schema)
    cells = Cells.of(table, ["region", "sex"], "status")
    assert cells.sizes.sum() == len(frame)
    assert cells.label(0).keys() == {"region", "sex"}
    released = sfumato.release(table, sfumato.Marginals(epsilon=1), rows=600).data
    again = Cells.of(sfumato.read(released, schema), ["region", "sex"], "status")
    result = attack(cells, cells.aligned(again))
    assert 0 <= result.record.low <= result.record.rate <= result.record.high <= 1
    assert attack(cells, cells.aligned(cells)).record.rate == pytest.approx(cells.homogeneous.mean())


def test_identifiers_follow_the_schema_s_roles(frame, schema):
    cells = Cells.of(sfumato.read(frame, schema))
    assert cells.identifiers == ("region", "age", "sex", "education")
    assert cells.sensitive == ("income",)
    assert cells.counts.shape[1] == schema["income"].size


@pytest.mark.parametrize(
    ("identifiers", "sensitive", "word"),
    [
        (["region", "moon"], "status", "no column 'moon'"),
        (["region", "status"], "status", "both identifier"),
        ([], "status", "no identifiers"),
        (["region", "region"], "status", "twice"),
    ],
)
def test_wrong_cells_are_refused_by_name(frame, schema, identifiers, sensitive, word):
    with pytest.raises(RiskError, match=word):
        Cells.of(sfumato.read(frame, schema), identifiers, sensitive)


def test_dirichlet_fits_real_cells(adult, bankruptcy):
    fitted = fit_dirichlet(adult)
    assert fitted.alpha == pytest.approx([1.352, 0.337], abs=6e-4)
    assert fitted.iterations <= 15
    assert fit_dirichlet(adult, "moments").alpha == pytest.approx([3.69, 1.26], abs=6e-3)
    assert sorted(fit_dirichlet(bankruptcy[1]).alpha) == pytest.approx([0.2064, 0.2279, 0.2303], abs=6e-5)


@pytest.mark.parametrize(
    ("alpha", "low", "high"),
    [((1, 2), 2.56, 3.45), ((0.3, 0.3, 0.4), 0.93, 1.10), ((2, 3, 5), 9.18, 10.85)],
)
def test_dirichlet_recovers_the_truth_on_average(alpha, low, high):
    """The mean over 20 tables of 1000 cells lies inside the 5 to 95 % range of single fits."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(20):
        sizes = rng.poisson(4.6 if sum(alpha) < 10 else 20, 1100)
        counts = np.array([rng.multinomial(n, rng.dirichlet(alpha)) for n in sizes[sizes > 0][:1000]])
        found.append(fit_dirichlet(counts).concentration)
    assert low < np.mean(found) < high


def test_dirichlet_boundaries_are_reported():
    assert fit_dirichlet([[3, 0], [0, 2], [5, 0]]).boundary == "homogeneous"
    assert fit_dirichlet([[1, 0], [0, 1]]).boundary == "singletons"
    assert fit_dirichlet([[50, 50], [500, 500]], "moments").boundary == "common"
    assert fit_dirichlet([[50, 50], [500, 500]]).concentration > 1e3
    assert fit_dirichlet([[2, 1, 0], [1, 2, 0]]).alpha[2] <= 1e-8
    for bad in ([[0, 0]], [[1], [2]]):
        with pytest.raises(RiskError):
            fit_dirichlet(bad)
    with pytest.raises(RiskError, match="unknown method"):
        fit_dirichlet([[2, 1], [1, 2]], "guess")


def test_laplace_and_geometric_agree_for_large_cells():
    table = [[40, 12], [33, 7]]
    assert local(table, Laplace(0.3)) == pytest.approx(local(table, Geometric(0.3)), rel=0.2)
