"""Figures 3 to 5 and D: cell sizes, risk curves and guessing attackers, printed and exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.papers.charts import curves
from sfumato.papers.homogeneity_attack.data import PaperTables
from sfumato.papers.homogeneity_attack.published import published
from sfumato.papers.homogeneity_attack.results import (
    AttackReproduction,
    Experiment,
    Measure,
    Mechanism,
    Name,
    RiskCurve,
    TvdBox,
)
from sfumato.papers.page import PageFigure, Panel
from sfumato.privacy.accounting.gaussian_calibration import GaussianCalibration
from sfumato.report.charts import Bars, BarSeries, Boxes, BoxMark, LineMark, Lines
from sfumato.risk.homogeneity import (
    Counts,
    Gaussian,
    Geometric,
    Laplace,
    NoiseLaw,
    Poisson,
    View,
    expected,
    gaussian_sigma,
    local,
    plurality,
    soft,
    weighted_mean,
)

DELTAS = (1e-3, 1e-5, 1e-6)

GRID = tuple(sorted([5.0, *(float(f"{10**power:.4g}") for power in np.linspace(-2, 2, 41))]))

"""Log-spaced from 0.01 to 100, with 5 put in."""

GUESS_GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)

"""Coarser: a guessing attacker costs a hundred times as much to compute."""

PRINTED_LAMBDA: dict[Name, float] = {"adult": 4.6, "bankruptcy": 2.43}

EQUATIONS: dict[Name, tuple[int, int]] = {"adult": (18, 28), "bankruptcy": (18, 28), "bankruptcy-subset": (12, 22)}

"""The printed formula that the paper used: for Laplace and for Gaussian noise."""

GAUSSIANS: tuple[tuple[Mechanism, GaussianCalibration], ...] = (
    ("gaussian-classic", "classic"),
    ("gaussian-analytic", "analytic"),
    ("gaussian-probabilistic", "probabilistic"),
)

EXACT: tuple[tuple[Measure, View, str], ...] = (
    ("conservative", "conservative", "cell"),
    ("record", "record", "cell"),
    ("record by record", "record", "record"),
)

Law = Callable[[float], NoiseLaw]


def risk_curves(tables: PaperTables) -> list[RiskCurve]:
    """Return the curves of figure 4: all experiments, mechanisms and deltas, printed and exact."""
    curves: list[RiskCurve] = []
    for name in tables.cells:
        for mechanism, law, delta, grid in _mechanisms():
            curves += _exact_curves(tables, name, mechanism, law, delta, grid)
            if mechanism not in ("geometric", "gaussian-analytic"):
                curves.append(_printed(tables, name, mechanism, law, delta, grid))
    return curves


def attack_curves(tables: PaperTables) -> list[RiskCurve]:
    """Return what the guessing attackers of appendix D stand beside: the attack on Adult under Laplace noise."""
    return _exact_curves(tables, "adult", "laplace", Laplace, None, GRID)


def _mechanisms() -> list[tuple[Mechanism, Law, float | None, Sequence[float]]]:
    found: list[tuple[Mechanism, Law, float | None, Sequence[float]]] = [
        ("laplace", Laplace, None, GRID),
        ("geometric", Geometric, None, GRID),
    ]
    for mechanism, rule in GAUSSIANS:
        grid = [e for e in GRID if e < 1 or rule != "classic"]
        found.extend((mechanism, gaussian_law(delta, rule), delta, grid) for delta in DELTAS)
    return found


def gaussian_law(delta: float, rule: GaussianCalibration) -> Law:
    """Return Gaussian noise as a function of epsilon."""
    return lambda epsilon: Gaussian(gaussian_sigma(epsilon, delta, rule=rule))


def _exact_curves(
    tables: PaperTables, name: Name, mechanism: Mechanism, law: Law, delta: float | None, grid: Sequence[float]
) -> list[RiskCurve]:
    counts = tables.cells[name].counts
    laws = [law(epsilon) for epsilon in grid]
    return [
        _curve(name, mechanism, measure, delta, grid, [average_risk(counts, law, view, weights) for law in laws])
        for measure, view, weights in EXACT
    ]


def _curve(
    name: Name,
    mechanism: Mechanism,
    measure: Measure,
    delta: float | None,
    grid: Sequence[float],
    risk: Sequence[float],
    equation: int | None = None,
) -> RiskCurve:
    return RiskCurve(
        experiment=name,
        mechanism=mechanism,
        measure=measure,
        delta=delta,
        epsilon=tuple(grid),
        risk=tuple(risk),
        equation=equation,
    )


def average_risk(counts: Counts, noise: NoiseLaw, view: View = "conservative", weights: str = "cell") -> float:
    """Return the exact average risk of cells."""
    return weighted_mean(local(counts, noise, view), counts, weights)


def _printed(
    tables: PaperTables, name: Name, mechanism: Mechanism, law: Law, delta: float | None, grid: Sequence[float]
) -> RiskCurve:
    equation = EQUATIONS[name][int(mechanism != "laplace")]
    facts = {"counts": tables.cells[name].counts} if equation in (12, 22) else {"n": tables.printed_sizes(name)}
    risk = [float(published(equation, law(epsilon), **facts)) for epsilon in grid]
    return _curve(name, mechanism, "printed", delta, grid, risk, equation)


def poisson_curves(tables: PaperTables) -> list[RiskCurve]:
    """Return the Poisson variants, equations (19) and (29): as printed, zero-truncated, and with observed sizes."""
    curves: list[RiskCurve] = []
    chosen: list[tuple[Mechanism, Law, float | None, int]] = [
        ("laplace", Laplace, None, 19),
        ("gaussian-probabilistic", gaussian_law(1e-5, "probabilistic"), 1e-5, 29),
    ]
    for name, lam in PRINTED_LAMBDA.items():
        for mechanism, law, delta, equation in chosen:
            laws = [law(epsilon) for epsilon in GRID]
            printed = [float(published(equation, noise, sizes=Poisson(lam))) for noise in laws]
            truncated = [expected(Poisson(lam), [1.0, 0.0], noise) for noise in laws]
            sizes = tables.printed_sizes(name)
            observed = [float(published(18 if equation == 19 else 28, noise, n=sizes)) for noise in laws]
            measures: tuple[tuple[Measure, list[float]], ...] = (
                ("Poisson printed", printed),
                ("Poisson zero-truncated", truncated),
                ("observed sizes", observed),
            )
            curves += [_curve(name, mechanism, measure, delta, GRID, risk, equation) for measure, risk in measures]
    return curves


def guessing_curves(tables: PaperTables) -> list[RiskCurve]:
    """Return appendix D: the plurality (hard) and the proportional (soft) attacker on Adult, exact."""
    counts = tables.cells["adult"].counts
    curves: list[RiskCurve] = []
    laws: tuple[tuple[Mechanism, Law], ...] = (("laplace", Laplace), ("geometric", Geometric))
    for mechanism, law in laws:
        hard = [plurality(counts, law(epsilon)) for epsilon in GUESS_GRID]
        fair = [soft(counts, law(epsilon)) for epsilon in GUESS_GRID]
        measures: tuple[tuple[Measure, list[float]], ...] = (
            ("hard", [r.cell_average for r in hard]),
            ("hard by record", [r.record_average for r in hard]),
            ("soft", [r.cell_average for r in fair]),
            ("soft by record", [r.record_average for r in fair]),
        )
        curves += [_curve("adult", mechanism, measure, None, GUESS_GRID, risk) for measure, risk in measures]
    return curves


MAIN_DELTA = 1e-5

NOISES: dict[Mechanism, str] = {
    "laplace": "Laplace",
    "geometric": "geometric",
    "gaussian-classic": "Gaussian, aDP",
    "gaussian-analytic": "Gaussian, aDP",
    "gaussian-probabilistic": "Gaussian, pDP",
}


def size_figure(results: AttackReproduction) -> PageFigure:
    """Return figure 3: how many cells have which size."""
    panels = tuple(Panel(e.title, f"Histogram of cell sizes of {e.title}.", size_chart(e)) for e in results.experiments)
    note = "For Adult the outlines are the 5,974 cells that the paper counted; filled are the identifier cells."
    return PageFigure("Figure 3: sizes of non-empty cells", panels, (note,))


def size_chart(experiment: Experiment) -> Bars:
    """Return the histogram of one table's cell sizes."""
    labels = [each.label for each in experiment.sizes]
    series = [BarSeries("identifier cells", [float(each.cells) for each in experiment.sizes])]
    if experiment.name == "adult":
        printed = [float(each.printed_cells) for each in experiment.sizes]
        series.insert(0, BarSeries("as counted in the paper", printed))
    return Bars(labels, series, "records in the cell", "cells", yardstick=True)


