"""Measured numbers that fill in errata.toml, and counterexample searches."""

from __future__ import annotations

import math

from sfumato.entropy import sensitivity
from sfumato.mechanisms.plausible_deniability import composed_epsilon
from sfumato.papers.reaedp.attacks import optimal_rate
from sfumato.papers.reaedp.entropy_sensitivity import SIZES
from sfumato.papers.reaedp.noisy_histograms import TABLE_S3
from sfumato.papers.reaedp.pass_rate import KS, simulated_rate
from sfumato.papers.reaedp.published import (
    failure_counterexample,
    loop_counterexample,
    published_bound,
    published_renyi_bound,
)
from sfumato.papers.reaedp.results import Erratum
from sfumato.privacy.accounting import gaussian_epsilon

STEPS = 80
DELTA = 1e-5


def errata() -> tuple[Erratum, ...]:
    """Return all items, in the order of the paper's argument."""
    items = (*_entropy(), *_counts(), *_mechanism(), *_experiments())
    return tuple(
        Erratum(number=i, paper=paper, verdict=verdict, instead=instead)
        for i, (paper, verdict, instead) in enumerate(items, 1)
    )


def _entropy() -> list[tuple[str, str, str]]:
    loose = [published_bound(n) / sensitivity(n, 2) for n in SIZES]
    half, printed = sensitivity(1000, 2, 0.5), published_renyi_bound(1000, 0.5)
    return [
        (
            "Theorem 3: the Shannon sensitivity is at most (2 + 1/ln 2 + 2 log2 n)/n",
            f"valid, but {min(loose):.2f} to {max(loose):.2f} times too large; the proof drops terms",
            "the exact h2(1/n), with n public",
        ),
        (
            "(15) to (17): the Renyi sensitivity is at most C/n",
            f"false for every order below 1, and above 1 beyond a few cells: order 0.5, n = 1,000 has {half:.4f}, not "
            f"{printed:.4f}",
            "sfumato.entropy.sensitivity: exact, or the tightest proved bound",
        ),
    ]


def _counts() -> list[tuple[str, str, str]]:
    ratio = abs(-5 - 3) - abs(-5 - 2) + abs(8 - 4) - abs(8 - 5)
    over = sum(row.exceeds for row in TABLE_S3)
    return [
        (
            "Lap(1/epsilon) on counts, replacement adjacency",
            f"{ratio} epsilon: counts (3, 4) and (2, 5) and the output (-5, 8) have that log ratio",
            "scale 2/epsilon when replacing, 1/epsilon for add-remove; one adjacency per table",
        ),
        (
            "bins between the smallest and the largest value (authors' code)",
            "not private at all: one value moves almost every count, and the edges publish two records",
            "public edges, from the schema",
        ),
        (
            "|H - H noisy| is at most the sensitivity",
            f"false in {over} of the 7 rows of its own table S3",
            "no bound of that kind; plan with sfumato.entropy.advise",
        ),
    ]


def _mechanism() -> list[tuple[str, str, str]]:
    loop, visible = loop_counterexample(), failure_counterexample()
    cost = [composed_epsilon(1.1053605156578263, 1e-9, records, DELTA) for records in (10, 100, 1000)]
    return [
        (
            "F resamples until a candidate passes",
            f"not (epsilon, delta)-DP: stated delta {loop.stated_delta:.5f}, exact {loop.exact_delta:.4f}",
            "one attempt, and a public prior where it fails",
        ),
        (
            "F with one attempt, failure visible",
            f"stated delta {visible.stated_delta:.2e}, exact {visible.exact_delta:.4f} = 1/51: "
            "the failure is an output",
            "the same prior: every row looks alike",
        ),
        (
            "conditions on the noise L, and the partition of seeds",
            "the condition compares a number with itself, so L = 0 meets it; the partition is missing",
            "cells gamma^-(i+1) < p <= gamma^-i, and discrete Laplace noise",
        ),
        (
            "many synthetic records",
            "their cost is not stated",
            f"N-fold composition: a record at epsilon 1.105 costs {cost[0]:.1f} for 10, {cost[1]:.1f} for 100, "
            f"{cost[2]:.0f} for 1,000 (delta 1e-5)",
        ),
    ]


def _experiments() -> list[tuple[str, str, str]]:
    rule = math.sqrt(2 * math.log(1.25 / DELTA))
    true = gaussian_epsilon(math.sqrt(STEPS) / rule, DELTA)
    rates = ", ".join(f"{simulated_rate(k, 1.0):.3f}" for k in KS)
    return [
        (
            "private mean of curves: rho sets the privacy",
            f"rho is unused in the paper's code, whose noise gives epsilon {true:.2f}, not 1; with a sound mechanism "
            "rho trades noise against bias at one epsilon",
            "sfumato.MeanCurve: public clip, Brownian noise",
        ),
        (
            "figure 1: the pass rate falls with k",
            f"simulated by a formula that rises with k: {rates} at gamma 1",
            "the exact law of the real mechanism",
        ),
        (
            "linkage accuracy goes to 0.5 as epsilon falls",
            "the observed release is one of the two references: "
            "the paper's code is right in all trials at every epsilon",
            f"fresh references, and the best possible attack beside: {optimal_rate(1.0):.4f} at epsilon 1",
        ),
    ]
