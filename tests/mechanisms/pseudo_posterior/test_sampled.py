"""Sampled families: against grids, closed forms and SciPy; weights as exponents; bad chains are refused."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_expit, logsumexp

from sfumato.errors import MissingExtra, PlanError, TableError
from sfumato.papers.range_restriction.families import SAMPLED
from sfumato.papers.range_restriction.families.interface import Family, Posterior
from sfumato.papers.range_restriction.families.log_probabilities import log_count_range
from sfumato.papers.range_restriction.families.nuts import (
    Convergence,
    NotConvergedError,
    NutsSampler,
    Sampling,
    convergence_of,
    pad_records,
)
from sfumato.papers.range_restriction.families.sampled_family import (
    SampledFamily,
    SampledPosterior,
    custom_family,
    make_sampled_family,
)
from sfumato.papers.range_restriction.families.sampled_models import (
    SampledModel,
    independent_priors,
)

needs_numpyro = pytest.mark.skipif(
    find_spec("numpyro") is None, reason="NumPyro is not installed: pip install 'sfumato[bayes]'"
)
FEW = Sampling(seed=7, warmup=500, draws=1500)
SIGMAS = 4.9
"""Two-sided normal tail of 1e-6: alpha of each comparison of a mean."""

IDLE = Convergence(1.0, 1000.0, 1000.0, 0.0, 2, 500)


def records(name: str, n: int = 24) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    x = rng.normal(size=n)
    linear = 0.4 + 0.9 * x
    if name == "logistic":
        return (rng.random(n) < 1 / (1 + np.exp(-linear))).astype(float), x
    if name == "negative-binomial":
        return rng.negative_binomial(2, 2 / (2 + np.exp(linear + 1))).astype(float), x
    return 50 + 8 * linear + 3 * rng.standard_t(4, n), x


def family_of(name: str, sampling: Sampling = FEW) -> SampledFamily:
    return make_sampled_family(name, *records(name), sampling=sampling)


def some_flats(family: SampledFamily, draws: int = 5) -> np.ndarray:
    return np.random.default_rng(1).normal(0, 0.7, (draws, family.engine.size))


@pytest.fixture(scope="module")
def weighted() -> SampledPosterior:
    weights = np.random.default_rng(2).random(24)
    weights[:3] = 0.0
    return family_of("logistic").posterior(weights)


def grid_moments(family: SampledFamily, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integrate the two coefficients of the logistic posterior over a grid, with the documented prior."""
    x = family.design[:, 1]
    widths = 2.5 * np.array([np.sqrt(4 + (x.mean() / x.std()) ** 2), 1 / x.std()])
    axes = [np.linspace(-8, 8, 401), np.linspace(-8, 8, 401)]
    first, second = np.meshgrid(*axes, indexing="ij")
    logs = -((first / widths[0]) ** 2 + (second / widths[1]) ** 2) / 2
    for value, place, weight in zip(family.values, x, weights, strict=True):
        logs += weight * log_expit((2 * value - 1) * (first + second * place))
    shares = np.exp(logs - logsumexp(logs))
    means = np.array([(shares * part).sum() for part in (first, second)])
    squares = np.array([(shares * part**2).sum() for part in (first, second)])
    return means, np.sqrt(squares - means**2)


def scores(posterior: SampledPosterior, means: np.ndarray, sds: np.ndarray) -> np.ndarray:
    """Return by how many standard errors the sampled means lie off."""
    found = posterior.parameters(posterior.pool)["coefficients"].mean(axis=0)
    return np.abs(found - means) / (sds / np.sqrt(posterior.convergence.bulk))


@needs_numpyro
@pytest.mark.statistical
def test_logistic_means_and_spreads_agree_with_a_grid(weighted: SampledPosterior) -> None:
    """alpha = 1e-6 for each mean, n = the effective draws; the mutant that ignores the weights is caught."""
    means, sds = grid_moments(weighted.family, weighted.weights)
    assert (scores(weighted, means, sds) < SIGMAS).all()
    found = weighted.parameters(weighted.pool)["coefficients"].std(axis=0)
    assert np.abs(found / sds - 1).max() < SIGMAS * 1.2 / np.sqrt(weighted.convergence.tail)
    mutant = grid_moments(weighted.family, np.ones(24))
    assert scores(weighted, *mutant).max() > SIGMAS


