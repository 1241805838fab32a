"""MixtureModel, and its average with a graphical model.

P(x) = sum_k w_k prod_c p_kc(x_c). Its size does not depend on which tables were measured, and all one- and two-way
tables are compared in one matrix product. Structural zeros cannot be met exactly by products: cells that a rule forbids
are fitted to 0 like a table measured ten times more sharply than the best one, and the rows that still break a rule
are repaired afterwards.

A junction tree and a mixture of products err differently on the same noisy tables: the tree keeps every measured table
and thinks the rest independent, the mixture smooths all of them alike. Where they are averaged, errors cancel in part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray
from sfumato.errors import PlanError
from sfumato.mechanisms.graphical.junction_tree.graphical_model import GraphicalModel
from sfumato.mechanisms.graphical.junction_tree.junction_tree import Clique
from sfumato.mechanisms.graphical.junction_tree.linear_measurement import LinearMeasurement, StructuralZeros
from sfumato.mechanisms.graphical.mixture.fit import (
    FitResult,
    MixtureSettings,
    PenaltySearch,
    choose_penalty,
    minimise,
    noise_threshold,
)
from sfumato.mechanisms.graphical.mixture.objective import products
from sfumato.mechanisms.graphical.mixture.targets import LevelLayout, targets_of
from sfumato.sampling.values import codes_at, evenly_spaced

Codes = NDArray[np.int32]

QUICK_STEPS = 400
"""Steps of each fit that only serves to choose the penalty."""
LEAST_ROWS = 0.01
"""Components that expect fewer rows than this are left out of the fitted model."""


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """A fitted mixture of products, scaled to a total; read like a graphical model. Never changed once made.

    >>> model = MixtureModel((2, 2), 8.0, np.array([[1.0, 0.0], [0.0, 1.0]] * 2), np.array([0.25, 0.75]))
    >>> model.marginal([0, 1])
    array([[2., 0.],
           [0., 6.]])
    """

    sizes: tuple[int, ...]
    total: float
    levels: FloatArray = field(repr=False)
    """Shares within each component: the levels of all columns one below the other x components."""
    weights: FloatArray = field(repr=False)
    loss: float = 0.0
    """Half the sum of squared errors of the fitted tables, each in units of its noise."""
    steps: int = 0
    converged: bool = True
    penalty: float = 0.0
    """Weight of the information of components about columns in the fit."""

    def marginal(self, columns: Sequence[int]) -> FloatArray:
        """Return expected counts of any columns, summed over the components; axes in the order given."""
        columns = tuple(columns)
        return self._family(columns[:-1], columns[-1:])[0][1] if columns else np.array(self.total)

    def marginals(self, wanted: Sequence[Clique]) -> dict[Clique, FloatArray]:
        """Return expected counts of many cliques: those that differ in their last column share one matrix product."""
        families: dict[Clique, list[int]] = defaultdict(list)
        tables = {clique: self.marginal(clique) for clique in wanted if not clique}
        for clique in filter(None, wanted):
            families[clique[:-1]].append(clique[-1])
        return tables | {
            clique: table for first, lasts in families.items() for clique, table in self._family(first, lasts)
        }

    def _family(self, first: Clique, lasts: Sequence[int]) -> list[tuple[Clique, FloatArray]]:
        blocks = [self._layout.block(column) for column in lasts]
        left = products([self.levels[self._layout.block(column)] for column in first] or [np.ones((1, 1))])
        right = np.concatenate([self.levels[block] for block in blocks])
        tables = (left * (self.weights * self.total)) @ right.T
        ends = np.cumsum([self.sizes[column] for column in lasts])[:-1]
        cut = np.split(tables, ends, axis=1)
        cliques = [(*first, last) for last in lasts]
        return [(clique, part.reshape(self._layout.shape(clique))) for clique, part in zip(cliques, cut, strict=True)]

    def draw(self, rows: int, generator: np.random.Generator, rounding: bool = True) -> Codes:
        """Return codes of ``rows`` rows in random order; rounded systematically, or independent of each other."""
        tables = [self.levels[self._layout.block(column)].T for column in range(len(self.sizes))]
        return _sample_rows(tables, self.weights, rows, generator, rounding)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as plain arrays, for saving without pickle."""
        return {
            "sizes": np.array(self.sizes, np.int64),
            "scalars": np.array([self.total, self.loss, self.penalty]),
            "progress": np.array([self.steps, int(self.converged)], np.int64),
            "levels": self.levels,
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> MixtureModel:
        """Read what :meth:`to_arrays` wrote; PlanError where the arrays do not fit together."""
        try:
            sizes = tuple(int(size) for size in arrays["sizes"])
            total, loss, penalty = (float(number) for number in arrays["scalars"])
            steps, converged = (int(number) for number in arrays["progress"])
            levels, weights = (np.array(arrays[name], np.float64) for name in ("levels", "weights"))
        except (KeyError, ValueError) as error:
            raise PlanError("the saved model cannot be read", [repr(error)], "save the model again") from error
        if weights.ndim != 1 or levels.shape != (sum(sizes), len(weights)) or not len(weights):
            raise PlanError("the saved model cannot be read", ["shares and sizes differ"], "save the model again")
        if not (levels >= 0).all() or not (weights >= 0).all() or not weights.sum() > 0:
            raise PlanError("the saved model cannot be read", ["shares below 0"], "save the model again")
        return cls(sizes, total, levels, weights, loss, steps, bool(converged), penalty)

    @cached_property
    def _layout(self) -> LevelLayout:
        return LevelLayout(self.sizes)


def fit_mixture(
    sizes: Sequence[int],
    tables: Sequence[LinearMeasurement],
    total: float,
    supports: Sequence[StructuralZeros] = (),
    generator: np.random.Generator | None = None,
    settings: MixtureSettings | None = None,
    share: float | None = None,
) -> MixtureModel:
    """Fit a mixture to noisy tables: weighted least squares with a penalty on the information of the components.

    ``share`` is the penalty in units of what noise alone would need; None finds it on the noisy tables by thinning.
    ``generator`` draws the random start and the split: it has no part in privacy, and None starts from 0.
    """
    settings = settings or MixtureSettings()
    _refuse(settings, share, total)
    generator = np.random.default_rng(0) if generator is None else generator
    targets = targets_of(sizes, tables, supports, total)
    if share is None:
        quick = replace(settings, most_steps=min(QUICK_STEPS, settings.most_steps))
        share = choose_penalty(tables, PenaltySearch(targets.layout.sizes, total, tuple(supports), quick), generator)
    penalty = share * noise_threshold(targets, generator)
    fitted = minimise(targets, penalty, generator, settings)
    return _normalised_model(targets.layout, total, fitted, penalty)


def _refuse(settings: MixtureSettings, share: float | None, total: float) -> None:
    problems = [
        f"{name}: {value}"
        for name, value, wrong in (
            ("components", settings.components, settings.components < 1),
            ("most_steps", settings.most_steps, settings.most_steps < 1),
            ("share", share, share is not None and not 0 <= share < np.inf),
            ("total", total, not 0 < total < np.inf),
        )
        if wrong
    ]
    if problems:
        raise PlanError("the mixture cannot be fitted", problems, "give positive numbers")


def _normalised_model(layout: LevelLayout, total: float, fitted: FitResult, penalty: float) -> MixtureModel:
    """Return the fit in float64, with shares that sum to one exactly and without the components that died out."""
    weights = fitted.weights.astype(np.float64)
    alive = weights * total >= min(LEAST_ROWS, weights.max() * total)
    levels, weights = fitted.levels[:, alive].astype(np.float64), weights[alive] / weights[alive].sum()
    levels /= np.add.reduceat(levels, layout.offsets[:-1], axis=0)[layout.owners]
    return MixtureModel(layout.sizes, total, levels, weights, fitted.error, fitted.steps, fitted.converged, penalty)


def _sample_rows(
    tables: list[FloatArray], weights: FloatArray, rows: int, generator: np.random.Generator, rounding: bool
) -> Codes:
    """Draw a component for each row, then each column on its own within the component; rows in random order.

    ``tables`` holds the shares of each column: components x levels.

    With ``rounding`` the rows of each component, and within it those of each level, differ from what is expected by
    less than one. The rows of a component are shuffled anew for each column, so that columns stay independent there.
    """
    counts = _row_counts(weights, rows, generator, rounding)
    codes = np.empty((rows, len(tables)), np.int32)
    for column, table in enumerate(tables):
        codes[:, column] = _column(table, counts, generator, rounding)
    return codes[generator.permutation(rows)]


def _row_counts(weights: FloatArray, rows: int, generator: np.random.Generator, rounding: bool) -> NDArray[np.int64]:
    """Return how many rows each component gets."""
    if not rounding:
        return generator.multinomial(rows, weights / weights.sum()).astype(np.int64)
    ends = np.cumsum(weights) * (rows / weights.sum())
    # One common offset: each end rounds up or down, and the mean over offsets is the end itself.
    whole = np.minimum(np.floor(ends + generator.random()), rows).astype(np.int64)
    whole[-1] = rows
    return np.diff(whole, prepend=0)


def _column(table: FloatArray, counts: NDArray[np.int64], generator: np.random.Generator, rounding: bool) -> Codes:
    """Return the codes of one column for rows sorted by component."""
    owner = np.repeat(np.arange(len(table)), counts)
    points = evenly_spaced(owner, counts, generator) if rounding else generator.random(len(owner))
    codes = codes_at(table, owner, points).astype(np.int32)
    return codes[_shuffled_within(owner, generator)] if rounding else codes


def _shuffled_within(owner: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return an order that mixes the rows of each component and keeps the components in place."""
    return np.argsort(owner + generator.random(len(owner)))


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

    def marginal(self, columns: Sequence[int]) -> FloatArray:
        """Return expected counts of any columns."""
        return (self.tree.marginal(columns) + self.mixture.marginal(columns)) / 2

    def marginals(self, wanted: Sequence[Clique]) -> dict[Clique, FloatArray]:
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
