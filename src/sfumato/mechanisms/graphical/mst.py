"""MST (McKenna, Miklau and Sheldon 2021): measure a spanning tree of pairs, estimate a model.

1. Initialise: measure every one-way marginal, and estimate a first model.
2. Select the d - 1 edges of a spanning tree by the exponential mechanism (:func:`select_edges`), each among the pairs
   that join two components of the tree so far. The score is the L1 distance between a pair's true counts and those of
   the first model.
3. Measure every selected pair with discrete Gaussian noise (:func:`~.method.measure_equally`), estimate the model.
4. Sample rows from it.

Costs are paid before each draw; the proof is that of :mod:`sfumato.mechanisms.graphical.aim`.

A thousand columns have half a million pairs. Where there are more than FEW_PAIRS, which the schema says, scores are
computed block by block, so that only one number of each pair stays in memory (:func:`score_pairs_in_blocks`). The model
does not change between selections, so the same ones are made among the same scores, in the same order, at the same
cost, and the selected pairs are counted again to be measured. Blocks follow from public sizes. Scores are as private as
the counts: nothing of them leaves but through a selection that was paid for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.argument_errors import checked_parameters
from sfumato.arrays import FloatArray
from sfumato.core.method import Makes
from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.candidates import Candidates
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, Resolutions, in_batches, model_marginals
from sfumato.mechanisms.graphical.exponential_mechanism import (
    UNITS,
    expected_noise_l1,
    integer_l1,
    select_marginal,
    select_scored,
)
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import connected_parts, join_columns
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement
from sfumato.mechanisms.graphical.method import (
    DISCRETISATIONS,
    Algorithm,
    Bins,
    FittedMarginals,
    GraphicalMethod,
    RoundSettings,
    Watch,
    measure_equally,
)
from sfumato.mechanisms.graphical.plan import BLOCK_CELLS, BLOCK_PAIRS, GraphicalPlan, chosen_names
from sfumato.privacy.exact import Number
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Schema

ONE_WAY_SHARE = SELECTION_SHARE = Fraction(1, 3)
MEGABYTES = 50.0
"""A tree of pairs is small whatever the columns are; this only refuses columns that no pair can hold."""


Select = Callable[[NDArray[np.intp], Fraction], CoarsenedMarginal]
"""Selects one of the pairs that are offered, by their places."""
FEW_PAIRS = 2000
"""Pairs whose counts are all held at once: those of 63 columns."""


@checked_parameters
@dataclass(frozen=True)
class MST(GraphicalMethod):
    """A synthetic table from a graphical model of d - 1 noisy pairs that tie all columns together.

    A third of the budget goes to one-way tables, a third to choosing the pairs, a third to measuring them. Faster than
    AIM and a little less faithful: it keeps one chain of dependence between any two columns. ``delta`` is
    1e-9 unless it is given.

    Proof: :mod:`sfumato.mechanisms.graphical.mst`.
    """

    epsilon: Number
    delta: Number | None = None
    columns: Sequence[str] | None = None
    bins: Bins = "adaptive"
    rounding: bool = True

    name: ClassVar[str] = "mst"
    summary: ClassVar[str] = "a synthetic table of any columns, from a spanning tree of noisy pairs (fast)"
    about: ClassVar[str] = (
        "They were drawn from a model of noisy pairs, not copied from the table; one may equal a true row by chance."
    )
    formal: ClassVar[bool | None] = True
    makes: ClassVar[Makes] = "rows"

    def __post_init__(self) -> None:
        self._check_parameters()

    def planned(self, schema: Schema) -> GraphicalPlan:
        """Return what will be done, from public facts alone."""
        names = chosen_names(schema, self.columns)
        return GraphicalPlan(
            method=self.name,
            schema=schema,
            names=names,
            epsilon=self.epsilon,
            delta=self.spent_delta,
            binning=DISCRETISATIONS[self.bins],
            one_way_share=ONE_WAY_SHARE,
            choice_share=SELECTION_SHARE,
            workload="2-way",
            megabytes=MEGABYTES,
            later="pairs of the tree",
            later_tables=max(len(names) - 1, 1),
            rounds=1,
        )

    def settings(self) -> RoundSettings:
        """Return the limits of the fit."""
        return RoundSettings(megabytes=MEGABYTES)

    @property
    def algorithm(self) -> Algorithm:
        """What selects a tree, measures its edges and fits the model."""
        return run_mst

    @classmethod
    def example(cls, schema: Schema) -> MST:
        """Return a small instance that fits a schema."""
        return cls(epsilon=2.0)


def run_mst(
    candidates: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> FittedMarginals[GraphicalModel]:
    """Select the tree, measure its edges and estimate the model."""
    start = candidates.estimate(one_way, None, settings.last_steps, settings.tolerance)
    pairs = len(candidates.sizes) - 1
    sigma = budget.sigma(budget.noise.left / pairs)
    edges = select_edges(candidates, start, sigma, budget.choices.left / pairs, budget, randomness)
    candidates = dataclasses.replace(candidates, counts=candidates.counted(edges))
    measurements, log = measure_equally(candidates, edges, one_way, budget, randomness, watch)
    model = candidates.estimate(measurements, start, settings.last_steps, settings.tolerance)
    return FittedMarginals(model, measurements, log)


def select_edges(
    candidates: Candidates, start: GraphicalModel, sigma: float, share: Fraction, budget: Budget, randomness: Randomness
) -> list[CoarsenedMarginal]:
    """Select edges until all columns are joined; each selection is paid for before it is drawn."""
    pairs = [pair for pair in candidates.weights if len(pair.clique) == 2]
    few = comb(len(candidates.sizes), 2) <= FEW_PAIRS
    select = (_among_counts if few else _among_scores)(candidates, start, pairs, sigma, randomness)
    ends, edges = np.array([pair.clique for pair in pairs]), _required_edges(candidates)
    component = connected_parts(len(candidates.sizes), [edge.clique for edge in edges])
    while len(edges) < len(component) - 1:
        offered = np.flatnonzero(component[ends[:, 0]] != component[ends[:, 1]])
        edges.append(select(offered, budget.pay_for_selection(share)))
        component = join_columns(component, edges[-1].clique)
    return edges


def _among_counts(
    candidates: Candidates,
    start: GraphicalModel,
    pairs: Sequence[CoarsenedMarginal],
    sigma: float,
    randomness: Randomness,
) -> Select:
    """Return the exponential mechanism among pairs whose counts are held."""
    model, equal = model_marginals(start, pairs, candidates.resolutions), dict.fromkeys(pairs, 1)

    def select(offered: NDArray[np.intp], strength: Fraction) -> CoarsenedMarginal:
        allowed = [pairs[place] for place in offered]
        return select_marginal(
            candidates.counts, model, equal, allowed, strength, sigma, candidates.sensitivity, randomness
        )

    return select


def _among_scores(
    candidates: Candidates,
    start: GraphicalModel,
    pairs: Sequence[CoarsenedMarginal],
    sigma: float,
    randomness: Randomness,
) -> Select:
    """Return the exponential mechanism among very many pairs, whose scores are computed once."""
    scores = score_pairs_in_blocks(candidates, start, pairs, sigma)

    def select(offered: NDArray[np.intp], strength: Fraction) -> CoarsenedMarginal:
        return pairs[offered[select_scored(scores[offered], strength, candidates.sensitivity, randomness)]]

    return select


def _required_edges(candidates: Candidates) -> list[CoarsenedMarginal]:
    """Return the pairs that rules need, as far as they make no circle."""
    component, edges = np.arange(len(candidates.sizes)), list[CoarsenedMarginal]()
    for edge in candidates.first:
        if component[edge.clique[0]] != component[edge.clique[1]]:
            component = join_columns(component, edge.clique)
            edges.append(edge)
    return edges


def score_pairs_in_blocks(
    candidates: Candidates, model: GraphicalModel, pairs: Sequence[CoarsenedMarginal], sigma: float
) -> NDArray[np.int64]:
    """Return the score of every pair: that of the exponential mechanism at weight 1."""
    expected = ProductMarginals(model)
    blocks = in_batches(pairs, candidates.resolutions.cells, BLOCK_CELLS, BLOCK_PAIRS)
    return np.fromiter(
        chain.from_iterable(_scored(candidates, expected, part, sigma) for part in blocks),
        np.int64,
        len(pairs),
    )


def _scored(
    candidates: Candidates, expected: ProductMarginals, pairs: Sequence[CoarsenedMarginal], sigma: float
) -> Iterator[int]:
    counts = candidates.counted(pairs)
    for pair in pairs:
        less = round(UNITS * expected_noise_l1(sigma, counts[pair].size))
        yield integer_l1(counts[pair], expected.table(pair, candidates.resolutions)) - less


class ProductMarginals:
    """Marginals of pairs under a model in which most columns are independent: a product there."""

    def __init__(self, model: GraphicalModel) -> None:
        self._model = model
        self._part = connected_parts(len(model.sizes), model.cliques)
        self._singles: list[FloatArray] = [model.marginal((column,)) for column in range(len(model.sizes))]

    def table(self, pair: CoarsenedMarginal, resolutions: Resolutions) -> FloatArray:
        """Return the expected counts of a pair."""
        one, other = pair.clique
        if self._part[one] == self._part[other]:
            return model_marginals(self._model, [pair], resolutions)[pair]
        whole = np.outer(self._singles[one], self._singles[other] / self._model.total)
        return resolutions.summed(pair, whole)
