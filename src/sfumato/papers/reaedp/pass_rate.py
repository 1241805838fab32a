"""Figure 1: pass rate of the privacy test of mechanism F."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.plausible_deniability import pass_rate
from sfumato.papers.reaedp.histograms import BINS, Sources, part, public_bins
from sfumato.papers.reaedp.published import (
    NO_GUARANTEE,
    Counterexample,
    failure_counterexample,
    loop_counterexample,
    stated_guarantee,
)
from sfumato.papers.result import Part, ValueTable, value_table

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
        values=(_rates(shown), _guarantees(), _counterexamples()),
        drawn=[(GAMMAS, {f"k = {k}": rate for k, rate in each.items()}) for each in kinds.values()],
    )


def _rate(seeds: NDArray[np.int64], k: int, gamma: float) -> float:
    return pass_rate(seeds, kernel_proposals(), k=k, gamma=gamma, epsilon0=EPSILON0)


def _rates(shown: dict[tuple[int, float], float]) -> ValueTable:
    rows = [("real mechanism", f"{gamma:g}", *(f"{shown[k, gamma]:.3f}" for k in KS)) for gamma in SHOWN]
    rows += [("authors' formula", f"{gamma:g}", *(f"{simulated_rate(k, gamma):.3f}" for k in KS)) for gamma in SHOWN]
    header = ("", "gamma", *(f"k = {k}" for k in KS))
    return value_table("Pass rate", header, rows)


def _guarantees() -> ValueTable:
    rows = tuple(
        (
            str(k),
            f"{stated_guarantee(k, THRESHOLD, 2.0, EPSILON0)[1]:.4f}",
            *(f"{stated_guarantee(k, THRESHOLD, gamma, EPSILON0)[0]:.3f}" for gamma in (2.0, 4.0, 8.0, 12.0)),
        )
        for k in KS
    )
    header = ("k", "delta", *(f"epsilon, gamma = {gamma}" for gamma in (2, 4, 8, 12)))
    return value_table("What theorem 4 promises for one record at t = 2, epsilon0 = .1", header, rows, words=0)


def _counterexamples() -> ValueTable:
    rows = tuple(_row(example) for example in (loop_counterexample(), failure_counterexample()))
    header = ("", "published variant", "tables", "epsilon", "stated delta", "one attempt", "exact delta")
    title = f"Published variants of F: {NO_GUARANTEE}"
    return value_table(title, header, rows, words=3)


def _row(example: Counterexample) -> tuple[str, ...]:
    return (
        example.name,
        example.variant,
        example.tables,
        f"{example.epsilon:.4f}",
        f"{example.stated_delta:.3g}",
        f"{example.one_attempt_delta:.2g}",
        f"{example.exact_delta:.4f}",
    )
