"""Golden values of the homogeneity attack (checked against 40-digit arithmetic), brute force and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from sfumato.errors import RiskError, SfumatoError
from sfumato.papers.homogeneity_attack.published import published
from sfumato.risk.homogeneity import (
    DiscreteGaussian,
    Gaussian,
    Geometric,
    Laplace,
    NegativeBinomial,
    Poisson,
    attack,
    expected,
    gaussian_sigma,
    local,
    overall,
    plurality,
    shrinkage,
    soft,
)

ALPHA = 1e-6
LAWS = [Laplace(0.7), Geometric(0.7), Gaussian(1.8), DiscreteGaussian(1.8), Geometric(1.0, sensitivity=2)]
each_law = pytest.mark.parametrize("noise", LAWS, ids=lambda law: f"{type(law).__name__}")
COUNTS = hnp.arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.integers(0, 12))


def brute_local(cell: np.ndarray, noise, view: str) -> float:
    """Enumerate which counts survive."""
    q = noise.survival(cell)
    total = 0.0
    for k in range(len(cell)):
        weight = {"conservative": float(cell[k] > 0), "record": cell[k] / max(cell.sum(), 1), "any": 1.0}[view]
        total += weight * q[k] * math.prod(1 - q[j] for j in range(len(cell)) if j != k)
    return total if cell.sum() else 0.0


@each_law
@pytest.mark.parametrize("view", ["conservative", "record", "any"])
@given(counts=COUNTS)
@settings(max_examples=30)
def test_local_equals_enumeration(noise, view: str, counts):
    assert np.allclose(
        local(counts, noise, view), [brute_local(c, noise, view) for c in counts], rtol=1e-12, atol=1e-15
    )


@each_law
def test_laws_are_laws(noise):
    k = np.arange(-400, 401)
    assert noise.pmf(k).sum() == pytest.approx(1, abs=1e-12)
    assert np.allclose(noise.survival(k) + noise.vanishing(k), 1)
    assert float(noise.cdf(-noise.reach())) <= 1e-18
    assert np.allclose(np.cumsum(noise.pmf(k)), noise.cdf(k), atol=1e-12)


def test_laws_have_the_printed_forms():
    m, t = np.arange(1, 9), math.exp(-0.5)
    assert np.allclose(Geometric(0.5).vanishing(m), t**m / (1 + t), rtol=1e-12)
    assert np.allclose(Laplace(0.5).vanishing(m), 0.5 * np.exp(-(m - 0.5) * 0.5), rtol=1e-12)
    assert np.allclose(Gaussian(2.0).survival(m), stats.norm.cdf((m - 0.5) / 2), rtol=1e-12)
    assert float(Geometric(0.5).vanishing(0)) == pytest.approx(1 / (1 + t))
    assert Geometric(1.0).vanishing(800) == pytest.approx(math.exp(-800) / (1 + math.exp(-1)), rel=1e-9)


def test_other_thresholds():
    t = math.exp(-0.5)
    assert float(Geometric(0.5).vanishing(5, threshold=3)) == pytest.approx(t**3 / (1 + t))
    assert float(Geometric(0.5).vanishing(1, threshold=3)) == pytest.approx(1 - t**2 / (1 + t))
    clamped = local([[5, 0, 0]], Laplace(1e3), threshold=0.0)
    assert float(clamped[0]) == pytest.approx(2.0**-2), "clamped at 0 without rounding, noise never lets go"


GOLDEN = [  # n, p, epsilon, printed (12), exact conservative, exact record
    (2, (0.5, 0.5), 1, 0.415149, 0.520797, 0.415149),
    (3, (0.5, 0.5), 1, 0.234393, 0.427407, 0.321183),
    (10, (0.5, 0.5), 0.1, 0.001557, 0.442179, 0.237306),
    (10, (0.9, 0.1), 1, 0.254675, 0.384692, 0.367735),
    (20, (0.95, 0.05), 1, 0.255491, 0.387917, 0.379680),
    (5, (0.6, 0.3, 0.1), 0.5, 0.040831, 0.219420, 0.136879),
]


@pytest.mark.parametrize(("n", "p", "epsilon", "printed", "exact", "record"), GOLDEN)
def test_expected_goldens_and_the_printed_bound_is_below(n, p, epsilon, printed, exact, record):
    noise = Laplace(epsilon)
    assert published(12, noise, n=n, p=p) == pytest.approx(printed, abs=6e-7)
    assert expected(n, p, noise) == pytest.approx(exact, abs=6e-7)
    assert expected(n, p, noise, "record") == pytest.approx(record, abs=6e-7)
    assert published(12, noise, n=n, p=p) < expected(n, p, noise), "the printed upper bound is a lower bound"


def test_other_goldens():
    sigma = gaussian_sigma(2, 1e-5, rule="probabilistic")
    assert sigma == pytest.approx(2.316508, rel=1e-6)
    noise = Gaussian(sigma)
    assert published(22, noise, n=10, p=(0.9, 0.1)) == pytest.approx(0.220186, abs=6e-7)
    assert expected(10, (0.9, 0.1), noise) == pytest.approx(0.423957, abs=6e-7)
    assert expected(10, (0.9, 0.1), noise, "record") == pytest.approx(0.394907, abs=6e-7)
    assert published(13, Laplace(0.5), n=10, alpha=(2, 2)) == pytest.approx(0.052173, abs=6e-7)
    assert shrinkage(10, (2, 2), Laplace(0.5)) == pytest.approx(0.222663, abs=6e-7)
    assert published(13, Laplace(1), n=5, alpha=(0.5, 0.5)) == pytest.approx(0.357354, abs=6e-7)
    assert shrinkage(5, (0.5, 0.5), Laplace(1)) == pytest.approx(0.459189, abs=6e-7)
    alpha, sizes = (0.3, 0.3, 0.4), Poisson(4.6)
    assert published(14, Laplace(0.1), alpha=alpha, sizes=sizes) == pytest.approx(0.092471, abs=6e-7)
    assert overall(alpha, Laplace(0.1), sizes, truncated=False) == pytest.approx(0.223018, abs=6e-7)
    assert overall(alpha, Laplace(0.1), sizes) == pytest.approx(0.225282, abs=6e-7)
    assert published(27, Gaussian(3), alpha=(0.7, 1.3), sizes=Poisson(2.43)) == pytest.approx(0.280208, abs=6e-7)
    assert published(24, Gaussian(3), alpha=(0.7, 1.3), sizes=Poisson(2.43)) == pytest.approx(0.274845, abs=6e-7)
    assert published(19, Laplace(1e4), sizes=Poisson(2.43)) == pytest.approx(1 - math.exp(-2.43))


def test_published_numbers_carry_their_label():
    value = published(18, Laplace(1.0), n=[1, 2, 3])
    assert value.label == "as printed"
    assert value.equation == 18
    assert value == pytest.approx((1 - 0.5 * math.exp(-0.5)) * np.mean(1 - 0.5 * np.exp(0.5 - np.arange(1, 4))))
    assert published(20, epsilon=0.5, delta=1e-3) == pytest.approx(7.552959, abs=1e-6)
    assert published(21, epsilon=0.5, delta=1e-3) == pytest.approx(6.729650, abs=1e-6)
    assert published(15, Laplace(1), n=7, p=(0.4, 0.6)) == published(12, Laplace(1), n=7, p=(0.4, 0.6))
    for wrong in [(11, Laplace(1)), (12, Geometric(1)), (22, Laplace(1)), (12, None)]:
        with pytest.raises(RiskError):
            published(*wrong, n=3, p=(0.5, 0.5))


@pytest.mark.parametrize(
    ("measure", "noise", "facts"),
    [
        (12, Laplace(1), {"n": -3, "p": (0.5, 0.5)}),
        (12, Laplace(1), {"n": 2.5, "p": (0.5, 0.5)}),
        (13, Laplace(1), {"n": 3, "beta": 2}),
        (18, Laplace(1), {}),
    ],
)
def test_printed_formulas_refuse_senseless_facts(measure, noise, facts):
    with pytest.raises(RiskError):
        published(measure, noise, **facts)


@pytest.mark.parametrize(
    "facts", [{"epsilon": 0, "delta": 1e-5}, {"epsilon": 1, "delta": 2}, {"epsilon": -1, "delta": 0.1}]
)
@pytest.mark.parametrize("measure", [20, 21])
def test_printed_sigmas_refuse_senseless_parameters(measure, facts):
    with pytest.raises(SfumatoError):
        published(measure, **facts)


def test_guessing_refuses_what_does_not_fit():
    with pytest.raises(RiskError, match="too large"):
        soft([[3, 1]], Geometric(1e-7))
    small = np.array([[3, 1], [2, 0]], np.uint8)
    assert local(small, Geometric(1.0)).tolist() == local(small.astype(np.int64), Geometric(1.0)).tolist()


SIGMAS = [  # epsilon, delta, (20), (21), analytic
    (0.1, 1e-3, 37.764795, 33.056523, 17.404396),
    (0.9, 1e-5, 5.383117, 5.018668, 4.106624),
    (0.5, 1e-6, 10.597605, 9.884446, 8.057618),
    (0.1, 1e-6, 52.988025, 49.018387, 36.304690),
]


@pytest.mark.parametrize(("epsilon", "delta", "classic", "probabilistic", "analytic"), SIGMAS)
def test_sigma_goldens(epsilon, delta, classic, probabilistic, analytic):
    assert gaussian_sigma(epsilon, delta, rule="classic") == pytest.approx(classic, rel=1e-6)
    assert gaussian_sigma(epsilon, delta, rule="probabilistic") == pytest.approx(probabilistic, rel=1e-6)
    assert gaussian_sigma(epsilon, delta) == pytest.approx(analytic, rel=1e-6)


def brute_expected(n: int, p, noise, view: str) -> float:
    total = 0.0
    for cell in itertools.product(range(n + 1), repeat=len(p)):
        if sum(cell) == n:
            total += stats.multinomial.pmf(cell, n, p) * brute_local(np.array(cell), noise, view)
    return total


@each_law
@pytest.mark.parametrize("view", ["conservative", "record", "any"])
@pytest.mark.parametrize(
    ("n", "p"), [(1, (0.3, 0.7)), (4, (0.2, 0.5, 0.3)), (6, (1.0, 0.0)), (5, (0.1, 0.2, 0.3, 0.4))]
)
def test_expected_equals_enumeration_for_every_law_and_view(noise, view, n, p):
    assert expected(n, p, noise, view) == pytest.approx(brute_expected(n, p, noise, view), rel=1e-10)


@each_law
@pytest.mark.parametrize("view", ["conservative", "record"])
def test_shrinkage_integrates_expected(noise, view):
    nodes, weights = np.polynomial.legendre.leggauss(200)
    p = (nodes + 1) / 2
    density = stats.beta.pdf(p, 2.0, 3.0) * weights / 2
    integral = sum(d * expected(7, (x, 1 - x), noise, view) for x, d in zip(p, density, strict=True))
    assert shrinkage(7, (2.0, 3.0), noise, view) == pytest.approx(integral, rel=1e-8)


@each_law
def test_one_pass_gives_every_size_and_overall_is_their_average(noise):
    alpha, sizes = (0.4, 0.9, 0.2), np.array([1, 5, 2, 5, 17])
    each = [shrinkage(int(n), alpha, noise) for n in sizes]
    assert np.allclose(shrinkage(sizes, alpha, noise), each, rtol=1e-9)
    assert overall(alpha, noise, sizes) == pytest.approx(np.mean(each), rel=1e-9)
    law = NegativeBinomial(2.5, 0.4)
    n = np.arange(1, law.largest() + 1)
    truncated = law.pmf(n) @ shrinkage(n, alpha, noise) / (1 - law.pgf(0))
    assert overall(alpha, noise, law) == pytest.approx(truncated, rel=1e-9)
    assert overall(alpha, noise, law, truncated=False) == pytest.approx(truncated * (1 - 0.4**2.5), rel=1e-9)


def test_poisson_sizes_factorise():
    p, lam, noise = np.array([0.6, 0.3, 0.1]), 3.7, Laplace(0.8)
    m = np.arange(60)
    r = [stats.poisson.pmf(m, lam * x) @ noise.vanishing(m) for x in p]
    q = [stats.poisson.pmf(m, lam * x)[1:] @ noise.survival(m[1:]) for x in p]
    product = sum(q[k] * math.prod(r[j] for j in range(3) if j != k) for k in range(3)) / (1 - math.exp(-lam))
    assert expected(Poisson(lam), p, noise) == pytest.approx(product, rel=1e-9)


def test_discrete_noise_is_riskier_than_the_laplace_formula_says():
    assert float(local([[1, 0]], Laplace(1))[0]) == pytest.approx(0.4854, abs=6e-5)
    assert float(local([[1, 0]], Geometric(1))[0]) == pytest.approx(0.5344, abs=6e-5)
    assert float(local([[3] + [0] * 9], Laplace(2))[0]) == pytest.approx(0.160, abs=6e-4)
    assert float(local([[3] + [0] * 9], Geometric(2))[0]) == pytest.approx(0.318, abs=6e-4)


def test_limits_and_shapes_of_the_curve():
    cell = [[9, 1, 0, 0]]
    assert float(local(cell, Laplace(1e-9))[0]) == pytest.approx(0.125)
    assert float(local(cell, Laplace(1))[0]) == pytest.approx(0.1472, abs=6e-5)
    assert float(local(cell, Laplace(5))[0]) == pytest.approx(0.0377, abs=6e-5)
    assert float(local([[2, 1, 0]], Laplace(0.1))[0]) == pytest.approx(0.26041, abs=6e-6)
    assert float(local([[1, 1, 1]], Laplace(0.1))[0]) == pytest.approx(0.35586, abs=6e-6)
    assert local([[700_000_000, 3], [0, 0]], Geometric(30.0)).tolist() == pytest.approx([0.0, 0.0], abs=1e-12)
    falling = [float(local([[6, 2]], Laplace(e))[0]) for e in np.geomspace(0.01, 20, 60)]
    assert all(a > b for a, b in itertools.pairwise(falling)), "two classes: more epsilon, less risk of a mixed cell"


def brute_guesses(cell: tuple[int, ...], noise, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Enumerate all published counts of a small cell."""
    hard, proportional = np.zeros(len(cell)), np.zeros(len(cell))
    laws = []
    for n in cell:
        x = np.arange(0, n + reach)
        mass = noise.pmf(x - n)
        mass[0] = float(noise.cdf(-n))
        laws.append(mass)
    for xs in itertools.product(*(range(len(mass)) for mass in laws)):
        weight = math.prod(mass[x] for mass, x in zip(laws, xs, strict=True))
        if max(xs) == 0:
            continue
        best = [k for k, x in enumerate(xs) if x == max(xs)]
        hard[best] += weight / len(best)
        proportional += weight * np.array(xs) / sum(xs)
    return hard, proportional


