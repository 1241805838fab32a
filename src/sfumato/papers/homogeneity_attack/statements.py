"""Statements of section 4, appendix D and table 1, beside exact values.

Theorems 1 and 4 at the Bankruptcy subset (K = 3), corollaries 2 and 5 at Adult (K = 2), corollaries 3 and 6 at
Bankruptcy, whose cells are all homogeneous. Noise for epsilon 1: Laplace, and Gaussian by the probabilistic rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.papers.homogeneity_attack.data import TITLES, PaperTables
from sfumato.papers.homogeneity_attack.errata import TINY, homogeneous_share, zero_truncated_rate
from sfumato.papers.homogeneity_attack.figures import DELTAS, average_risk
from sfumato.papers.homogeneity_attack.published import published
from sfumato.papers.homogeneity_attack.results import (
    AttackReproduction,
    Experiment,
    Measure,
    Name,
    PrintedRelation,
    RiskCurve,
    TopicComparison,
    TvdBox,
)
from sfumato.papers.result import Comparison, comparison
from sfumato.risk.homogeneity import (
    Counts,
    Gaussian,
    Laplace,
    NoiseLaw,
    Poisson,
    expected,
    fit_dirichlet,
    gaussian_sigma,
    overall,
    plurality,
    shrinkage,
    soft,
)

TABLE_EPSILONS = (0.01, 0.1, 1.0, 5.0, 10.0)

SAME = "as above"

PRICE = (
    "the paper leaves open whether zero counts get noise ('may be sanitized'); without it the empty cells are "
    "revealed, which is not DP, and the distance looks better than it can be"
)

WRONG_CELLS = "the paper counted cells of identifiers and income together; those are homogeneous by construction"


def statements(
    topics: Collection[str], tables: PaperTables, results: AttackReproduction
) -> tuple[TopicComparison, ...]:
    """Return every statement of section 4 about the topics that can be checked."""
    makers: dict[str, Callable[[], list[Comparison]]] = {
        "cells": lambda: _cell_statements(results.experiments),
        "limits": lambda: _asymptotes(tables),
        "gaussian": lambda: _gaussian_statements(tables, results),
        "poisson": lambda: _poisson_statements(results),
        "thresholds": lambda: _threshold_statements(tables),
        "utility": lambda: _utility_statements(results.utilities),
    }
    chosen = ((topic, row) for topic, make in makers.items() if topic in topics for row in make())
    return tuple(TopicComparison(topic=topic, **row.model_dump()) for topic, row in chosen)


def _gap(high: RiskCurve, low: RiskCurve) -> float:
    """Return the largest difference of two curves on the epsilons that both have."""
    return max(high.at(epsilon) - low.at(epsilon) for epsilon in low.epsilon if epsilon in high.epsilon)


def percent(share: float, digits: int = 2) -> str:
    """Return a share in words.

    >>> percent(0.80734)
    '80.73 %'
    """
    return f"{100 * share:.{digits}f} %"


def _cell_statements(experiments: tuple[Experiment, ...]) -> list[Comparison]:
    adult, whole, subset = experiments
    return [
        comparison("Adult: records", "27,504", f"{adult.records:,}", "the same rows"),
        comparison("Adult: non-empty cells", "5,974", f"{adult.cells:,}", WRONG_CELLS),
        comparison("Adult: homogeneous cells", "100 %", percent(adult.homogeneous_cells / adult.cells), SAME),
        comparison("Adult: largest cell", "240", str(adult.largest), SAME),
        comparison("Adult: mean size", "4.6", f"{adult.mean_size:.4f}", SAME),
        comparison(
            "Bankruptcy: non-empty cells, homogeneous",
            "103, 103",
            f"{whole.cells}, {whole.homogeneous_cells}",
            "agrees",
        ),
        comparison(
            "Bankruptcy subset: cells, homogeneous",
            "78, 54",
            f"{subset.cells}, {subset.homogeneous_cells}",
            "agrees",
        ),
    ]


def _asymptotes(tables: PaperTables) -> list[Comparison]:
    adult, subset = tables.cells["adult"].counts, tables.cells["bankruptcy-subset"].counts
    floors = {n: average_risk(c.counts, Laplace(TINY)) for n, c in tables.cells.items()}
    formula = published(18, Laplace(10.0), n=tables.printed_sizes("adult"))
    whole = homogeneous_share(tables.cells["bankruptcy"].counts)
    return [
        comparison("Adult: no noise", "100 %", percent(homogeneous_share(adult)), WRONG_CELLS),
        comparison(
            "Adult: epsilon to 0",
            "25 %",
            f"{percent(floors['adult'])} (record view {percent(average_risk(adult, Laplace(TINY), 'record'))})",
            "mixed cells look homogeneous too when noise empties all but one value",
        ),
        comparison(
            "Adult: 100 % is reached at epsilon 10 (Laplace)",
            "100 %",
            percent(average_risk(adult, Laplace(10.0))),
            f"(18) itself gives {percent(formula)}",
        ),
        comparison(
            "Bankruptcy: no noise; epsilon to 0",
            "100 %; 25 %",
            f"{percent(whole, 0)}; {percent(floors['bankruptcy'], 0)}",
            "agrees",
        ),
        comparison(
            "Bankruptcy subset: no noise",
            ".75",
            f"{homogeneous_share(subset):.4f}",
            "(12) puts shares in for probabilities, which overstates homogeneity",
        ),
        comparison(
            "Bankruptcy subset: epsilon to 0",
            ".1",
            f"{floors['bankruptcy-subset']:.4f} (record view {average_risk(subset, Laplace(TINY), 'record'):.4f})",
            "(12) drops most ways in which a mixed cell looks homogeneous",
        ),
    ]


def _gaussian_statements(tables: PaperTables, results: AttackReproduction) -> list[Comparison]:
    reached = [
        float(published(28, Gaussian(gaussian_sigma(31.6, delta, rule="probabilistic")), n=tables.printed_sizes(name)))
        for name in ("adult", "bankruptcy")
        for delta in DELTAS
    ]
    classic = max(
        _gap(
            results.curve(n, "gaussian-probabilistic", "printed", d), results.curve(n, "gaussian-classic", "printed", d)
        )
        for n in tables.cells
        for d in DELTAS
    )
    analytic = max(
        _gap(
            results.curve(n, "gaussian-analytic", "conservative", d),
            results.curve(n, "gaussian-probabilistic", "conservative", d),
        )
        for n in tables.cells
        for d in DELTAS
    )
    return [
        comparison(
            "risk at epsilon 31.6, any delta",
            "100 %",
            f"{percent(min(reached), 1)} to {percent(max(reached), 1)}",
            "(28) with delta 1e-6 to 1e-3, on the paper's own cells",
        ),
        comparison(
            "pDP above aDP by",
            "less than 5 %",
            f"at most {percent(classic)} as a difference",
            "agrees for the classic rule, which exists below epsilon 1 only",
        ),
        comparison(
            "order of the two at equal (epsilon, delta)",
            "pDP risks more",
            f"with (20) and (21) pDP, by up to {percent(classic)}; with exact calibration aDP, by up to "
            f"{percent(analytic)}",
            "agrees for the printed rules; (20) wastes noise, and the exact (analytic) calibration needs less than pDP "
            "at every epsilon",
        ),
    ]


def _poisson_statements(results: AttackReproduction) -> list[Comparison]:
    rows: list[Comparison] = []
    names: tuple[tuple[Name, str, str], ...] = (("adult", "Adult", "4.6"), ("bankruptcy", "Bankruptcy", "2.43"))
    for name, title, lam in names:
        for epsilon in (0.1, 1.0, 100.0):
            measures: tuple[Measure, ...] = ("Poisson printed", "Poisson zero-truncated", "observed sizes")
            printed, truncated, observed = (results.curve(name, "laplace", measure).at(epsilon) for measure in measures)
            rows.append(
                comparison(
                    f"{title}, Laplace, epsilon {epsilon:g}, lambda {lam}",
                    f"(19): {printed:.4f}",
                    f"{truncated:.4f}; observed sizes {observed:.4f}",
                    "(19) gives empty cells weight, and sizes are not Poisson",
                )
            )
    return rows


def _threshold_statements(tables: PaperTables) -> list[Comparison]:
    counts = tables.cells["adult"].counts
    hard, fair = plurality(counts, Laplace(200.0)), soft(counts, Laplace(200.0))
    mixed = int((~tables.cells["adult"].homogeneous).sum())
    return [
        comparison(
            "Adult, hard and soft: no noise",
            "100 %",
            f"hard {percent(hard.cell_average)}, soft {percent(fair.cell_average)}",
            f"{mixed} cells are mixed, and some of their members are always named wrongly",
        ),
        comparison(
            "Adult: epsilon to 0",
            "> 1/4",
            f"{(1 - 2.0**-2) / 2:g}",
            "(1 - 2^-K) / K: nothing is guessed where noise empties the cell",
        ),
        comparison(
            "Adult: share of records named rightly, no noise",
            "not given",
            f"hard {hard.record_average:.4f}, soft {fair.record_average:.4f}",
            f"always naming the majority income already gets {hard.baseline:.4f}: report the difference",
        ),
    ]


def _utility_statements(utilities: tuple[TvdBox, ...]) -> list[Comparison]:
    rows: list[Comparison] = []
    for epsilon in (0.1, 1.0, 10.0):
        whole, occupied = (
            [u for u in utilities if (u.mechanism, u.epsilon, u.domain) == ("laplace", epsilon, domain)]
            for domain in ("whole domain", "occupied cells")
        )
        rows.append(
            comparison(
                f"TVD of 1-, 2-, 3-way marginals, Laplace, epsilon {epsilon:g}",
                "box plots, no numbers",
                f"all cells {_means(whole)}; occupied cells only {_means(occupied)}",
                PRICE,
            )
        )
    return rows


def _means(boxes: list[TvdBox]) -> str:
    return " / ".join(f"{box.mean:.3f}" for box in sorted(boxes, key=lambda box: box.order))


EPSILON, DELTA = 1.0, 1e-5


@dataclass(frozen=True)
class _Result:
    """One row of table 1: its equations for the expected, the shrinkage and the global risk, and the example."""

    name: str
    equations: tuple[int, int, int]
    example: Name


GENERAL = {
    "Laplace": (
        _Result("Theorem 1", (12, 13, 14), "bankruptcy-subset"),
        _Result("Corollary 2, K = 2", (15, 16, 17), "adult"),
    ),
    "Gaussian": (
        _Result("Theorem 4", (22, 23, 24), "bankruptcy-subset"),
        _Result("Corollary 5, K = 2", (25, 26, 27), "adult"),
    ),
}

HOMOGENEOUS = {"Laplace": ("Corollary 3", (18, 19)), "Gaussian": ("Corollary 6", (28, 29))}


def table_1_relations(tables: PaperTables) -> tuple[PrintedRelation, ...]:
    """Return every relation of table 1 at its example."""
    noises: dict[str, NoiseLaw] = {
        "Laplace": Laplace(EPSILON),
        "Gaussian": Gaussian(gaussian_sigma(EPSILON, DELTA, rule="probabilistic")),
    }
    found: list[PrintedRelation] = []
    for name, noise in noises.items():
        for result in GENERAL[name]:
            found += _general(result, name, noise, tables.cells[result.example].counts)
        found += _homogeneous(name, noise, tables.cells["bankruptcy"].counts)
    return tuple(found)


def _general(result: _Result, name: str, noise: NoiseLaw, counts: Counts) -> list[PrintedRelation]:
    """The expected risk has the cells' own shares put in; the others the fitted Dirichlet law and Poisson sizes."""
    alpha, sizes = fit_dirichlet(counts).alpha, counts.sum(axis=1)
    law = Poisson(zero_truncated_rate(float(sizes.mean())))
    by_size = np.atleast_1d(shrinkage(sizes, alpha, noise))
    one, two, three = result.equations
    title = TITLES[result.example]
    rows: tuple[tuple[str, int, dict[str, Any], float], ...] = (
        ("expected", one, {"counts": counts}, average_risk(counts, noise)),
        ("shrinkage", two, {"n": sizes, "alpha": alpha}, float(by_size.mean())),
        ("global", three, {"alpha": alpha, "sizes": law}, overall(alpha, noise, law)),
    )
    return [
        _relation(result.name, measure, name, equation, title, float(published(equation, noise, **facts)), exact)
        for measure, equation, facts, exact in rows
    ]


def _homogeneous(name: str, noise: NoiseLaw, counts: Counts) -> list[PrintedRelation]:
    result, (by_size, by_law) = HOMOGENEOUS[name]
    sizes = counts.sum(axis=1)
    printed = float(published(by_size, noise, n=sizes)), float(published(by_law, noise, sizes=Poisson(2.43)))
    law = Poisson(zero_truncated_rate(float(sizes.mean())))
    return [
        _relation(result, "expected", name, by_size, TITLES["bankruptcy"], printed[0], average_risk(counts, noise)),
        _relation(result, "global", name, by_law, TITLES["bankruptcy"], printed[1], expected(law, [1.0, 0.0], noise)),
    ]


def _relation(
    result: str, measure: str, noise: str, equation: int, example: str, printed: float, exact: float
) -> PrintedRelation:
    return PrintedRelation(
        result=result,
        measure=measure,
        noise=noise,
        equation=equation,
        example=example,
        printed=printed,
        exact=exact,
    )
