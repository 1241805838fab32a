"""Risk curves: printed goldens on real tables, limits, adjacency, utility against brute force, words."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sfumato
from report.reading import words_of
from sfumato.errors import RiskError
from sfumato.privacy.accounting.gaussian_calibration import gaussian_sigma
from sfumato.privacy.exact import at_least
from sfumato.privacy.noise_distributions import DiscreteGaussian, Gaussian, Geometric, Laplace
from sfumato.report.risk_pages import homogeneity_page
from sfumato.report.texts.homogeneity_answers import epsilon_answer, epsilon_choice_caution, percent, risk_answer
from sfumato.risk.homogeneity.cell_risk import local
from sfumato.risk.homogeneity.cells import Cells, weighted_mean
from sfumato.risk.homogeneity.curves import curves, epsilon_grid
from sfumato.risk.homogeneity.epsilon_search import Mechanism
from sfumato.risk.homogeneity.guessing import guessing_averages, plurality
from sfumato.risk.homogeneity.marginal_tvd import MOST_CELLS, _Noise, _TabulatedNoise, marginal_distances
from sfumato.risk.homogeneity.results import RiskCurves
from sfumato.schema import Schema

ALPHA = 1e-6


def category_schema(frame: pd.DataFrame, sensitive: str, identifiers: list[str], extra: str = "") -> Schema:
    text = f'[table]\nname = "t"\n{extra}\n'
    for name in (*identifiers, sensitive):
        values = sorted(frame[name].unique().tolist())
        role = "sensitive" if name == sensitive else "quasi-identifier"
        text += f'[columns.{name}]\nkind = "category"\nvalues = {values!r}\nrole = "{role}"\n'
    return Schema.parse(text)


def cells_of(counts, extra: str = "", room: int = 0) -> Cells:
    """One identifier; ``room`` more values of it that nobody has."""
    array = np.asarray(counts)
    places = [f"p{i:06}" for i in range(len(array) + room)]
    values = [f"v{k}" for k in range(array.shape[1])]
    text = f'[table]\nname = "t"\n{extra}\n[columns.place]\nkind = "category"\nvalues = {places!r}\n'
    text += f'[columns.value]\nkind = "category"\nvalues = {values!r}\n'
    keys = np.arange(len(array))[:, None]
    return Cells(Schema.parse(text), ("place",), ("value",), keys, array)


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> Cells:
    frame = pd.read_csv(shared_data / "adult_dr_ha.csv.gz")
    return Cells.of(sfumato.read(frame, category_schema(frame, "income", list(frame.columns[:-1]))))


@pytest.fixture(scope="module")
def bankruptcy(shared_data: Path) -> Cells:
    frame = pd.read_csv(shared_data / "qualitative_bankruptcy.csv")
    names = [name for name in frame.columns if name not in ("financial_flexibility", "class")]
    return Cells.of(sfumato.read(frame, category_schema(frame, "financial_flexibility", names)))


def test_adult_reproduces_the_exact_laplace_curves(adult):
    found = curves(adult, [0.01, 0.1, 1, 5, 10], utility=False, mechanism="laplace", target=0.35)
    assert (found.cells, found.records, found.values, found.domain) == (5009, 27504, 2, 288_000)
    printed = {
        0.01: (0.3022, 0.2567, 0.2696),
        0.1: (0.3246, 0.2903, 0.2679),
        1: (0.4820, 0.4677, 0.2961),
        5: (0.7588, 0.7569, 0.3879),
        10: (0.8033, 0.8031, 0.4027),
    }
    for point in found.points:
        shown = (point.conservative.cell, point.record.cell, point.record.record)
        assert shown == pytest.approx(printed[point.epsilon], abs=5.1e-5)
    assert found.choice is not None and found.choice.safe is not None
    assert found.choice.safe[1] == pytest.approx(0.344542, abs=1e-5)
    assert found.reference.epsilon == found.choice.safe[1]
    assert found.reference.record.cell <= 0.35
    ppv = curves(adult, [1e-4, 0.1, 1, 5], utility=False, mechanism="laplace").points
    assert [round(point.ppv.cell, 2) for point in ppv] == [0.50, 0.59, 0.87, 1.00]


def test_adult_reproduces_the_guessing_attackers_and_companions(adult):
    found = curves(adult, [0.01, 0.1, 1, 5], utility=False)
    printed = [
        (0.388, 0.387, 0.458, 0.453),
        (0.456, 0.451, 0.648, 0.609),
        (0.718, 0.696, 0.797, 0.744),
        (0.936, 0.921, 0.846, 0.798),
    ]
    shown = [(g.plurality.cell, g.soft.cell, g.plurality.record, g.soft.record) for g in found.guesses]
    assert np.array(shown) == pytest.approx(np.array(printed), abs=6e-4)
    assert found.guessed_cells == found.distinct_cells == 310
    assert found.baseline == pytest.approx(0.7457, abs=5e-5)
    assert found.limits["plurality"].ceiling.record == pytest.approx(0.8468, abs=5e-5)
    assert found.limits["soft"].ceiling.cell == pytest.approx(0.9269, abs=5e-5)
    assert found.limits["conservative"].floor.cell == pytest.approx(0.2982, abs=5e-5)
    assert found.limits["record"].ceiling.cell == pytest.approx(0.8073, abs=5e-5)
    assert found.companions["t_closeness"] == pytest.approx(0.7457, abs=5e-5)
    worst = found.worst[0]
    assert len(found.worst) == 10
    assert worst.identifiers["age"] == "21-25" and (worst.people, worst.value, worst.share) == (166, "<=50K", 1.0)


def test_bankruptcy_reproduces_the_distances_of_the_marginals(bankruptcy):
    """40 draws were printed and we take 8: the tolerance covers the noise of both."""
    found = marginal_distances(bankruptcy, [0.1, 1, 10], Mechanism("laplace"))
    assert (found.draws, found.sets, found.all_sets) == (8, {1: 6, 2: 15, 3: 20}, {1: 6, 2: 15, 3: 20})
    cross = {(d.order, d.epsilon): d.mean for d in found.points if d.way == "cross"}
    printed = {0.1: (0.099, 0.205, 0.346), 1: (0.061, 0.133, 0.226), 10: (0.004, 0.007, 0.009)}
    for epsilon, values in printed.items():
        assert [cross[order, epsilon] for order in (1, 2, 3)] == pytest.approx(values, abs=0.012)
    assert curves(bankruptcy, [1, 2], utility=False, target=0.35, view="conservative").choice.safe[1] == pytest.approx(
        0.907148, abs=1e-5
    )


tables = arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=st.integers(0, 12)).filter(
    lambda counts: (counts.sum(axis=1) > 0).all()
)


@settings(max_examples=25)
@given(tables, st.floats(0.05, 8), st.sampled_from(["geometric", "laplace"]))
def test_the_points_are_the_averages_of_the_local_risk(counts, epsilon, mechanism):
    point = curves(cells_of(counts), [epsilon, 2 * epsilon], utility=False, mechanism=mechanism).points[0]
    law = {"geometric": Geometric, "laplace": Laplace}[mechanism](epsilon)
    for view in ("conservative", "record", "any"):
        for weights in ("cell", "record"):
            expected = weighted_mean(local(counts, law, view), counts, weights)
            assert getattr(point, view).by(weights) == pytest.approx(expected, rel=1e-12)
    assert point.ppv.cell == pytest.approx(point.record.cell / point.any.cell)


@settings(max_examples=12)
@given(tables)
def test_the_limits_are_what_the_curves_tend_to(counts):
    found = curves(cells_of(counts), [0.01, 60.0], utility=False)
    ends = curves(cells_of(counts), [1e-9, 1e-8], utility=False).points[0]
    for view in ("conservative", "record", "any"):
        assert getattr(ends, view).cell == pytest.approx(found.limits[view].floor.cell, abs=1e-6)
        assert getattr(found.points[-1], view).record == pytest.approx(found.limits[view].ceiling.record, abs=1e-6)
    assert found.guesses[0].plurality.cell == pytest.approx(found.limits["plurality"].floor.cell, abs=0.06)
    assert found.guesses[-1].soft.record == pytest.approx(found.limits["soft"].ceiling.record, abs=1e-6)


def test_replace_doubles_the_sensitivity():
    counts = [[3, 1], [5, 0], [1, 1]]
    added = curves(cells_of(counts), [0.5, 1, 2], utility=False)
    replaced = curves(cells_of(counts, 'adjacency = "replace"\nrows = 11'), [0.5, 1, 2], utility=False)
    assert (added.sensitivity, replaced.sensitivity) == (1, 2)
    assert replaced.points[1].record == added.points[0].record
    assert replaced.points[2].conservative == added.points[1].conservative


def test_two_intervals_infeasible_and_always_feasible_targets_are_said():
    two = curves(cells_of([[30, 1]] * 9 + [[5, 0]]), target=0.35, utility=False, mechanism="laplace")
    assert two.choice is not None
    assert two.choice.intervals[0][1] == pytest.approx(0.0221045, abs=1e-6)
    assert two.choice.intervals[1] == (pytest.approx(0.860466, abs=1e-5), math.inf)
    assert "do not steer by those" in " ".join(epsilon_answer(two).sentences)
    assert "Faint" in homogeneity_page(two)
    never = curves(cells_of([[3, 0], [4, 0]]), target=0.2, utility=False)
    assert never.choice is not None and never.choice.safe is None
    assert "cannot be met: even pure noise gives 0.25" in epsilon_answer(never).sentences[0]
    assert never.reference == never.example
    always = curves(cells_of([[3, 1], [4, 2]]), target=0.9, utility=False)
    assert epsilon_answer(always).sentences[0].startswith("Every epsilon: without any noise")
    for found in (two, never, always):
        assert RiskCurves.model_validate_json(found.model_dump_json()) == found


def test_the_forward_answer_counts_people():
    found = curves(cells_of([[4, 0], [3, 1]]), utility=False)
    right = (4 * local([[4, 0]], Geometric(1.0), "record")[0] + 4 * local([[3, 1]], Geometric(1.0), "record")[0]) / 8
    answer = risk_answer(found)
    assert answer.question.startswith("If I publish this cross table with epsilon 1, how many people's value")
    assert f"{8 * right:,.0f} of 8 people ({percent(right, 3)})" in answer.sentences[0]
    assert "4 of 8 people (50 %) could be read off" in answer.sentences[2]
    assert "--pilot" in epsilon_choice_caution(found) and "data-dependent" in epsilon_choice_caution(found)
    piloted = curves(cells_of([[4, 0], [3, 1]]), utility=False, pilot="old.csv")
    assert "old.csv" in epsilon_choice_caution(piloted) and "not read" in epsilon_choice_caution(piloted)


@given(st.floats(1e-6, 1e4))
def test_a_printed_epsilon_never_exceeds_the_safe_one(epsilon):
    shown = float(at_least(epsilon, 4))
    assert shown <= epsilon
    assert shown == pytest.approx(epsilon, rel=2e-3)


def brute_force(shape: tuple[int, int], counts: np.ndarray, epsilon: float, draws: int) -> np.ndarray:
    """One-way distances of whole noisy tables, cell by cell."""
    rng, t = np.random.default_rng(3), math.exp(-epsilon)
    noise = rng.geometric(1 - t, (draws, *shape)) - rng.geometric(1 - t, (draws, *shape))
    kept = np.maximum(counts + noise, 0).sum(axis=2)
    shares = kept / np.maximum(kept.sum(axis=1, keepdims=True), 1)
    return np.abs(shares - counts.sum(axis=1) / counts.sum()).sum(axis=1) / 2


@pytest.mark.statistical
def test_the_distances_agree_with_whole_simulated_tables(monkeypatch):
    """2000 draws each; a two-sided z test of two means at alpha 1e-6 (|z| < 4.9)."""
    monkeypatch.setattr("sfumato.risk.homogeneity.marginal_tvd.MOST_DRAWS", 2000)
    monkeypatch.setattr("sfumato.risk.homogeneity.marginal_tvd.WORK", 10**7)
    cells = cells_of([[40, 2], [10, 10], [0, 9]], room=17)
    whole = np.zeros((20, 2), int)
    whole[:3] = cells.counts
    found = next(d for d in marginal_distances(cells, [0.3]).points if (d.way, d.order) == ("cross", 1))
    place = brute_force((20, 2), whole, 0.3, 2000)
    value = brute_force((2, 20), whole.T, 0.3, 2000)
    spread = math.sqrt(2 * (place.var() + value.var()) / 4 / 2000)
    assert abs(found.mean - (place.mean() + value.mean()) / 2) < 4.9 * spread
    mutant = brute_force((20, 2), whole, 0.4, 2000)
    assert abs(found.mean - (mutant.mean() + value.mean()) / 2) > 4.9 * spread


@pytest.mark.statistical
@pytest.mark.parametrize("law", [Geometric(0.7), Laplace(0.7)], ids=["geometric", "laplace"])
def test_the_noise_of_many_empty_cells_has_its_exact_law(law):
    """100,000 draws; Dvoretzky-Kiefer-Wolfowitz at alpha 1e-6; a fourth cell is the mutant."""
    n, noise, rng = 100_000, _Noise(law, 0.7), np.random.default_rng(11)
    bound = math.sqrt(math.log(2 / ALPHA) / (2 * n))
    one = np.array([float(law.cdf(0)), *law.pmf(np.arange(1, 80))])
    three = np.convolve(np.convolve(one, one), one)[:80]

    def distance(draws: np.ndarray, mass: np.ndarray) -> float:
        return float(np.abs(np.bincount(draws, minlength=200)[:80].cumsum() / n - np.cumsum(mass)).max())

    assert distance(noise.on_empty(np.full(n, 3), rng), three) < bound
    assert distance(noise.on(np.zeros(n, np.int64), rng), one) < bound
    assert distance(noise.on_empty(np.full(n, 4), rng), three) > bound


@pytest.mark.statistical
@pytest.mark.parametrize("law", [Gaussian(1.3), DiscreteGaussian(0.8)], ids=str)
def test_tabled_noise_has_its_exact_law(law):
    """100,000 draws; Dvoretzky-Kiefer-Wolfowitz at alpha 1e-6, for one cell, a sum of three, and a sum of 400 by its
    mean (z test) and variance; a fourth cell is the mutant.
    """
    n, noise, rng = 100_000, _TabulatedNoise(law), np.random.default_rng(12)
    bound = math.sqrt(math.log(2 / ALPHA) / (2 * n))
    one = np.array([float(law.cdf(0)), *law.pmf(np.arange(1, 40))])
    three = np.convolve(np.convolve(one, one), one)[:80]

    def distance(draws: np.ndarray, mass: np.ndarray) -> float:
        return float(np.abs(np.bincount(draws, minlength=200)[: len(mass)].cumsum() / n - np.cumsum(mass)).max())

    assert distance(noise.on(np.zeros(n, np.int64), rng), one) < bound
    assert distance(noise.on_empty(np.full(n, 3), rng), three) < bound
    assert distance(noise.on_empty(np.full(n, 4), rng), three) > bound
    mean, square = (float(np.arange(40) ** power @ one) for power in (1, 2))
    sums = noise.on_empty(np.full(20_000, 400), rng)
    assert abs(sums.mean() - 400 * mean) < 4.9 * math.sqrt(400 * (square - mean**2) / 20_000)
    assert sums.var() == pytest.approx(400 * (square - mean**2) + 1 / 12, rel=0.07)


def test_gaussian_curves_are_the_averages_of_the_local_risk():
    counts = [[3, 1], [5, 0], [1, 1], [9, 0]]
    for name, law in (("gaussian", Gaussian), ("discrete-gaussian", DiscreteGaussian)):
        added = curves(cells_of(counts), [0.5, 1, 2], mechanism=name, delta=1e-6)
        replaced = curves(cells_of(counts, 'adjacency = "replace"\nrows = 20'), [0.5, 1], mechanism=name, delta=1e-6)
        for found, size in ((added, 1), (replaced, math.sqrt(2))):
            assert found.sensitivity == pytest.approx(size)
            noise = law(gaussian_sigma(1, 1e-6, size))
            assert found.points[1].record.cell == pytest.approx(local(counts, noise, "record").mean(), rel=1e-9)
            assert found.guesses[1].plurality.cell == pytest.approx(plurality(counts, noise).cell_average, rel=1e-9)
        assert added.utility is not None and added.alone_example == added.alone[1]
        assert RiskCurves.model_validate_json(added.model_dump_json()) == added


def test_a_huge_domain_costs_no_memory():
    values = [f"v{i}" for i in range(60)]
    columns = "".join(f'[columns.c{j}]\nkind = "category"\nvalues = {values!r}\n' for j in range(14))
    schema = Schema.parse('[table]\nname = "wide"\n' + columns)
    rng = np.random.default_rng(1)
    cells = Cells(schema, schema.names[:-1], ("c13",), rng.integers(0, 60, (50, 13)), rng.integers(0, 3, (50, 60)) + 1)
    found = marginal_distances(cells, [0.1, 30])
    assert found.sets == {1: 14, 2: 20, 3: 0} and MOST_CELLS < 60**3
    means = [d.mean for d in found.points if d.way == "cross" and d.epsilon == 0.1]
    assert all(0.1 < mean <= 1 for mean in means)


def test_too_large_counts_leave_the_guessing_attackers_out_and_many_cells_are_sampled(monkeypatch):
    found = curves(cells_of([[3_000_000, 1], [2, 2]]), [0.5, 1], utility=False)
    assert (found.guesses, found.guessed_cells) == ((), 0)
    assert "not computed" in homogeneity_page(found)
    rows, ones = np.random.default_rng(4).integers(1, 40, (400, 3)), np.ones(400, np.int64)
    laws = {epsilon: Geometric(epsilon) for epsilon in (0.5, 1.0)}
    whole = guessing_averages(rows, ones, laws)
    monkeypatch.setattr("sfumato.risk.homogeneity.guessing.MOST_WORK", 200_000)
    part = guessing_averages(rows, ones, laws)
    assert all(few.cells < all_of.cells == 400 for few, all_of in zip(part, whole, strict=True))
    assert part[1].plurality == pytest.approx(whole[1].plurality, abs=0.06)
    sampled = curves(cells_of(rows), [0.5, 1.0], utility=False)
    assert sampled.guessed_cells < sampled.distinct_cells and "estimated from seeded samples" in words_of(
        homogeneity_page(sampled)
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilons": [1.0]},
        {"epsilons": [2, 1]},
        {"epsilons": [0, 1]},
        {"epsilons": [1, math.inf]},
        {"mechanism": "magic"},
        {"view": "all"},
        {"weights": "row"},
        {"target": 0},
        {"target": 1.5},
        {"target": math.nan},
    ],
)
def test_what_makes_no_sense_is_named(wrong):
    with pytest.raises(RiskError):
        curves(cells_of([[3, 1]]), **{"utility": False, **wrong})


def test_an_empty_table_one_value_and_a_bad_grid_are_named():
    empty = cells_of([[1, 1]])
    with pytest.raises(RiskError, match="no records"):
        curves(Cells(empty.schema, empty.identifiers, empty.sensitive, empty.keys[:0], empty.counts[:0]))
    with pytest.raises(RiskError, match="K = 1"):
        curves(cells_of([[3], [2]]))
    for low, high in ((0, 1), (2, 1), (1, math.inf), (math.nan, 1)):
        with pytest.raises(RiskError):
            epsilon_grid(low, high)
