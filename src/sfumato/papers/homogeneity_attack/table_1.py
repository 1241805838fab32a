"""Table 1: which theorem relates which risk to which noise, each at an example, printed and exact.

Theorems 1 and 4 at the Bankruptcy subset (K = 3), corollaries 2 and 5 at Adult (K = 2), corollaries 3 and 6 at
Bankruptcy, whose cells are all homogeneous. Noise for epsilon 1: Laplace, and Gaussian by the probabilistic rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.papers.homogeneity_attack.curves import average
from sfumato.papers.homogeneity_attack.data import TITLES, PaperTables
from sfumato.papers.homogeneity_attack.errata import zero_truncated_rate
from sfumato.papers.homogeneity_attack.results import Name, Relation
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
    published,
    shrinkage,
)

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


def relations(tables: PaperTables) -> tuple[Relation, ...]:
    """Return every relation of table 1 at its example."""
    noises: dict[str, NoiseLaw] = {
        "Laplace": Laplace(EPSILON),
        "Gaussian": Gaussian(gaussian_sigma(EPSILON, DELTA, rule="probabilistic")),
    }
    found: list[Relation] = []
    for name, noise in noises.items():
        for result in GENERAL[name]:
            found += _general(result, name, noise, tables.cells[result.example].counts)
        found += _homogeneous(name, noise, tables.cells["bankruptcy"].counts)
    return tuple(found)


def _general(result: _Result, name: str, noise: NoiseLaw, counts: Counts) -> list[Relation]:
    """The expected risk has the cells' own shares put in; the others the fitted Dirichlet law and Poisson sizes."""
    alpha, sizes = fit_dirichlet(counts).alpha, counts.sum(axis=1)
    law = Poisson(zero_truncated_rate(float(sizes.mean())))
    by_size = np.atleast_1d(shrinkage(sizes, alpha, noise))
    one, two, three = result.equations
    title = TITLES[result.example]
    rows: tuple[tuple[str, int, dict[str, Any], float], ...] = (
        ("expected", one, {"counts": counts}, average(counts, noise)),
        ("shrinkage", two, {"n": sizes, "alpha": alpha}, float(by_size.mean())),
        ("global", three, {"alpha": alpha, "sizes": law}, overall(alpha, noise, law)),
    )
    return [
        _relation(result.name, measure, name, equation, title, float(published(equation, noise, **facts)), exact)
        for measure, equation, facts, exact in rows
    ]


def _homogeneous(name: str, noise: NoiseLaw, counts: Counts) -> list[Relation]:
    result, (by_size, by_law) = HOMOGENEOUS[name]
    sizes = counts.sum(axis=1)
    printed = float(published(by_size, noise, n=sizes)), float(published(by_law, noise, sizes=Poisson(2.43)))
    law = Poisson(zero_truncated_rate(float(sizes.mean())))
    return [
        _relation(result, "expected", name, by_size, TITLES["bankruptcy"], printed[0], average(counts, noise)),
        _relation(result, "global", name, by_law, TITLES["bankruptcy"], printed[1], expected(law, [1.0, 0.0], noise)),
    ]


def _relation(
    result: str, measure: str, noise: str, equation: int, example: str, printed: float, exact: float
) -> Relation:
    return Relation(
        result=result,
        measure=measure,
        noise=noise,
        equation=equation,
        example=example,
        printed=printed,
        exact=exact,
    )
