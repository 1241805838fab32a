"""Second stage: exact solves equal brute force, shortcuts equal refitting, landmarks come close, bad input is named."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import PlanError, TableError
from sfumato.papers.two_stage.learners.radial_kernels import KERNELS, RadialKernel, wendland_power
from sfumato.papers.two_stage.learners.regressors import SECOND_STAGES, fit_regressor
from sfumato.papers.two_stage.learners.ridge_solvers import (
    InputRange,
    KernelSpace,
    TargetScaler,
    checked_grid,
    choose_landmarks,
    cross_validate,
    fit_exact,
    fit_nystrom,
    leave_one_out,
    moments_of,
    solve,
    whitening,
)


def surface(inputs):
    radius = np.linalg.norm(inputs, axis=1)
    return np.maximum(1 - radius, 0) ** 5 * (1 + 5 * radius) + radius**2 / 5


def simulated(rows, seed, spread=0.1, noise=0.1):
    """The paper's simulated data: two uniform inputs and a third that follows them; one target."""
    rng = np.random.default_rng(seed)
    pair = rng.random((rows, 2))
    inputs = np.column_stack([pair, (pair**2).sum(axis=1) + spread * rng.normal(size=rows)])
    return inputs, (surface(inputs) + noise * rng.normal(size=rows))[:, None]


def error(response, seed=99, spread=0.1):
    inputs, _ = simulated(1000, seed, spread)
    return float(np.mean((response.predict(inputs)[:, 0] - surface(inputs)) ** 2))


def brute(name, distance, power=4):
    if name == "wendland":
        return np.where(distance < 1, (1 - distance) ** power * (power * distance + 1), 0.0)
    if name == "gaussian":
        return np.exp(-(distance**2) / 2)
    scaled = np.sqrt(5) * distance
    return (1 + scaled + scaled**2 / 3) * np.exp(-scaled)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_equal_their_formulas(name):
    rng = np.random.default_rng(0)
    left, right = rng.random((301, 3)), rng.random((257, 3))
    distance = np.linalg.norm(left[:, None] - right[None], axis=2) / 0.7
    kernel = RadialKernel(name, 0.7, 3)
    assert np.allclose(kernel.gram(left, right), brute(name, distance), atol=1e-12)
    weights = rng.normal(size=(257, 2))
    assert np.allclose(kernel.times(left, right, weights), brute(name, distance) @ weights, atol=1e-11)
    assert np.allclose(np.diag(kernel.gram(left, left)), 1.0, atol=1e-12)


def spectrum(inputs, power):
    """The Fourier transform of Wendland's kernel in that many inputs, up to a positive factor of the frequency."""
    from scipy.special import jv

    nodes, weights = np.polynomial.legendre.leggauss(300)
    radius, frequency = (nodes + 1) / 2, np.linspace(0.5, 100, 400)
    waves = jv(inputs / 2 - 1, frequency[:, None] * radius) * frequency[:, None] ** (1 - inputs / 2)
    return waves @ (weights * brute("wendland", radius, power) * radius ** (inputs / 2))


@pytest.mark.parametrize("inputs", [1, 2, 3, 4, 6, 9, 12])
def test_the_published_power_is_positive_definite_up_to_three_inputs_and_ours_always(inputs):
    """Bochner: a radial kernel is positive definite where its transform is nowhere negative."""
    ours, published = spectrum(inputs, wendland_power(inputs)), spectrum(inputs, 4)
    assert ours.min() > -1e-12 * ours.max()
    assert (published.min() < -1e-12 * published.max()) == (inputs > 3)


def test_exact_equals_scikit_learn():
    from sklearn.kernel_ridge import KernelRidge

    inputs, targets = simulated(300, 1)
    box = InputRange.of(inputs)
    fit = fit_exact(KernelSpace.of(RadialKernel("wendland", 1.0, 3), inputs, targets), inputs, targets, 3e-4)
    scaled, fresh = box.scaled(inputs), simulated(100, 2)[0]
    theirs = KernelRidge(alpha=300 * 3e-4, kernel="precomputed").fit(
        brute("wendland", np.linalg.norm(scaled[:, None] - scaled[None], axis=2)), targets - targets.mean()
    )
    apart = np.linalg.norm(box.scaled(fresh)[:, None] - scaled[None], axis=2)
    assert np.allclose(fit.predict(fresh), theirs.predict(brute("wendland", apart)) + targets.mean(), atol=1e-10)


def test_leave_one_out_equals_refitting():
    rng = np.random.default_rng(3)
    inputs, targets, grid = rng.random((40, 2)), rng.normal(size=(40, 2)), np.array([1e-4, 1e-2])
    gram = RadialKernel("gaussian", 0.4, 2).gram(inputs, inputs)
    expected = np.zeros(2)
    for position, penalty in enumerate(grid):
        for row in range(40):
            rest = np.delete(np.arange(40), row)
            inner = gram[np.ix_(rest, rest)] + 40 * penalty * np.eye(39)
            predicted = gram[row, rest] @ np.linalg.solve(inner, targets[rest])
            expected[position] += np.mean((predicted - targets[row]) ** 2) / 40
    assert np.allclose(leave_one_out(gram, targets, grid), expected, rtol=1e-8)


