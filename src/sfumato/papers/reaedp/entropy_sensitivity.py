"""Figures 3 and 4 and table S1: printed bounds beside exact entropy sensitivities."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache

import numpy as np

from sfumato.entropy import sensitivity
from sfumato.papers.reaedp.histograms import SEED, Counts, Sources, part
from sfumato.papers.reaedp.published import published_bound, published_renyi_bound
from sfumato.papers.result import Part
from sfumato.papers.texts import DrawnValues

SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
SAMPLED_SIZES = (50, 100, 200, 500, 1000)
SAMPLED_CELLS = (10, 20, 30)
TRIALS = 5
PRINTED_CONSTANTS = {0.5: 2.89, 1.5: 8.66, 2.0: 5.77, 3.0: 4.33, 5.0: 3.61, 10.0: 3.21}
"""C of table S1 by the order."""
RECORDS, CELLS = 1000, 30
GRID = (2, 3, 4, 6, 8, 11, 16, 22, 30, 45, 64, 100)


@dataclass(frozen=True)
class Sampled:
    """Figure 4 at one n and m: the largest entropy change of each of five random histograms."""

    n: int
    m: int
    mean: float
    largest: float

    @property
    def exact(self) -> float:
        """The exact sensitivity."""
        return float(sensitivity(self.n, self.m))

    @property
    def bound(self) -> float:
        """The printed bound."""
        return published_bound(self.n)

    @property
    def to_bound(self) -> float:
        """The mean change over the bound."""
        return self.mean / self.bound

    @property
    def to_exact(self) -> float:
        """The largest change over the exact sensitivity."""
        return self.largest / self.exact


def largest_entropy_change(counts: Counts) -> float:
    """Return the largest entropy change when one record of this histogram moves, over all moves.

    >>> round(largest_entropy_change(np.array([50, 0])), 9)
    0.141440543
    """
    table = np.append(0.0, np.arange(1, counts.sum() + 2))
    table[1:] *= np.log2(table[1:])
    joined, left = table[counts + 1] - table[counts], table[counts] - table[np.maximum(counts - 1, 0)]
    moves = np.abs(np.subtract.outer(joined, left))
    possible = (counts > 0)[None, :] & ~np.eye(len(counts), dtype=bool)
    return float(moves[possible].max(initial=0.0) / counts.sum())


def sampled_sensitivities(seed: int = SEED) -> tuple[Sampled, ...]:
    """Draw the histograms of figure 4 (Dirichlet(1), then multinomial) and try every move."""
    rng, found = np.random.default_rng(seed), list[Sampled]()
    for n in SAMPLED_SIZES:
        for m in SAMPLED_CELLS:
            moves = [largest_entropy_change(rng.multinomial(n, rng.dirichlet(np.ones(m)))) for _ in range(TRIALS)]
            found.append(Sampled(n, m, float(np.mean(moves)), max(moves)))
    return tuple(found)


@cache
def smallest_violation(order: float, n: int = RECORDS) -> int | None:
    """Return the fewest cells at which the exact Renyi sensitivity exceeds the printed bound; None if none does.

    >>> smallest_violation(2.0)
    11
    """
    bound = published_renyi_bound(n, order)

    # The exact sensitivity cannot fall when cells are added.
    first = bisect_right(range(2, n + 1), bound, key=lambda cells: sensitivity(n, cells, order)) + 2
    return first if first <= n else None


def figure_3(_: Sources) -> Part:
    """Return figure 3: the printed bound against n, beside the exact sensitivity."""
    exact, bound = [float(sensitivity(n, CELLS)) for n in SIZES], [published_bound(n) for n in SIZES]
    loose = [b / e for b, e in zip(bound, exact, strict=True)]
    numbers = {
        "sizes": [
            {"n": n, "exact": e, "bound": b, "ratio": b / e} for n, e, b in zip(SIZES, exact, bound, strict=True)
        ],
        "bounds": (bound[0], bound[-1]),
        "exact": (exact[0], exact[-1]),
        "loose": (min(loose), max(loose)),
    }
    return part(
        "figure 3",
        numbers,
        drawn=[(SIZES, {"printed bound, (4)": bound, "exact, h2(1/n)": exact})],
    )


def figure_4(_: Sources) -> Part:
    """Return figure 4: sampled sensitivities beside the bound and the exact value."""
    found = sampled_sensitivities()
    to_bound = [s.to_bound for s in found]
    spans = "; ".join(
        f"{min(ratios):.2f} to {max(ratios):.2f} (m = {m})"
        for m in SAMPLED_CELLS
        if (ratios := [s.to_exact for s in found if s.m == m])
    )
    return part(
        "figure 4",
        {"found": found, "trials": TRIALS, "seed": SEED, "to_bound": (min(to_bound), max(to_bound)), "spans": spans},
        drawn=_sampled_values(found),
    )


def _sampled_values(found: tuple[Sampled, ...]) -> list[DrawnValues]:
    means = [float(np.mean([s.mean for s in found if s.n == n])) for n in SAMPLED_SIZES]
    largest = [max(s.largest for s in found if s.n == n) for n in SAMPLED_SIZES]
    bound = [published_bound(n) for n in SAMPLED_SIZES]
    exact = [float(sensitivity(n, CELLS)) for n in SAMPLED_SIZES]
    ratios = {
        "mean / printed bound": [a / b for a, b in zip(means, bound, strict=True)],
        "max / exact": [a / b for a, b in zip(largest, exact, strict=True)],
    }
    curves = {"printed bound, (4)": bound, "exact": exact, "sampled max": largest, "sampled mean": means}
    return [(SAMPLED_SIZES, curves), ([f"{n:,}" for n in SAMPLED_SIZES], ratios)]


def table_s1(_: Sources) -> Part:
    """Return table S1: the printed Renyi constants, and where they are violated."""
    half, printed_half = sensitivity(RECORDS, 2, 0.5), published_renyi_bound(RECORDS, 0.5)
    printed = {**{order: f"{constant:.2f}" for order, constant in PRINTED_CONSTANTS.items()}, math.inf: "not given"}
    return part(
        "table S1",
        {
            "orders": [_renyi_row(order, constant) for order, constant in printed.items()],
            "half": half,
            "printed_half": printed_half,
            "times": half / printed_half,
        },
        [(GRID, {f"order {order:g}": _violations(order) for order in (2.0, 3.0, 10.0)})],
    )


def _renyi_row(order: float, printed: str) -> dict[str, object]:
    bound, exact = published_renyi_bound(RECORDS, order), sensitivity(RECORDS, CELLS, order)
    first = smallest_violation(order)
    return {
        "order": "infinity" if math.isinf(order) else f"{order:g}",
        "printed": printed,
        "constant": bound * RECORDS,
        "bound": bound,
        "exact": exact,
        "ratio": exact / bound,
        "violated": "never" if first is None else f"{first} cells",
    }


def _violations(order: float) -> list[float]:
    return [sensitivity(RECORDS, cells, order) / published_renyi_bound(RECORDS, order) for cells in GRID]
