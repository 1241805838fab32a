"""Parts and settings of the k-means geometry reproduction."""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.compute import PaperParts, PartEntry, require_repeats
from sfumato.papers.kmeans_geometry import beyond_the_paper, figures
from sfumato.papers.kmeans_geometry.errata import errata
from sfumato.papers.kmeans_geometry.simulation import RUNS, SEED, SharedResults
from sfumato.papers.result import Reproduction

PARTS = PaperParts[SharedResults](
    paper="kmeans-geometry",
    title="Geometry-based synthetic tabular data via K-means clustering",
    lead="The paper adds Laplace noise to k-means centroids and to the distances of rows from them, and chooses "
    "epsilon by an adjusted Rand index. Its mechanism is a heuristic: no differential privacy. Every figure and table "
    "stands here as printed, as we get it, and with the reason where the two differ.",
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
    facts = (
        ("seed", f"{SEED}, for the rows and every run"),
        ("runs", f"{runs} for each epsilon, five times as many at 1.6"),
        (
            "data",
            "own rows around the printed centroids: the paper's are not available; wine and breast cancer of "
            "scikit-learn",
        ),
        ("not known", "the authors' code: initialisation of k-means, the unit of the reclustering and the grid"),
    )
    return PARTS.compute(SharedResults(runs), only, folder or Path(), facts, SEED, runs)
