"""Parts and settings of the REAEDP reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.compute import PaperParts, PartEntry
from sfumato.papers.reaedp.attacks import figure_7
from sfumato.papers.reaedp.entropy_sensitivity import figure_3, figure_4, table_s1
from sfumato.papers.reaedp.errata import errata
from sfumato.papers.reaedp.histograms import PRICES, SEED, UNRATE, Sources
from sfumato.papers.reaedp.images import figure_s1, figure_s2
from sfumato.papers.reaedp.mean_curves import figure_2
from sfumato.papers.reaedp.noisy_histograms import figure_5, figure_6, figure_8, figure_s4, table_iv, table_s3
from sfumato.papers.reaedp.pass_rate import figure_1
from sfumato.papers.result import Reproduction

PARTS = PaperParts[Sources](
    paper="reaedp",
    title="REAEDP: entropy-calibrated differentially private data release",
    lead="REAEDP combines noisy histograms judged by their entropy, synthetic records that must pass a privacy test, a "
    "private mean of curves, and attacks. Every figure and table that can be recomputed stands here as printed, as we "
    "get it, and with the reason where the two differ.",
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
    facts = (
        ("seed of every simulation", f"{SEED}, as in the paper"),
        ("data", "House Prices (SalePrice) and US unemployment (UNRATE); public columns, simulated releases"),
    )
    return PARTS.compute(sources, only, sources.folder, facts, SEED)
