"""Two models of the same table side by side: half of the rows from each.

A junction tree and a mixture of products err differently on the same noisy tables: the tree keeps every measured table
and thinks the rest independent, the mixture smooths all of them alike. Where they are averaged, errors cancel in part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Array
from sfumato.methods.graphical.mixture.model import MixtureModel
from sfumato.methods.graphical.tree.junction import Clique
from sfumato.methods.graphical.tree.model import GraphicalModel


@dataclass(frozen=True, eq=False)
class AveragedModel:
    """The average of a tree and a mixture, read and drawn from like either of them."""

    tree: GraphicalModel
    mixture: MixtureModel

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column."""
        return self.tree.sizes

    @property
    def total(self) -> float:
        """The noisy number of rows."""
        return self.tree.total

    @property
    def loss(self) -> float:
        """The loss of the tree, which is fitted without a penalty."""
        return self.tree.loss

    @property
    def steps(self) -> int:
        """Steps of both last fits."""
        return self.tree.steps + self.mixture.steps

    @property
    def converged(self) -> bool:
        """Whether both fits converged."""
        return self.tree.converged and self.mixture.converged

    def marginal(self, columns: Sequence[int]) -> Array:
        """Return expected counts of any columns."""
        return (self.tree.marginal(columns) + self.mixture.marginal(columns)) / 2

    def marginals(self, wanted: Sequence[Clique]) -> dict[Clique, Array]:
        """Return expected counts of many cliques."""
        ours, theirs = self.tree.marginals(wanted), self.mixture.marginals(wanted)
        return {clique: (ours[clique] + theirs[clique]) / 2 for clique in wanted}

    def draw(self, rows: int, generator: np.random.Generator, rounding: bool = True) -> NDArray[np.int32]:
        """Return codes of ``rows`` rows in random order; a row too many for two halves comes from the mixture."""
        half = rows // 2
        parts = [self.tree.draw(half, generator, rounding)] if half else []
        codes = np.concatenate([*parts, self.mixture.draw(rows - half, generator, rounding)])
        return codes[generator.permutation(rows)]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return both models as plain arrays, for saving without pickle."""
        return {f"tree.{name}": array for name, array in self.tree.to_arrays().items()} | {
            f"mixture.{name}": array for name, array in self.mixture.to_arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> AveragedModel:
        """Read what :meth:`to_arrays` wrote; PlanError where the arrays do not fit together."""
        parts = {
            kind: {name.removeprefix(kind): array for name, array in arrays.items() if name.startswith(kind)}
            for kind in ("tree.", "mixture.")
        }
        return cls(GraphicalModel.from_arrays(parts["tree."]), MixtureModel.from_arrays(parts["mixture."]))
