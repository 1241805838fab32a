"""Risk against epsilon: the printed formulas and the exact values, for every mechanism of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.papers.homogeneity_attack.data import PaperTables
from sfumato.papers.homogeneity_attack.results import Curve, Measure, Mechanism, Name
from sfumato.privacy.accounting import GaussianRule
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
    published,
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
GAUSSIANS: tuple[tuple[Mechanism, GaussianRule], ...] = (
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


def risk_curves(tables: PaperTables) -> list[Curve]:
    """Return the curves of figure 4: all experiments, mechanisms and deltas, printed and exact."""
    curves: list[Curve] = []
    for name in tables.cells:
        for mechanism, law, delta, grid in _mechanisms():
            curves += _exact(tables, name, mechanism, law, delta, grid)
            if mechanism not in ("geometric", "gaussian-analytic"):
                curves.append(_printed(tables, name, mechanism, law, delta, grid))
    return curves


def attack_curves(tables: PaperTables) -> list[Curve]:
    """Return what the guessing attackers of appendix D stand beside: the attack on Adult under Laplace noise."""
    return _exact(tables, "adult", "laplace", Laplace, None, GRID)


def _mechanisms() -> list[tuple[Mechanism, Law, float | None, Sequence[float]]]:
    found: list[tuple[Mechanism, Law, float | None, Sequence[float]]] = [
        ("laplace", Laplace, None, GRID),
        ("geometric", Geometric, None, GRID),
    ]
    for mechanism, rule in GAUSSIANS:
        grid = [e for e in GRID if e < 1 or rule != "classic"]
        found.extend((mechanism, gaussian_law(delta, rule), delta, grid) for delta in DELTAS)
    return found


def gaussian_law(delta: float, rule: GaussianRule) -> Law:
    """Return Gaussian noise as a function of epsilon."""
    return lambda epsilon: Gaussian(gaussian_sigma(epsilon, delta, rule=rule))


def _exact(
    tables: PaperTables, name: Name, mechanism: Mechanism, law: Law, delta: float | None, grid: Sequence[float]
) -> list[Curve]:
    counts = tables.cells[name].counts
    laws = [law(epsilon) for epsilon in grid]
    return [
        Curve(
            experiment=name,
            mechanism=mechanism,
            measure=measure,
            delta=delta,
            epsilon=tuple(grid),
            risk=tuple(average(counts, noise, view, weights) for noise in laws),
        )
        for measure, view, weights in EXACT
    ]


def average(counts: Counts, noise: NoiseLaw, view: View = "conservative", weights: str = "cell") -> float:
    """Return the exact average risk of cells."""
    return weighted_mean(local(counts, noise, view), counts, weights)


def _printed(
    tables: PaperTables, name: Name, mechanism: Mechanism, law: Law, delta: float | None, grid: Sequence[float]
) -> Curve:
    equation = EQUATIONS[name][int(mechanism != "laplace")]
    facts = {"counts": tables.cells[name].counts} if equation in (12, 22) else {"n": tables.printed_sizes(name)}
    risk = tuple(float(published(equation, law(epsilon), **facts)) for epsilon in grid)
    return Curve(
        experiment=name,
        mechanism=mechanism,
        measure="printed",
        delta=delta,
        equation=equation,
        epsilon=tuple(grid),
        risk=risk,
    )


def poisson_curves(tables: PaperTables) -> list[Curve]:
    """Return the Poisson variants, equations (19) and (29): as printed, zero-truncated, and with observed sizes."""
    curves: list[Curve] = []
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
            curves += [
                Curve(
                    experiment=name,
                    mechanism=mechanism,
                    measure=measure,
                    delta=delta,
                    equation=equation,
                    epsilon=GRID,
                    risk=tuple(risk),
                )
                for measure, risk in measures
            ]
    return curves


def guessing_curves(tables: PaperTables) -> list[Curve]:
    """Return appendix D: the plurality (hard) and the proportional (soft) attacker on Adult, exact."""
    counts = tables.cells["adult"].counts
    curves: list[Curve] = []
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
        curves += [
            Curve(experiment="adult", mechanism=mechanism, measure=measure, epsilon=GUESS_GRID, risk=tuple(risk))
            for measure, risk in measures
        ]
    return curves
