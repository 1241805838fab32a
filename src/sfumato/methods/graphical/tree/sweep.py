"""Exact marginals of a graphical model by two sweeps over its junction tree (Hugin messages).

Potentials are exponentiated once; messages are then products and sums of probabilities, each message scaled to sum
to 1. That underflows where potentials differ by many hundreds: hardly any mass is then left in some clique, which is
noticed, and the sweep is done again in log space, which is slower and safe for potentials of any size. A cell that is
lost unnoticed has less than 1e-100 of the mass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.methods.graphical.tree.schedule import Node, Schedule, summed, summed_many

Table = NDArray[np.float64]
LEAST_MASS = 1e-200
"""Cells under 1e-300 are lost; below this mass they could matter."""


class Sweeper:
    """Beliefs of every clique of the tree for any potentials on the factors. Its tables are reused by each sweep."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.log_space = False
        """Set by the first underflow: the potentials of a fit change slowly, the next sweep would underflow too."""
        self._tables = [np.empty(node.shape) for node in schedule.nodes]
        self._messages = [np.empty(0) for _ in schedule.nodes]

    def beliefs(self, potentials: Sequence[Table]) -> list[Table]:
        """Return the probabilities of each clique's cells. They are overwritten by the next call."""
        if not self.log_space:
            peaks = [float(potential.max()) for potential in potentials]
            if all(math.isfinite(peak) for peak in peaks):
                factors = [np.exp(potential - peak) for potential, peak in zip(potentials, peaks, strict=True)]
                if self._collect(factors):
                    self._distribute()
                    return self._tables
            self.log_space = True
        return log_beliefs(self.schedule, potentials)

    def marginals(self, beliefs: Sequence[Table]) -> list[Table]:
        """Return the probabilities of each factor's cells."""
        found: list[Table] = [np.empty(0)] * len(self.schedule.cliques)
        for node, table in zip(self.schedule.nodes, beliefs, strict=True):
            sums = summed_many(table, [inner.axes for _, inner in node.factors])
            for (index, _), marginal in zip(node.factors, sums, strict=True):
                found[index] = marginal
        return found

    def _collect(self, factors: Sequence[Table]) -> bool:
        """Send messages from the leaves to the root; return False where too little mass is left."""
        for number in range(len(self.schedule.nodes) - 1, -1, -1):
            node, table = self.schedule.nodes[number], self._tables[number]
            self._multiply(node, factors, table)
            message = summed(table, node.up.axes)
            mass = float(message.sum())
            if not LEAST_MASS < mass < math.inf:
                return False
            # The table itself is scaled when the message comes back from the parent.
            self._messages[number] = message
        return True

    def _multiply(self, node: Node, factors: Sequence[Table], table: Table) -> None:
        """Write the product of the clique's factors and its children's messages into its table."""
        parts = [factors[index].reshape(inner.shape) for index, inner in node.factors]
        for child in node.children:
            message = self._messages[child]
            parts.append((message / message.sum()).reshape(self.schedule.nodes[child].down.shape))
        # The largest axis comes in last: until then all products are small.
        parts.sort(key=lambda part: part.shape[::-1])
        product = parts[0] if parts else np.ones(1)
        for part in parts[1:]:
            whole = product is table or np.broadcast_shapes(product.shape, part.shape) == table.shape
            product = np.multiply(product, part, out=table if whole else None)
        if product is not table:
            np.copyto(table, product)

    def _distribute(self) -> None:
        """Send the beliefs of the root to the leaves; each clique then holds its exact probabilities."""
        tables = self._tables
        tables[0] /= self._messages[0]
        for node, table, told in zip(self.schedule.nodes[1:], tables[1:], self._messages[1:], strict=True):
            known = summed(tables[node.parent], node.down.axes)
            ratio = np.divide(known, told, out=np.zeros_like(told), where=told > 0)
            table *= ratio.reshape(node.up.shape)


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
