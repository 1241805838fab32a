"""What all families of the pseudo posterior share: reductions, predictions, synthetic columns and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import PlanError, TableError
from sfumato.papers.range_restriction.families import FAMILIES, Family, NormalInverseGamma, Posterior, make_family

VALUES = np.array([0.7, 2.1, 1.4, 3.9, 0.9, 1.8, 5.2])
PREDICTOR = np.array([0.1, 0.8, -0.4, 1.9, -1.0, 0.3, 1.2])
PROPER = NormalInverseGamma(np.array([0.3]), np.array([[0.5]]), 1.5, 0.8)


def small(name: str) -> Family:
    generator = np.random.default_rng(5)
    cells = generator.integers(0, 3, 60)
    if name in ("normal", "lognormal"):
        values = generator.normal(3, 1, 60) if name == "normal" else generator.lognormal(1, 1, 60)
        return make_family(name, values, generator.normal(size=(60, 2)))
    if name == "counts":
        return make_family(name, generator.poisson(3, 60), cells, exposure=generator.uniform(0.5, 2, 60))
    if name == "exponential":
        return make_family(name, generator.exponential(2, 60), cells)
    return make_family(name, generator.integers(0, 2 if name == "binary" else 5, 60), cells)


def middle(family: Family) -> tuple[np.ndarray, np.ndarray]:
    """Ranges of every kind that hold the value."""
    values = family.values
    if family.kind == "continuous":
        return values - 0.4 * np.abs(values), values + 0.8 * np.abs(values)
    return np.maximum(values - 1, 0), values + 1


# --- what all families share ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_extremes_equal_the_dense_reduction(name: str) -> None:
    family = small(name)
    weights = np.random.default_rng(8).uniform(0, 1, 60)
    posterior = family.posterior(weights)
    draws = posterior.draw(family.numbers(300, np.random.default_rng(3)))
    dense, (low, high) = posterior.log_likelihood(draws), middle(family)
    inside = posterior.log_range(draws, low, high)
    cases = [
        (posterior.extremes(draws), dense),
        (posterior.extremes(draws, weights=weights), weights * dense),
        (posterior.extremes(draws, low, high), dense - inside),
        (posterior.extremes(draws, low, high, weights), weights * dense - inside),
    ]
    for (smallest, largest), matrix in cases:
        assert smallest == pytest.approx(matrix.min(axis=0), abs=1e-10)
        assert largest == pytest.approx(matrix.max(axis=0), abs=1e-10)


@pytest.mark.parametrize("reach", [1.05, 2.0, 50.0, np.inf])
@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_draws_that_are_ruled_out_never_were_extremes(reach: float, weight: float) -> None:
    """Few records and wide posteriors, where the bound rules out least, and narrow ranges, where it rules out most."""
    generator = np.random.default_rng(11)
    values = generator.lognormal(1, 1, 80) * np.where(np.arange(80) == 0, 1e4, 1)
    posterior = make_family("lognormal", values, generator.normal(size=80)).posterior(np.full(80, weight))
    draws = posterior.draw(posterior.family.numbers(500, generator))
    low, high = values / reach, values * reach
    matrix = posterior.log_likelihood(draws) - posterior.log_range(draws, low, high)
    smallest, largest = posterior.extremes(draws, low, high)
    assert smallest == pytest.approx(matrix.min(axis=0), abs=1e-8)
    assert largest == pytest.approx(matrix.max(axis=0), abs=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_densities_integrate_to_the_predictive_probability(name: str) -> None:
    """The exact lambda is the mean over draws of 1 - P(range), within 5 standard errors of 4000 draws."""
    family = small(name)
    posterior = family.posterior(np.full(60, 0.7))
    draws = posterior.draw(family.numbers(4000, np.random.default_rng(4)))
    low, high = middle(family)
    shares = 1 - np.exp(posterior.log_range(draws, low, high))
    error = shares.std(axis=0) / math.sqrt(4000)
    assert (np.abs(posterior.outside(low, high) - shares.mean(axis=0)) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_families_and_posteriors_keep_the_protocol(name: str) -> None:
    family = small(name)
    posterior = family.posterior(np.ones(60))
    assert isinstance(family, Family)
    assert isinstance(posterior, Posterior)
    less = family.without(7)
    assert less.values.tolist() == np.delete(family.values, 7).tolist()
    more = family.with_record(family.outlier(3.0))
    assert len(more.values) == 61
    assert more.values[-1] == family.outlier(3.0)
    assert posterior.surprise().shape == (60,)
    draws = posterior.draw(family.numbers(10, np.random.default_rng(1)))
    assert posterior.log_likelihood(draws, slice(5, 9)).tolist() == posterior.log_likelihood(draws)[:, 5:9].tolist()


@pytest.mark.parametrize("name", FAMILIES)
def test_taking_a_record_out_undoes_putting_it_in(name: str) -> None:
    family = small(name)
    twice = family.with_record(family.values[0]).without(60)
    draws = family.posterior(np.ones(60)).draw(family.numbers(50, np.random.default_rng(1)))
    before, after = (f.posterior(np.ones(60)).log_density(draws) for f in (family, twice))
    assert before.tolist() == after.tolist()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_weight_of_zero_is_a_record_left_out(name: str) -> None:
    family = small(name)
    weights = np.full(60, 0.8)
    weights[13] = 0
    draws = family.posterior(weights).draw(family.numbers(50, np.random.default_rng(1)))
    left = family.without(13).posterior(np.full(59, 0.8)).log_density(draws)
    assert family.posterior(weights).log_density(draws) == pytest.approx(left, abs=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_synthetic_columns_repeat_and_fit_the_kind(name: str) -> None:
    family = small(name)
    posterior = family.posterior(np.ones(60))
    draws = posterior.draw(family.numbers(5, np.random.default_rng(1)))
    one, two = (posterior.synthesise(draws, 3, None, np.random.default_rng(9)) for _ in range(2))
    assert one.tolist() == two.tolist()
    assert one.shape == (60,)
    assert name == "normal" or (one >= 0).all()
    if family.kind != "continuous":
        assert (one == np.floor(one)).all()
    predictors = np.zeros((4, 2)) if name in ("normal", "lognormal") else np.array([0, 1, 2, 2])
    assert posterior.synthesise(draws, 0, predictors, np.random.default_rng(9)).shape == (4,)


def test_synthetic_categories_follow_the_drawn_shares() -> None:
    """n = 200,000 values of one draw; Pearson's test at alpha = 1e-6; swapped cells are caught."""
    family = small("categorical")
    posterior = family.posterior(np.ones(60))
    draws = posterior.draw(family.numbers(1, np.random.default_rng(1)))
    cells = np.repeat([0, 1], 100_000)
    found = posterior.synthesise(draws, 0, cells, np.random.default_rng(2))
    shares = np.exp(draws[0]).reshape(3, 5)

    def fits(law: np.ndarray) -> bool:
        seen = np.array([np.bincount(found[cells == cell].astype(int), minlength=5) for cell in (0, 1)])
        return stats.chi2.sf(((seen - 1e5 * law) ** 2 / (1e5 * law)).sum(), 8) > 1e-6

    assert fits(shares[:2])
    assert not fits(shares[[1, 0]])


