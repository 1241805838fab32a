"""MST: a spanning tree of pairs, chosen one edge at a time, then measured.

McKenna, Miklau and Sheldon 2021. Each of the d - 1 edges is chosen by exponential weights among the pairs that join two
parts of the tree so far; the score is the L1 distance between a pair's true counts and those of the model fitted to the
one-way tables. Then every chosen pair is measured with discrete Gaussian noise. Costs are paid before each draw; the
proof is that of :mod:`sfumato.methods.graphical.choosing.rounds`.

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

from sfumato.methods.graphical.choosing.budget import Budget
from sfumato.methods.graphical.choosing.looks import Look, model_tables
from sfumato.methods.graphical.choosing.pair_scores import pair_scores
from sfumato.methods.graphical.choosing.pick import pick_scored, pick_table
from sfumato.methods.graphical.choosing.rounds import Fitted, Problem, Round, Settings, Watch
from sfumato.methods.graphical.tree.fit import fit
from sfumato.methods.graphical.tree.model import GraphicalModel, NoisyTable
from sfumato.privacy.randomness import Randomness

FEW_PAIRS = 2000
"""Pairs whose tables are all held at once: those of 63 columns."""


def run_spanning_tree(
    problem: Problem,
    one_way: Sequence[NoisyTable],
    budget: Budget,
    settings: Settings,
    randomness: Randomness,
    watch: Watch | None = None,
) -> Fitted[GraphicalModel]:
    """Choose the tree, measure its edges and fit the model."""
    start = fit(problem.sizes, one_way, problem.total, problem.supports, None, settings.last_steps, settings.tolerance)
    pairs = len(problem.sizes) - 1
    sigma = budget.sigma(budget.noise.left / pairs)
    choose = _spanning_tree if comb(len(problem.sizes), 2) <= FEW_PAIRS else _wide_tree
    edges = choose(problem, start, sigma, budget.choices.left / pairs, budget, randomness)
    problem = dataclasses.replace(problem, counts=problem.counted(edges))
    tables, log = list(one_way), list[Round]()
    for edge in edges:
        tables.append(problem.noisy(edge, sigma, budget, randomness))
        log.append(Round(len(log) + 1, edge, sigma, 0.0, budget.left_share))
        if watch is not None:
            watch(log[-1])
    model = fit(problem.sizes, tables, problem.total, problem.supports, start, settings.last_steps, settings.tolerance)
    return Fitted(model, tuple(tables), tuple(log))


def _spanning_tree(
    problem: Problem, start: GraphicalModel, sigma: float, share: Fraction, budget: Budget, randomness: Randomness
) -> list[Look]:
    """Choose edges until all columns hang together; each choice is paid for before it is drawn."""
    part = list(range(len(problem.sizes)))
    pairs = [look for look in problem.counts if len(look.clique) == 2]
    model, equal = model_tables(start, pairs, problem.resolutions), dict.fromkeys(pairs, 1)
    edges = _first_edges(problem)
    for edge in edges:
        part = _joined(part, edge)
    while len(edges) < len(part) - 1:
        offered = [pair for pair in pairs if part[pair.clique[0]] != part[pair.clique[1]]]
        strength = budget.strength(share)
        edge = pick_table(problem.counts, model, equal, offered, strength, sigma, problem.sensitivity, randomness)
        part = _joined(part, edge)
        edges.append(edge)
    return edges


def _wide_tree(
    problem: Problem, start: GraphicalModel, sigma: float, share: Fraction, budget: Budget, randomness: Randomness
) -> list[Look]:
    """Choose the edges of :func:`_spanning_tree` among scores that are computed once."""
    pairs = [look for look in problem.weights if len(look.clique) == 2]
    scores = pair_scores(problem, start, pairs, sigma)
    ends, part = np.array([pair.clique for pair in pairs]), np.arange(len(problem.sizes))
    edges = _first_edges(problem)
    for edge in edges:
        part = np.array(_joined(part.tolist(), edge))
    while len(edges) < len(part) - 1:
        offered = np.flatnonzero(part[ends[:, 0]] != part[ends[:, 1]])
        strength = budget.strength(share)
        edge = pairs[offered[pick_scored(scores[offered], strength, problem.sensitivity, randomness)]]
        part = np.array(_joined(part.tolist(), edge))
        edges.append(edge)
    return edges


def _first_edges(problem: Problem) -> list[Look]:
    """Return the pairs that rules need, as far as they make no circle."""
    part, edges = list(range(len(problem.sizes))), list[Look]()
    for edge in problem.first:
        if part[edge.clique[0]] != part[edge.clique[1]]:
            part = _joined(part, edge)
            edges.append(edge)
    return edges


def _joined(part: list[int], edge: Look) -> list[int]:
    """Return the part of each column, with the two parts that an edge joins as one."""
    one, other = edge.clique
    return [part[one] if label == part[other] else label for label in part]
