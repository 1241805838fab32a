"""Table inversion has exactly the stated laws. alpha = 1e-6 for each test; n is stated where draws are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.privacy.noise.inversion import cdf_tables, draw, random_bits
from sfumato.privacy.noise.inversion.draw import add_gaussian_by_inversion, add_laplace_by_inversion
from sfumato.privacy.noise.inversion.random_bits import bit_source
from sfumato.privacy.noise.opendp import opendp_gaussian, opendp_laplace
from sfumato.privacy.noise_distributions import DiscreteGaussian, Geometric
from sfumato.privacy.randomness import Randomness
from statistical.laws import ALPHA, chi_square_p, discrete_gaussian_pmf, discrete_laplace_pmf

N = 10_000_000
SLOW_N = 400_000
OPENDP_N = 40_000
BINS = 200
LARGEST = np.iinfo(np.int64).max
pytestmark = pytest.mark.statistical

Add = Callable[..., np.ndarray]
LAPLACE = [0.1, Fraction(1, 3), 0.5, 1.0, 20.0, 1000.0]
GAUSSIAN = [0.7, 5.0, 300.0, 3000.0]
CASES = [
    *((add_laplace_by_inversion, scale) for scale in LAPLACE),
    *((add_gaussian_by_inversion, sigma) for sigma in GAUSSIAN),
]
FOR_MUTANTS = [
    (add_laplace_by_inversion, 0.5),
    (add_laplace_by_inversion, 20.0),
    (add_gaussian_by_inversion, 5.0),
    (add_gaussian_by_inversion, 300.0),
]


def draws(add: Add, scale: float | Fraction, n: int = N, **options) -> np.ndarray:
    return add(np.zeros(n, dtype=np.int64), scale, **options)


def law_p(values: np.ndarray, add: Add, scale: float | Fraction) -> float:
    return chi_square_p(
        values, discrete_laplace_pmf if add is add_laplace_by_inversion else discrete_gaussian_pmf, float(scale)
    )


def quantile_p(values: np.ndarray, law: Geometric | DiscreteGaussian, scale: float) -> float:
    """Chi-square over BINS wide bins, for laws too wide to count value by value."""
    edges = np.unique(np.rint(scale * stats.norm.ppf(np.arange(1, BINS) / BINS) * 1.3).astype(np.int64))
    expected = len(values) * np.diff(law.cdf(edges), prepend=0.0, append=1.0)
    observed = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    assert expected.min() >= 25
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(edges)))


def tail_p(values: np.ndarray, law: Geometric | DiscreteGaussian) -> float:
    """The smallest p, times their number, of the counts beyond three far values on either side."""
    reach = np.arange(1, law.reach())
    mass = law.cdf(-reach)
    places = [int(reach[np.argmax(mass <= share)]) for share in (1e-2, 1e-4, 1e-5)]
    tests = [
        stats.binomtest(int((side >= place).sum()), len(values), float(law.cdf(-place))).pvalue
        for place in places
        for side in (values, -values)
    ]
    return min(1.0, len(tests) * min(tests))


def sign_p(values: np.ndarray) -> float:
    return float(stats.binomtest(int((values > 0).sum()), int((values != 0).sum())).pvalue)


def last_digits(values: np.ndarray) -> np.ndarray:
    return (np.abs(values[values != 0]) - 1) & 255


def digit_p(digits: np.ndarray, add: Add, scale: float) -> float:
    """Chi-square of the last digit of |X| - 1 to base 256, against sums over sizes up to ten scales."""
    sizes = np.arange(math.ceil(10 * scale / 256) * 256) + 1.0
    mass = np.exp(-sizes / scale) if add is add_laplace_by_inversion else np.exp(-(sizes**2) / (2 * scale**2))
    weight = mass.reshape(-1, 256).sum(axis=0)
    return float(stats.chisquare(np.bincount(digits, minlength=256), digits.size * weight / weight.sum()).pvalue)


@pytest.mark.parametrize(("add", "scale"), CASES)
def test_the_law_its_tails_and_its_signs_are_exact(add: Add, scale: float | Fraction):
    values = draws(add, scale)
    law = Geometric(1 / float(scale)) if add is add_laplace_by_inversion else DiscreteGaussian(float(scale))
    assert law_p(values, add, scale) > ALPHA
    assert tail_p(values, law) > ALPHA
    assert sign_p(values) > ALPHA


@pytest.mark.parametrize(("add", "scale"), [(add_laplace_by_inversion, 1e6), (add_gaussian_by_inversion, 1e5)])
def test_wide_noise_has_its_law_in_wide_bins_and_in_its_last_digit(add: Add, scale: float):
    values = draws(add, scale)
    law = Geometric(1 / scale) if add is add_laplace_by_inversion else DiscreteGaussian(scale)
    assert quantile_p(values, law, scale) > ALPHA
    assert sign_p(values) > ALPHA
    assert digit_p(last_digits(values), add, scale) > ALPHA


@pytest.mark.parametrize(
    ("add", "size", "spread"),
    [
        (add_laplace_by_inversion, 1.0, 1.0),
        (add_gaussian_by_inversion, math.sqrt(2 / math.pi), math.sqrt(1 - 2 / math.pi)),
    ],
)
def test_widest_noise_has_its_spread(add: Add, size: float, spread: float):
    """n = 1e6: the mean size is within 5.2 standard errors, which a normal mean leaves with probability 2e-7."""
    sizes = np.abs(draws(add, 2.0**45, 1_000_000)) / 2.0**45
    assert abs(sizes.mean() - size) < 5.2 * spread / 1000


SHORT = [
    (add_laplace_by_inversion, 20.0, 8),
    (add_gaussian_by_inversion, 5.0, 9),
    (add_laplace_by_inversion, 0.5, 3),
    (add_laplace_by_inversion, 100.0, 10),
    (add_gaussian_by_inversion, 2100.0, 10),
]


@pytest.mark.parametrize(("add", "scale", "bits"), SHORT)
def test_short_words_force_the_slow_path_and_keep_the_law(add: Add, scale: float, bits: int, monkeypatch):
    inverted = count_calls(monkeypatch, cdf_tables, "invert_with_more_bits")
    decided = count_calls(monkeypatch, draw, "is_below_exp")
    values = draws(add, scale, SLOW_N, bits=bits)
    assert law_p(values, add, scale) > ALPHA
    assert sign_p(values) > ALPHA
    assert len(inverted) > SLOW_N / 1000
    assert len(decided) > SLOW_N / 1000 or scale != 2100.0


def count_calls(monkeypatch, module, name: str) -> list[int]:
    """Record how often a slow path runs."""
    seen: list[int] = []
    true_function = getattr(module, name)

    def counting(what, prefix, source, bits):
        seen.append(bits)
        return true_function(what, prefix, source, bits)

    monkeypatch.setattr(module, name, counting)
    return seen


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_rejection_is_decided_exactly_by_short_words(bits: int):
    """n = 20,000 decisions at exp(-0.3), each by a prefix of few bits and what follows it."""
    source, generator = bit_source(Randomness.of(5)), np.random.default_rng(6)
    prefixes = generator.integers(0, 2**bits, 20_000)
    kept = sum(draw.is_below_exp(Fraction(3, 10), int(prefix), source, bits) for prefix in prefixes)
    assert stats.binomtest(kept, len(prefixes), math.exp(-0.3)).pvalue > ALPHA


@pytest.mark.parametrize(
    ("add", "reference", "scale"),
    [(add_laplace_by_inversion, opendp_laplace, 20.0), (add_gaussian_by_inversion, opendp_gaussian, 5.0)],
)
def test_opendp_draws_the_same_law(add: Add, reference: Add, scale: float):
    """Two samples, n = 40,000 each: Pearson's test of homogeneity over values seen at least 50 times."""
    ours, theirs = draws(add, scale, OPENDP_N), draws(reference, scale, OPENDP_N)
    edge = int(2 * scale)
    table = [np.bincount(np.clip(values, -edge, edge) + edge, minlength=2 * edge + 1) for values in (ours, theirs)]
    assert stats.chi2_contingency(np.array(table)).pvalue > ALPHA


