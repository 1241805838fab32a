"""Parts, settings and page of the homogeneity-attack reproduction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from sfumato.papers.compute import citation_facts, require_part, require_repeats
from sfumato.papers.homogeneity_attack.data import TITLES, PaperTables, read_paper_tables
from sfumato.papers.homogeneity_attack.errata import errata
from sfumato.papers.homogeneity_attack.figures import (
    DELTAS,
    attack_curves,
    distance_figures,
    guessing_curves,
    guessing_figure,
    poisson_curves,
    poisson_figure,
    risk_curves,
    risk_figures,
    size_figure,
)
from sfumato.papers.homogeneity_attack.marginal_tvd import DRAWS, SEED, tvd_boxes
from sfumato.papers.homogeneity_attack.published import published
from sfumato.papers.homogeneity_attack.results import (
    AttackReproduction,
    Choice,
    Experiment,
    Measure,
    Mechanism,
    Name,
    RiskCurve,
    Sigma,
    SizeBin,
    TvdBox,
)
from sfumato.papers.homogeneity_attack.statements import TABLE_EPSILONS, statements, table_1_relations
from sfumato.papers.page import PageSection, ReproductionPage, comparison_table, errata_sections
from sfumato.papers.result import ValueTable, value_table
from sfumato.risk.homogeneity import View, epsilon_for, gaussian_sigma
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
    folder: Path | None = None, only: str | None = None, repeats: int | None = None, seed: int = SEED
) -> AttackReproduction:
    """Compute every figure of merit, or ``only`` one part.

    The tables are those in ``folder`` (SFUMATO_DATA, else ../shared/data). ``repeats`` and ``seed`` are for the
    simulated distances of figure 5.
    """
    if only is not None:
        require_part("homogeneity-attack", only, parts())
    draws = require_repeats(repeats, DRAWS)
    tables = read_paper_tables(folder)
    wanted = set(TOPICS) if only is None else {only}
    topics = [topic for part in wanted for topic in TOPICS[part]]
    results = AttackReproduction(
        only=only,
        paper="homogeneity-attack",
        title="Disclosure risk from homogeneity attack in differentially private tables",
        lead=LEAD,
        facts=(
            *citation_facts("homogeneity-attack"),
            ("seed of the simulated distances", f"{seed}, {draws} draws"),
            ("data", "Adult and Qualitative Bankruptcy, UCI Machine Learning Repository"),
        ),
        sfumato=__version__,
        seed=seed,
        draws=draws,
        deltas=DELTAS,
        experiments=tuple(_experiment(tables, name) for name in tables.cells),
        curves=tuple(_curves(tables, wanted)),
        utilities=tuple(tvd_boxes(tables.ratings, draws, seed)) if "figure 5" in wanted else (),
        choices=_choices(tables) if only is None else (),
        sigmas=_sigmas() if "figure 4" in wanted else (),
        relations=table_1_relations(tables) if "table 1" in wanted else (),
        errata=errata(tables) if only is None else (),
    )
    return results.model_copy(update={"comparisons": statements(topics, tables, results)})


def _curves(tables: PaperTables, wanted: set[str]) -> list[RiskCurve]:
    found: list[RiskCurve] = []
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
        sensitive=cells.column,
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


Column = tuple[str, Name, Mechanism, Measure]

"""A heading and the curve under it."""

LEAD = (
    "A neighbour knows someone's identifiers and looks the cell up in a noisy cross table. Where one sensitive value "
    "alone survives the noise, he reads it off: the homogeneity attack. Every number of the paper's experiments is "
    "shown beside the exact value, with the reason where they differ."
)

VIEWS = (
    "Conservative: exactly one value survives and it occurs in the cell. Record: a random record of the cell really "
    "has that value. Both are exact probabilities over the noise, averaged over cells."
)


def page_of(results: AttackReproduction) -> ReproductionPage:
    """Return the whole page, or that of one part."""
    chosen = SECTIONS if results.only is None else {results.only: SECTIONS[results.only]}
    sections = [section(results) for made in chosen.values() for section in made]
    if results.only is None:
        sections += [_choice(results), *errata_sections(results.errata)]
    return ReproductionPage(results.title, results.lead, tuple(sections), results.facts)


def summary(results: AttackReproduction) -> ValueTable:
    """Return the short table for the terminal: everything that was checked, without the reasons."""
    rows = [(row.what, row.printed, row.ours) for row in results.comparisons]
    rows += [
        (f"({r.equation}) {r.result}, {r.measure}, {r.example}", f"{r.printed:.4f}", f"{r.exact:.4f}")
        for r in results.relations
    ]
    return value_table("Printed and exact", ("what", "printed", "ours"), rows, words=3)


def _compared(results: AttackReproduction, topic: str, title: str = "") -> ValueTable:
    return comparison_table((each for each in results.comparisons if each.topic == topic), title)


def _cells(results: AttackReproduction) -> PageSection:
    text = (
        "Cells are the non-empty combinations of the quasi-identifiers. A cell is homogeneous when it holds one value."
    )
    return PageSection("Cells", (text,), (_compared(results, "cells"),), (size_figure(results),))


def _risk(results: AttackReproduction) -> PageSection:
    tables = (*_risk_tables(results), _compared(results, "limits", "Limits"))
    return PageSection("Risk against epsilon", (VIEWS,), tables, risk_figures(results))


def _risk_tables(results: AttackReproduction) -> tuple[ValueTable, ValueTable]:
    adult: tuple[Column, ...] = (
        ("(18) as printed", "adult", "laplace", "printed"),
        ("exact, conservative", "adult", "laplace", "conservative"),
        ("exact, record", "adult", "laplace", "record"),
        ("by record", "adult", "laplace", "record by record"),
        ("geometric, conservative", "adult", "geometric", "conservative"),
    )
    bankruptcy: tuple[Column, ...] = (
        ("(18) = exact", "bankruptcy", "laplace", "conservative"),
        ("subset: (12) as printed", "bankruptcy-subset", "laplace", "printed"),
        ("exact, conservative", "bankruptcy-subset", "laplace", "conservative"),
        ("exact, record", "bankruptcy-subset", "laplace", "record"),
    )
    return (
        _risk_table(results, "Adult, Laplace noise", adult),
        _risk_table(results, "Bankruptcy, Laplace noise", bankruptcy),
    )


def _risk_table(results: AttackReproduction, title: str, columns: tuple[Column, ...]) -> ValueTable:
    curves = [results.curve(name, mechanism, measure) for _, name, mechanism, measure in columns]
    rows = tuple((f"{e:g}", *(f"{curve.at(e):.4f}" for curve in curves)) for e in TABLE_EPSILONS)
    header = ("epsilon", *(column[0] for column in columns))
    return value_table(title, header, rows, words=0)


def _poisson(results: AttackReproduction) -> PageSection:
    text = (
        "The paper also averages over Poisson cell sizes, equations (19) and (29), with lambda 4.6 and 2.43. Cells "
        "exist only where there is a record, so the law must be truncated at zero; averaging over the observed sizes "
        "needs no law at all."
    )
    return PageSection("Poisson cell sizes", (text,), (_compared(results, "poisson"),), (poisson_figure(results),))


def _gaussian(results: AttackReproduction) -> PageSection:
    rows = tuple(
        (
            f"{s.epsilon:g}",
            f"{s.delta:g}",
            f"{s.printed_classic:.6f}" if s.epsilon < 1 else "not proved",
            f"{s.printed_probabilistic:.6f}",
            f"{s.analytic:.6f}",
            f"{s.printed_probabilistic / s.analytic:.2f}",
        )
        for s in results.sigmas
    )
    header = ("epsilon", "delta", "(20) classic", "(21) probabilistic", "exact (analytic)", "(21) / exact")
    sigmas = value_table("Standard deviation of the noise for one added or removed record", header, rows, words=0)
    text = (
        "Equation (20) is proved below epsilon 1 only. The analytic calibration is exact for every epsilon and needs "
        "less noise than either printed rule. The text of the paper names no delta; 1e-3, 1e-5 and 1e-6 are used here."
    )
    return PageSection("Gaussian noise", (text,), (_compared(results, "gaussian"), sigmas))


def _thresholds(results: AttackReproduction) -> PageSection:
    text = (
        "Appendix D: an attacker who guesses in mixed cells too, by the largest noisy count (hard) or in proportion to "
        "the noisy counts (soft). The paper simulates; these values are exact."
    )
    return PageSection("Guessing attackers", (text,), (_compared(results, "thresholds"),), (guessing_figure(results),))


def _utility(results: AttackReproduction) -> PageSection:
    text = (
        f"Total variation distance between true and noisy marginals of the six ratings (3^6 = 729 cells, 103 of them "
        f"occupied), counts rounded and clamped at zero, {results.draws} draws, seed {results.seed}.",
        "The paper leaves open whether zero counts get noise ('may be sanitized'). Noise on occupied cells only tells "
        "everyone which cells are empty and is not differentially private; on the whole domain it is.",
    )
    header = ("cells", "noise", "delta", "epsilon", "1-way", "2-way", "3-way")
    boxes = value_table("Mean distance with its Monte Carlo error", header, _distance_rows(results), words=2)
    boxes = boxes.model_copy(update={"folded": True})
    return PageSection("Utility", text, (_compared(results, "utility"), boxes), distance_figures(results))


def _distance_rows(results: AttackReproduction) -> tuple[tuple[str, ...], ...]:
    grouped: dict[tuple[str, ...], list[TvdBox]] = {}
    for box in results.utilities:
        delta = "" if box.delta is None else f"{box.delta:g}"
        grouped.setdefault((box.domain, box.mechanism, delta, f"{box.epsilon:g}"), []).append(box)
    return tuple((*key, *(f"{b.mean:.3f} ± {b.standard_error:.3f}" for b in boxes)) for key, boxes in grouped.items())


def _relations(results: AttackReproduction) -> PageSection:
    text = (
        "Which theorem relates which risk to which noise, each at an example for epsilon 1 (Gaussian: delta 1e-5, "
        "probabilistic rule). Exact: the conservative view, averaged over cells that are not empty. The printed values "
        "of the mixed tables leave out terms where they call themselves upper bounds, and plug-in shares bias them up: "
        "see the errata E1, E4, E5 and E8 of the whole reproduction."
    )
    rows = tuple(
        (r.result, r.measure, r.noise, f"({r.equation})", r.example, f"{r.printed:.4f}", f"{r.exact:.4f}")
        for r in results.relations
    )
    header = ("result", "risk", "noise", "equation", "example", "printed", "exact")
    return PageSection("Table 1: risks and mechanisms", (text,), (value_table("", header, rows, words=5),))


def _choice(results: AttackReproduction) -> PageSection:
    rows = tuple(
        (
            results.experiment(c.experiment).title,
            c.mechanism,
            c.measure,
            f"{c.floor:.4f}",
            f"{c.ceiling:.4f}",
            _intervals(c),
        )
        for c in results.choices
    )
    header = ("table", "noise", "view", "floor", "no noise", "epsilons")
    table = ValueTable(title="Risk at most 0.35", header=header, rows=rows, numbers=(3, 4))
    text = (
        "The inverse question, which the paper answers by eye: every epsilon that keeps the average risk at or below a "
        "target, certified. A choice made on the confidential table makes epsilon depend on the data."
    )
    return PageSection("Choosing epsilon", (text,), (table,))


def _intervals(choice: Choice) -> str:
    return ", ".join(f"{low:.6g} to {high:.6g}" for low, high in choice.intervals) or "none"


SECTIONS: dict[str, tuple[Callable[[AttackReproduction], PageSection], ...]] = {
    "figure 3": (_cells,),
    "figure 4": (_risk, _poisson, _gaussian),
    "figure D": (_thresholds,),
    "figure 5": (_utility,),
    "table 1": (_relations,),
}

"""The sections of each part, in the order of the page."""
