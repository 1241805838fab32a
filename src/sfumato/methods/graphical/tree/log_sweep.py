"""The same sweeps in log space: slower, and safe for potentials of any size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.methods.graphical.tree.schedule import Schedule

Table = NDArray[np.float64]


def log_beliefs(schedule: Schedule, potentials: Sequence[Table]) -> list[Table]:
    """Return the probabilities of each clique's cells; PlanError where the structural zeros leave nothing."""
    tables, messages = _collected(schedule, potentials)
    if not np.isfinite(messages[0]):
        raise PlanError(
            "the rules between columns contradict each other: they leave no row",
            [f"columns {clique} are bound by rules or measured" for clique in schedule.cliques[:10]],
            "drop or mend one of the rules",
        )
    tables[0] -= messages[0]
    for node, table, told in zip(schedule.nodes[1:], tables[1:], messages[1:], strict=True):
        known = log_sum(tables[node.parent], node.down.axes)
        ratio = np.subtract(known, told, out=np.full_like(told, -np.inf), where=told > -np.inf)
        table += ratio.reshape(node.up.shape)
    return [np.exp(table) for table in tables]


def _collected(schedule: Schedule, potentials: Sequence[Table]) -> tuple[list[Table], list[Table]]:
    tables = [np.zeros(node.shape) for node in schedule.nodes]
    messages: list[Table] = [np.empty(0)] * len(tables)
    for number in range(len(tables) - 1, -1, -1):
        node, table = schedule.nodes[number], tables[number]
        for index, inner in node.factors:
            table += potentials[index].reshape(inner.shape)
        for child in node.children:
            table += messages[child].reshape(schedule.nodes[child].down.shape)
        messages[number] = log_sum(table, node.up.axes)
    return tables, messages


def log_sum(table: Table, axes: tuple[int, ...]) -> Table:
    """Return log(sum(exp(table))) over the axes; -inf where there is nothing.

    >>> round(float(log_sum(np.array([-2000.0, -2000.0]), (0,))), 6)
    -1999.306853
    """
    peak = np.asarray(table.max(axis=axes, keepdims=True))
    peak = np.where(np.isfinite(peak), peak, 0.0)
    mass = np.exp(table - peak).sum(axis=axes)
    shift = peak.reshape(mass.shape)
    return np.add(np.log(mass, out=np.full_like(mass, -np.inf), where=mass > 0), shift)