@pytest.mark.parametrize("noise", [Geometric(1.2), DiscreteGaussian(1.1), Laplace(1.5), Gaussian(1.0)])
@pytest.mark.parametrize("cell", [(3, 1), (2, 2), (0, 4), (1, 2, 0)])
def test_plurality_and_soft_equal_enumeration(noise, cell):
    hard, proportional = brute_guesses(cell, noise, 26)
    assert np.allclose(plurality([cell], noise).guesses[0], hard, atol=1e-9)
    assert np.allclose(soft([cell], noise).guesses[0], proportional, atol=1e-9)


def test_threshold_goldens():
    hard, proportional = plurality([[3, 1]], Geometric(0.5)), soft([[3, 1]], Geometric(0.5))
    assert hard.guesses[0] == pytest.approx([0.699742, 0.247822], abs=6e-7)
    assert proportional.guesses[0] == pytest.approx([0.646959, 0.3006046], abs=6e-7)
    assert hard.risk[0] == pytest.approx(0.75 * 0.69974153 + 0.25 * 0.24782205)
    assert hard.baseline == 0.75
    assert np.asarray(hard).tolist() == hard.risk.tolist()
    assert plurality([[5, 5]], Geometric(1e-3)).risk[0] == pytest.approx(3 / 8, abs=5e-3)


