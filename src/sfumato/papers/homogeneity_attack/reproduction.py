"""Parts, errata and settings of the homogeneity-attack reproduction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.papers.compute import PaperParts, PartEntry, require_repeats
from sfumato.papers.data import data_folder
from sfumato.papers.homogeneity_attack import figures
from sfumato.papers.homogeneity_attack.data import PaperTables
from sfumato.papers.homogeneity_attack.marginal_tvd import DRAWS, SEED
from sfumato.papers.homogeneity_attack.published import moment_terms, published
from sfumato.papers.homogeneity_attack.shared_results import (
    TINY,
    SharedResults,
    average_risk,
    homogeneous_share,
    zero_truncated_rate,
)
from sfumato.papers.result import Erratum, Reproduction
from sfumato.papers.texts import read_errata
from sfumato.risk.homogeneity import Gaussian, Laplace, Poisson, expected, fit_dirichlet, local, overall


def errata(tables: PaperTables) -> tuple[Erratum, ...]:
    """Return all errata, in the order of the paper's argument."""
    numbers = {**_bounds(), **_cells(), **_sizes(tables), **_adult(tables), **_subset(tables), **_moments(tables)}
    return read_errata("sfumato.papers.homogeneity_attack", numbers)


def _listed(values: Sequence[float] | FloatArray, digits: int = 4) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _bounds() -> dict[str, object]:
    noise, faint, fair, lopsided = Laplace(1.0), Laplace(0.1), [0.5, 0.5], [0.9, 0.1]
    prior, sizes = [0.3, 0.3, 0.4], Poisson(4.6)
    alpha, few, strong = [0.7, 1.3], Poisson(2.43), Gaussian(0.3)
    return {
        "fair_3": published(12, noise, n=3, p=fair),
        "fair_3_exact": expected(3, fair, noise),
        "fair_10": published(12, faint, n=10, p=fair),
        "fair_10_exact": expected(10, fair, faint),
        "lopsided": published(12, noise, n=10, p=lopsided),
        "lopsided_exact": expected(10, lopsided, noise),
        "global_14": published(14, faint, alpha=prior, sizes=sizes),
        "global_14_exact": overall(prior, faint, sizes, truncated=False),
        "global_14_truncated": overall(prior, faint, sizes),
        "short": published(27, Gaussian(3.0), alpha=alpha, sizes=few),
        "full": published(24, Gaussian(3.0), alpha=alpha, sizes=few),
        "short_above": published(27, strong, alpha=alpha, sizes=few),
        "exact_above": overall(alpha, strong, few, truncated=False),
    }


def _cells() -> dict[str, object]:
    noise, mixed = Laplace(1.0), [[3, 1]]
    pair, triple = local([[2, 1, 0], [1, 1, 1]], Laplace(0.1)).tolist()
    one, tenth = (Laplace(epsilon).survival(np.array([4, 3, 2])) for epsilon in (1.0, 0.1))
    return {
        "pair": pair,
        "triple": triple,
        "falling": _listed([local([[9, 1]], Laplace(epsilon)).item() for epsilon in (TINY, 0.2585, 1.0, 5.0)]),
        "rising": _listed([local([[9, 1, 0, 0]], Laplace(epsilon)).item() for epsilon in (TINY, 1.0, 5.0)]),
        "plug_in": published(12, Laplace(200.0), counts=[[1, 1]]),
        "plug_in_exact": local([[1, 1]], Laplace(200.0)).item(),
        "survival_one": _listed(one),
        "survival_tenth": _listed(tenth),
        "mixed": local(mixed, noise).item(),
        "mixed_record": local(mixed, noise, "record").item(),
    }