@needs_numpyro
@pytest.mark.statistical
def test_negative_binomial_means_agree_with_a_grid() -> None:
    """Intercept and log dispersion: alpha = 1e-6 for each mean, n = the effective draws; same mutant."""
    family = make_sampled_family("negative-binomial", records("negative-binomial")[0], None, sampling=FEW)
    weights = np.linspace(0, 1, 24) ** 2
    posterior = family.posterior(weights)
    found, spread = posterior.pool.mean(axis=0), posterior.pool.std(axis=0)
    axes = [np.linspace(middle - 9 * sd, middle + 9 * sd, 151) for middle, sd in zip(found, spread, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)

    def off(exponents: np.ndarray) -> float:
        logs = family.engine.log_targets(points, family.values, family.design, exponents)
        shares = np.exp(logs - logsumexp(logs))
        means = shares @ points
        sds = np.sqrt(shares @ points**2 - means**2)
        return float(np.max(np.abs(found - means) / sds) * np.sqrt(posterior.convergence.bulk))

    assert off(weights) < SIGMAS < off(np.ones(24))


@needs_numpyro
def test_a_posterior_has_the_interface_of_a_closed_form(weighted: SampledPosterior) -> None:
    family = weighted.family
    assert isinstance(family, Family) and isinstance(weighted, Posterior)
    numbers = family.numbers(100, np.random.default_rng(0))
    draws = weighted.draw(numbers)
    assert len(draws) == 100
    assert len(np.unique(draws, axis=0)) > 80  # a rejected step repeats a draw
    assert np.array_equal(draws, weighted.draw(numbers))
    each = weighted.log_likelihood(draws)
    smallest, largest = weighted.extremes(draws, weights=weighted.weights)
    assert np.allclose(smallest, weighted.weights * each.min(axis=0)) and (smallest <= largest).all()
    synthetic = weighted.synthesise(draws, 3, np.zeros((7, 1)), np.random.default_rng(1))
    assert synthetic.shape == (7,) and np.isin(synthetic, (0, 1)).all()
    assert weighted.surprise().shape == (24,) and (weighted.surprise() > 0).all()
    with pytest.raises(PlanError, match="3001 draws of the parameters asked for, 3000 are sampled"):
        family.numbers(3001, np.random.default_rng(0))


@needs_numpyro
def test_lambda_is_never_certain_and_agrees_with_the_draws(weighted: SampledPosterior) -> None:
    values = weighted.family.values
    everything = weighted.outside(np.zeros(24), np.ones(24))
    nothing = weighted.outside(np.full(24, 5.0), np.full(24, 6.0))
    assert np.allclose(everything, 1 / 1002) and np.allclose(nothing, 1001 / 1002)
    draws = weighted.pool[::3]
    chance = 1 - np.exp(weighted.log_likelihood(draws)).mean(axis=0)
    assert np.allclose(weighted.outside(values, values), (1000 * chance + 1) / 1002)


@needs_numpyro
def test_the_log_density_is_normalised(weighted: SampledPosterior) -> None:
    axis = np.linspace(-3.5, 3.5, 101)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    total = np.exp(weighted.log_density(points)).sum() * (axis[1] - axis[0]) ** 2
    assert total == pytest.approx(1, abs=0.05)


@needs_numpyro
@pytest.mark.parametrize("name", SAMPLED)
def test_a_weight_of_2_is_a_duplicate_and_a_weight_of_0_is_no_record(name: str) -> None:
    family = family_of(name)
    flats, engine = some_flats(family), family.engine
    twice = np.ones(24)
    twice[4], once = 2.0, np.ones(25)
    more = family.with_record(family.values[4], family.design[4:5, 1:])
    assert np.allclose(
        engine.log_targets(flats, family.values, family.design, twice),
        engine.log_targets(flats, more.values, more.design, once),
        rtol=1e-12,
    )
    without, less = np.ones(24), family.without(4)
    without[4] = 0.0
    assert np.allclose(
        engine.log_targets(flats, family.values, family.design, without),
        engine.log_targets(flats, less.values, less.design, np.ones(23)),
        rtol=1e-12,
    )
    assert not np.allclose(
        engine.log_targets(flats, family.values, family.design, np.ones(24)),
        engine.log_targets(flats, less.values, less.design, np.ones(23)),
    )


@needs_numpyro
@pytest.mark.parametrize("name", SAMPLED)
def test_log_likelihoods_and_ranges_agree_with_scipy(name: str) -> None:
    family = family_of(name)
    posterior = SampledPosterior(family, np.ones(24), some_flats(family), IDLE)
    draws = posterior.pool
    named, values = posterior.parameters(draws), family.values
    linear = named["coefficients"] @ family.design.T
    if name == "logistic":
        law = stats.bernoulli(1 / (1 + np.exp(-linear)))
    elif name == "negative-binomial":
        size = 1 / named["overdispersion"][:, None]
        law = stats.nbinom(size, size / (size + np.exp(linear)))
    else:
        law = stats.t(named["freedom"][:, None], linear, named["scale"][:, None])
    expected = law.logpdf(values) if name == "student-t" else law.logpmf(values)
    assert np.allclose(posterior.log_likelihood(draws), expected, rtol=1e-9)
    low, high = (values - 2, values + 3) if name == "student-t" else (values, values + 1)
    below = law.cdf(low) if name == "student-t" else law.cdf(low - 1)
    inside = law.cdf(high) - below
    found = np.exp(posterior.log_range(draws, low, high))
    assert np.allclose(found[inside > 1e-6], inside[inside > 1e-6], rtol=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "mean", "size"),
    [
        (0, 0, 3.0, 2.0),
        (2, 9, 3.0, 2.0),
        (400, 430, 3.0, 5.0),
        (3000, 3010, 2.0, 2.5),
        (0, 3, 900.0, 200.0),
        (40, 40, 41.0, 1e6),
        (5, np.inf, 3.0, 2.0),
    ],
)
def test_negative_binomial_ranges_are_exact_in_both_tails(low: float, high: float, mean: float, size: float) -> None:
    counts = np.arange(low, min(high, low + 4000) + 1)
    expected = logsumexp(stats.nbinom(size, size / (size + mean)).logpmf(counts))
    found = log_count_range(np.array([low]), np.array([high]), np.array([mean]), size)
    assert found[0] == pytest.approx(expected, rel=1e-8, abs=1e-8)


