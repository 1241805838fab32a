"""The time of a draw does not tell its size: searches and whole paths on words that lead near and far.

Sign test, alpha = 1e-6, n = 200 pairs, each of a near and a far run with one after the other in turn: is the far run
more than a tenth slower in over half of the pairs? Whatever else the machine does meets both alike. Rejected
proposals cost time too, but their number is independent of the value that is kept in the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numba as nb
import numpy as np
import pytest
from scipy import stats

from sfumato.privacy.noise.inversion import draw as inversion_draw
from sfumato.privacy.noise.inversion import random_bits
from sfumato.privacy.noise.inversion.cdf_tables import (
    GaussianMagnitude,
    LaplaceDigit,
    LaplaceMagnitude,
    MagnitudeDistribution,
    cdf_table,
    padded_table,
)
from sfumato.privacy.noise.inversion.draw import coarse_gaussian, digit_laplace

ALPHA = 1e-6
PAIRS, SLOWER = 200, 1.1
DRAWS = 5_000
BITS = 63
F = Fraction
Run = Callable[[], float]
pytestmark = pytest.mark.statistical


@nb.njit
def scan(words, bits, table, found, undecided):
    """Mutant search: entry by entry, as long as it takes."""
    for i in range(words.shape[0]):
        prefix = (words[i] >> np.int64(1)) & np.int64(random_bits.LARGEST)
        found[i] = 0
        while table[found[i]] < prefix:
            found[i] += 1
    return 0


def growth_p(near: Run, far: Run) -> float:
    """The sign test: small where far runs are slower by more than a tenth too often."""
    near(), far()
    slower = 0
    for pair in range(PAIRS):
        first, second = (near, far) if pair % 2 else (far, near)
        spent = {first: first(), second: second()}
        slower += spent[far] > SLOWER * spent[near]
    return float(stats.binomtest(slower, PAIRS, 0.5, alternative="greater").pvalue)


def words_for(law: MagnitudeDistribution, outcome: int, last_bit: int = 0) -> np.ndarray:
    """Words whose first 63 bits lie just below the entry of the outcome, kept in signed integers."""
    word = (cdf_table(law, BITS)[outcome] - 1) << 1 | last_bit
    return np.full(DRAWS, word, dtype=np.uint64).view(np.int64)


class Crafted:
    """A source of words that were written beforehand; a draw that asks for more bits is an error here."""

    def __init__(self, *parts: np.ndarray) -> None:
        self._parts = iter(parts)

    def words(self, size: int) -> np.ndarray:
        return next(self._parts)[:size]

    def more_bits(self) -> int:
        raise AssertionError("these words decide at once")


# The search alone.

TABLES = [
    (LaplaceMagnitude(F(20)), 500),
    (LaplaceMagnitude(F(1, 2)), 15),
    (GaussianMagnitude(F(25)), 30),
    (GaussianMagnitude(F(90_000)), 2000),
]


def timed_search(search, law: MagnitudeDistribution, outcome: int) -> Run:
    words, table = words_for(law, outcome), padded_table(law, BITS)
    found, undecided = np.empty_like(words), np.empty_like(words)

    def run() -> float:
        start = time.perf_counter()
        search(words, BITS, table, found, undecided)
        spent = time.perf_counter() - start
        assert (found == outcome).all()
        return spent

    return run


def search_p(search, law: MagnitudeDistribution, far: int) -> float:
    return growth_p(timed_search(search, law, 0), timed_search(search, law, far))


@pytest.mark.parametrize(("law", "far"), TABLES, ids=str)
def test_the_time_of_a_search_does_not_grow_with_the_noise(law: MagnitudeDistribution, far: int):
    assert search_p(random_bits.invert, law, far) > ALPHA


@pytest.mark.parametrize(("law", "far"), TABLES, ids=str)
def test_mutant_search_that_stops_early_is_caught(law: MagnitudeDistribution, far: int):
    assert search_p(scan, law, far) < ALPHA


# Whole paths, on words that are written for a near and for a far value.


def laplace_words(far: bool) -> tuple[list[np.ndarray], int]:
    """Words of scale 1000: X = 0, and X = -(1 + 140 * 256 + 255)."""
    top, digit = LaplaceMagnitude(F(1000), 256), LaplaceDigit(F(1000), 1, 256)
    if far:
        return [words_for(top, 141, 1), words_for(digit, 255)], -(1 + 140 * 256 + 255)
    return [words_for(top, 0), words_for(digit, 0)], 0


def gaussian_words(far: bool) -> tuple[list[np.ndarray], int]:
    """Words of sigma 3000, where runs have 64 values: X = 63, and X = -(350 * 64 + 63), each kept by a uniform 0.

    The low bits are alike: where all of them are 0, exp(0) makes the whole path a twentieth quicker at every size.
    """
    law = GaussianMagnitude(F(3000, 64) ** 2, fold=1)
    coarse = words_for(law, 350, 1) if far else words_for(law, 0)
    low, uniform = np.full(DRAWS, 63), np.zeros(DRAWS, dtype=np.int64)
    return [coarse, low, uniform], -(350 * 64 + 63) if far else 63


def timed_path(draw: Callable[[Crafted], np.ndarray], words: list[np.ndarray], value: int) -> Run:
    def run() -> float:
        source = Crafted(*words)
        start = time.perf_counter()
        noise = draw(source)
        spent = time.perf_counter() - start
        assert (noise == value).all()
        return spent

    return run


def whole_call(add, scale: float) -> Callable[[Crafted], np.ndarray]:
    """The public call, clamped sum included, on the words of a source of ours."""
    counts = np.zeros(DRAWS, dtype=np.int64)

    def draw(source: Crafted) -> np.ndarray:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inversion_draw, "bit_source", lambda randomness: source)
            return add(counts, scale)

    return draw


PATHS = {
    "digits": (lambda source: digit_laplace(F(1000), DRAWS, source, BITS), laplace_words),
    "coarse": (lambda source: coarse_gaussian(F(3000), DRAWS, source, BITS), gaussian_words),
    "whole call by digits": (whole_call(inversion_draw.add_laplace_by_inversion, 1000.0), laplace_words),
    "whole call, coarse": (whole_call(inversion_draw.add_gaussian_by_inversion, 3000.0), gaussian_words),
}
ALL_PATHS = pytest.mark.parametrize("path", PATHS)


def path_p(path: str) -> float:
    draw, words = PATHS[path]
    return growth_p(timed_path(draw, *words(far=False)), timed_path(draw, *words(far=True)))


@ALL_PATHS
def test_the_time_of_a_path_does_not_grow_with_the_noise(path: str):
    assert path_p(path) > ALPHA


@ALL_PATHS
def test_mutant_path_with_a_search_that_stops_early_is_caught(path: str, monkeypatch):
    monkeypatch.setattr(random_bits, "invert", scan)
    assert path_p(path) < ALPHA


@nb.njit
def keep_slowly(coarse, signs, low, uniform, run_bits, bits, rate, close, noise, verdict):
    """Mutant proposal: a far value pays for each run that it lies from nought."""
    for i in range(coarse.shape[0]):
        size = 0
        for place in range(coarse[i]):
            size = (size ^ uniform[place]) + (1 << run_bits)
        noise[i] = (size + low[i]) * (1 - 2 * (signs[i] & 1))
        verdict[i] = 1


def test_mutant_proposal_whose_time_grows_is_caught(monkeypatch):
    monkeypatch.setattr(random_bits, "propose_gaussian", keep_slowly)
    assert path_p("coarse") < ALPHA
