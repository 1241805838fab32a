"""The charts of the reproduction: figures 3, 4 and 5 of the paper, the Poisson variants and appendix D."""

from __future__ import annotations

from sfumato.papers.charts import curves
from sfumato.papers.homogeneity_attack.results import Curve, Experiment, Measure, Mechanism, Name, Reproduction, Utility
from sfumato.papers.reproduction_page import PageFigure, Panel
from sfumato.report.charts import Bars, Box, Boxes, Heights, Line, Lines

MAIN_DELTA = 1e-5
NOISES: dict[Mechanism, str] = {
    "laplace": "Laplace",
    "geometric": "geometric",
    "gaussian-classic": "Gaussian, aDP",
    "gaussian-analytic": "Gaussian, aDP",
    "gaussian-probabilistic": "Gaussian, pDP",
}


def size_figure(results: Reproduction) -> PageFigure:
    """Return figure 3: how many cells have which size."""
    panels = tuple(Panel(e.title, f"Histogram of cell sizes of {e.title}.", size_chart(e)) for e in results.experiments)
    note = "For Adult the outlines are the 5,974 cells that the paper counted; filled are the identifier cells."
    return PageFigure("Figure 3: sizes of non-empty cells", panels, (note,))


def size_chart(experiment: Experiment) -> Bars:
    """Return the histogram of one table's cell sizes."""
    labels = [each.label for each in experiment.sizes]
    series = [Heights("identifier cells", [float(each.cells) for each in experiment.sizes])]
    if experiment.name == "adult":
        printed = [float(each.printed_cells) for each in experiment.sizes]
        series.insert(0, Heights("as counted in the paper", printed))
    return Bars(labels, series, "records in the cell", "cells", yardstick=True)


def risk_figures(results: Reproduction) -> tuple[PageFigure, ...]:
    """Return figure 4: one figure per table, one panel per mechanism."""
    return tuple(_risk_figure(results, e) for e in results.experiments)


def _risk_figure(results: Reproduction, experiment: Experiment) -> PageFigure:
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


def risk_chart(results: Reproduction, name: Name, kind: tuple[Mechanism, ...]) -> Lines:
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


def _line(curve: Curve, name: str) -> Line:
    return Line(name, curve.epsilon, curve.risk, faint=curve.delta not in (None, MAIN_DELTA))


def poisson_figure(results: Reproduction) -> PageFigure:
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


def guessing_figure(results: Reproduction) -> PageFigure:
    """Return appendix D: hard and soft guessing on Adult beside the homogeneity attack."""
    adult: Name = "adult"
    by_cell = curves(
        [
            Line("homogeneity, conservative", *_both(results.curve(adult, "laplace", "conservative"), 32)),
            Line("soft", *_both(results.curve(adult, "laplace", "soft"), 32)),
            Line("hard", *_both(results.curve(adult, "laplace", "hard"), 32)),
        ]
    )
    by_record = curves(
        [
            Line("homogeneity, record", *_both(results.curve(adult, "laplace", "record by record"), 32)),
            Line("soft", *_both(results.curve(adult, "laplace", "soft by record"), 32)),
            Line("hard", *_both(results.curve(adult, "laplace", "hard by record"), 32)),
        ],
        rules=(("majority income", results.experiment(adult).majority),),
    )
    panels = (
        Panel("averaged over cells", "Guessing risk against epsilon, averaged over cells.", by_cell),
        Panel("averaged over records", "Guessing risk against epsilon, averaged over records.", by_record),
    )
    return PageFigure("Appendix D: Adult, Laplace noise", panels)


def _both(curve: Curve, top: float) -> tuple[list[float], list[float]]:
    kept = [(e, r) for e, r in zip(curve.epsilon, curve.risk, strict=True) if e <= top]
    return [e for e, _ in kept], [r for _, r in kept]


def distance_figures(results: Reproduction) -> tuple[PageFigure, ...]:
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


def distance_chart(results: Reproduction, domain: str, order: int) -> Boxes:
    """Return the boxes of one order of marginals."""
    chosen = [u for u in results.utilities if (u.domain, u.order) == (domain, order) and _is_shown(u)]
    items = [Box(f"{u.epsilon:g}", NOISES[u.mechanism], u.quantiles) for u in chosen]
    return Boxes(items, "epsilon", "total variation distance", top=0.5)


def _is_shown(box: Utility) -> bool:
    return box.mechanism != "geometric" and box.delta in (None, MAIN_DELTA)