def test_held_out_moments_equal_refitting():
    rng = np.random.default_rng(4)
    inputs, targets = simulated(200, 4)
    kernel, box, standard = RadialKernel("wendland", 1.0, 3), InputRange.of(inputs), TargetScaler.of(targets)
    scaled, values, grid = box.scaled(inputs), standard.forward(targets), np.array([1e-3])
    landmarks = choose_landmarks(kernel, scaled, 40, "leverage", rng)
    white, _ = whitening(kernel.gram(landmarks, landmarks))
    parts = np.array_split(rng.permutation(200), 5)
    space = KernelSpace(kernel, box, standard)
    folds = [moments_of(space, landmarks, white, inputs, targets, part) for part in parts]
    features, expected = kernel.gram(scaled, landmarks) @ white, 0.0
    for part in parts:
        rest = np.setdiff1d(np.arange(200), part)
        inner = features[rest].T @ features[rest] + 160 * 1e-3 * np.eye(white.shape[1])
        predicted = features[part] @ np.linalg.solve(inner, features[rest].T @ values[rest])
        expected += np.mean((predicted - values[part]) ** 2) / 5
    assert cross_validate(folds, grid).error == pytest.approx(expected, rel=1e-8)


def test_all_rows_as_landmarks_give_the_exact_answer():
    inputs, targets = simulated(150, 5)
    space = KernelSpace.of(RadialKernel("wendland", 1.0, 3), inputs, targets)
    grid, rng = np.array([1e-3]), np.random.default_rng(0)
    near, _ = fit_nystrom(space, inputs, targets, grid, space.box.scaled(inputs), rng)
    exact = fit_exact(space, inputs, targets, 1e-3)
    assert np.allclose(near.predict(inputs), exact.predict(inputs), atol=1e-7)


def test_tiles_of_an_accelerator_equal_the_processor():
    pytest.importorskip("jax")
    from sfumato.papers.two_stage.learners.ridge_solver_jax import solve_in_tiles

    rng = np.random.default_rng(6)
    rows, values = rng.random((101, 5)), rng.normal(size=(101, 2))
    for name in KERNELS:
        expected = solve(RadialKernel(name, 1.5, 5).gram(rows, rows), values, 1e-3)
        tiled = solve_in_tiles(rows, values, 1e-3, name, 1.5, wendland_power(5), most_tile=24)
        assert np.allclose(tiled, expected, rtol=1e-7, atol=1e-7)


def test_simulated_data_as_in_the_note():
    """sx = sy = .1, 1000 rows: the paper's kernel reaches 6.6e-4 in the note."""
    response = fit_regressor("krr", *simulated(1000, 0), np.random.default_rng(0), reach=1.0)
    assert 4e-4 < error(response) < 1e-3
    assert response.report["method"] == "exact" and 1e-5 < response.report["lambda"] < 1e-2
    assert 0.009 < response.report["cv_error"] < 0.013


def test_landmarks_come_close_and_say_so():
    inputs, targets = simulated(2600, 7)
    exact = fit_regressor("krr", inputs, targets, np.random.default_rng(1), reach=1.0)
    for by in ("uniform", "leverage"):
        rng = np.random.default_rng(1)
        near = fit_regressor("krr", inputs, targets, rng, reach=1.0, method="nystrom", landmarks_by=by, landmarks=250)
        assert error(near) < 1.15 * error(exact)
        assert near.report["landmarks"] == 250 and near.report["method"] == "nystrom"
        assert near.report["cv_error"] == pytest.approx(exact.report["cv_error"], rel=0.05)
    assert exact.report["landmarks"] is None and "held out" in exact.report["lambda_by"]


def test_the_chosen_reach_helps_where_the_published_one_does_not():
    """sx = 1: the third input is wide, and a reach of 1 is too short for the noise."""
    inputs, targets = simulated(600, 8, spread=1.0, noise=1.0)
    published = fit_regressor("krr", inputs, targets, np.random.default_rng(2), reach=1.0)
    chosen = fit_regressor("krr", inputs, targets, np.random.default_rng(2))
    assert chosen.report["reach"] > 1
    assert error(chosen, spread=1.0) < 0.8 * error(published, spread=1.0)


def test_units_do_not_matter():
    inputs, targets = simulated(200, 9)
    plain = fit_regressor("krr", inputs, targets, np.random.default_rng(0), reach=1.0)
    moved = fit_regressor("krr", 50 * inputs - 7, 1e6 * targets + 3, np.random.default_rng(0), reach=1.0)
    assert np.allclose(moved.predict(50 * inputs - 7), 1e6 * plain.predict(inputs) + 3, rtol=1e-7)


