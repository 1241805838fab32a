"""The law of very many draws of table inversion: bins, tails, signs and last digits, every test at alpha = 1e-6.

Draws are counted as they come, in batches, so that a billion of them need no memory. Laws wider than WIDE are counted
in bins of 2^shift values, and their last digit to base 256 is tested as well. Words of SHORT bits, or of
SHORTER for laws with few values, force the slow path; such a draw costs over a hundred times more, so that there
are a hundred times fewer. Controls draw with a scale that is 1 % too large and must fail.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numba as nb
import numpy as np
from scipy import stats

from sfumato.privacy.noise.inversion import cdf_tables
from sfumato.privacy.noise.inversion import draw as large_scales
from sfumato.privacy.noise.inversion.draw import add_gaussian_by_inversion, add_laplace_by_inversion
from sfumato.privacy.noise_distributions import DiscreteGaussian, Geometric

ALPHA = 1e-6
BATCH = 10_000_000
LEAST_EXPECTED, MIDDLE_EXPECTED = 25, 100
TAILS = (1e-2, 1e-4, 1e-6, 1e-8)
WIDE, BASE = 5000, 256
BITS, SHORT, SHORTER, FEW_VALUES, FEWER = 63, 12, 6, 10, 100
TOO_LARGE = 1.01
FAST = {"laplace": add_laplace_by_inversion, "gaussian": add_gaussian_by_inversion}


@dataclass(frozen=True)
class Case:
    """One law, the words it is drawn from, and how much too large the drawn scale is."""

    law: str
    scale: float
    total: int
    bits: int = BITS
    factor: float = 1.0

    @cached_property
    def exact(self) -> Geometric | DiscreteGaussian:
        """The law that the draws are compared with."""
        return Geometric(1 / self.scale) if self.law == "laplace" else DiscreteGaussian(self.scale)

    @property
    def draws(self) -> int:
        """How many values are drawn: fewer by short words."""
        return self.total if self.bits == BITS else max(self.total // FEWER, 1)

    @property
    def shift(self) -> int:
        """Bins hold 2^shift values: enough for a full bin in the middle, and more for a wide law."""
        needed = MIDDLE_EXPECTED / (self.draws * float(self.exact.pmf(0)))
        return math.ceil(math.log2(max(1.0, needed, self.scale / 1000 if self.scale > WIDE else 0)))

    @property
    def name(self) -> str:
        """How the case is called in the table."""
        words = f", {self.bits}-bit words" if self.bits != BITS else ""
        return f"{self.law} {self.scale:g}{words}" + (f", drawn {self.factor:g} x" if self.factor != 1 else "")


LAPLACE, GAUSSIAN = (0.5, 20.0, 1000.0, 1e6), (0.7, 5.0, 300.0, 3000.0, 1e5)


def cases(total: int) -> list[Case]:
    """Return every law, every law by short words, and two controls."""
    plain = [*(Case("laplace", s, total) for s in LAPLACE), *(Case("gaussian", s, total) for s in GAUSSIAN)]
    short = [replace(case, bits=SHORTER if case.scale < FEW_VALUES else SHORT) for case in plain]
    controls = [Case(law, scale, total, factor=TOO_LARGE) for law, scale in (("laplace", 20.0), ("gaussian", 3000.0))]
    return [*plain, *short, *controls]


@nb.njit(nogil=True)
def count(draws: Any, shift: int, bins: Any, digits: Any) -> None:
    """Count every draw in its bin, the last ones holding all beyond, and its last digit unless it is 0."""
    edge = bins.shape[0] // 2
    for i in range(draws.shape[0]):
        bins[min(max(draws[i] >> shift, -edge), edge) + edge] += 1
        if draws[i] != 0:
            digits[(abs(draws[i]) - 1) & (BASE - 1)] += 1


@dataclass(frozen=True)
class Tally:
    """Draws counted by bin, of which the middle one begins at 0, and by last digit."""

    bins: Any
    digits: Any
    edges: Any
    below: Any
    """Exact probability of lying before each edge: bin j begins at ``edges[j]``."""

    @property
    def total(self) -> int:
        """How many draws were counted."""
        return int(self.bins.sum())


@contextmanager
def counted_slow_paths() -> Generator[list[int]]:
    """Record the draws that their first word did not decide."""
    seen: list[int] = []
    places = [(cdf_tables, "extended"), (large_scales, "below_exp")]
    originals = [getattr(module, name) for module, name in places]
    for (module, name), original in zip(places, originals, strict=True):
        setattr(module, name, lambda *call, original=original: (seen.append(1), original(*call))[1])
    try:
        yield seen
    finally:
        for (module, name), original in zip(places, originals, strict=True):
            setattr(module, name, original)


def tally(case: Case) -> Tally:
    """Draw in batches and count."""
    shift, edge = case.shift, (case.exact.reach() >> case.shift) + 1
    bins, digits = np.zeros(2 * edge + 1, dtype=np.int64), np.zeros(BASE, dtype=np.int64)
    nought = np.zeros(BATCH, dtype=np.int64)
    for start in range(0, case.draws, BATCH):
        draws = FAST[case.law](nought[: case.draws - start], case.scale * case.factor, bits=case.bits)
        count(draws, shift, bins, digits)
    edges = np.arange(-edge, edge + 1) << shift
    below = case.exact.cdf(edges - 1)
    below[0] = 0.0  # the first bin holds all that lies before it
    return Tally(bins, digits, edges, below)


def law_p(found: Tally) -> tuple[float, int]:
    """Chi-square, and its number of bins: those that expect too few are merged into their neighbours further in."""
    expected = found.total * np.diff(found.below, append=1.0)
    inner = np.flatnonzero(expected >= LEAST_EXPECTED)
    starts = np.r_[0, np.arange(inner[0] + 1, inner[-1] + 1)]
    observed, merged = (np.add.reduceat(values, starts) for values in (found.bins, expected))
    return float(stats.chi2.sf(((observed - merged) ** 2 / merged).sum(), len(starts) - 1)), len(starts)


def tail_p(found: Tally, case: Case) -> list[tuple[float, float]]:
    """For each share that expects ten draws or more: twice the smaller p of the draws beyond it on either side."""
    middle, tests = len(found.bins) // 2, []
    for share in (share for share in TAILS if share * found.total >= 10):
        step = int(np.argmax(case.exact.cdf(-found.edges[middle:]) <= share))
        upper, lower = int(found.bins[middle + step :].sum()), int(found.bins[: middle - step].sum())
        place = found.edges[middle + step]
        sides = [(upper, case.exact.cdf(-place)), (lower, case.exact.cdf(-place - 1))]
        p = min(stats.binomtest(seen, found.total, float(chance)).pvalue for seen, chance in sides)
        tests.append((share, min(1.0, 2 * float(p))))
    return tests


def sign_p(found: Tally) -> float:
    """Binomial test of as many draws above 0 as below."""
    negative = int(found.bins[: len(found.bins) // 2].sum())
    return float(stats.binomtest(negative, int(found.digits.sum())).pvalue)


def digit_p(found: Tally, case: Case) -> float | None:
    """Chi-square of the last digit of |X| - 1, for laws that are not counted value by value."""
    if not case.shift:
        return None
    sizes = np.arange(BASE if case.law == "laplace" else int(12 * case.scale) // BASE * BASE) + 1.0
    mass = np.exp(-sizes / case.scale) if case.law == "laplace" else np.exp(-(sizes**2) / (2 * case.scale**2))
    weight = mass.reshape(-1, BASE).sum(axis=0)  # every run of 256 sizes of Laplace noise is like the first
    expected = found.digits.sum() * weight / weight.sum()
    return float(stats.chisquare(found.digits, expected).pvalue) if expected.min() >= LEAST_EXPECTED else None


def checked(case: Case) -> dict[str, Any]:
    """Return all p of one law."""
    start = time.perf_counter()
    with counted_slow_paths() as slow:
        found = tally(case)
    p, bins = law_p(found)
    tails, signs, digits = tail_p(found, case), sign_p(found), digit_p(found, case)
    each = [p, signs, *(tail for _, tail in tails), *([] if digits is None else [digits])]
    return {
        "name": case.name,
        "draws": case.draws,
        "bins": bins,
        "law_p": p,
        "tails": tails,
        "sign_p": signs,
        "digit_p": digits,
        "slow": len(slow),
        "passes": min(each) > ALPHA,
        "wanted": case.factor == 1,
        "seconds": time.perf_counter() - start,
    }


def row(found: dict[str, Any]) -> tuple[str, ...]:
    """Return one line of the table."""
    tails = dict(found["tails"])
    shown = [f"{tails[share]:.3g}" if share in tails else "-" for share in TAILS]
    digits = "-" if found["digit_p"] is None else f"{found['digit_p']:.3g}"
    verdict = "passes" if found["passes"] else "fails"
    return (
        found["name"],
        f"{found['draws']:,}",
        f"{found['bins']:,}",
        f"{found['law_p']:.3g}",
        *shown,
        f"{found['sign_p']:.3g}",
        digits,
        f"{found['slow']:,}",
        f"{found['seconds']:.1f}",
        verdict if found["passes"] == found["wanted"] else f"{verdict}: WRONG",
    )


HEADER = (
    "law",
    "draws",
    "bins",
    "chi-square p",
    *(f"tail {share:g}" for share in TAILS),
    "signs",
    "last digit",
    "slow draws",
    "s",
    "verdict",
)
