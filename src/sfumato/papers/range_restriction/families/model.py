"""Names of the families of the published form, and the description of a model of the custodian's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.core.custom_objects import OWN

Kind = Literal["continuous", "counts", "codes"]
Theta = Mapping[str, Any]
FAMILIES = ("normal", "lognormal", "categorical", "binary", "counts", "exponential")
SAMPLED = ("logistic", "negative-binomial", "student-t")
"""Families that need Markov chains: extra ``[bayes]``, imported when one is asked for."""


@dataclass(frozen=True, eq=False)
class SampledModel:
    """What sampling and synthesis need to know; ``design`` always has the intercept as its first column.

    - ``prior``: a NumPyro model without arguments that returns its parameters by name (see ``independent``).
    - ``log_likelihood(theta, values, design)``: in JAX, one log density per record; of the value itself.
    - ``simulate(theta, design, generator)``: in NumPy, one value per row of the design, for one draw of theta.
    - ``log_range(theta, low, high, design)``: in NumPy, the log probability of each range. Without it ``outside`` is
      simulated, and the standard "truncated" is refused.
    """

    name: str
    kind: Kind
    prior: Callable[[], Theta]
    log_likelihood: Callable[[Theta, Any, Any], Any]
    simulate: Callable[[Theta, FloatArray, np.random.Generator], FloatArray]
    log_range: Callable[[Theta, FloatArray, FloatArray, FloatArray], FloatArray] | None = None

    def __str__(self) -> str:
        """Return the name by which files know a model of the custodian's own: they cannot hold it."""
        return f"{OWN}{self.name}"