# --- refusals -------------------------------------------------------------------------------------------------


def test_too_little_weight_is_named() -> None:
    family = make_family("normal", VALUES, PREDICTOR)
    assert family.parameters == 2
    with pytest.raises(PlanError, match=r"sum to 1\.96; they must sum to more than 2"):
        family.posterior(np.full(7, 0.28))
    proper = NormalInverseGamma(np.zeros(2), np.eye(2), 1.0, 1.0)
    make_family("normal", VALUES, PREDICTOR, proper).posterior(np.zeros(7))


@pytest.mark.parametrize("weights", [np.ones(6), np.full(7, -0.1), np.full(7, np.nan)])
def test_wrong_weights_are_named(weights: np.ndarray) -> None:
    with pytest.raises(PlanError, match="weights do not fit"):
        make_family("normal", VALUES).posterior(weights)


def test_singular_designs_are_named() -> None:
    with pytest.raises(TableError, match="predictor 1 is constant"):
        make_family("normal", VALUES, np.column_stack([PREDICTOR, np.full(7, 3.0)]))
    with pytest.raises(TableError, match="sums or multiples"):
        make_family("normal", VALUES, np.column_stack([PREDICTOR, 2 * PREDICTOR - 1]))
    seldom = np.array([0, 0, 0, 0, 0, 0, 1.0])
    with pytest.raises(TableError, match="do not tell the predictors apart"):
        make_family("normal", VALUES, seldom).posterior(np.array([1, 1, 1, 1, 1, 1, 0.0]))
    with pytest.raises(TableError, match="cannot estimate a variance"):
        make_family("normal", np.full(7, 2.0)).posterior(np.ones(7))


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("lognormal", [1.0, 0.0, -2.0], "2 of 3 values are 0 or below"),
        ("exponential", [1.0, 0.0], "1 of 2 values are 0 or below"),
        ("counts", [1.5, 2.0], "whole numbers"),
        ("counts", [-1, 2], "whole numbers"),
        ("binary", [0, 1, 2], "codes below 2"),
        ("normal", [1.0, np.nan], "finite"),
        ("normal", [], "finite"),
        ("categorical", [], "codes"),
    ],
)
def test_values_that_do_not_fit_are_named(name: str, values: list[float], words: str) -> None:
    with pytest.raises(TableError, match=words):
        make_family(name, values)


def test_other_refusals_are_named() -> None:
    with pytest.raises(PlanError, match="unknown family 'student'"):
        make_family("student", VALUES)
    with pytest.raises(TableError, match="predictors do not fit"):
        make_family("normal", VALUES, PREDICTOR[:5])
    with pytest.raises(TableError, match="2 predictors were fitted, 1 are given"):
        posterior = small("normal").posterior(np.ones(60))
        draws = posterior.draw(posterior.family.numbers(2, np.random.default_rng(1)))
        posterior.synthesise(draws, 0, np.zeros((3, 1)), np.random.default_rng(1))
    with pytest.raises(PlanError, match="no event, in 1 cells: 1"):
        make_family("exponential", VALUES, [0, 0, 0, 0, 1, 1, 1]).posterior(np.array([1, 1, 1, 1, 0, 0, 0.0]))
    with pytest.raises(TableError, match="cell 4 does not exist"):
        make_family("binary", [0, 1], [0, 4], groups=3)
    with pytest.raises(PlanError, match="concentrations above 0"):
        make_family("binary", [0, 1], None, [1.0, 0.0])
    with pytest.raises(PlanError, match="no exposure"):
        make_family("normal", VALUES, exposure=2.0)
    with pytest.raises(PlanError, match="does not fit the predictors"):
        make_family("normal", VALUES, PREDICTOR, PROPER)
    with pytest.raises(PlanError, match="0 draws"):
        small("normal").numbers(0, np.random.default_rng(1))