@settings(max_examples=8)
@given(counts=COUNTS.filter(lambda c: c.sum() > 0), seed=st.integers(0, 2**31))
@pytest.mark.statistical
def test_exact_equals_simulation(counts, seed):
    """alpha 1e-6, n = 2000 simulated releases of random tables, Hoeffding's bound; the next test has the mutant."""
    releases, rng = 2000, np.random.default_rng(seed)
    p = 1 - math.exp(-0.8)
    noise = rng.geometric(p, (releases, *counts.shape)) - rng.geometric(p, (releases, *counts.shape))
    simulated = np.mean([attack(counts, counts + e).record.rate for e in noise])
    exact = local(counts[counts.sum(axis=1) > 0], Geometric(0.8), "record").mean()
    assert abs(simulated - exact) < math.sqrt(math.log(2 / ALPHA) / (2 * releases))


@pytest.mark.statistical
def test_two_thousand_releases_agree_with_the_closed_form_and_a_mutant_does_not():
    """alpha 1e-6, n = 2000 releases of 60 cells."""
    rng = np.random.default_rng(12)
    counts = rng.poisson(2.0, (60, 3))
    counts[counts.sum(axis=1) == 0, 0] = 1
    p = 1 - math.exp(-1.0)
    noise = rng.geometric(p, (2000, *counts.shape)) - rng.geometric(p, (2000, *counts.shape))
    results = [attack(counts, counts + e) for e in noise]
    for view in ("conservative", "record", "any"):
        rates = np.array([getattr(r, view).rate for r in results])
        z = (rates.mean() - local(counts, Geometric(1.0), view).mean()) / (rates.std() / math.sqrt(len(rates)))
        mutant = (rates.mean() - local(counts, Geometric(0.9), view).mean()) / (rates.std() / math.sqrt(len(rates)))
        assert abs(z) < stats.norm.isf(ALPHA / 2)
        assert view == "any" or abs(mutant) > stats.norm.isf(ALPHA / 2)
    covered = np.mean([r.any.low <= local(counts, Geometric(1.0), "any").mean() <= r.any.high for r in results])
    assert covered > 0.93


