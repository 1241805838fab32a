"""Parts, errata and settings of the k-means geometry reproduction."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from sfumato.metrics.clusters import ari_from_confusion
from sfumato.papers.compute import PaperParts, PartEntry, require_repeats
from sfumato.papers.kmeans_geometry import beyond_the_paper, figures
from sfumato.papers.kmeans_geometry.beyond_the_paper import recovered_at
from sfumato.papers.kmeans_geometry.figures import MERGED
from sfumato.papers.kmeans_geometry.published.algorithm import Rounding, round_randomly
from sfumato.papers.kmeans_geometry.sensitivity import OUTLIER, ceiling, failures, label_flip_example, outlier_example
from sfumato.papers.kmeans_geometry.simulation import (
    EPSILON,
    RUNS,
    SEED,
    TARGETS,
    SharedResults,
    closest_epsilon,
    without_noise,
)
from sfumato.papers.result import Erratum, Reproduction
from sfumato.papers.texts import read_errata

ROUNDED = 200_000
COUNT_MEAN = 0.3
"""Mean of the exponential feature on which rounding is compared."""


def errata(work: SharedResults) -> tuple[Erratum, ...]:
    """Return all items: the index, the steps of the algorithm, sensitivity, then what does not reproduce."""
    numbers = {"epsilon": EPSILON, **_steps(work), **_sensitivity(work), **_experiments(work)}
    return read_errata("sfumato.papers.kmeans_geometry", numbers)


def _steps(work: SharedResults) -> dict[str, object]:
    tiny, usual = work.by_epsilon[0.001], work.by_epsilon[EPSILON]
    each, some = failures(work.example, EPSILON)
    (bias, square, mean), (none, small, kept) = rounding_facts("published"), rounding_facts("unbiased")
    return {
        "tiny_aligned": tiny.aligned.mean(),
        "tiny_transfer": tiny.transfer.mean(),
        "usual_aligned": usual.aligned.mean(),
        "usual_transfer": usual.transfer.mean(),
        "outside_each": each,
        "outside_some": some,
        "outside_successive": failures(work.example, EPSILON, successive=True)[0],
        "bias": bias,
        "square": square,
        "mean": mean,
        "count_mean": COUNT_MEAN,
        "unbiased_bias": round(none, 2) + 0.0,
        "unbiased_square": small,
        "unbiased_mean": kept,
        "nearest_mean": _nearest_mean(),
    }


def rounding_facts(rounding: Rounding, draws: int = ROUNDED) -> tuple[float, float, float]:
    """Return bias at fraction 0.1, mean squared error over uniform fractions, and the mean of Exp(mean 0.3)."""
    generator = np.random.default_rng(0)
    tenth, even = np.full(draws, 0.1), generator.random(draws)
    skewed = generator.exponential(COUNT_MEAN, draws)
    square = (round_randomly(even, rounding, generator) - even) ** 2
    bias = round_randomly(tenth, rounding, generator) - tenth
    return float(bias.mean()), float(square.mean()), float(round_randomly(skewed, rounding, generator).mean())


def _nearest_mean() -> float:
    """Return the mean of an exponential feature rounded to the nearest whole number: a geometric sum."""
    return math.exp(-0.5 / COUNT_MEAN) / (1 - math.exp(-1 / COUNT_MEAN))


def _sensitivity(work: SharedResults) -> dict[str, object]:
    flip, outlier = label_flip_example(), outlier_example(work.rows)
    recovered = {e: float(recovered_at(work, e).mean()) for e in (0.1, 0.5, 1.0)}
    return {
        "flip_centroids": flip.centroids,
        "flip_delta": flip.delta,
        "flip_radii": flip.radii,
        "flip_ratio": flip.log_ratio,
        "outlier": OUTLIER,
        "delta_before": outlier.delta[0],
        "delta_after": outlier.delta[1],
        "sd_before": outlier.sd[0],
        "sd_after": outlier.sd[1],
        "recovered": ", ".join(
            f"{share:.2f} at {e:g} (ceiling {ceiling(e, replace=False):.2f})" for e, share in recovered.items()
        ),
    }


def _experiments(work: SharedResults) -> dict[str, object]:
    chosen = [closest_epsilon(curve, target) for curve in work.curves for target in TARGETS]
    return {
        "plain": without_noise(work.rows, 10, "k-means++", work.runs).mean(),
        "merged": ari_from_confusion(MERGED),
        "below": 100 * float((work.at_paper.aligned <= 0.18).mean()),
        "lowest_chosen": min(chosen),
        "highest_chosen": max(chosen),
    }


PARTS = PaperParts[SharedResults](
    paper="kmeans-geometry",
    entries=(
        PartEntry("figure 1", "the data, and the data standardised", figures.figure_1),
        PartEntry("figure 2", "clusters, and centroids with noise", figures.figure_2),
        PartEntry("figure 3", "centroids reflected into their bounds", figures.figure_3),
        PartEntry("figure 4", "noisy radii, and the synthetic rows", figures.figure_4),
        PartEntry("figure 5", "clusters of the original and of the synthetic rows", figures.figure_5),
        PartEntry("table 1", "confusion matrix", figures.table_1),
        PartEntry("table 2", "baselines", figures.table_2),
        PartEntry("table 3", "adjusted Rand index over runs", figures.table_3),
        PartEntry("table 4", "epsilon by target", figures.table_4),
    ),
    beyond=(
        PartEntry("beyond 1", "the aligned index measures copied labels", beyond_the_paper.copied_labels),
        PartEntry(
            "beyond 2",
            "labels recovered, against what differential privacy allows",
            beyond_the_paper.recovered_labels,
        ),
        PartEntry("beyond 3", "the form with a guarantee", beyond_the_paper.with_a_guarantee),
    ),
    errata=errata,
)
parts = PARTS.parts


def reproduce(folder: Path | None = None, only: str | None = None, repeats: int | None = None) -> Reproduction:
    """Compute every part, or ``only`` one. The rows are simulated, so that no folder is needed.

    ``repeats`` is the number of runs at each epsilon: 40 by default, where the paper has 30. Time grows with it.
    """
    runs = require_repeats(repeats, RUNS)
    numbers = {"runs": runs}
    return PARTS.compute(SharedResults(runs), only, folder or Path(), numbers, SEED, runs)
