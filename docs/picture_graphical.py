"""Make the picture of graphical-models.md: ``.venv/bin/python docs/picture_graphical.py``.

A seeded fit of the example households at epsilon 1: the columns, the pairs that the tree keeps, and those that
triangulation adds.
"""

from __future__ import annotations

import math
import sys
from itertools import combinations
from typing import Any

import numpy as np
from drawn import Panel, write
from markupsafe import Markup
from numpy.typing import NDArray

import sfumato
from sfumato.example import codebook, households
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import junction_tree
from sfumato.report.charts.column_graph import Edge, association_graph

NAME = "graphical-fitted.svg"
WORDS = "Columns as points, pairs that the model keeps as lines; the thicker, the more information they carry"
SEED, EPSILON = 7, 1
KINDS = ("a measured table holds the pair", "added so that the cliques form a tree")
WEAKEST = 0.004
"""Bits from which a pair is drawn wider than a hair."""


def main() -> int:
    """Write the picture."""
    table = sfumato.read(households(), codebook())
    made: Any = sfumato.release(table, sfumato.AIM(epsilon=EPSILON), seed=SEED, ledger=False).model
    tree: GraphicalModel = made.model
    marks = (f'<path class="tie{kind}" stroke-width="2.5" d="M1 7H33"/>' for kind in ("", " dashed"))
    write(NAME, WORDS, [Panel(graph(made.names, tree))], legend=list(zip(marks, KINDS, strict=True)))
    print(f"wrote {NAME}: {len(tree.cliques)} cliques measured, {len(_pairs(tree))} edges")
    return 0


def graph(names: tuple[str, ...], tree: GraphicalModel) -> Markup:
    """Return the columns as points and the pairs as lines; wide lines carry much information."""
    shown = [f"{name} ({size})" for name, size in zip(names, tree.sizes, strict=True)]
    ties = {
        (shown[a], shown[b]): Edge(_thickness(bits), f"{kind}, {bits:.2g} bits", dashed=kind == KINDS[1])
        for (a, b), (kind, bits) in _pairs(tree).items()
    }
    return association_graph(shown, ties, WORDS)


def _thickness(bits: float) -> float:
    return 0.8 + 5 * math.sqrt(max(bits - WEAKEST, 0.0))


def _pairs(tree: GraphicalModel) -> dict[tuple[int, int], tuple[str, float]]:
    """Return every pair of columns that some clique of the tree holds, with its kind and the model's information."""
    measured = {pair for clique in tree.cliques for pair in combinations(clique, 2)}
    held = {pair for clique in junction_tree(tree.sizes, tree.cliques).cliques for pair in combinations(clique, 2)}
    return {pair: (KINDS[int(pair not in measured)], information(tree.marginal(pair))) for pair in sorted(held)}


def information(counts: NDArray[np.float64]) -> float:
    """Return the mutual information of a table of two columns, in bits."""
    joint = counts / counts.sum()
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    inside = joint > 0
    return float((joint[inside] * np.log2(joint[inside] / apart[inside])).sum())


if __name__ == "__main__":
    sys.exit(main())