def own_log_likelihood(theta, values, design):
    return -0.5 * (values - design @ theta["b"]) ** 2 - 0.5 * np.log(2 * np.pi)


def own_simulate(theta, design, generator):
    return design @ theta["b"] + generator.standard_normal(len(design))


def own_model(prior) -> SampledModel:
    return SampledModel("custom", "continuous", prior, own_log_likelihood, own_simulate)


@needs_numpyro
def test_an_own_model_agrees_with_its_closed_form() -> None:
    """Normal errors of variance 1: the target is the log density of a known normal, up to one constant."""
    import numpyro
    from numpyro.distributions import Normal

    values, x = records("student-t")
    law = Normal(0.0, 10.0).expand([2]).to_event(1)
    family = custom_family(values, x, own_model(independent_priors({"b": law})), sampling=FEW)
    weights, flats = np.random.default_rng(3).random(24), some_flats(family)
    covariance = np.linalg.inv((family.design.T * weights) @ family.design + np.eye(2) / 100)
    exact = stats.multivariate_normal(covariance @ (family.design.T @ (weights * values)), covariance)
    found = family.engine.log_targets(flats, values, family.design, weights)
    assert np.ptp(found - exact.logpdf(flats)) < 1e-8
    assert np.ptp(family.engine.log_targets(flats, values, family.design, np.ones(24)) - exact.logpdf(flats)) > 1
    same = custom_family(values, x, own_model(lambda: {"b": numpyro.sample("b", law)}), sampling=FEW)
    assert np.array_equal(found, same.engine.log_targets(flats, values, family.design, weights))
    posterior = SampledPosterior(family, weights, exact.rvs(1500, random_state=1), IDLE)
    assert np.allclose(posterior.log_density(flats), exact.logpdf(flats), rtol=1e-3)
    assert np.allclose(posterior.outside(np.full(24, -np.inf), np.full(24, np.inf)), 1 / 1002)
    with pytest.raises(PlanError, match="has no log_range"):
        posterior.log_range(posterior.pool[:1], values, values)


@needs_numpyro
def test_an_own_model_of_the_wrong_shape_is_refused_before_sampling() -> None:
    from numpyro.distributions import Normal

    values, x = records("student-t")
    prior = independent_priors({"b": Normal(0.0, 1.0).expand([2]).to_event(1)})
    shapeless = SampledModel("custom", "continuous", prior, lambda theta, v, d: 0.0, lambda theta, d, g: d)
    with pytest.raises(PlanError) as caught:
        custom_family(values, x, shapeless, sampling=FEW)
    assert [problem.split(" returns")[0] for problem in caught.value.problems] == ["log_likelihood", "simulate"]
    with pytest.raises(PlanError, match="must return its parameters by name"):
        custom_family(values, x, own_model(lambda: _site()), sampling=FEW)


