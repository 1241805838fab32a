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

from sfumato.arrays import FloatArray
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions, in_batches, model_marginals
from sfumato.mechanisms.graphical.exponential_mechanism import UNITS, expected_noise_l1, integer_l1
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.rounds import Candidates

BLOCK_CELLS, BLOCK_PAIRS = 4_000_000, 100_000
"""Cells and pairs of one block: some 100 MB with what Python keeps beside each array."""


def score_pairs_in_blocks(
    problem: Candidates, model: GraphicalModel, pairs: Sequence[CoarsenedMarginal], sigma: float
) -> NDArray[np.int64]:
    """Return the score of every pair."""
    told = ProductMarginals(model)
    blocks = in_batches(pairs, problem.resolutions.cells, BLOCK_CELLS, BLOCK_PAIRS)
    return np.fromiter(
        chain.from_iterable(_scored(problem, told, part, sigma) for part in blocks),
        np.int64,
        len(pairs),
    )


def _scored(
    problem: Candidates, told: ProductMarginals, pairs: Sequence[CoarsenedMarginal], sigma: float
) -> Iterator[int]:
    counts = problem.counted(pairs)
    for pair in pairs:
        less = round(UNITS * expected_noise_l1(sigma, counts[pair].size))
        yield integer_l1(counts[pair], told.table(pair, problem.resolutions)) - less


class ProductMarginals:
    """What a model says of pairs of which most have nothing to do with each other: then it is a product."""

    def __init__(self, model: GraphicalModel) -> None:
        self._model = model
        self._part = np.arange(len(model.sizes))
        for clique in model.cliques:
            self._part[np.isin(self._part, self._part[list(clique)])] = self._part[clique[0]]
        self._singles: list[FloatArray] = [model.marginal((column,)) for column in range(len(model.sizes))]

    def table(self, pair: CoarsenedMarginal, resolutions: Resolutions) -> FloatArray:
        """Return the expected counts of a pair."""
        one, other = pair.clique
        if self._part[one] == self._part[other]:
            return model_marginals(self._model, [pair], resolutions)[pair]
        whole = np.outer(self._singles[one], self._singles[other] / self._model.total)
        return resolutions.summed(pair, whole)