@pytest.mark.parametrize("add", [add_laplace_by_inversion, add_gaussian_by_inversion])
def test_seeded_noise_has_the_law_too(add: Add):
    assert law_p(draws(add, 5.0, randomness=Randomness.of(1)), add, 5.0) > ALPHA


# Mutants: each must be rejected by the very test that the true sampler passes.


@pytest.mark.parametrize(("add", "scale"), FOR_MUTANTS)
def test_mutant_with_one_percent_more_scale_is_caught(add: Add, scale: float):
    assert law_p(draws(add, scale * 1.01), add, scale) < ALPHA


@pytest.mark.parametrize(("add", "scale"), [(add_laplace_by_inversion, 1e6), (add_gaussian_by_inversion, 1e5)])
def test_mutant_with_one_percent_more_of_a_wide_scale_is_caught(add: Add, scale: float):
    law = Geometric(1 / scale) if add is add_laplace_by_inversion else DiscreteGaussian(scale)
    assert quantile_p(draws(add, scale * 1.01), law, scale) < ALPHA


@pytest.mark.parametrize(("add", "scale"), [(add_laplace_by_inversion, 20.0), (add_gaussian_by_inversion, 5.0)])
def test_mutant_with_a_table_off_by_one_is_caught(add: Add, scale: float, monkeypatch):
    true_table = cdf_tables.padded_table
    shifted = lambda law, bits: np.concatenate([true_table(law, bits)[1:], [cdf_tables.LARGEST]])  # noqa: E731
    monkeypatch.setattr(cdf_tables, "padded_table", shifted)
    assert law_p(draws(add, scale), add, scale) < ALPHA