def risk_figures(results: AttackReproduction) -> tuple[PageFigure, ...]:
    """Return figure 4: one figure per table, one panel per mechanism."""
    return tuple(_risk_figure(results, e) for e in results.experiments)


def _risk_figure(results: AttackReproduction, experiment: Experiment) -> PageFigure:
    kinds: tuple[tuple[str, tuple[Mechanism, ...]], ...] = (
        ("epsilon-DP: Laplace", ("laplace",)),
        ("aDP: Gaussian", ("gaussian-classic", "gaussian-analytic")),
        ("pDP: Gaussian", ("gaussian-probabilistic",)),
    )
    panels = tuple(
        Panel(title, f"Risk against epsilon, {experiment.title}, {title}.", risk_chart(results, experiment.name, kind))
        for title, kind in kinds
    )
    note = (
        "Gaussian: full lines at delta 1e-5, faint ones at 1e-3 and 1e-6. aDP: the printed rule exists below epsilon 1 "
        "only, the exact curves use the analytic calibration."
    )
    return PageFigure(f"Figure 4: {experiment.title}", panels, (note,))


def risk_chart(results: AttackReproduction, name: Name, kind: tuple[Mechanism, ...]) -> Lines:
    """Return printed and exact risk against epsilon; printed first, exact from the last mechanism."""
    wanted: tuple[tuple[Measure, Mechanism, str], ...] = (
        ("printed", kind[0], "printed"),
        ("conservative", kind[-1], "exact, conservative"),
        ("record", kind[-1], "exact, record"),
    )
    found = [
        _line(curve, label)
        for measure, mechanism, label in wanted
        for curve in results.curves
        if (curve.experiment, curve.mechanism, curve.measure) == (name, mechanism, measure)
    ]
    return curves(found)


