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
from sfumato.papers.result import Part, ValueTable, value_table
from sfumato.papers.texts import DrawnValues

SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
SAMPLED_SIZES = (50, 100, 200, 500, 1000)
SAMPLED_CELLS = (10, 20, 30)
TRIALS = 5
ORDERS = (0.5, 1.5, 2.0, 3.0, 5.0, 10.0)
PRINTED_CONSTANTS = (2.89, 8.66, 5.77, 4.33, 3.61, 3.21)
RECORDS, CELLS = 1000, 30
GRID = (2, 3, 4, 6, 8, 11, 16, 22, 30, 45, 64, 100)


@dataclass(frozen=True)
class Sampled:
    """Figure 4 at one n and m: the largest entropy change of each of five random histograms."""

    n: int
    m: int
    mean: float
    largest: float


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
    rows = tuple(
        (f"{n:,}", f"{e:.9f}", f"{b:.9f}", f"{b / e:.3f}") for n, e, b in zip(SIZES, exact, bound, strict=True)
    )
    numbers = {"bounds": (bound[0], bound[-1]), "exact": (exact[0], exact[-1]), "loose": (min(loose), max(loose))}
    return part(
        "figure 3",
        numbers,
        values=(value_table("Replacement of one record, bits", ("n", "exact", "printed (4)", "ratio"), rows, words=0),),
        drawn=[(SIZES, {"printed bound, (4)": bound, "exact, h2(1/n)": exact})],
    )


def figure_4(_: Sources) -> Part:
    """Return figure 4: sampled sensitivities beside the bound and the exact value."""
    found = sampled_sensitivities()
    rows = tuple(
        (
            f"{s.n:,}",
            str(s.m),
            f"{s.mean:.4f}",
            f"{s.largest:.4f}",
            f"{sensitivity(s.n, s.m):.4f}",
            f"{published_bound(s.n):.4f}",
            f"{s.mean / published_bound(s.n):.2f}",
            f"{s.largest / sensitivity(s.n, s.m):.2f}",
        )
        for s in found
    )
    header = ("n", "m", "sampled mean", "sampled max", "exact", "printed (4)", "mean / printed", "max / exact")
    to_bound = [s.mean / published_bound(s.n) for s in found]
    spans = "; ".join(
        f"{min(ratios):.2f} to {max(ratios):.2f} (m = {m})"
        for m in SAMPLED_CELLS
        if (ratios := [s.largest / sensitivity(s.n, m) for s in found if s.m == m])
    )
    return part(
        "figure 4",
        {"trials": TRIALS, "seed": SEED, "to_bound": (min(to_bound), max(to_bound)), "spans": spans},
        drawn=_sampled_values(found),
        values=(value_table("Largest change of entropy, bits", header, rows, words=0),),
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
    orders = (*ORDERS, math.inf)
    rows = tuple(_renyi_row(order, PRINTED_CONSTANTS[i] if i < len(ORDERS) else None) for i, order in enumerate(orders))
    header = (
        "order",
        "C printed",
        "C by (17)",
        f"printed C/n, n = {RECORDS:,}",
        f"exact, {CELLS} cells",
        "exact / printed",
        "violated from",
    )
    half, printed_half = sensitivity(RECORDS, 2, 0.5), published_renyi_bound(RECORDS, 0.5)
    return part(
        "table S1",
        {"half": half, "printed_half": printed_half, "times": half / printed_half},
        values=(ValueTable(title="Replacement of one record", header=header, rows=rows, numbers=tuple(range(6))),),
        drawn=[(GRID, {f"order {order:g}": _violations(order) for order in (2.0, 3.0, 10.0)})],
    )


def _renyi_row(order: float, printed: float | None) -> tuple[str, ...]:
    bound, exact = published_renyi_bound(RECORDS, order), sensitivity(RECORDS, CELLS, order)
    first = smallest_violation(order)
    return (
        "infinity" if math.isinf(order) else f"{order:g}",
        "not given" if printed is None else f"{printed:.2f}",
        f"{bound * RECORDS:.4f}",
        f"{bound:.6f}",
        f"{exact:.6f}",
        f"{exact / bound:.2f}",
        "never" if first is None else f"{first} cells",
    )


def _violations(order: float) -> list[float]:
    return [sensitivity(RECORDS, cells, order) / published_renyi_bound(RECORDS, order) for cells in GRID]
