"""From the two public tables to everything that the paper reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.errors import PlanError
from sfumato.papers.homogeneity_attack.curves import DELTAS, attack_curves, guessing_curves, poisson_curves, risk_curves
from sfumato.papers.homogeneity_attack.data import TITLES, PaperTables, load
from sfumato.papers.homogeneity_attack.errata import errata
from sfumato.papers.homogeneity_attack.results import (
    Choice,
    Curve,
    Experiment,
    Measure,
    Mechanism,
    Name,
    Reproduction,
    Sigma,
    SizeBin,
)
from sfumato.papers.homogeneity_attack.statements import statements
from sfumato.papers.homogeneity_attack.table_1 import relations
from sfumato.papers.homogeneity_attack.utility import DRAWS, SEED, utilities
from sfumato.papers.parts import require_part
from sfumato.risk.homogeneity import View, epsilon_for, gaussian_sigma, published
from sfumato.version import __version__

TARGET = 0.35
SIGMA_EPSILONS = (0.1, 0.5, 0.9, 1.0, 2.0, 5.0)
BINS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 10), (11, 20), (21, 50), (51, 120), (121, None))


TOPICS: dict[str, tuple[str, ...]] = {
    "figure 3": ("cells",),
    "figure 4": ("limits", "gaussian", "poisson"),
    "figure 5": ("utility",),
    "figure D": ("thresholds",),
    "table 1": (),
}
"""The parts and what is said in each. Figures 1 and 2 hold no numbers: an example and a diagram."""


def parts() -> tuple[str, ...]:
    """Return the names of the figures and tables that can be asked for one by one; ``figure D`` is appendix D's.

    >>> parts()
    ('figure 3', 'figure 4', 'figure 5', 'figure D', 'table 1')
    """
    return tuple(TOPICS)


def reproduce(
    folder: Path | None = None, only: str | None = None, repeats: int = DRAWS, seed: int = SEED
) -> Reproduction:
    """Compute every figure of merit, or ``only`` one part.

    The tables are those in ``folder`` (SFUMATO_DATA, else ../shared/data). ``repeats`` and ``seed`` are for the
    simulated distances of figure 5.
    """
    if only is not None:
        require_part("homogeneity-attack", only, parts())
    if repeats < 2:
        raise PlanError(f"{repeats} repeats asked for", next_step="ask for at least 2")
    tables = load(folder)
    wanted = set(TOPICS) if only is None else {only}
    experiments = tuple(_experiment(tables, name) for name in tables.cells)
    curves = _curves(tables, wanted)
    boxes = utilities(tables.ratings, repeats, seed) if "figure 5" in wanted else []
    topics = [topic for part in wanted for topic in TOPICS[part]]
    return Reproduction(
        only=only,
        paper="homogeneity-attack",
        title="Disclosure risk from homogeneity attack in differentially private tables",
        sfumato=__version__,
        seed=seed,
        draws=repeats,
        deltas=DELTAS,
        experiments=experiments,
        curves=tuple(curves),
        utilities=tuple(boxes),
        choices=_choices(tables) if only is None else (),
        sigmas=_sigmas() if "figure 4" in wanted else (),
        relations=relations(tables) if "table 1" in wanted else (),
        comparisons=statements(topics, tables, experiments, curves, boxes),
        errata=errata(tables) if only is None else (),
    )


def _curves(tables: PaperTables, wanted: set[str]) -> list[Curve]:
    found: list[Curve] = []
    if "figure 4" in wanted:
        found += [*risk_curves(tables), *poisson_curves(tables)]
    if "figure D" in wanted:
        found += [] if "figure 4" in wanted else attack_curves(tables)
        found += guessing_curves(tables)
    return found


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
