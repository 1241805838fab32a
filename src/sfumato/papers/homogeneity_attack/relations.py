"""Table 1: every printed relation of risk and noise at an example, beside the exact value.

Theorems 1 and 4 at the Bankruptcy subset (K = 3), corollaries 2 and 5 at Adult (K = 2), corollaries 3 and 6 at
Bankruptcy, whose cells are all homogeneous. Noise for epsilon 1: Laplace, and Gaussian by the probabilistic rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.papers.homogeneity_attack.data import TITLES, Name, PaperTables
from sfumato.papers.homogeneity_attack.published import published
from sfumato.papers.homogeneity_attack.shared_results import (
    PRINTED_LAMBDA,
    average_risk,
    noise_law,
    zero_truncated_rate,
)
from sfumato.risk.homogeneity import Counts, NoiseLaw, Poisson, expected, fit_dirichlet, overall, shrinkage

DELTA = 1e-5
GENERAL: tuple[tuple[str, str, Name, tuple[int, int, int]], ...] = (
    ("Laplace", "Theorem 1", "bankruptcy-subset", (12, 13, 14)),
    ("Laplace", "Corollary 2, K = 2", "adult", (15, 16, 17)),
    ("Gaussian", "Theorem 4", "bankruptcy-subset", (22, 23, 24)),
    ("Gaussian", "Corollary 5, K = 2", "adult", (25, 26, 27)),
)
"""Noise, result, example and the equations of the expected, the shrinkage and the global risk."""
HOMOGENEOUS = (("Laplace", "Corollary 3", (18, 19)), ("Gaussian", "Corollary 6", (28, 29)))
"""The same for homogeneous cells: the expected and the global risk."""


def table_1_relations(tables: PaperTables) -> list[dict[str, Any]]:
    """Return every relation of table 1 at its example: result, risk, noise, equation, printed and exact value."""
    noises = {"Laplace": noise_law("laplace", 1.0), "Gaussian": noise_law("gaussian-probabilistic", 1.0, DELTA)}
    relations: list[dict[str, Any]] = []
    for noise, result, example, equations in GENERAL:
        rows = _general(equations, noises[noise], tables.cells[example].counts)
        relations += [{"noise": noise, "result": result, "example": TITLES[example], **row} for row in rows]
    for noise, result, equations in HOMOGENEOUS:
        rows = _homogeneous(equations, noises[noise], tables.cells["bankruptcy"].counts)
        relations += [{"noise": noise, "result": result, "example": TITLES["bankruptcy"], **row} for row in rows]
    return sorted(relations, key=lambda relation: relation["equation"])


def _general(equations: tuple[int, int, int], noise: NoiseLaw, counts: Counts) -> list[dict[str, Any]]:
    """The expected risk has the cells' own shares put in; the others the fitted Dirichlet law and Poisson sizes."""
    alpha, sizes = fit_dirichlet(counts).alpha, counts.sum(axis=1)
    law = Poisson(zero_truncated_rate(float(sizes.mean())))
    one, two, three = equations
    return [
        _relation("expected", one, noise, average_risk(counts, noise), counts=counts),
        _relation("shrinkage", two, noise, float(np.mean(shrinkage(sizes, alpha, noise))), n=sizes, alpha=alpha),
        _relation("global", three, noise, overall(alpha, noise, law), alpha=alpha, sizes=law),
    ]


def _homogeneous(equations: tuple[int, int], noise: NoiseLaw, counts: Counts) -> list[dict[str, Any]]:
    sizes = counts.sum(axis=1)
    law = Poisson(zero_truncated_rate(float(sizes.mean())))
    by_size, by_law = equations
    return [
        _relation("expected", by_size, noise, average_risk(counts, noise), n=sizes),
        _relation(
            "global", by_law, noise, expected(law, [1.0, 0.0], noise), sizes=Poisson(PRINTED_LAMBDA["bankruptcy"])
        ),
    ]


def _relation(measure: str, equation: int, noise: NoiseLaw, exact: float, **facts: Any) -> dict[str, Any]:
    printed = float(published(equation, noise, **facts))
    order = "agrees" if np.isclose(printed, exact, rtol=1e-9) else f"printed {'below' if printed < exact else 'above'}"
    return {"measure": measure, "equation": equation, "printed": printed, "exact": exact, "order": order}
