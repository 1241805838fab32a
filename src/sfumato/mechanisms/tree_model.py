"""Tree of columns fitted to noisy one- and two-way marginals (maximum spanning tree).

Noisy tables are projected onto non-negative tables with the noisy total; edges are weighted by an unbiased
estimate of the squared distance from independence (the noise's own contribution is subtracted), so that large
noisy tables do not look dependent by noise alone; a maximum spanning tree keeps the strongest edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray, project_counts
from sfumato.core.plan import Plan
from sfumato.entropy.values import shannon
from sfumato.mechanisms.noisy_marginals import Noise, NoisyMarginals, noise_variance
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import UniformSource
from sfumato.sampling.values import draw_conditional

ONE_WAY_SHARE = Fraction(3, 10)
"""Share of the budget for one-way tables when pairs are measured too: they anchor every conditional table."""
RAKING_ROUNDS = 1000
RAKING_ERROR = 1e-9
"""Raking ends when no row margin is further off than this share of the total."""


def iterative_proportional_fitting(table: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Scale a two-way table to given margins (iterative proportional fitting)."""
    fitted = table + 1e-12 * table.sum() / table.size + 1e-300
    for _ in range(RAKING_ROUNDS):
        fitted *= (rows / np.maximum(fitted.sum(axis=1), 1e-300))[:, None]
        fitted *= columns / np.maximum(fitted.sum(axis=0), 1e-300)
        if np.abs(fitted.sum(axis=1) - rows).max() <= RAKING_ERROR * rows.sum():
            break
    return fitted


@dataclass(frozen=True)
class TreeEdge:
    """A child column drawn from its parent by a conditional table."""

    parent: str
    child: str
    weight: float


@dataclass(frozen=True)
class TreeModel:
    """Shares of each column and conditional tables along the edges, in drawing order."""

    shares: Mapping[str, FloatArray]
    edges: tuple[TreeEdge, ...]
    conditionals: Mapping[tuple[str, str], FloatArray]

    @property
    def parents(self) -> dict[str, str]:
        """The parent of every column that has one."""
        return {edge.child: edge.parent for edge in self.edges}

    @property
    def order(self) -> tuple[str, ...]:
        """The columns in drawing order: parents before children."""
        return (*(name for name in self.shares if name not in self.parents), *(edge.child for edge in self.edges))

    def table(self, name: str) -> FloatArray:
        """Return a column's probabilities, a row for each level of its parent (one row without a parent).

        A row without mass says nothing, so it is uniform.
        """
        parent = self.parents.get(name)
        table = self.shares[name][None, :] if parent is None else self.conditionals[parent, name]
        filled = np.where(table.sum(axis=1, keepdims=True) <= 0, 1.0, table)
        return filled / filled.sum(axis=1, keepdims=True)

    def draw(self, rows: int, generator: UniformSource) -> dict[str, NDArray[np.int64]]:
        """Return codes of ``rows`` independent rows."""
        codes: dict[str, NDArray[np.int64]] = {}
        for name in self.order:
            parent = self.parents.get(name)
            parent_codes = np.zeros(rows, dtype=np.int64) if parent is None else codes[parent]
            codes[name] = draw_conditional(self.table(name), parent_codes, generator)
        return codes


def tree_marginals(
    method: str,
    columns: Sequence[str],
    budget: tuple[Number, Number | None],
    noise: Noise | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
) -> NoisyMarginals:
    """Return what a tree is fitted to: one-way tables, then pairs (all unless stated), with their shares of a budget.

    ``budget`` is epsilon and delta.
    """
    chosen = tuple(combinations(columns, 2)) if pairs is None else tuple(pairs)
    first = ONE_WAY_SHARE if chosen else Fraction(1)
    shares = [first / len(columns)] * len(columns)
    shares += [(1 - first) / len(chosen)] * len(chosen) if chosen else []
    return NoisyMarginals(method, (*((name,) for name in columns), *chosen), *budget, noise, tuple(shares))


