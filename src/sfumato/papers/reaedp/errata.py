"""Measured numbers that fill in errata.toml."""

from __future__ import annotations

from sfumato.entropy import sensitivity
from sfumato.mechanisms.plausible_deniability import composed_epsilon
from sfumato.papers.reaedp.attacks import optimal_rate
from sfumato.papers.reaedp.entropy_sensitivity import SIZES
from sfumato.papers.reaedp.histograms import DELTA
from sfumato.papers.reaedp.mean_curves import published_epsilon
from sfumato.papers.reaedp.noisy_histograms import TABLE_S3
from sfumato.papers.reaedp.pass_rate import KS, simulated_rate
from sfumato.papers.reaedp.published import (
    failure_counterexample,
    loop_counterexample,
    published_bound,
    published_renyi_bound,
)
from sfumato.papers.result import Erratum
from sfumato.papers.texts import read_errata


def errata() -> tuple[Erratum, ...]:
    """Return all items, in the order of the paper's argument."""
    return read_errata("sfumato.papers.reaedp", {**_bounds(), **_mechanism(), **_experiments()})


def _bounds() -> dict[str, object]:
    loose = [published_bound(n) / sensitivity(n, 2) for n in SIZES]
    return {
        "least_loose": min(loose),
        "most_loose": max(loose),
        "renyi_half": sensitivity(1000, 2, 0.5),
        "renyi_printed": published_renyi_bound(1000, 0.5),
        "ratio": abs(-5 - 3) - abs(-5 - 2) + abs(8 - 4) - abs(8 - 5),
        "over": sum(row.exceeds for row in TABLE_S3),
    }


def _mechanism() -> dict[str, object]:
    loop, visible = loop_counterexample(), failure_counterexample()
    cost = [composed_epsilon(1.1053605156578263, 1e-9, records, DELTA) for records in (10, 100, 1000)]
    return {
        "loop_stated": loop.stated_delta,
        "loop_exact": loop.exact_delta,
        "visible_stated": visible.stated_delta,
        "visible_exact": visible.exact_delta,
        **dict(zip(("ten", "hundred", "thousand"), cost, strict=True)),
    }


def _experiments() -> dict[str, object]:
    return {
        "mean_epsilon": published_epsilon(),
        "rates": [simulated_rate(k, 1.0) for k in KS],
        "best_attack": optimal_rate(1.0),
    }
