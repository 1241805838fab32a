"""Families of weighted posteriors, in closed form or sampled, by name.

>>> import numpy as np
>>> family = make_family("binary", [0, 1, 1, 0, 1], None)
>>> family.posterior(np.full(5, 0.5)).concentration.tolist()
[[2.0, 2.5]]
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import PlanError
from sfumato.papers.range_restriction.families.cell_families import make_categorical, make_rates
from sfumato.papers.range_restriction.families.interface import (
    FAMILIES,
    SAMPLED,
    Family,
    FloatArray,
    Posterior,
    StandardRandomNumbers,
)
from sfumato.papers.range_restriction.families.regression import NormalInverseGamma, make_regression

__all__ = [
    "FAMILIES",
    "SAMPLED",
    "Family",
    "FloatArray",
    "NormalInverseGamma",
    "Posterior",
    "StandardRandomNumbers",
    "make_family",
]


def make_family(
    name: str,
    values: Any,
    design: Any = None,
    prior: Any = None,
    *,
    exposure: Any = None,
    categories: int | None = None,
    groups: int | None = None,
) -> Family:
    """Return a family over private values and their predictors.

    - ``normal``, ``lognormal``: ``design`` holds numeric predictors, one column each, WITHOUT an intercept, which is
      added; ``prior`` is a ``NormalInverseGamma``, or flat.
    - ``categorical``, ``binary``: ``values`` are codes from 0; ``design`` is one cell number per record, or None;
      ``prior`` is one concentration per category (1 each); ``categories`` and ``groups`` are their public numbers.
    - ``counts``, ``exponential``: ``design`` is one cell number per record, or None; ``prior`` is a gamma's
      (shape, rate); ``exposure`` belongs to counts.
    """
    if name not in FAMILIES:
        raise PlanError(f"unknown family '{name}'", [f"known: {', '.join(FAMILIES)}"], "choose one of these")
    if exposure is not None and name != "counts":
        raise PlanError(f"the {name} family has no exposure", next_step="leave it out, or use the counts family")
    if name in ("normal", "lognormal"):
        return make_regression(name, values, design, prior)
    if name in ("categorical", "binary"):
        return make_categorical(name, values, design, prior, categories, groups)
    return make_rates(name, values, design, prior, exposure, groups)
