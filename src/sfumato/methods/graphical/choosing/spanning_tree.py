"""MST: a spanning tree of pairs, chosen one edge at a time, then measured.

McKenna, Miklau and Sheldon 2021. Each of the d - 1 edges is chosen by exponential weights among the pairs that join two
parts of the tree so far; the score is the L1 distance between a pair's true counts and those of the model fitted to the
one-way tables. Then every chosen pair is measured with discrete Gaussian noise. Costs are paid before each draw; the
proof is that of :mod:`sfumato.methods.graphical.choosing.rounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.methods.graphical.choosing.budget import Budget
from sfumato.methods.graphical.choosing.looks import Look, model_tables
from sfumato.methods.graphical.choosing.pick import pick_table
from sfumato.methods.graphical.choosing.rounds import Fitted, Problem, Round, Settings, Watch
from sfumato.methods.graphical.tree.fit import fit
from sfumato.methods.graphical.tree.model import GraphicalModel, NoisyTable
from sfumato.privacy.randomness import Randomness


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
    edges = _spanning_tree(problem, start, sigma, budget.choices.left / pairs, budget, randomness)
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
