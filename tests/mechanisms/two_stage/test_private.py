"""The private two-stage form: sensitivities by search, canaries, exact sums, public plans, rows in bounds."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import PlanError, TableError
from sfumato.mechanisms import lattice_sums
from sfumato.mechanisms.two_stage import compiled_loops
from sfumato.mechanisms.two_stage import gaussian_copula as private_inputs
from sfumato.mechanisms.two_stage import noise_aware_ridge as private_response
from sfumato.mechanisms.two_stage.gaussian_copula import InputMarginals, PrivateInputs
from sfumato.mechanisms.two_stage.noise_aware_ridge import Features, NumericResponse
from sfumato.mechanisms.two_stage.plan import TwoStagePlan
from sfumato.mechanisms.two_stage.run import TwoStageRun, release_two_stage
from sfumato.privacy.accounting.gaussian_calibration import gaussian_mu
from sfumato.privacy.accounting.lattice_gaussian import SMALLEST_SIGMA, composed_delta
from sfumato.privacy.exact import to_fraction
from sfumato.privacy.randomness import Randomness
from sfumato.sampling.public_box import BoundedAxis

ALPHA = 1e-6
UNIT_BOX = BoundedAxis(-1.0, 1.0)
LEVELS = BoundedAxis(0, 2, whole=True)
AXES = (UNIT_BOX, UNIT_BOX, LEVELS)
ADJACENCIES = ("add-remove", "replace")


@functools.cache
def plan_of(**facts) -> TwoStagePlan:
    known = {"axes": AXES, "categorical": (2,), "target": UNIT_BOX, "epsilon": 1, "delta": 1e-6, "n_pub": 20_000}
    return TwoStagePlan(**{**known, **facts})


def table(rows: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    first = generator.uniform(-1, 1, rows)
    # No clipping here: histograms spread a mass at one point over its cell.
    second = np.tanh(0.7 * first + 0.4 * generator.normal(size=rows))
    level = (first + 0.3 * generator.normal(size=rows) > 0).astype(float) + (second > 0.5)
    target = 0.5 * np.sin(3 * first) + 0.3 * (level == 1) + 0.05 * generator.normal(size=rows)
    return np.column_stack([first, second, level, np.clip(target, -1, 1)])


def released(seed: int, plan: TwoStagePlan) -> tuple[InputMarginals, NumericResponse, float]:
    """Random numbers in the place of the released ones: sensitivities must hold for all of them."""
    generator = np.random.default_rng(seed)
    noisy = np.concatenate([generator.exponential(size=len(edges) - 1) for edges in plan.edges])
    marginals = InputMarginals.of(plan.axes, plan.edges, noisy)
    synthetic = PrivateInputs(marginals, np.eye(len(plan.axes))).draw(300, generator)
    features = Features.of(marginals, plan.categorical, synthetic, plan.rank)
    weights = generator.normal(size=features.count) / features.longest
    return marginals, NumericResponse(features, weights, 0.1, -1.0, 1.0), float(generator.uniform(0.01, 2))


PLAN = plan_of()
RELEASED = [released(seed, PLAN) for seed in range(4)]


def contributions(
    record: np.ndarray, numbers: tuple[InputMarginals, NumericResponse, float], plan=PLAN
) -> dict[str, np.ndarray]:
    """What one record adds at each stage, in lattice units, by the functions that the run uses."""
    marginals, fit, reach = numbers
    run = TwoStageRun(plan, lambda: iter([record[None]]), Randomness.of(0))
    for row in run._chunks():
        scores = private_inputs.score_steps(row[:, :-1], marginals)
        moves = run._moves(row, fit, reach)
        return {
            "inputs": private_inputs.count_columns(row[:, :-1], plan.axes, plan.edges) * lattice_sums.LENGTH,
            "target": private_inputs.count_columns(row[:, -1:], (plan.target,), (plan.target_edges,))
            * lattice_sums.LENGTH,
            "correlation": private_inputs.sum_scores(scores),
            "gram": private_response.sum_gram(fit.features.steps(row[:, :-1])),
            "spread": run._squares(row, fit, reach),
            "first": moves,
            "second": moves,
        }
    return {part.stage: np.zeros(part.cells, np.int64) for part in plan.parts}


def square(moved: np.ndarray) -> int:
    """As whole numbers: no rounding decides."""
    return sum(int(v) ** 2 for v in moved.ravel())


values = st.one_of(
    st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324]),
    st.floats(-1.5, 2.5),
)
records = st.tuples(*[values] * 4)


@settings(max_examples=200)
@given(first=records, second=records, known=st.sampled_from(RELEASED), adjacency=st.sampled_from(ADJACENCIES))
def test_no_record_moves_a_sum_by_more_than_its_sensitivity(first, second, known, adjacency):
    plan = plan_of(adjacency=adjacency)
    one, two = (contributions(np.array(record), known) for record in (first, second))
    for part in plan.parts:
        moved = one[part.stage] - (two[part.stage] if adjacency == "replace" else 0)
        assert square(moved) <= part.sensitivity**2, part.stage
    assert {part.stage for part in plan.parts} == set(one)


@settings(max_examples=150)
@given(data=st.data(), size=st.integers(2, 6))
def test_whole_vectors_never_exceed_their_units(data, size):
    """The lattice itself, with vectors of any size, also those that no table would give."""
    reals = st.one_of(values, st.floats(allow_nan=True, allow_infinity=True))
    vectors = np.array([data.draw(st.tuples(*[reals] * size)) for _ in range(2)])
    whole = np.empty(vectors.shape, np.int64)
    compiled_loops.quantise_vectors(vectors, 1.3, whole)
    plan = plan_of(axes=(UNIT_BOX,) * size, categorical=())
    swap = plan_of(axes=(UNIT_BOX,) * size, categorical=(), adjacency="replace")
    for stage, sums in (("correlation", private_inputs.sum_scores), ("gram", private_response.sum_gram)):
        added, replaced = (next(p.sensitivity for p in each.parts if p.stage == stage) for each in (plan, swap))
        assert square(sums(whole[:1])) <= added**2
        assert square(sums(whole[:1]) - sums(whole[1:])) <= replaced**2


def canaries() -> dict[str, np.ndarray]:
    """The longest contribution found at each stage: records at corners, and whole vectors along the worst direction."""
    corners = [np.array([a, b, level, y]) for a in (-1, 1) for b in (-1, 1) for level in (0, 1, 2) for y in (-1, 1)]
    found = [contributions(corner, (known[0], known[1], 0.01)) for corner in corners for known in RELEASED]
    longest = {stage: max((each[stage] for each in found), key=square) for stage in found[0]}
    even = np.full((1, 3), int(lattice_sums.STEPS / math.sqrt(3)), np.int64)
    longest["correlation"] = private_inputs.sum_scores(even)
    return longest


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", [1.0, 0.5])
def test_every_gaussian_step_alone_at_a_canary(mutant):
    """n = 4000 draws: mu of a canary record, at confidence 1 - alpha, is not above the plan; half the noise is caught.

    The noise of each stage along the canary's contribution is what an attacker who knows all other records sees.
    """
    run, longest, draws = TwoStageRun(PLAN, lambda: iter([]), Randomness.of(3)), canaries(), 4000
    for part in PLAN.parts:
        reached = math.sqrt(square(longest[part.stage])) / part.sensitivity
        assert reached > 0.95, (part.stage, reached)
        noise, scale = run.noisy(part.stage, np.zeros(draws, np.int64))
        assert scale == part.scale
        seen = ((mutant * noise) ** 2).sum()
        least_mu = reached * part.sensitivity / math.sqrt(seen / stats.chi2.ppf(ALPHA, draws))
        assert (least_mu <= part.sensitivity / part.scale) == (mutant == 1.0), part.stage


@settings(max_examples=60)
@given(
    columns=st.integers(1, 12),
    epsilon=st.sampled_from([0.01, 0.5, 1, "1/3", 10, 50]),
    rows=st.integers(1, 10**9),
    adjacency=st.sampled_from(ADJACENCIES),
)
def test_a_plan_is_a_function_of_public_facts(columns, epsilon, rows, adjacency):
    facts = {
        "axes": (*(UNIT_BOX,) * (columns - 1), LEVELS),
        "categorical": (columns - 1,),
        "epsilon": epsilon,
        "n_pub": rows,
        "adjacency": adjacency,
    }
    plan = plan_of(**facts)
    again = plan_of.__wrapped__(**facts)
    assert plan == again
    assert plan.parts == again.parts
    assert sum(plan.shares.values()) == pytest.approx(1)
    units, sigmas = [part.sensitivity for part in plan.parts], [part.scale for part in plan.parts]
    assert min(sigmas) >= SMALLEST_SIGMA
    mu = math.sqrt(sum((unit / sigma) ** 2 for unit, sigma in zip(units, sigmas, strict=True)))
    assert mu == pytest.approx(gaussian_mu(epsilon, 1e-6), rel=1e-4)
    cells = sum(part.cells for part in plan.parts)
    assert composed_delta(float(to_fraction(epsilon)), sigmas, units, cells, 15) <= 1e-6 * (1 + 1e-9)


def test_shares_are_those_of_the_recipe():
    weak, strong = plan_of(n_pub=1000).shares, plan_of(n_pub=5000).shares
    assert weak["inputs"] == pytest.approx(0.2)
    assert weak["target"] == pytest.approx(0.6 * 0.08)
    assert "gram" not in weak
    assert strong["gram"] == pytest.approx(0.8 * 0.3)
    assert strong["first"] == pytest.approx(0.8 * 0.29)
    assert "correlation" not in plan_of(axes=(UNIT_BOX,), categorical=()).shares


@pytest.mark.parametrize(
    "facts",
    [
        {"n_pub": 0},
        {"delta": 1.0},
        {"delta": 0},
        {"adjacency": "swap"},
        {"epsilon": 0},
        {"axes": (), "categorical": ()},
        {"axes": (BoundedAxis(1, 1),) * 3},
        {"axes": (BoundedAxis(0, math.inf),) * 3},
        {"target": BoundedAxis(0, math.nan)},
        {"target": BoundedAxis(3, 3)},
        {"categorical": (0,)},
        {"categorical": (3,)},
    ],
)
def test_bad_plans_are_refused(facts):
    with pytest.raises(PlanError):
        plan_of(**facts)


def test_every_problem_is_named_at_once():
    with pytest.raises(PlanError) as caught:
        plan_of(axes=(BoundedAxis(2, 1), UNIT_BOX), categorical=(1, 7), target=BoundedAxis(1, 1), n_pub=0, delta=2)
    assert len(caught.value.problems) == 6


def test_rows_of_another_width_are_refused():
    with pytest.raises(TableError, match="4 columns"):
        release_two_stage(PLAN, lambda: iter([np.zeros((5, 3))]), Randomness.of(1))


def test_sums_do_not_depend_on_batches_or_order():
    rows = table(600, 1)
    mixed = rows[np.random.default_rng(2).permutation(len(rows))]
    plan, found = plan_of(n_pub=600, epsilon=10), []
    for source, size in ((rows, 600), (mixed, 97), (mixed, 1)):
        release = release_two_stage(
            plan, lambda t=source, s=size: (t[i : i + s] for i in range(0, len(t), s)), Randomness.of(5)
        )
        found.append(release)
    for other in found[1:]:
        assert (other.fit.weights == found[0].fit.weights).all()
        assert (other.inputs.correlation == found[0].inputs.correlation).all()
        assert other.total == found[0].total


def test_a_row_with_a_missing_value_counts_nowhere():
    rows = table(500, 3)
    gaps = np.vstack([rows, [[np.nan, 0, 0, 0], [0, 0, 0, np.nan]]])
    one, two = (release_two_stage(plan_of(n_pub=500), lambda t=t: iter([t]), Randomness.of(1)) for t in (rows, gaps))
    assert (one.fit.weights == two.fit.weights).all()


@pytest.mark.parametrize("rows", [0, 1, 40])
@pytest.mark.parametrize("epsilon", [0.1, 10])
@pytest.mark.parametrize("axes", [AXES, (UNIT_BOX,)])
def test_tables_with_next_to_nothing_still_give_rows(rows, epsilon, axes):
    constant = np.full((rows, len(axes) + 1), 0.25)
    plan = plan_of(axes=axes, categorical=(2,) if len(axes) == 3 else (), epsilon=epsilon, n_pub=1000)
    for seed in range(2):
        release = release_two_stage(plan, lambda: iter([constant]), Randomness.of(seed))
        inputs, targets = release.draw(200, np.random.default_rng(seed))
        assert np.isfinite(inputs).all()
        assert (np.abs(targets) <= 1).all()
        assert targets.shape == (200, 1)
        assert all(column.min() >= axis.low for column, axis in zip(inputs.T, axes, strict=True))
        assert all(column.max() <= axis.high for column, axis in zip(inputs.T, axes, strict=True))


def test_much_data_gives_inputs_and_response_back():
    rows, test = table(30_000, 7), table(2000, 8)
    release = release_two_stage(
        plan_of(n_pub=30_000, epsilon=3), lambda: iter([rows[:20_000], rows[20_000:]]), Randomness.of(1)
    )
    left = test[:, -1] - release.predict(test[:, :-1])[:, 0]
    assert left.var() < 0.1 * test[:, -1].var()
    inputs, targets = release.draw(20_000, np.random.default_rng(2))
    assert max(stats.ks_2samp(inputs[:, j], rows[:, j]).statistic for j in range(3)) < 0.03
    assert np.corrcoef(inputs[:, :2].T)[0, 1] == pytest.approx(np.corrcoef(rows[:, :2].T)[0, 1], abs=0.05)
    assert set(np.unique(inputs[:, 2])) == {0.0, 1.0, 2.0}
    assert targets.mean() == pytest.approx(rows[:, -1].mean(), abs=0.03)
    assert release.total == pytest.approx(30_000, rel=0.01)


def test_the_response_that_ignores_the_noise_is_worse():
    """A mutant: the same steps as if there were no noise overshoot at little data."""
    generator, size = np.random.default_rng(1), 20
    gram, prior = np.eye(size), 1 / np.arange(1, size + 1.0) ** 2
    true = generator.normal(size=size) * np.sqrt(prior)
    moves = gram @ true + 0.3 * generator.normal(size=size)
    aware, blind = (private_response.ridge_update(np.zeros(size), moves, noise, gram, prior) for noise in (0.3, 1e-6))
    assert ((aware - true) ** 2).sum() < 0.7 * ((blind - true) ** 2).sum()


@settings(max_examples=40)
@given(low=st.integers(-30, 30), width=st.integers(1, 60), whole=st.booleans(), seed=st.integers(0, 1000))
def test_values_and_scores_are_inverse(low, width, whole, seed):
    axis = BoundedAxis(low, low + width, whole)
    edges = axis.edges(min(8, int(axis.most_cells)) if whole else 8)
    generator = np.random.default_rng(seed)
    marginals = InputMarginals.of((axis,), (edges,), generator.exponential(size=len(edges) - 1) + 0.05)
    drawn = marginals.values(generator.uniform(0.02, 0.98, (100, 1)))
    again = marginals.values(stats.norm.cdf(marginals.scores(drawn)))
    inner = np.abs(marginals.scores(drawn)) < private_inputs.FARTHEST_SCORE
    assert again[inner] == pytest.approx(drawn[inner], abs=1e-6 * width)
