"""What AIM and MST ask of the rows, from public facts: how often they count, at most."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.methods.graphical.cells.group_counts import PASS_CELLS
from sfumato.methods.graphical.choosing.looks import packed
from sfumato.methods.graphical.choosing.pair_scores import BLOCK_CELLS, BLOCK_PAIRS
from sfumato.methods.graphical.plan import GraphicalPlan
from sfumato.methods.graphical.tree.junction import Clique
from sfumato.table.passes import Ask


def asks_of(planned: GraphicalPlan) -> tuple[Ask, ...]:
    """Return the questions: one-way tables, then the pairs that may be chosen, then larger sets seen more coarsely."""
    found = [Ask("one-way tables", sets=tuple((name,) for name in planned.names), public_sizes=False)]
    pairs, larger = ([c for c in planned.weights if (len(c) > 2) is wide] for wide in (False, True))
    if planned.in_blocks:
        blocks = sum(1 for _ in packed(pairs, planned.cells, BLOCK_CELLS, BLOCK_PAIRS))
        found.append(
            Ask("pairs, block by block", sets=_named(planned, pairs[:BLOCK_PAIRS]), times=blocks, at_most=True)
        )
        return (*found, Ask("the pairs of the tree", sets=_named(planned, pairs[: len(planned.names) - 1])))
    return (*found, *_counted(planned, "pairs", pairs), *_counted(planned, "larger sets", larger))


def _counted(planned: GraphicalPlan, what: str, cliques: Sequence[Clique]) -> list[Ask]:
    """Return as many passes as tables of these sizes need: groups are fixed by noise, and may be fewer."""
    small = [clique for clique in cliques if planned.cells(clique) <= PASS_CELLS]
    large, found = len(cliques) - len(small), list[Ask]()
    if small:
        parts = list(packed(small, planned.cells, PASS_CELLS))
        each = _named(planned, max(parts, key=len))
        found.append(Ask(what, sets=each, times=len(parts), at_most=len(parts) > 1, public_sizes=False))
    if large:
        found.append(Ask(f"very large {what}", "cells", times=large, at_most=True))
    return found


def _named(planned: GraphicalPlan, cliques: Sequence[Clique]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(planned.names[place] for place in clique) for clique in cliques)