def _line(curve: RiskCurve, name: str) -> LineMark:
    return LineMark(name, curve.epsilon, curve.risk, faint=curve.delta not in (None, MAIN_DELTA))


def poisson_figure(results: AttackReproduction) -> PageFigure:
    """Return the Poisson variants of equations (19) and (29)."""
    labels: tuple[tuple[Measure, str], ...] = (
        ("Poisson printed", "printed"),
        ("Poisson zero-truncated", "zero-truncated"),
        ("observed sizes", "observed sizes"),
    )
    cases: tuple[tuple[Name, Mechanism, str], ...] = (
        ("adult", "laplace", "Adult, Laplace (19)"),
        ("bankruptcy", "laplace", "Bankruptcy, Laplace (19)"),
        ("bankruptcy", "gaussian-probabilistic", "Bankruptcy, pDP Gaussian, delta 1e-5 (29)"),
    )
    panels = tuple(
        Panel(
            title,
            f"Risk under Poisson sizes against epsilon, {title}.",
            curves(
                [
                    _line(c, label)
                    for measure, label in labels
                    for c in results.curves
                    if (c.experiment, c.mechanism, c.measure) == (name, mechanism, measure)
                ]
            ),
        )
        for name, mechanism, title in cases
    )
    return PageFigure("Risk of homogeneous cells under Poisson sizes", panels)


def guessing_figure(results: AttackReproduction) -> PageFigure:
    """Return appendix D: hard and soft guessing on Adult beside the homogeneity attack."""
    adult: Name = "adult"
    by_cell = curves(
        [
            LineMark("homogeneity, conservative", *_both(results.curve(adult, "laplace", "conservative"), 32)),
            LineMark("soft", *_both(results.curve(adult, "laplace", "soft"), 32)),
            LineMark("hard", *_both(results.curve(adult, "laplace", "hard"), 32)),
        ]
    )
    by_record = curves(
        [
            LineMark("homogeneity, record", *_both(results.curve(adult, "laplace", "record by record"), 32)),
            LineMark("soft", *_both(results.curve(adult, "laplace", "soft by record"), 32)),
            LineMark("hard", *_both(results.curve(adult, "laplace", "hard by record"), 32)),
        ],
        rules=(("majority income", results.experiment(adult).majority),),
    )
    panels = (
        Panel("averaged over cells", "Guessing risk against epsilon, averaged over cells.", by_cell),
        Panel("averaged over records", "Guessing risk against epsilon, averaged over records.", by_record),
    )
    return PageFigure("Appendix D: Adult, Laplace noise", panels)


def _both(curve: RiskCurve, top: float) -> tuple[list[float], list[float]]:
    kept = [(e, r) for e, r in zip(curve.epsilon, curve.risk, strict=True) if e <= top]
    return [e for e, _ in kept], [r for _, r in kept]


def distance_figures(results: AttackReproduction) -> tuple[PageFigure, ...]:
    """Return figure 5: box plots of the distances, with noise on all cells and on the occupied ones only."""
    titles = {
        "whole domain": "Figure 5, all 729 cells: differentially private",
        "occupied cells": "Figure 5, the 103 occupied cells only: not differentially private",
    }
    return tuple(
        PageFigure(
            title,
            tuple(
                Panel(
                    f"{order}-way marginals",
                    f"Box plots of {order}-way distances, {domain}.",
                    distance_chart(results, domain, order),
                )
                for order in (1, 2, 3)
            ),
            ("Boxes: 25 to 75 % over draws and marginals; whiskers: 5 to 95 %. Gaussian at delta 1e-5.",),
        )
        for domain, title in titles.items()
    )


def distance_chart(results: AttackReproduction, domain: str, order: int) -> Boxes:
    """Return the boxes of one order of marginals."""
    chosen = [u for u in results.utilities if (u.domain, u.order) == (domain, order) and _is_shown(u)]
    items = [BoxMark(f"{u.epsilon:g}", NOISES[u.mechanism], u.quantiles) for u in chosen]
    return Boxes(items, "epsilon", "total variation distance", top=0.5)


def _is_shown(box: TvdBox) -> bool:
    return box.mechanism != "geometric" and box.delta in (None, MAIN_DELTA)
