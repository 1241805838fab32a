"""Small random models, and the same answers from the full joint table."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import maximal_cliques
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import GroupSum, Query

TOTAL = 50.0


def joint(model: GraphicalModel) -> np.ndarray:
    """The whole distribution, scaled to the model's total: nothing but a sum of broadcast potentials."""
    logs = np.zeros(model.sizes)
    for clique, potential in zip(model.cliques, model.potentials, strict=True):
        shape = [size if column in clique else 1 for column, size in enumerate(model.sizes)]
        logs = logs + potential.reshape(shape)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum() * model.total


def summed(table: np.ndarray, columns) -> np.ndarray:
    """A marginal of the joint table, axes in the order given."""
    ascending = sorted(columns)
    kept = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in ascending))
    return kept.transpose([ascending.index(column) for column in columns])


@st.composite
def shapes(draw):
    """Sizes of 3 to 6 columns and some cliques: nested, disconnected, single columns, repeated, or none at all."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=3, max_size=6)))
    subsets = [c for width in (1, 2, 3) for c in combinations(range(len(sizes)), width)]
    return sizes, draw(st.lists(st.sampled_from(subsets), max_size=7))


@st.composite
def models(draw, zeros: bool = True):
    """Random potentials on the maximal cliques of random shapes; a tenth of the cells may be structural zeros."""
    sizes, cliques = draw(shapes())
    cliques = maximal_cliques([*cliques, *((column,) for column in range(len(sizes)))])
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.0, 1.0, 5.0]))
    potentials = []
    for clique in cliques:
        potential = generator.normal(0, spread, [sizes[column] for column in clique])
        if zeros and len(clique) > 1:
            potential[generator.random(potential.shape) < 0.1] = -np.inf
            # The first cell of every table stays allowed, so the rules never contradict each other.
            potential[(0,) * len(clique)] = 0.0
        potentials.append(potential)
    return GraphicalModel(sizes, TOTAL, tuple(cliques), tuple(potentials))


def sum_to_coarser(table: np.ndarray, query: Query) -> np.ndarray:
    """A table at the model's groups, summed to those of a query."""
    return GroupSum.of(table.shape, query).summed(table)
