"""From the two public tables to everything that the paper reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.papers.homogeneity_attack.curves import DELTAS, guessing_curves, poisson_curves, risk_curves
from sfumato.papers.homogeneity_attack.data import TITLES, PaperTables, load
from sfumato.papers.homogeneity_attack.errata import errata
from sfumato.papers.homogeneity_attack.results import (
    Choice,
    Experiment,
    Measure,
    Mechanism,
    Name,
    Reproduction,
    Sigma,
    SizeBin,
)
from sfumato.papers.homogeneity_attack.statements import statements
from sfumato.papers.homogeneity_attack.utility import DRAWS, SEED, utilities
from sfumato.risk.homogeneity import View, epsilon_for, gaussian_sigma, published
from sfumato.version import __version__

TARGET = 0.35
SIGMA_EPSILONS = (0.1, 0.5, 0.9, 1.0, 2.0, 5.0)
BINS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 10), (11, 20), (21, 50), (51, 120), (121, None))


def reproduce(folder: Path | None = None, draws: int = DRAWS, seed: int = SEED) -> Reproduction:
    """Compute every figure of merit; ``draws`` and ``seed`` are for the simulated distances of figure 5."""
    tables = load(folder)
    experiments = tuple(_experiment(tables, name) for name in tables.cells)
    curves = [*risk_curves(tables), *poisson_curves(tables), *guessing_curves(tables)]
    boxes = utilities(tables.ratings, draws, seed)
    return Reproduction(
        paper="homogeneity-attack",
        title="Disclosure risk from homogeneity attack in differentially private tables",
        sfumato=__version__,
        seed=seed,
        draws=draws,
        deltas=DELTAS,
        experiments=experiments,
        curves=tuple(curves),
        utilities=tuple(boxes),
        choices=_choices(tables),
        sigmas=_sigmas(),
        comparisons=statements(tables, experiments, curves, boxes),
        errata=errata(tables),
    )


def _experiment(tables: PaperTables, name: Name) -> Experiment:
    cells = tables.cells[name]
    sizes, alike = cells.sizes, cells.homogeneous
    return Experiment(
        name=name,
        title=TITLES[name],
        identifiers=cells.identifiers,
        sensitive=cells.sensitive,
        classes=cells.counts.shape[1],
        records=int(sizes.sum()),
        cells=len(sizes),
        homogeneous_cells=int(alike.sum()),
        homogeneous_records=int(sizes[alike].sum()),
        largest=int(sizes.max()),
        singletons=int((sizes == 1).sum()),
        mean_size=float(sizes.mean()),
        values_per_cell=float((cells.counts > 0).sum(axis=1).mean()),
        majority=float(cells.counts.sum(axis=0).max() / sizes.sum()),
        sizes=_histogram(sizes, tables.printed_sizes(name)),
    )


def _histogram(sizes: np.ndarray, printed: np.ndarray) -> tuple[SizeBin, ...]:
    bins: list[SizeBin] = []
    for low, high in BINS:
        label = str(low) if low == high else f"{low}+" if high is None else f"{low}-{high}"
        within = [int(((s >= low) & (s <= (high or s.max(initial=0)))).sum()) for s in (sizes, printed)]
        bins.append(SizeBin(label=label, cells=within[0], printed_cells=within[1]))
    while bins and not bins[-1].cells and not bins[-1].printed_cells:
        bins.pop()
    return tuple(bins)


def _choices(tables: PaperTables) -> tuple[Choice, ...]:
    views: tuple[tuple[Measure, View], ...] = (("conservative", "conservative"), ("record", "record"))
    noises: tuple[Mechanism, ...] = ("laplace", "geometric")
    found: list[Choice] = []
    for name, cells in tables.cells.items():
        for measure, view in views:
            for mechanism in noises:
                answer = epsilon_for(TARGET, cells.counts, mechanism, view)
                found.append(
                    Choice(
                        experiment=name,
                        mechanism=mechanism,
                        measure=measure,
                        target=TARGET,
                        intervals=answer.intervals,
                        floor=answer.floor,
                        ceiling=answer.ceiling,
                    )
                )
    return tuple(found)


def _sigmas() -> tuple[Sigma, ...]:
    return tuple(
        Sigma(
            epsilon=epsilon,
            delta=delta,
            printed_classic=float(published(20, epsilon=epsilon, delta=delta)),
            printed_probabilistic=float(published(21, epsilon=epsilon, delta=delta)),
            analytic=gaussian_sigma(epsilon, delta),
        )
        for delta in DELTAS
        for epsilon in SIGMA_EPSILONS
    )