def _sizes(tables: PaperTables) -> dict[str, object]:
    adult_mean, bankruptcy_mean = (float(tables.printed_sizes(name).mean()) for name in ("adult", "bankruptcy"))
    own = tables.cells["adult"].sizes
    rate = zero_truncated_rate(float(own.mean()))
    return {
        "printed_limit": 1 - math.exp(-bankruptcy_mean),
        "adult_rate": zero_truncated_rate(adult_mean),
        "bankruptcy_rate": zero_truncated_rate(bankruptcy_mean),
        "own_rate": rate,
        "single": (own == 1).mean(),
        "modelled": rate * math.exp(-rate) / -math.expm1(-rate),
    }


def _adult(tables: PaperTables) -> dict[str, object]:
    cells = tables.cells["adult"]
    counts, homogeneous = cells.counts, cells.homogeneous
    return {
        "printed_cells": (counts > 0).sum(),
        "printed_largest": counts.max(),
        "cells": len(counts),
        "largest": cells.sizes.max(),
        "homogeneous": homogeneous.sum(),
        "homogeneous_percent": 100 * homogeneous.mean(),
        "homogeneous_records": cells.sizes[homogeneous].sum(),
        "records": cells.sizes.sum(),
        "adult_floor": average_risk(counts, Laplace(TINY)),
        "adult_record_floor": average_risk(counts, Laplace(TINY), "record"),
        "adult_ceiling": homogeneous_share(counts),
    }


def _subset(tables: PaperTables) -> dict[str, object]:
    counts = tables.cells["bankruptcy-subset"].counts
    top, bottom = (float(published(12, Laplace(epsilon), counts=counts)) for epsilon in (200.0, TINY))
    return {
        "printed_top": top,
        "printed_bottom": bottom,
        "subset_share": homogeneous_share(counts),
        "subset_homogeneous": ((counts > 0).sum(axis=1) == 1).sum(),
        "subset_cells": len(counts),
        "subset_floor": average_risk(counts, Laplace(TINY)),
        "subset_record_floor": average_risk(counts, Laplace(TINY), "record"),
        "subset_percent": 100 * bottom / top,
    }


def _moments(tables: PaperTables) -> dict[str, object]:
    cells, subset = np.array([[3, 1], [0, 4], [5, 5], [2, 0]]), tables.cells["bankruptcy-subset"].counts
    (above, _), (below, _) = moment_terms(cells, pooled=True)
    numerators, denominators = moment_terms(subset)
    return {
        "above": above,
        "below": below,
        "printed_alphas": _listed(numerators / denominators, 2),
        "denominators": _listed(denominators, 1),
        "likelihood": _listed(fit_dirichlet(cells).alpha),
        "moments": _listed(fit_dirichlet(cells, "moments").alpha),
        "subset_alphas": _listed(fit_dirichlet(subset).alpha),
    }


PARTS = PaperParts[SharedResults](
    paper="homogeneity-attack",
    entries=(
        PartEntry("figure 3", "cells", figures.figure_3),
        PartEntry("figure 4", "risk against epsilon", figures.figure_4),
        PartEntry("figure 5", "utility", figures.figure_5),
        PartEntry("figure D", "guessing attackers", figures.figure_d),
        PartEntry("table 1", "risks and mechanisms", figures.table_1),
    ),
    beyond=(PartEntry("beyond 1", "choosing epsilon", figures.choosing_epsilon),),
    errata=lambda work: errata(work.tables),
)
parts = PARTS.parts
"""Figures 1 and 2 hold no numbers, an example and a diagram; ``figure D`` is that of appendix D."""


def reproduce(
    folder: Path | None = None, only: str | None = None, repeats: int | None = None, seed: int = SEED
) -> Reproduction:
    """Compute every figure of merit, or ``only`` one part.

    The tables are those in ``folder`` (SFUMATO_DATA, else ../shared/data). ``repeats`` and ``seed`` are for the
    simulated distances of figure 5.
    """
    work = SharedResults(folder, require_repeats(repeats, DRAWS), seed)
    numbers = {"draws": work.draws}
    return PARTS.compute(work, only, data_folder(folder), numbers, seed, work.draws)
