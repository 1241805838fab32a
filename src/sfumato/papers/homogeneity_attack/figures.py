"""Figures 3, 4, 5 and D, table 1 and the choice of epsilon: printed beside exact."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from sfumato.papers.charts import Chart, Series
from sfumato.papers.homogeneity_attack.data import TITLES, Name, PaperTables
from sfumato.papers.homogeneity_attack.marginal_tvd import Domain, Mechanism, TvdBox
from sfumato.papers.homogeneity_attack.published import published
from sfumato.papers.homogeneity_attack.relations import table_1_relations
from sfumato.papers.homogeneity_attack.shared_results import (
    DELTAS,
    GUESS_GRID,
    GUESSES,
    PRINTED_LAMBDA,
    TINY,
    Measure,
    RiskCurve,
    SharedResults,
    average_risk,
    homogeneous_share,
)
from sfumato.papers.result import Part, ValueTable, value_table
from sfumato.papers.texts import written_part
from sfumato.risk.homogeneity import (
    EpsilonChoice,
    Gaussian,
    Laplace,
    View,
    epsilon_for,
    gaussian_sigma,
    plurality,
    soft,
)

part = partial(written_part, "sfumato.papers.homogeneity_attack")

TABLE_EPSILONS = (0.01, 0.1, 1.0, 5.0, 10.0)
SIGMA_EPSILONS = (0.1, 0.5, 0.9, 1.0, 2.0, 5.0)
MAIN_DELTA = 1e-5
TARGET = 0.35


def figure_3(work: SharedResults) -> Part:
    """Return the cells of each table, and how many have which size."""
    facts: dict[Name, dict[str, float]] = {name: work.tables.cell_facts(name) for name in TITLES}
    rows = ((fact.replace("_", " "), *(f"{facts[name][fact]:.6g}" for name in TITLES)) for fact in facts["adult"])
    return part(
        "figure 3",
        {"adult": facts["adult"], "bankruptcy": facts["bankruptcy"], "subset": facts["bankruptcy-subset"]},
        values=(value_table("Non-empty cells", ("", *TITLES.values()), rows),),
        charts=tuple(_size_chart(work.tables, name) for name in TITLES),
    )


def _size_chart(tables: PaperTables, name: Name) -> Chart:
    counted = tables.size_histogram(name)
    ours, theirs = (tuple(map(float, column)) for column in zip(*counted.values(), strict=True))
    series = (Series(name="identifier cells", y=ours),)
    printed = (Series(name="as counted in the paper", y=theirs),) if name == "adult" else ()
    return Chart(
        kind="bars",
        title=TITLES[name],
        label=f"Histogram of cell sizes of {TITLES[name]}.",
        x="records in the cell",
        y="cells",
        series=(*printed, *series),
        labels=tuple(counted),
        muted_first=True,
    )


def figure_4(work: SharedResults) -> Part:
    """Return risk against epsilon: each table under each noise, under Poisson cell sizes, and what the noise is."""
    numbers = {**_limits(work.tables), "poisson": _poisson_rows(work), **_gaussian_gaps(work)}
    charts = [_risk_chart(work, name, *kind) for name in TITLES for kind in KINDS]
    charts += [_poisson_chart(work, *case) for case in POISSON_CASES]
    tables = [_risk_table(work, *each) for each in RISK_TABLES]
    return part("figure 4", numbers, values=(*tables, _sigma_table()), charts=tuple(charts), charts_a_row=3)


def _limits(tables: PaperTables) -> dict[str, Any]:
    counts = {name: cells.counts for name, cells in tables.cells.items()}
    adult, whole, subset = counts["adult"], counts["bankruptcy"], counts["bankruptcy-subset"]
    return {
        "adult_top": homogeneous_share(adult),
        "bankruptcy_top": homogeneous_share(whole),
        "subset_top": homogeneous_share(subset),
        "floors": {name: average_risk(each, Laplace(TINY)) for name, each in counts.items()},
        "adult_record_floor": average_risk(adult, Laplace(TINY), "record"),
        "subset_record_floor": average_risk(subset, Laplace(TINY), "record"),
        "adult_at_10": average_risk(adult, Laplace(10.0)),
        "equation_18_at_10": published(18, Laplace(10.0), n=tables.printed_sizes("adult")),
    }


def _poisson_rows(work: SharedResults) -> list[dict[str, Any]]:
    measures: dict[str, Measure] = {
        "printed": "Poisson printed",
        "truncated": "Poisson zero-truncated",
        "observed": "observed sizes",
    }
    return [
        {"title": TITLES[name], "rate": rate, "epsilon": epsilon}
        | {key: work.curve(name, "laplace", measure).at(epsilon) for key, measure in measures.items()}
        for name, rate in PRINTED_LAMBDA.items()
        for epsilon in (0.1, 1.0, 100.0)
    ]


def _gaussian_gaps(work: SharedResults) -> dict[str, float]:
    """Return by how much one Gaussian rule risks more than another, at most, and the risk at epsilon 31.6."""
    reached = [
        float(published(28, Gaussian(gaussian_sigma(31.6, delta, rule="probabilistic")), n=sizes))
        for sizes in map(work.tables.printed_sizes, PRINTED_LAMBDA)
        for delta in DELTAS
    ]
    compared: dict[str, tuple[Mechanism, Mechanism, Measure]] = {
        "classic": ("gaussian-probabilistic", "gaussian-classic", "printed"),
        "analytic": ("gaussian-analytic", "gaussian-probabilistic", "conservative"),
    }
    gaps = {
        rule: max(
            _gap(work.curve(name, high, measure, delta), work.curve(name, low, measure, delta))
            for name in TITLES
            for delta in DELTAS
        )
        for rule, (high, low, measure) in compared.items()
    }
    return {"reached_from": min(reached), "reached_to": max(reached), **gaps}


def _gap(high: RiskCurve, low: RiskCurve) -> float:
    """Return the largest difference of two curves on the epsilons that both have."""
    return max(high.at(epsilon) - low.at(epsilon) for epsilon in low.epsilon if epsilon in high.epsilon)


RISK_TABLES: tuple[tuple[str, tuple[tuple[str, Name, Mechanism, Measure], ...]], ...] = (
    (
        "Adult, Laplace noise",
        (
            ("(18) as printed", "adult", "laplace", "printed"),
            ("exact, conservative", "adult", "laplace", "conservative"),
            ("exact, record", "adult", "laplace", "record"),
            ("by record", "adult", "laplace", "record by record"),
            ("geometric, conservative", "adult", "geometric", "conservative"),
        ),
    ),
    (
        "Bankruptcy, Laplace noise",
        (
            ("(18) = exact", "bankruptcy", "laplace", "conservative"),
            ("subset: (12) as printed", "bankruptcy-subset", "laplace", "printed"),
            ("exact, conservative", "bankruptcy-subset", "laplace", "conservative"),
            ("exact, record", "bankruptcy-subset", "laplace", "record"),
        ),
    ),
)
"""Title and columns: a heading, and the curve under it."""


def _risk_table(
    work: SharedResults,
    title: str,
    columns: Sequence[tuple[str, Name, Mechanism, Measure]],
    epsilons: Sequence[float] = TABLE_EPSILONS,
) -> ValueTable:
    curves = [work.curve(name, mechanism, measure) for _, name, mechanism, measure in columns]
    rows = ((f"{e:g}", *(f"{curve.at(e):.4f}" for curve in curves)) for e in epsilons)
    return value_table(title, ("epsilon", *(column[0] for column in columns)), rows, words=0)


KINDS: tuple[tuple[str, Mechanism, Mechanism], ...] = (
    ("epsilon-DP: Laplace", "laplace", "laplace"),
    ("aDP: Gaussian", "gaussian-classic", "gaussian-analytic"),
    ("pDP: Gaussian", "gaussian-probabilistic", "gaussian-probabilistic"),
)
"""Title, the noise of the printed curve, and that of the exact ones."""


def _risk_chart(work: SharedResults, name: Name, title: str, printed: Mechanism, exact: Mechanism) -> Chart:
    """Return printed and exact risk against epsilon; deltas but the main one are faint."""
    lines: tuple[tuple[str, Mechanism, Measure], ...] = (
        ("printed", printed, "printed"),
        ("exact, conservative", exact, "conservative"),
        ("exact, record", exact, "record"),
    )
    deltas = (None,) if printed == "laplace" else DELTAS
    series = tuple(
        _series(label, work.curve(name, mechanism, measure, delta), faint=delta not in (None, MAIN_DELTA))
        for label, mechanism, measure in lines
        for delta in deltas
    )
    return _risk_lines(f"{TITLES[name]}, {title}", f"Risk against epsilon, {TITLES[name]}, {title}.", series)


def _series(label: str, curve: RiskCurve, faint: bool = False) -> Series:
    return Series(name=label, x=curve.epsilon, y=curve.risk, faint=faint)


def _risk_lines(title: str, label: str, series: tuple[Series, ...], rules: tuple[tuple[str, float], ...] = ()) -> Chart:
    return Chart(
        kind="lines",
        title=title,
        label=label,
        x="epsilon",
        y="risk",
        series=series,
        rules=rules,
        logarithmic=True,
        top=1.0,
        muted_first=True,
    )


POISSON_CASES: tuple[tuple[str, Name, Mechanism, float | None], ...] = (
    ("Adult, Laplace (19)", "adult", "laplace", None),
    ("Bankruptcy, Laplace (19)", "bankruptcy", "laplace", None),
    ("Bankruptcy, pDP Gaussian, delta 1e-5 (29)", "bankruptcy", "gaussian-probabilistic", MAIN_DELTA),
)


def _poisson_chart(work: SharedResults, title: str, name: Name, mechanism: Mechanism, delta: float | None) -> Chart:
    lines: dict[str, Measure] = {
        "printed": "Poisson printed",
        "zero-truncated": "Poisson zero-truncated",
        "observed sizes": "observed sizes",
    }
    series = tuple(_series(label, work.curve(name, mechanism, each, delta)) for label, each in lines.items())
    return _risk_lines(f"Poisson sizes: {title}", f"Risk under Poisson sizes against epsilon, {title}.", series)


def sigmas() -> dict[tuple[float, float], tuple[float, float, float]]:
    """Return sigma for each epsilon and delta: by (20) and by (21) as printed, and by the exact calibration."""
    return {
        (epsilon, delta): (
            float(published(20, epsilon=epsilon, delta=delta)),
            float(published(21, epsilon=epsilon, delta=delta)),
            gaussian_sigma(epsilon, delta),
        )
        for delta in DELTAS
        for epsilon in SIGMA_EPSILONS
    }


def _sigma_table() -> ValueTable:
    rows = (
        (
            f"{epsilon:g}",
            f"{delta:g}",
            f"{classic:.6f}" if epsilon < 1 else "not proved",
            f"{probabilistic:.6f}",
            f"{exact:.6f}",
            f"{probabilistic / exact:.2f}",
        )
        for (epsilon, delta), (classic, probabilistic, exact) in sigmas().items()
    )
    header = ("epsilon", "delta", "(20) classic", "(21) probabilistic", "exact (analytic)", "(21) / exact")
    return value_table("Standard deviation of the noise for one added or removed record", header, rows, words=0)


def figure_d(work: SharedResults) -> Part:
    """Return appendix D: the plurality (hard) and the proportional (soft) attacker on Adult, exact."""
    cells = work.tables.cells["adult"]
    numbers = {
        "hard": plurality(cells.counts, Laplace(200.0)),
        "fair": soft(cells.counts, Laplace(200.0)),
        "mixed": int((~cells.homogeneous).sum()),
    }
    rules = (("majority income", work.tables.cell_facts("adult")["majority"]),)
    return part(
        "figure D",
        numbers,
        values=tuple(
            _risk_table(work, f"Adult, {noise} noise", [(m, "adult", noise, m) for m in GUESSES], GUESS_GRID)
            for noise in ("laplace", "geometric")
        ),
        charts=(
            _guessing_chart(work, "cells", ("conservative", "soft", "hard")),
            _guessing_chart(work, "records", ("record by record", "soft by record", "hard by record"), rules),
        ),
    )


def _guessing_chart(
    work: SharedResults, over: str, measures: Sequence[Measure], rules: tuple[tuple[str, float], ...] = ()
) -> Chart:
    view = "conservative" if measures[0] == "conservative" else "record"
    labels = (f"homogeneity, {view}", "soft", "hard")
    drawn = (work.curve("adult", "laplace", measure).up_to(32) for measure in measures)
    series = tuple(map(_series, labels, drawn))
    return _risk_lines(f"averaged over {over}", f"Guessing risk against epsilon, averaged over {over}.", series, rules)


NOISES: dict[Mechanism, str] = {
    "laplace": "Laplace",
    "gaussian-classic": "Gaussian, aDP",
    "gaussian-analytic": "Gaussian, aDP",
    "gaussian-probabilistic": "Gaussian, pDP",
}
DOMAINS: dict[Domain, str] = {
    "whole domain": "all 729 cells: differentially private",
    "occupied cells": "the 103 occupied cells only: not differentially private",
}


def figure_5(work: SharedResults) -> Part:
    """Return the distances of noisy marginals, with noise on all cells and on the occupied ones only."""
    numbers = {
        "draws": work.draws,
        "seed": work.seed,
        "distances": [
            {"epsilon": epsilon, "whole": _means(work, "whole domain", epsilon)}
            | {"occupied": _means(work, "occupied cells", epsilon)}
            for epsilon in (0.1, 1.0, 10.0)
        ],
    }
    header = ("cells", "noise", "delta", "epsilon", "1-way", "2-way", "3-way")
    boxes = value_table("Mean distance with its Monte Carlo error", header, _distance_rows(work.distances), words=2)
    return part(
        "figure 5",
        numbers,
        values=(boxes.model_copy(update={"folded": True}),),
        charts=tuple(_distance_chart(work.distances, domain, order) for domain in DOMAINS for order in (1, 2, 3)),
        charts_a_row=3,
    )


def _means(work: SharedResults, domain: Domain, epsilon: float) -> str:
    wanted = ("laplace", epsilon, domain)
    boxes = [box for box in work.distances if (box.mechanism, box.epsilon, box.domain) == wanted]
    return " / ".join(f"{box.mean:.3f}" for box in sorted(boxes, key=lambda box: box.order))


def _distance_rows(boxes: list[TvdBox]) -> list[tuple[str, ...]]:
    grouped: dict[tuple[str, ...], list[str]] = {}
    for box in boxes:
        key = (box.domain, box.mechanism, "" if box.delta is None else f"{box.delta:g}", f"{box.epsilon:g}")
        grouped.setdefault(key, []).append(f"{box.mean:.3f} ± {box.standard_error:.3f}")
    return [(*key, *cells) for key, cells in grouped.items()]


def _distance_chart(boxes: list[TvdBox], domain: Domain, order: int) -> Chart:
    """Return the boxes of one order of marginals."""
    drawn = [box for box in boxes if (box.domain, box.order) == (domain, order)]
    drawn = [box for box in drawn if box.mechanism in NOISES and box.delta in (None, MAIN_DELTA)]
    return Chart(
        kind="boxes",
        title=f"{order}-way marginals, {DOMAINS[domain]}",
        label=f"Box plots of {order}-way distances, {domain}.",
        x="epsilon",
        y="total variation distance",
        series=tuple(Series(name=NOISES[box.mechanism], y=box.quantiles) for box in drawn),
        labels=tuple(f"{box.epsilon:g}" for box in drawn),
        top=0.5,
    )


def table_1(work: SharedResults) -> Part:
    """Return every relation of risk and noise at an example."""
    return part("table 1", {"relations": table_1_relations(work.tables)})


def choices(tables: PaperTables) -> dict[tuple[Name, Mechanism, View], EpsilonChoice]:
    """Return every epsilon that keeps the average risk at or below the target, by table, noise and view."""
    views: tuple[View, ...] = ("conservative", "record")
    noises: tuple[Mechanism, ...] = ("laplace", "geometric")
    return {
        (name, noise, view): epsilon_for(TARGET, cells.counts, noise, view)
        for name, cells in tables.cells.items()
        for view in views
        for noise in noises
    }


def choosing_epsilon(work: SharedResults) -> Part:
    """Return the inverse question, which the paper answers by eye."""
    found = choices(work.tables).items()
    rows = [
        {"table": TITLES[name], "noise": noise, "view": view, "choice": choice, "epsilons": _intervals(choice)}
        for (name, noise, view), choice in found
    ]
    return part("beyond 1", {"target": TARGET, "choices": rows})


def _intervals(choice: EpsilonChoice) -> str:
    return ", ".join(f"{low:.6g} to {high:.6g}" for low, high in choice.intervals) or "none"