def test_publishing_the_table_as_it_is_gives_every_homogeneous_cell_away():
    counts = np.array([[5, 0], [3, 2], [0, 1], [0, 0]])
    result = attack(counts, counts)
    assert result.cells == 3
    assert result.record.rate == pytest.approx(2 / 3)
    assert result.ppv == 1.0
    nothing = attack(counts, np.zeros_like(counts))
    assert nothing.any.rate == 0
    assert math.isnan(nothing.ppv)


BAD_COUNTS = [
    ([[-1, 2]], "negative"),
    ([[0.5, 1]], "fractions"),
    ([[math.nan, 1]], "NaN"),
    ([[1], [2]], "K = 1"),
    ([[[1, 2]]], "dimensions"),
    ([["a", "b"]], "type"),
    (np.zeros((0,)), "dimensions"),
]


@pytest.mark.parametrize(("counts", "word"), BAD_COUNTS)
@pytest.mark.parametrize(
    "measure", [lambda c: local(c, Geometric(1)), lambda c: plurality(c, Geometric(1)), lambda c: attack(c, c)]
)
def test_bad_counts_are_refused_by_name(counts, word, measure):
    with pytest.raises(RiskError, match=word):
        measure(counts)


@given(st.one_of(st.floats(allow_nan=True), st.integers(-5, 0)))
def test_laws_refuse_senseless_parameters(value):
    if isinstance(value, float) and math.isfinite(value) and value > 0:
        return
    for law in (Laplace, Geometric, Gaussian, DiscreteGaussian):
        with pytest.raises(Exception, match="above 0"):
            law(value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: expected(3, (0.5, 0.6), Laplace(1)),
        lambda: expected(-1, (0.5, 0.5), Laplace(1)),
        lambda: expected(2.5, (0.5, 0.5), Laplace(1)),
        lambda: expected(3, (1.0,), Laplace(1)),
        lambda: shrinkage(3, (0.0, 1.0), Laplace(1)),
        lambda: shrinkage([-1], (1.0, 1.0), Laplace(1)),
        lambda: overall((1.0, 1.0), Laplace(1), []),
        lambda: Poisson(0),
        lambda: NegativeBinomial(1, 1.0),
        lambda: local([[1, 2]], Laplace(1), "sideways"),
        lambda: attack([[1, 2]], [[1, 2, 3]]),
        lambda: attack([[1, 2]], [[1.5, 2.0]]),
        lambda: attack([[0, 0]], [[1, 1]]),
    ],
)
def test_senseless_questions_are_refused_by_name(call):
    with pytest.raises(RiskError):
        call()
