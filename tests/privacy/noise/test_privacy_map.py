"""What the law that is drawn costs, computed from its own tables, against OpenDP's privacy map.

Masses are differences of table entries, floor(2^b F(k)), so each is known within one unit of 2^-b. Sums and ratios are
taken at the costlier end. Each comparison rejects the law of a scale that is 1 % smaller.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sfumato.privacy import noise
from sfumato.privacy.noise.inversion.cdf_tables import (
    GaussianMagnitude,
    LaplaceDigit,
    LaplaceMagnitude,
    cdf_table,
    enclose_exp,
)

F = Fraction

BITS = 600
SURE = 1 << 64
"""Units that a mass must have to be compared: its rounding is then below 1e-19 of it."""
CLOSE = 1e-9
Mass = tuple[int, int]


def masses(law) -> list[Mass]:
    """Enclosures of 2^BITS P(k), as far as they are sure."""
    table = cdf_table(law, BITS)
    steps = [after - before for before, after in zip((0, *table), table, strict=False)]
    return [(step - 1, step + 1) for step in steps if step > SURE]


def log_ratio(above: Mass, below: Mass) -> float:
    """The largest logarithm that the enclosures allow."""
    if below[0] < 2 * above[1] < 4 * below[0]:
        return math.log1p((above[1] - below[0]) / below[0])
    return math.log(above[1]) - math.log(below[0])


def both_signs(sizes: list[Mass]) -> dict[int, Mass]:
    """Twice the masses on either side of nought."""
    nought, *others = sizes
    sides = {sign * k: mass for k, mass in enumerate(others, start=1) for sign in (1, -1)}
    return {0: (2 * nought[0], 2 * nought[1]), **sides}


def digit_masses(scale: Fraction) -> dict[int, Mass]:
    """Masses of large Laplace noise next to every carry, as products of the tables that are drawn from."""
    digits = 1 if scale <= 64 * 256 else 2
    tops = masses(LaplaceMagnitude(scale, 256**digits))
    tables = [masses(LaplaceDigit(scale, 256**j, 256)) for j in range(digits)]
    found = {0: tuple(2 * end << digits * BITS for end in tops[0])}
    for size in (c + i for c in (0, 256, 512, 10 * 256, 65536, 3 * 65536) for i in range(-8, 9) if c + i > 0):
        parts = [table[(size - 1) // 256**j % 256] for j, table in enumerate(tables)]
        parts.append(tops[1 + (size - 1) // 256**digits])
        found[size] = found[-size] = tuple(math.prod(part[end] for part in parts) for end in (0, 1))
    return found


def laplace_loss(scale: Fraction, distance: int) -> float:
    """The largest log p(x) / p(x + distance) of the law that is drawn at this scale."""
    law = digit_masses(scale) if scale > 64 else both_signs(masses(LaplaceMagnitude(scale)))
    return max(log_ratio(law[x], law[x + distance]) for x in law if x + distance in law)


LAPLACE = [(s, d) for s in (0.1, 1 / 3, 0.5, 1.0, 12.345, 20.0, 64.0, 1000.0, 1e6) for d in (1, 2, 7)]


@pytest.mark.parametrize(("scale", "distance"), LAPLACE)
def test_the_laplace_law_costs_what_opendps_map_says(scale: float, distance: int):
    epsilon = noise.privacy_map("laplace", scale, distance)
    assert epsilon == pytest.approx(float(distance / F(scale)), rel=CLOSE)
    assert laplace_loss(F(scale), distance) == pytest.approx(epsilon, rel=CLOSE)
    assert laplace_loss(F(scale) * F(99, 100), distance) > epsilon * (1 + CLOSE)  # mutant: 1 % less noise


def renyi(sigma: Fraction, distance: int, order: float) -> float:
    """The Renyi divergence of the drawn law from itself moved by ``distance``.

    With the loss l(x) = log p(x) / p(x - d) it is log(1 + E expm1((order - 1) l)) / (order - 1); what lies beyond the
    sure masses adds less than 1e-19.
    """
    law = both_signs(masses(GaussianMagnitude(sigma**2)))
    losses = {x: log_ratio(law[x], law[x - distance]) for x in law if x - distance in law}
    excess = math.fsum(law[x][1] / 2 ** (BITS + 1) * math.expm1((order - 1) * loss) for x, loss in losses.items())
    return math.log1p(excess) / (order - 1)


GAUSSIAN = [(s, d) for s in (0.7, 1.0, 5.0, 20.0, 300.0) for d in (1, 2)]


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
@pytest.mark.parametrize(("sigma", "distance"), GAUSSIAN)
def test_the_gaussian_law_costs_at_most_what_opendps_map_says(sigma: float, distance: int, order: float):
    rho = noise.privacy_map("gaussian", sigma, distance)
    assert rho == pytest.approx(float(F(distance) ** 2 / (2 * F(sigma) ** 2)), rel=CLOSE)
    found = renyi(F(sigma), distance, order)
    assert found <= order * rho * (1 + CLOSE)
    assert order == 1.5 or found == pytest.approx(order * rho, rel=CLOSE)
    assert renyi(F(sigma) * F(99, 100), distance, order) > order * rho * (1 + CLOSE)  # mutant: 1 % less noise


def coarse_bend(sigma: Fraction, x: int, distance: int) -> float:
    """log p(x)^2 / p(x + d) p(x - d) of the coarse path, q from its table and r kept with probability exp(-g)."""
    run = 1 << int(sigma / 32).bit_length() - 1
    table = masses(GaussianMagnitude(sigma**2 / run**2, fold=1))

    def mass(size: int) -> Mass:
        q, rest = divmod(abs(size), run)
        kept = enclose_exp(F((2 * run * q + rest) * rest) / (2 * sigma**2), BITS)
        return table[q][0] * kept[0], table[q][1] * kept[1]

    here, right, left = mass(x), mass(x + distance), mass(x - distance)
    return log_ratio((here[0] ** 2, here[1] ** 2), (right[0] * left[0], right[1] * left[1]))


@pytest.mark.parametrize("distance", [1, 7])
@pytest.mark.parametrize("sigma", [3000.0, 1e5])
def test_the_coarse_gaussian_bends_as_opendps_map_says(sigma: float, distance: int):
    """log p is -rho (x / d)^2 but for a constant, so its second difference over d is 2 rho at every x."""
    rho = noise.privacy_map("gaussian", sigma, distance)
    for x in (0, 1, 63, 64, 65, 128, 2047, 2048, 2049, int(4 * sigma)):
        assert coarse_bend(F(sigma), x, distance) == pytest.approx(2 * rho, rel=CLOSE)
    assert coarse_bend(F(sigma) * F(99, 100), 64, distance) > 2 * rho * (1 + CLOSE)  # mutant: 1 % less noise