def _site():
    import numpyro
    from numpyro.distributions import Normal

    return numpyro.sample("b", Normal(0.0, 1.0).expand([2]).to_event(1))


@needs_numpyro
def test_chains_that_are_too_short_are_refused(weighted: SampledPosterior, monkeypatch: pytest.MonkeyPatch) -> None:
    chains = weighted.pool[:40].reshape(20, 2, 2).transpose(1, 0, 2)
    monkeypatch.setattr(NutsSampler, "sample", lambda *_: (chains, 0.0))
    with pytest.raises(NotConvergedError, match="did not converge in 20 draws each") as caught:
        weighted.family.posterior(np.full(24, 0.5))
    assert any("effective draws in the bulk; 400 are needed" in problem for problem in caught.value.problems)
    assert "raise warmup, draws" in caught.value.next_step


@needs_numpyro
def test_convergence_is_judged_by_ranks() -> None:
    good = np.random.default_rng(0).normal(size=(2, 2000, 2))
    fine = convergence_of(good, 0.0)
    assert fine.problems == [] and fine.bulk > 3000 and fine.tail > 2500
    moved, wider, stuck = good + np.array([[[0.0]], [[0.3]]]), good * [[[1.0]], [[2.0]]], good.copy()
    stuck[1] = 1.0
    for bad in (moved, wider, stuck):
        assert any("R-hat" in problem for problem in convergence_of(bad, 0.0).problems)
    assert convergence_of(good, 0.02).problems == ["2.0% of the draws diverged; at most 1% is accepted"]
    slow = stats.norm.rvs(size=(2, 2000, 1), random_state=1).cumsum(axis=1)
    assert not convergence_of(slow, 0.0).bulk >= 400


@needs_numpyro
def test_one_record_more_or_less_needs_no_new_compilation(weighted: SampledPosterior) -> None:
    weighted.family.without(3).posterior(weighted.weights[1:])
    assert weighted.family.engine._chains._cache_size() == 1
    for n in (30, 200, 2010):
        shapes = {pad_records(np.ones(k), np.ones((k, 2)), np.ones(k))[0].shape for k in (n - 1, n, n + 1)}
        assert len(shapes) == 1
    values, _, weights = pad_records(np.arange(5.0), np.ones((5, 2)), np.ones(5))
    assert weights[:5].all() and not weights[5:].any() and not values[5:].any()


@needs_numpyro
def test_double_precision_is_not_switched_on_for_others(weighted: SampledPosterior) -> None:
    import jax

    assert weighted.pool.dtype == np.float64
    assert not jax.config.jax_enable_x64


def test_nothing_is_imported_before_it_is_needed() -> None:
    module = "sfumato.papers.range_restriction.families.sampled_family"
    program = f"import sys, {module}; sys.exit('jax' in sys.modules or 'numpyro' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[bayes\]'"):
        family_of("logistic")
    with pytest.raises(MissingExtra, match="the custom family is sampled with NumPyro"):
        custom_family([1.0], None, own_model(independent_priors({})), sampling=FEW)


@needs_numpyro
def test_bad_input_is_named() -> None:
    values, x = records("negative-binomial")
    with pytest.raises(PlanError, match="unknown sampled family 'probit'"):
        make_sampled_family("probit", values, x, sampling=FEW)
    with pytest.raises(TableError) as caught:
        make_sampled_family("logistic", values, np.column_stack([x, np.ones(24)]), sampling=FEW)
    assert caught.value.problems == ("predictor 1 is constant", "the values must be 0 or 1")
    with pytest.raises(TableError, match="whole numbers from 0 on"):
        make_sampled_family("negative-binomial", values - 0.5, x, sampling=FEW)
    with pytest.raises(TableError, match="all values are the same"):
        make_sampled_family("student-t", np.ones(24), x, sampling=FEW)
    with pytest.raises(PlanError, match="belongs to the student-t family"):
        make_sampled_family("logistic", values, x, sampling=FEW, freedom=4.0)
    with pytest.raises(PlanError, match="the weights do not fit the records"):
        make_sampled_family("negative-binomial", values, x, sampling=FEW).posterior(np.full(24, -1.0))


def test_bad_sampling_is_named() -> None:
    with pytest.raises(PlanError) as caught:
        Sampling(seed=-1, chains=1, warmup=0, draws=2, accept=1.0)
    assert len(caught.value.problems) == 5
