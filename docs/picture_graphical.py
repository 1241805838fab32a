"""Make the picture of graphical-models.md: ``.venv/bin/python docs/picture_graphical.py``.

A seeded fit of the example households at epsilon 1: the columns, the pairs that the tree keeps, and those that
triangulation adds.
"""

from __future__ import annotations

import math
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert
from numpy.typing import NDArray

import sfumato
from sfumato.example import codebook, households
from sfumato.methods.graphical.tree.junction import junction_tree
from sfumato.methods.graphical.tree.model import GraphicalModel
from sfumato.report.charts import PAPER, Spec, config

IMAGES = Path(__file__).resolve().parent / "images"
NAME = "graphical-fitted.svg"
SEED, EPSILON = 7, 1
WIDTH, HEIGHT = 620, 430
KINDS = ("a measured table holds the pair", "added so that the cliques form a tree")
PULL_STEPS, LENGTH, REACH = 1500, 0.22, 0.6
WEAKEST = 0.004
"""Bits from which a pair is drawn wider than a hair."""


def main() -> int:
    """Write the picture."""
    table = sfumato.read(households(), codebook())
    made: Any = sfumato.release(table, sfumato.AIM(epsilon=EPSILON), seed=SEED, ledger=False).model
    tree: GraphicalModel = made.model
    IMAGES.joinpath(NAME).write_text(vl_convert.vegalite_to_svg(graph(made.names, tree)), encoding="utf-8")
    print(f"wrote {NAME}: {len(tree.cliques)} cliques measured, {len(_pairs(tree))} edges")
    return 0


def graph(names: tuple[str, ...], tree: GraphicalModel) -> Spec:
    """Return the columns as points and the pairs as lines; wide lines carry much information."""
    edges = _pairs(tree)
    at = _layout(len(names), list(edges))
    lines = [
        {
            "x": at[a, 0],
            "y": at[a, 1],
            "x2": at[b, 0],
            "y2": at[b, 1],
            "s": kind,
            "w": 0.8 + 5 * math.sqrt(max(bits - WEAKEST, 0.0)),
        }
        for (a, b), (kind, bits) in edges.items()
    ]
    points = [{"x": x, "y": y, "name": f"{n} ({size})"} for (x, y), n, size in zip(at, names, tree.sizes, strict=True)]
    chart = alt.layer(_lines(lines), *_points(points)).properties(width=WIDTH, height=HEIGHT)
    return {**chart.to_dict(), "config": config(PAPER), "background": "white"}


def _lines(values: list[dict[str, Any]]) -> alt.Chart:
    key = alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolSize=400, labelLimit=300)
    dash = alt.Scale(domain=list(KINDS), range=[[1, 0], [4, 4]])
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_rule(color=PAPER.accent, opacity=0.75)
        .encode(
            x=_across("x"),
            y=_up("y"),
            x2="x2:Q",
            y2="y2:Q",
            strokeWidth=alt.StrokeWidth("w:Q", scale=None, legend=None),
            strokeDash=alt.StrokeDash("s:N", sort=list(KINDS), scale=dash, legend=key),
        )
    )


def _points(values: list[dict[str, Any]]) -> tuple[alt.Chart, ...]:
    base = alt.Chart(alt.InlineData(values=values)).encode(x=_across("x"), y=_up("y"))
    back = base.mark_text(fontSize=13, stroke="white", strokeWidth=5, dy=-15).encode(text="name:N")
    circles = base.mark_circle(size=150, color=PAPER.ink, opacity=1)
    return back, circles, base.mark_text(fontSize=13, color=PAPER.ink, dy=-15).encode(text="name:N")


def _across(name: str) -> alt.X:
    return alt.X(f"{name}:Q", axis=None, scale=alt.Scale(domain=[-0.1, 1.1], nice=False))


def _up(name: str) -> alt.Y:
    return alt.Y(f"{name}:Q", axis=None, scale=alt.Scale(domain=[-0.06, 1.1], nice=False))


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


def _layout(count: int, edges: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Return places in the unit square: all columns push each other away, neighbours pull together."""
    angles = 2 * np.pi * np.arange(count) / count
    at = 0.5 + 0.4 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    near = np.zeros((count, count))
    near[tuple(np.array(edges).T)] = 1
    near += near.T
    for step in range(PULL_STEPS):
        apart = at[:, None] - at
        distance = np.maximum(np.linalg.norm(apart, axis=2), 0.01)
        # A push that ends at some distance keeps columns that hang on nothing from fleeing to the corners.
        push = np.where(distance < REACH, (LENGTH / distance) ** 2 * (1 - distance / REACH), 0.0)
        force = apart * (push - near * np.maximum(distance - LENGTH, 0) / LENGTH)[:, :, None]
        move = 8 * force.sum(axis=1) - (at - 0.5)
        at += move / np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1) * 0.05 * (1 - step / PULL_STEPS)
    return (at - at.min(axis=0)) / np.ptp(at, axis=0)


if __name__ == "__main__":
    sys.exit(main())
