"""Which of the two private regressions to use, and how to share a budget with the predictors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.methods.pseudo_posterior.private.clipped import Adjacency, ClippedPosterior, RegressionDraw
from sfumato.methods.pseudo_posterior.private.public_box import Array, Box
from sfumato.privacy.exact import Number, positive
from sfumato.privacy.randomness import Randomness

MANY = 10_000
"""Public rows times epsilon from which noisy statistics have the smaller error in every parameter."""
PREDICTOR_SHARE = Fraction(1, 3)
"""Share of the budget for a predictor of its own; the rest is for the target given it."""


def recommended(rows: int, epsilon: Number) -> Literal["clipped", "statistics"]:
    """Return the private regression to use at a public number of rows.

    >>> recommended(2000, 1), recommended(20000, 1)
    ('clipped', 'statistics')
    """
    return "statistics" if rows * positive(epsilon) >= MANY else "clipped"


def shared_budget(epsilon: Number) -> tuple[Fraction, Fraction]:
    """Return what the predictor and the target given it may cost; the sum is epsilon exactly.

    >>> shared_budget(3)
    (Fraction(1, 1), Fraction(2, 1))
    """
    whole = positive(epsilon)
    return whole * PREDICTOR_SHARE, whole * (1 - PREDICTOR_SHARE)


@dataclass(frozen=True)
class PairDraw:
    """Parameters of a predictor by itself, and of the target given it."""

    predictor: RegressionDraw
    target: RegressionDraw
    bounds: tuple[float, float]

    def synthesise(self, rows: int, generator: np.random.Generator) -> tuple[Array, Array]:
        """Return synthetic predictors, within their public bounds, and synthetic values of the target."""
        predictors = np.clip(self.predictor.synthesise((), generator, rows), *self.bounds)
        return predictors, self.target.synthesise(predictors, generator)


def draw_pair(
    target: ArrayLike,
    predictor: ArrayLike,
    box: Box,
    predictor_box: Box,
    epsilon: Number,
    randomness: Randomness,
    adjacency: Adjacency = "add-remove",
) -> PairDraw:
    """Draw the parameters of predictor and target so that a whole synthetic table carries the guarantee.

    The predictor is normal by itself (a third of the budget), the target a regression on it (two thirds): together they
    cost epsilon by sequential composition. ``predictor_box`` has no slopes; its scale may be lognormal.
    """
    first, second = shared_budget(epsilon)
    alone = ClippedPosterior(box=predictor_box, epsilon=first, adjacency=adjacency)
    given = ClippedPosterior(box=box, epsilon=second, adjacency=adjacency)
    return PairDraw(alone.draw(predictor, None, randomness), given.draw(target, predictor, randomness), box.bounds[0])
