"""Scores of very many pairs: counted block by block, so that only one number of each pair stays in memory.

The score is that of :mod:`.pick` at weight 1: the L1 distance between a pair's true counts and what the model says,
less what noise alone would leave. Scores are computed once, before any choice: MST's model does not change between
its choices. Blocks follow from public sizes and change no score, so the proof is that of :mod:`.spanning_tree`. Scores
are as private as the counts: nothing of them leaves but through a choice that was paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array
from sfumato.methods.graphical.choosing.looks import Look, Resolutions, model_tables, packed
from sfumato.methods.graphical.choosing.pick import UNITS, noise_distance, whole_distance
from sfumato.methods.graphical.choosing.rounds import Problem
from sfumato.methods.graphical.tree.model import GraphicalModel

BLOCK_CELLS, BLOCK_PAIRS = 4_000_000, 100_000
"""Cells and pairs of one block: some 100 MB with what Python keeps beside each array."""


def pair_scores(problem: Problem, model: GraphicalModel, pairs: Sequence[Look], sigma: float) -> NDArray[np.int64]:
    """Return the score of every pair."""
    told = Independent(model)
    blocks = packed(pairs, problem.resolutions.cells, BLOCK_CELLS, BLOCK_PAIRS)
    return np.fromiter(
        chain.from_iterable(_scored(problem, told, part, sigma) for part in blocks),
        np.int64,
        len(pairs),
    )


def _scored(problem: Problem, told: Independent, pairs: Sequence[Look], sigma: float) -> Iterator[int]:
    counts = problem.counted(pairs)
    for pair in pairs:
        less = round(UNITS * noise_distance(sigma, counts[pair].size))
        yield whole_distance(counts[pair], told.table(pair, problem.resolutions)) - less


class Independent:
    """What a model says of pairs of which most have nothing to do with each other: then it is a product."""

    def __init__(self, model: GraphicalModel) -> None:
        self._model = model
        self._part = np.arange(len(model.sizes))
        for clique in model.cliques:
            self._part[np.isin(self._part, self._part[list(clique)])] = self._part[clique[0]]
        self._singles: list[Array] = [model.marginal((column,)) for column in range(len(model.sizes))]

    def table(self, pair: Look, resolutions: Resolutions) -> Array:
        """Return the expected counts of a pair."""
        one, other = pair.clique
        if self._part[one] == self._part[other]:
            return model_tables(self._model, [pair], resolutions)[pair]
        whole = np.outer(self._singles[one], self._singles[other] / self._model.total)
        return resolutions.summed(pair, whole)