def noisy_total(noisy: Mapping[tuple[str, ...], NDArray[Any]]) -> float:
    """Average the totals of the one-way tables, weighted by their precision (fewer cells, less noise)."""
    ones = [counts for names, counts in noisy.items() if len(names) == 1]
    weights = np.array([1.0 / counts.size for counts in ones])
    totals = np.array([float(counts.sum()) for counts in ones])
    return max(float(weights @ totals / weights.sum()), 0.0)


def fit_tree_to_plan(
    noisy: Mapping[tuple[str, ...], NDArray[np.int64]], plan: Plan, total: float, coarse_first: bool = False
) -> TreeModel:
    """Fit a tree to noisy tables, whose noise is that of the plan's events; its root is the first column.

    With ``coarse_first`` the root is the column whose noisy counts are least spread.
    """
    parts = [(event.kind, part) for event in plan.events for part in event.parts]
    variance = {names: noise_variance(kind, part) for names, (kind, part) in zip(noisy, parts, strict=True)}
    ones = {names[0]: counts for names, counts in noisy.items() if len(names) == 1}
    if coarse_first:
        ones = dict(sorted(ones.items(), key=lambda item: shannon(np.maximum(item[1], 0))))
    pairs: dict[Any, NDArray[np.int64]] = {names: counts for names, counts in noisy.items() if len(names) == 2}
    return fit_tree(ones, pairs, {key: variance[key] for key in pairs}, total)


def fit_tree(
    ones: Mapping[str, NDArray[np.int64] | FloatArray],
    pairs: Mapping[tuple[str, str], NDArray[np.int64]],
    variance: Mapping[tuple[str, str], float],
    total: float,
) -> TreeModel:
    """Fit a tree to noisy one-way and two-way tables."""
    margins = {name: project_counts(counts, total) for name, counts in ones.items()}
    weights = {key: _dependence(table, margins, key, variance[key], total) for key, table in pairs.items()}
    edges = _oriented(list(ones), _spanning_tree(list(ones), weights))
    conditionals: dict[tuple[str, str], FloatArray] = {}
    for edge in edges:
        key = (edge.parent, edge.child)
        table = pairs[key] if key in pairs else pairs[edge.child, edge.parent].T
        conditionals[key] = iterative_proportional_fitting(
            project_counts(table, total), margins[edge.parent], margins[edge.child]
        )
    return TreeModel({n: m / max(m.sum(), 1e-300) for n, m in margins.items()}, edges, conditionals)


def _dependence(
    table: NDArray[np.int64], margins: Mapping[str, FloatArray], key: tuple[str, str], variance: float, total: float
) -> float:
    independent = np.outer(margins[key[0]], margins[key[1]]) / max(total, 1.0)
    square = float(((table - independent) ** 2).sum()) - table.size * variance
    return max(square, 0.0) / max(total, 1.0) ** 2


def _spanning_tree(names: Sequence[str], weights: Mapping[tuple[str, str], float]) -> list[TreeEdge]:
    group = {name: name for name in names}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    chosen: list[TreeEdge] = []
    for (a, b), weight in sorted(weights.items(), key=lambda item: -item[1]):
        if weight > 0 and root(a) != root(b):
            group[root(a)] = root(b)
            chosen.append(TreeEdge(a, b, weight))
    return chosen


def _oriented(names: Sequence[str], edges: Sequence[TreeEdge]) -> tuple[TreeEdge, ...]:
    """Point every edge away from the first column of its component, parents before children."""
    neighbours: dict[str, list[TreeEdge]] = {name: [] for name in names}
    for edge in edges:
        neighbours[edge.parent].append(edge)
        neighbours[edge.child].append(TreeEdge(edge.child, edge.parent, edge.weight))
    reached: set[str] = set()
    ordered: list[TreeEdge] = []
    for start in names:
        queue = [] if start in reached else [start]
        while queue:
            here = queue.pop(0)
            reached.add(here)
            fresh = [edge for edge in neighbours[here] if edge.child not in reached]
            ordered += fresh
            queue += [edge.child for edge in fresh]
            reached.update(edge.child for edge in fresh)
    return tuple(ordered)
