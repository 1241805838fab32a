"""Figure 1: pass rate of the privacy test of mechanism F."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.plausible_deniability import pass_rate
from sfumato.papers.reaedp.histograms import BINS, Sources, part, public_bins
from sfumato.papers.reaedp.published import (
    failure_counterexample,
    loop_counterexample,
    stated_guarantee,
)
from sfumato.papers.result import Part

KS = (10, 20, 30, 50)
THRESHOLD = 2
EPSILON0 = 0.1
ROWS = 100
WIDTH = 3.0
GAMMAS = tuple(float(f"{g:.4g}") for g in sorted({2.0, 4.0, 8.0, *np.linspace(1.25, 12, 44)}))
SHOWN = (2.0, 4.0, 8.0)


def kernel_proposals(bins: int = BINS, width: float = WIDTH) -> NDArray[np.float64]:
    """Return p_s(y), proportional to exp(-|y - s| / width): public, as it does not look at the table."""
    steps = np.abs(np.subtract.outer(np.arange(bins), np.arange(bins)))
    weights = np.exp(-steps / width)
    return weights / weights.sum(axis=1, keepdims=True)


def simulated_rate(k: int, gamma: float, t: int = THRESHOLD, epsilon0: float = EPSILON0) -> float:
    """Return what the authors' code flips coins with in place of the mechanism; no seeds, no candidates, no cells.

    >>> round(simulated_rate(10, 1.0), 3), round(simulated_rate(50, 1.0), 3)
    (0.775, 0.996)
    """
    return 1 - math.exp(-epsilon0 * max(k - t, 0)) / (1 + gamma)


def figure_1(sources: Sources) -> Part:
    """Return figure 1: the pass rate of the real mechanism on SalePrice, beside the simulated one."""
    seeds = public_bins(sources.prices[:ROWS])
    rates = {k: tuple(_rate(seeds, k, gamma) for gamma in GAMMAS) for k in KS}
    shown = {(k, gamma): rates[k][GAMMAS.index(gamma)] for k in KS for gamma in SHOWN}
    weakest, strongest = (stated_guarantee(k, THRESHOLD, 2.0, EPSILON0)[1] for k in (KS[0], KS[-1]))
    simulated = {k: tuple(simulated_rate(k, gamma) for gamma in GAMMAS) for k in KS}
    kinds = {"real mechanism, exact": rates, "authors' formula, simulated": simulated}
    numbers = {
        "kinds": [{"kind": kind} for kind in kinds],
        "real": [{"gamma": gamma, "rates": [shown[k, gamma] for k in KS]} for gamma in SHOWN],
        "formula": [{"gamma": gamma, "rates": [simulated_rate(k, gamma) for k in KS]} for gamma in SHOWN],
        "promises": [_promise(k) for k in KS],
        "counterexamples": (loop_counterexample(), failure_counterexample()),
        "rows": ROWS,
        "bins": BINS,
        "falling": [shown[k, 2.0] for k in KS],
        "rising": [simulated_rate(k, 1.0) for k in KS],
        "by_gamma": [f"{shown[10, gamma]:.3f} (gamma {gamma:g})" for gamma in SHOWN],
        "weakest": weakest,
        "strongest": strongest,
    }
    return part(
        "figure 1",
        numbers,
        drawn=[(GAMMAS, {f"k = {k}": rate for k, rate in each.items()}) for each in kinds.values()],
    )


def _rate(seeds: NDArray[np.int64], k: int, gamma: float) -> float:
    return pass_rate(seeds, kernel_proposals(), k=k, gamma=gamma, epsilon0=EPSILON0)


def _promise(k: int) -> dict[str, object]:
    stated = [stated_guarantee(k, THRESHOLD, gamma, EPSILON0) for gamma in (2.0, 4.0, 8.0, 12.0)]
    return {"k": k, "delta": stated[0][1], "epsilons": [epsilon for epsilon, _ in stated]}
