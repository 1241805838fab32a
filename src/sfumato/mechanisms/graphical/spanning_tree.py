"""MST: a spanning tree of pairs, chosen one edge at a time, then measured.

McKenna, Miklau and Sheldon 2021. Each of the d - 1 edges is chosen by exponential weights among the pairs that join two
parts of the tree so far; the score is the L1 distance between a pair's true counts and those of the model fitted to the
one-way tables. Then every chosen pair is measured with discrete Gaussian noise. Costs are paid before each draw; the
proof is that of :mod:`sfumato.mechanisms.graphical.rounds`.

A thousand columns have half a million pairs. Where there are more than FEW_PAIRS, which the schema says, scores are
computed once and the tables are let go (:mod:`.pair_scores`); the same choices are then made among the same scores, in
the same order, at the same cost, and the chosen pairs are counted again to be measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np

from sfumato.mechanisms.graphical.budget import Budget
from sfumato.mechanisms.graphical.coarsened_marginals import CoarsenedMarginal, model_marginals
from sfumato.mechanisms.graphical.exponential_mechanism import select_marginal, select_scored
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel, LinearMeasurement
from sfumato.mechanisms.graphical.junction_tree.mirror_descent import estimate
from sfumato.mechanisms.graphical.pair_scores import score_pairs_in_blocks
from sfumato.mechanisms.graphical.rounds import Candidates, FittedMarginals, RoundLog, RoundSettings, Watch
from sfumato.privacy.randomness import Randomness

FEW_PAIRS = 2000
"""Pairs whose tables are all held at once: those of 63 columns."""


def run_mst(
    problem: Candidates,
    one_way: Sequence[LinearMeasurement],
    budget: Budget,
    settings: RoundSettings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> FittedMarginals[GraphicalModel]:
    """Choose the tree, measure its edges and fit the model."""
    start = estimate(
        problem.sizes, one_way, problem.total, problem.supports, None, settings.last_steps, settings.tolerance
    )
    pairs = len(problem.sizes) - 1
    sigma = budget.sigma(budget.noise.left / pairs)
    choose = select_edges if comb(len(problem.sizes), 2) <= FEW_PAIRS else select_edges_from_scores
    edges = choose(problem, start, sigma, budget.choices.left / pairs, budget, randomness)
    problem = dataclasses.replace(problem, counts=problem.counted(edges))
    tables, log = list(one_way), list[RoundLog]()
    for edge in edges:
        tables.append(problem.noisy(edge, sigma, budget, randomness))
        log.append(RoundLog(len(log) + 1, edge, sigma, 0.0, budget.left_share))
        if watch is not None:
            watch(log[-1])
    model = estimate(
        problem.sizes, tables, problem.total, problem.supports, start, settings.last_steps, settings.tolerance
    )
    return FittedMarginals(model, tuple(tables), tuple(log))


def select_edges(
    problem: Candidates, start: GraphicalModel, sigma: float, share: Fraction, budget: Budget, randomness: Randomness
) -> list[CoarsenedMarginal]:
    """Choose edges until all columns hang together; each choice is paid for before it is drawn."""
    part = list(range(len(problem.sizes)))
    pairs = [look for look in problem.counts if len(look.clique) == 2]
    model, equal = model_marginals(start, pairs, problem.resolutions), dict.fromkeys(pairs, 1)
    edges = _required_edges(problem)
    for edge in edges:
        part = _merge_components(part, edge)
    while len(edges) < len(part) - 1:
        offered = [pair for pair in pairs if part[pair.clique[0]] != part[pair.clique[1]]]
        strength = budget.strength(share)
        edge = select_marginal(problem.counts, model, equal, offered, strength, sigma, problem.sensitivity, randomness)
        part = _merge_components(part, edge)
        edges.append(edge)
    return edges


def select_edges_from_scores(
    problem: Candidates, start: GraphicalModel, sigma: float, share: Fraction, budget: Budget, randomness: Randomness
) -> list[CoarsenedMarginal]:
    """Choose the edges of :func:`_spanning_tree` among scores that are computed once."""
    pairs = [look for look in problem.weights if len(look.clique) == 2]
    scores = score_pairs_in_blocks(problem, start, pairs, sigma)
    ends, part = np.array([pair.clique for pair in pairs]), np.arange(len(problem.sizes))
    edges = _required_edges(problem)
    for edge in edges:
        part = np.array(_merge_components(part.tolist(), edge))
    while len(edges) < len(part) - 1:
        offered = np.flatnonzero(part[ends[:, 0]] != part[ends[:, 1]])
        strength = budget.strength(share)
        edge = pairs[offered[select_scored(scores[offered], strength, problem.sensitivity, randomness)]]
        part = np.array(_merge_components(part.tolist(), edge))
        edges.append(edge)
    return edges


def _required_edges(problem: Candidates) -> list[CoarsenedMarginal]:
    """Return the pairs that rules need, as far as they make no circle."""
    part, edges = list(range(len(problem.sizes))), list[CoarsenedMarginal]()
    for edge in problem.first:
        if part[edge.clique[0]] != part[edge.clique[1]]:
            part = _merge_components(part, edge)
            edges.append(edge)
    return edges


def _merge_components(part: list[int], edge: CoarsenedMarginal) -> list[int]:
    """Return the part of each column, with the two parts that an edge joins as one."""
    one, other = edge.clique
    return [part[one] if label == part[other] else label for label in part]