def test_mutant_without_the_sign_bit_is_caught():
    values = np.abs(draws(add_laplace_by_inversion, 20.0))
    assert law_p(values, add_laplace_by_inversion, 20.0) < ALPHA
    assert sign_p(values) < ALPHA


def test_mutant_that_draws_the_sign_of_nought_again_is_caught():
    """Refusing (-, 0) is right for the coarse sampler and wrong for a table that is folded already."""
    values = draws(add_laplace_by_inversion, 1.0)
    fair = np.random.default_rng(0).random(values.size) < 0.5
    assert law_p(values[(values != 0) | fair], add_laplace_by_inversion, 1.0) < ALPHA


def test_mutant_with_a_cut_tail_is_caught(monkeypatch):
    """A table that ends at 200, ten scales out: the far tails tell, and what lies nearer is as it should be."""
    true_table = cdf_tables.padded_table
    keep = lambda law, bits: np.where(np.arange(true_table(law, bits).size) < 200, true_table(law, bits), LARGEST)  # noqa: E731
    monkeypatch.setattr(cdf_tables, "padded_table", keep)
    values = draws(add_laplace_by_inversion, 20.0)
    assert np.abs(values).max() == 200
    assert tail_p(values, Geometric(1 / 20)) < ALPHA
    nearer = stats.binomtest(int((values >= 100).sum()), N, float(Geometric(1 / 20).cdf(-100)))
    assert sign_p(values) > ALPHA and nearer.pvalue > ALPHA


def test_mutant_slow_path_that_ends_with_the_table_is_caught(monkeypatch):
    true_extended = cdf_tables.invert_with_more_bits
    last = lambda law, *rest: min(true_extended(law, *rest), len(cdf_tables.cdf_table(law, rest[-1])) - 1)  # noqa: E731
    monkeypatch.setattr(cdf_tables, "invert_with_more_bits", last)
    assert law_p(draws(add_laplace_by_inversion, 20.0, SLOW_N, bits=8), add_laplace_by_inversion, 20.0) < ALPHA


def test_mutant_that_forgets_the_first_bits_in_the_slow_path_is_caught(monkeypatch):
    true_extended = cdf_tables.invert_with_more_bits
    afresh = lambda law, prefix, source, bits: true_extended(law, source.more_bits() >> 56, source, 8)  # noqa: E731
    monkeypatch.setattr(cdf_tables, "invert_with_more_bits", afresh)
    assert law_p(draws(add_laplace_by_inversion, 20.0, SLOW_N, bits=8), add_laplace_by_inversion, 20.0) < ALPHA


def test_mutant_with_a_biased_digit_is_caught(monkeypatch):
    """A uniform last digit instead of one that falls with exp(-d / scale)."""
    true_digit = cdf_tables.LaplaceDigit
    flat = lambda scale, place, base: true_digit(scale * 10**6, place, base)  # noqa: E731
    monkeypatch.setattr(draw, "LaplaceDigit", flat)
    assert law_p(draws(add_laplace_by_inversion, 1000.0), add_laplace_by_inversion, 1000.0) < ALPHA


def test_mutant_that_keeps_every_proposal_is_caught(monkeypatch):
    true_propose = random_bits.propose_gaussian
    keep_all = lambda *arguments: (true_propose(*arguments), arguments[-1].fill(1))  # noqa: E731
    monkeypatch.setattr(random_bits, "propose_gaussian", keep_all)
    assert law_p(draws(add_gaussian_by_inversion, 2100.0), add_gaussian_by_inversion, 2100.0) < ALPHA


@pytest.mark.parametrize(("numbers", "caught"), [(10_000, True), (8192, False)])
def test_mutant_with_modulo_bias_is_caught(numbers: int, caught: bool, monkeypatch):
    """Low bits from 10,000 equally likely numbers: the first 16 digits come 40 times for 39 times of the others.

    8192 numbers are no mutant: 2048 low values divide them, and the test passes.
    """
    true_propose = random_bits.propose_gaussian
    reduced = lambda coarse, signs, low, *rest: true_propose(coarse, signs, low % numbers, *rest)  # noqa: E731
    monkeypatch.setattr(random_bits, "propose_gaussian", reduced)
    assert (
        digit_p(last_digits(draws(add_gaussian_by_inversion, 1e5)), add_gaussian_by_inversion, 1e5) < ALPHA
    ) == caught
