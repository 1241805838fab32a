"""The loss that a model is fitted to: squared errors of its marginals in units of their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.graphical.tree.junction import Clique
from sfumato.methods.graphical.tree.schedule import Link, host, link, summed

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """What one table asks of the factor that holds it."""

    factor: int
    inner: Link
    counts: Table
    weight: float
    """One over the variance of a cell."""


@dataclass(frozen=True)
class Objective:
    """Half the weighted squared errors of all tables, as a function of the factors' expected counts."""

    total: float
    targets: tuple[Target, ...]
    constant: float
    """What remains where equal cliques disagree with each other."""

    def evaluate(self, marginals: Sequence[Table]) -> tuple[float, list[Table]]:
        """Return the loss at the factors' probabilities, and its gradient in the factors' expected counts."""
        loss, gradients = self.constant, [np.zeros(table.shape) for table in marginals]
        for target in self.targets:
            table = marginals[target.factor]
            error = summed(table, target.inner.axes)
            error *= self.total
            error -= target.counts
            loss += 0.5 * target.weight * float(np.vdot(error, error))
            error *= target.weight
            gradients[target.factor] += error.reshape(target.inner.shape)
        return float(loss), gradients


def objective(
    sizes: Sequence[int], factors: Sequence[Clique], tables: Sequence[tuple[Clique, Table, float]], total: float
) -> Objective:
    """Merge tables of equal cliques by inverse variance, and find the smallest factor that holds each."""
    merged: dict[Clique, list[tuple[Table, float]]] = {}
    for clique, counts, sigma in tables:
        merged.setdefault(clique, []).append((counts, sigma**-2))
    targets: list[Target] = []
    constant = 0.0
    for clique, answers in merged.items():
        weight = sum(part for _, part in answers)
        mean = sum((counts * (part / weight) for counts, part in answers), np.zeros(answers[0][0].shape))
        constant += sum(0.5 * part * float(((counts - mean) ** 2).sum()) for counts, part in answers)
        factor = host(sizes, clique, factors)
        targets.append(Target(factor, link(sizes, clique, factors[factor]), mean, weight))
    return Objective(total, tuple(targets), constant)