@pytest.mark.parametrize("name", SECOND_STAGES)
def test_every_stage_learns_two_targets(name):
    inputs, targets = simulated(400, 10)
    both = np.column_stack([targets, 10 * inputs[:, 0]])
    response = fit_regressor(name, inputs, both, np.random.default_rng(0))
    predicted = response.predict(inputs)
    assert predicted.shape == (400, 2)
    assert np.all(np.mean((predicted - both) ** 2, axis=0) < 0.5 * both.var(axis=0))
    assert response.report["name"] == name and response.report["rows"] == 400


@pytest.mark.parametrize("name", ["krr", "forest"])
def test_classes_by_ridge_on_one_hot(name):
    rng = np.random.default_rng(11)
    inputs = rng.random((400, 2))
    labels = np.array(["low", "middle", "high"])[np.digitize(inputs.sum(axis=1), [0.7, 1.3])]
    response = fit_regressor(name, inputs, labels, rng, classes=True)
    assert response.classes is not None and response.classes.tolist() == ["high", "low", "middle"]
    chances = response.predict(inputs)
    assert np.allclose(chances.sum(axis=1), 1) and chances.min() >= 0
    assert np.mean(response.labels(inputs) == labels) > 0.9


def test_nadaraya_watson_far_away_answers_with_the_nearest():
    inputs, targets = simulated(50, 12)
    response = fit_regressor("nadaraya-watson", inputs, targets, np.random.default_rng(0), bandwidth=0.01)
    far = np.array([[1e6, 1e6, 1e6]])
    assert np.isfinite(response.predict(far)).all()
    assert np.min(np.abs(targets - response.predict(far))) < 1e-9


@pytest.mark.parametrize(
    ("change", "named", "said"),
    [
        ({"targets": np.full(30, np.nan)}, TableError, "missing"),
        ({"inputs": np.ones((10, 2)), "targets": np.ones(10)}, TableError, "at least 20"),
        ({"inputs": np.ones((40, 2))}, TableError, "do not go with"),
        ({"name": "magic"}, PlanError, "unknown"),
        ({"lambdas": [0.0, 1e-3]}, PlanError, "must be positive"),
        ({"lambdas": []}, PlanError, "must be positive"),
        ({"kernel": "cubic"}, PlanError, "unknown"),
        ({"reach": -1.0}, PlanError, "positive"),
        ({"method": "guess"}, PlanError, "unknown"),
        ({"method": "nystrom", "landmarks_by": "best"}, PlanError, "unknown"),
        ({"targets": ["a"] * 30, "classes": True}, TableError, "one class"),
        ({"name": "nadaraya-watson", "bandwidth": 0.0}, PlanError, "positive"),
    ],
)
def test_bad_input_is_named(change, named, said):
    rng = np.random.default_rng(0)
    wanted = {"name": "krr", "inputs": rng.random((30, 2)), "targets": rng.random(30), **change}
    if wanted["name"] == "krr" and "reach" not in wanted and "kernel" not in wanted:
        wanted["reach"] = 1.0
    with pytest.raises(named) as caught:
        fit_regressor(generator=rng, **wanted)
    assert said in str(caught.value)


def test_too_many_rows_for_an_exact_solve_are_refused(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda _: 100)
    with pytest.raises(PlanError, match="does not fit"):
        fit_regressor("krr", *simulated(100, 1), np.random.default_rng(0), method="exact")


def test_a_grid_is_put_in_order():
    assert checked_grid([1.0, 1e-3]).tolist() == [1e-3, 1.0]


def test_nearly_no_penalty_tells_who_is_in_the_table():
    """Mutant of the rule that lambda is never 0: the residuals of members then vanish, and outsiders' do not."""
    inputs, targets = simulated(300, 13)
    outside = simulated(300, 14)

    def gap(lambdas):
        response = fit_regressor("krr", inputs, targets, np.random.default_rng(0), reach=1.0, lambdas=lambdas)
        members = np.mean((response.predict(inputs) - targets) ** 2)
        return members / np.mean((response.predict(outside[0]) - outside[1]) ** 2)

    assert gap([1e-12]) < 0.01 and gap([1e-4, 1e-3, 1e-2]) > 0.5


def test_a_kernel_of_low_rank_does_not_break_landmarks():
    """Nine inputs within a long Gaussian reach: k(Z, Z) has few directions above rounding."""
    rng = np.random.default_rng(15)
    inputs = rng.random((3000, 9))
    targets = np.sin(inputs.sum(axis=1)) + 0.1 * rng.normal(size=3000)
    response = fit_regressor("krr", inputs, targets, rng, kernel="gaussian", reach=8.0, method="nystrom")
    fitted = np.mean((response.predict(inputs)[:, 0] - targets) ** 2)
    assert 0.009 < fitted < 0.15 * targets.var()
    assert response.report["cv_error"] == pytest.approx(fitted, rel=0.15)
    chosen = fit_regressor("krr", inputs, targets, rng, kernel="gaussian", method="nystrom")
    assert chosen.report["cv_error"] < response.report["cv_error"]
