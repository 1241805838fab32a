"""A fitted graphical model: potentials on cliques of columns, read through marginals and drawn rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.methods.graphical.tree.axis_order import Numbering
from sfumato.methods.graphical.tree.draw import draw_rows
from sfumato.methods.graphical.tree.junction import Clique
from sfumato.methods.graphical.tree.queries import Queries
from sfumato.methods.graphical.tree.schedule import Schedule, schedule
from sfumato.methods.graphical.tree.sweep import Sweeper

Table = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyTable:
    """Noisy counts of a clique, one axis per column in ascending order; they may be negative."""

    clique: Clique
    counts: Table = field(repr=False)
    sigma: float
    """Standard deviation of the noise of each cell."""


@dataclass(frozen=True)
class Support:
    """Structural zeros: which cells of a clique may hold rows."""

    clique: Clique
    allowed: NDArray[np.bool_] = field(repr=False)


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """The distribution proportional to exp(sum of potentials), scaled to a total. Never changed once made.

    >>> potentials = (np.log([[3.0, 1.0], [1.0, 3.0]]), np.zeros((2, 2)))
    >>> model = GraphicalModel((2, 2, 2), 8.0, ((0, 1), (1, 2)), potentials)
    >>> model.marginal([1, 0]).round(6)
    array([[3., 1.],
           [1., 3.]])
    """

    sizes: tuple[int, ...]
    total: float
    cliques: tuple[Clique, ...]
    """The cliques with potentials: none lies in another one."""
    potentials: tuple[Table, ...] = field(repr=False)
    loss: float = 0.0
    """Half the sum of squared errors of the fitted tables, each in units of its noise."""
    steps: int = 0
    converged: bool = True

    def marginal(self, columns: Sequence[int]) -> Table:
        """Return expected counts of any columns; axes in the order given."""
        if len(set(columns)) < len(columns) or not all(0 <= column < len(self.sizes) for column in columns):
            problem = f"columns {tuple(columns)}: each once, below {len(self.sizes)}"
            raise PlanError("no such marginal", [problem], "ask for columns of the model")
        numbering = self._numbering
        table = self._queries.marginal(numbering.inwards(tuple(columns)))
        return numbering.table_outwards(columns, table) * self.total

    def marginals(self, wanted: Sequence[Clique]) -> dict[Clique, Table]:
        """Return expected counts of many cliques at once; they share their messages."""
        return {clique: self.marginal(clique) for clique in wanted}

    def draw(self, rows: int, generator: np.random.Generator, rounding: bool = True) -> NDArray[np.int32]:
        """Return codes of ``rows`` rows in random order; rounded systematically, or independent of each other."""
        inner = draw_rows(self._schedule, self._beliefs, rows, generator, rounding)
        return np.ascontiguousarray(inner[:, list(self._numbering.inner)])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as plain arrays, for saving without pickle."""
        arrays: dict[str, NDArray[Any]] = {
            "sizes": np.array(self.sizes, np.int64),
            "scalars": np.array([self.total, self.loss]),
            "progress": np.array([self.steps, int(self.converged)], np.int64),
        }
        for number, (clique, potential) in enumerate(zip(self.cliques, self.potentials, strict=True)):
            arrays[f"clique_{number}"] = np.array(clique, np.int64)
            arrays[f"potential_{number}"] = potential
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> GraphicalModel:
        """Read what :meth:`to_arrays` wrote; PlanError where the arrays do not fit together."""
        try:
            sizes = tuple(int(size) for size in arrays["sizes"])
            total, loss = (float(number) for number in arrays["scalars"])
            steps, converged = (int(number) for number in arrays["progress"])
            count = sum(name.startswith("clique_") for name in arrays)
            cliques = tuple(tuple(int(column) for column in arrays[f"clique_{number}"]) for number in range(count))
            potentials = tuple(np.array(arrays[f"potential_{number}"], np.float64) for number in range(count))
            shapes = [tuple(sizes[column] for column in clique) for clique in cliques]
        except (KeyError, ValueError, IndexError) as error:
            raise PlanError("the saved model cannot be read", [repr(error)], "save the model again") from error
        if [potential.shape for potential in potentials] != shapes:
            raise PlanError("the saved model cannot be read", ["potentials and sizes differ"], "save the model again")
        return cls(sizes, total, cliques, potentials, loss, steps, bool(converged))

    @cached_property
    def _numbering(self) -> Numbering:
        return Numbering.of(self.sizes)

    @cached_property
    def _schedule(self) -> Schedule:
        return schedule(self._numbering.sizes, [self._numbering.inwards(clique) for clique in self.cliques])

    @cached_property
    def _beliefs(self) -> list[Table]:
        turned = [self._numbering.table_inwards(*pair) for pair in zip(self.cliques, self.potentials, strict=True)]
        return Sweeper(self._schedule).beliefs(turned)

    @cached_property
    def _queries(self) -> Queries:
        return Queries(self._schedule, self._beliefs)
