"""Every entry of the noise tables equals an independent computation in arbitrary precision."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from sfumato.privacy.noise.inversion.cdf_tables import (
    GaussianMagnitude,
    LaplaceDigit,
    LaplaceMagnitude,
    cdf_table,
    enclose_exp,
)

REFERENCE_BITS = 400


@pytest.fixture(autouse=True)
def high_precision():
    with mp.workprec(REFERENCE_BITS):
        yield


def real(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def entry(probability: mpf, bits: int) -> int:
    return min(int(mp.floor(mp.ldexp(probability, bits))), 2**bits - 1)


def laplace_table(law: LaplaceMagnitude, bits: int, length: int) -> list[int]:
    r = mp.exp(-1 / real(law.scale))
    rate = law.step / real(law.scale)
    return [entry(1 - 2 * r / (1 + r) * mp.exp(-k * rate), bits) for k in range(length)]


def digit_table(law: LaplaceDigit, bits: int, length: int) -> list[int]:
    rate = law.place / real(law.scale)
    total = mp.expm1(-law.base * rate)
    return [entry(mp.expm1(-(k + 1) * rate) / total, bits) for k in range(length)]


def gaussian_table(law: GaussianMagnitude, bits: int, length: int) -> list[int]:
    """The normaliser comes from Poisson's summation where sigma is not small: another series than the product's."""
    v = real(law.variance)
    if law.variance >= 1:
        both = mp.sqrt(2 * mp.pi * v) * (1 + 2 * sum(mp.exp(-2 * (mp.pi * m) ** 2 * v) for m in range(1, 10)))
    else:
        both = 1 + 2 * sum(mp.exp(-q * q / (2 * v)) for q in range(1, 60))
    total, partial, table = 1 + (both - 1) * law.fold / 2, mpf(1), []
    for k in range(length):
        partial += law.fold * mp.exp(-(mpf(k) ** 2) / (2 * v)) if k else 0
        table.append(entry(partial / total, bits))
    return table


S = Fraction
LAPLACE = [S(0.1), S(1, 10), S(1, 3), S(1, 2), S(1), S(20), S(12.345), S(1000)]
LAWS = [
    *((LaplaceMagnitude(scale), laplace_table) for scale in LAPLACE),
    *(
        (LaplaceMagnitude(S(scale), step), laplace_table)
        for scale, step in [(1000, 256), (10**6, 65536), (10**9, 256**3)]
    ),
    *((LaplaceDigit(S(1000), 1, 256), digit_table), (LaplaceDigit(S(10**6), 256, 256), digit_table)),
    *((GaussianMagnitude(S(sigma) ** 2), gaussian_table) for sigma in (0.7, 1, 5, 300)),
    *((GaussianMagnitude(S(sigma) ** 2 / 4**j, 1), gaussian_table) for sigma, j in [(3000.5, 6), (1e5, 11)]),
]


@pytest.mark.parametrize("bits", [8, 63, 127])
@pytest.mark.parametrize(("law", "reference"), LAWS, ids=[f"{law}" for law, _ in LAWS])
def test_every_entry_equals_an_independent_computation(law, reference, bits: int):
    table = cdf_table(law, bits)
    assert list(table) == reference(law, bits, len(table))
    assert table[-1] == 2**bits - 1 and (len(table) == 1 or table[-2] < table[-1])


def test_mutant_table_of_a_neighbouring_float_is_caught():
    """Entries are exact to the last bit: the float next to the scale has another table."""
    scale = S(20) + S(1, 2**48)
    table = cdf_table(LaplaceMagnitude(scale), 63)
    assert list(table) != laplace_table(LaplaceMagnitude(S(20)), 63, len(table))


@pytest.mark.parametrize("x", [S(0), S(1, 10**9), S(1, 3), S(10), S(12345, 7), S(10**12)])
def test_exp_is_enclosed_tightly(x: Fraction):
    low, high = enclose_exp(x, 192)
    with mp.workprec(REFERENCE_BITS):
        assert low <= mp.ldexp(mp.exp(-real(x)), 192) <= high
    assert high - low < 2**32


@pytest.mark.parametrize(
    "law", [LaplaceMagnitude(S(1, 10**9)), GaussianMagnitude(S(1, 10**9)), LaplaceMagnitude(S(5e-324))]
)
def test_noise_that_is_nearly_always_nought_has_one_entry(law):
    assert cdf_table(law, 63) == (2**63 - 1,)
