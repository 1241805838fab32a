"""Parts, errata and settings of the REAEDP reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.entropy import sensitivity
from sfumato.mechanisms.plausible_deniability import composed_epsilon
from sfumato.papers.compute import PaperParts, PartEntry
from sfumato.papers.reaedp.attacks import figure_7, optimal_rate
from sfumato.papers.reaedp.entropy_sensitivity import SIZES, figure_3, figure_4, table_s1
from sfumato.papers.reaedp.histograms import DELTA, PRICES, SEED, UNRATE, Sources
from sfumato.papers.reaedp.images import figure_s1, figure_s2
from sfumato.papers.reaedp.mean_curves import figure_2, published_epsilon
from sfumato.papers.reaedp.noisy_histograms import TABLE_S3, figure_5, figure_6, figure_8, figure_s4, table_iv, table_s3
from sfumato.papers.reaedp.pass_rate import KS, figure_1, simulated_rate
from sfumato.papers.reaedp.published import (
    failure_counterexample,
    loop_counterexample,
    published_bound,
    published_renyi_bound,
)
from sfumato.papers.result import Erratum, Reproduction
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


PARTS = PaperParts[Sources](
    paper="reaedp",
    entries=(
        PartEntry("figure 1", "pass rate of the privacy test", figure_1, (PRICES,)),
        PartEntry("figure 2", "private mean of curves", figure_2),
        PartEntry("figure 3", "the entropy bound against n", figure_3),
        PartEntry("figure 4", "sampled sensitivity against the bound", figure_4),
        PartEntry("figure 5", "baselines against epsilon", figure_5, (PRICES,)),
        PartEntry("figure 6", "entropy error by number of bins", figure_6, (PRICES,)),
        PartEntry("figure 7", "attacks", figure_7, (PRICES,)),
        PartEntry("figure 8", "one noisy histogram", figure_8, (PRICES,)),
        PartEntry("figure S1", "image noise against epsilon", figure_s1),
        PartEntry("figure S2", "PSNR, MAE and SSIM", figure_s2),
        PartEntry("figure S4", "histograms of several data sets", figure_s4, (PRICES, UNRATE)),
        PartEntry("table IV", "one run on the reviews", table_iv, (), (PRICES,)),
        PartEntry("table S1", "constants of the Renyi bound", table_s1),
        PartEntry("table S3", "seven data sets", table_s3, (), (PRICES, UNRATE)),
    ),
    errata=lambda _: errata(),
)
parts = PARTS.parts


def reproduce(folder: Path | None = None, only: str | None = None) -> Reproduction:
    """Compute every part, or ``only`` one; parts whose data are absent are left out and say so.

    A part that is asked for by name needs its data: without them this is an error.
    """
    sources = Sources.find(folder)
    return PARTS.compute(sources, only, sources.folder, {}, SEED)
