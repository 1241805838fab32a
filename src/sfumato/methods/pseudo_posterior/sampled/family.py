"""Families that must be sampled, with the interface of the closed-form ones: NumPyro's NUTS, extra ``sfumato[bayes]``.

Weights are exponents of the likelihood, as everywhere in this package. ``posterior`` runs the chains and refuses them
when R-hat, the effective draws or the divergences are bad; ``draw`` takes from the draws that were kept.

What differs from a closed form, and is said in the report:

- Everything here is draw-based. ``outside`` averages over draws and is moved slightly towards one half,
  ``(S lambda + 1) / (S + 2)``: a simulated lambda of exactly 1 would give a record full weight at no cost.
- Two posteriors share their seed, not their random paths: scaling to a target epsilon is noisier.
- ``log_density`` needs the normaliser, which is estimated by importance sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import PlanError, TableError
from sfumato.methods.pseudo_posterior.families.interface import Array, Kind
from sfumato.methods.pseudo_posterior.families.regression import design_of
from sfumato.methods.pseudo_posterior.sampled import models as mcmc_models
from sfumato.methods.pseudo_posterior.sampled.checks import Convergence, NotConverged
from sfumato.methods.pseudo_posterior.sampled.engine import Engine, Sampling, require_numpyro
from sfumato.methods.pseudo_posterior.sampled.models import Model, Theta
from sfumato.methods.pseudo_posterior.sampled.posterior import SampledFamily, SampledPosterior

__all__ = [
    "SAMPLED_FAMILIES",
    "Convergence",
    "Model",
    "NotConverged",
    "SampledFamily",
    "SampledPosterior",
    "Sampling",
    "custom",
    "make_sampled_family",
]
SAMPLED_FAMILIES = ("logistic", "negative-binomial", "student-t")


def make_sampled_family(
    name: str, values: ArrayLike, design: Any = None, *, sampling: Sampling, freedom: float | None = None
) -> SampledFamily:
    """Return a family that is sampled; ``design`` holds numeric predictors WITHOUT an intercept, which is added.

    - ``logistic``: values 0 and 1; the log odds are linear in the predictors.
    - ``negative-binomial``: counts; the log of the mean is linear, the dispersion is unknown.
    - ``student-t``: numbers with Student t errors of unknown scale; ``freedom`` fixes the degrees of freedom.

    The priors are proper and weak, in standard deviations of the predictors (see ``mcmc_models``).
    """
    if name not in SAMPLED_FAMILIES:
        known = ", ".join(SAMPLED_FAMILIES)
        raise PlanError(f"unknown sampled family '{name}'", [f"known: {known}"], "choose one of these, or use custom()")
    if freedom is not None and (name != "student-t" or not freedom > 0):
        raise PlanError("freedom, a number above 0, belongs to the student-t family", next_step="leave it out")
    require_numpyro(name)
    exact, matrix = _checked_records(name, values, design)
    if name == "student-t":
        model = mcmc_models.student_t(exact, matrix, freedom)
    else:
        model = (
            mcmc_models.logistic(exact, matrix) if name == "logistic" else mcmc_models.negative_binomial(exact, matrix)
        )
    return SampledFamily(exact, matrix, Engine(model, sampling))


def custom(
    values: ArrayLike,
    design: Any,
    prior: Callable[[], Theta] | Mapping[str, Any],
    log_likelihood: Callable[[Theta, Any, Any], Any],
    simulate: Callable[[Theta, Array, np.random.Generator], Array],
    *,
    sampling: Sampling,
    kind: Kind = "continuous",
    log_range: Callable[[Theta, Array, Array, Array], Array] | None = None,
    name: str = "custom",
) -> SampledFamily:
    """Return a family with the user's own model.

    - ``prior``: a NumPyro model without arguments that returns its parameters by name, or a mapping from names to
      NumPyro distributions, which are then independent. It must be proper.
    - ``log_likelihood(theta, values, design)``: in JAX, one log density per record; of the value itself.
    - ``simulate(theta, design, generator)``: in NumPy, one value per row of the design, for one draw of theta.
    - ``log_range(theta, low, high, design)``: in NumPy, the log probability of each range. Without it ``outside`` is
      simulated, and the standard "truncated" is refused.

    ``design`` reaches these functions with the intercept as its first column.
    """
    require_numpyro(name)
    exact, matrix = _checked_records(name, values, design)
    model = Model(name, kind, _prior_model(prior), log_likelihood, simulate, log_range)
    family = SampledFamily(exact, matrix, Engine(model, sampling))
    _try_once(family)
    return family


def _prior_model(prior: Callable[[], Theta] | Mapping[str, Any]) -> Callable[[], Theta]:
    if not isinstance(prior, Mapping):
        return prior
    laws = dict(prior)

    def model() -> Theta:
        import numpyro

        return {name: numpyro.sample(name, law) for name, law in laws.items()}

    return model


def _try_once(family: SampledFamily) -> None:
    """Refuse a log-likelihood or a simulation of the wrong shape, before anything is sampled."""
    engine, rows = family.engine, len(family.values)
    middle = np.zeros((1, engine.size))
    theta = {name: found[0] for name, found in engine.parameters(middle).items()}
    likelihood = engine.model.log_likelihood(theta, family.values, family.design)
    simulated = engine.model.simulate(theta, family.design, np.random.default_rng(0))
    problems = [
        f"{what} returns the shape {np.shape(found)}; ({rows},) is needed"
        for what, found in (("log_likelihood", likelihood), ("simulate", simulated))
        if np.shape(found) != (rows,)
    ]
    if problems:
        raise PlanError(f"the {family.name} family does not fit", problems, "return one number per record")


def _checked_records(name: str, values: ArrayLike, design: Any) -> tuple[Array, Array]:
    """Return values and the design with its intercept, or refuse them with every problem."""
    exact = np.asarray(values, float)
    if exact.ndim != 1 or not len(exact) or not np.isfinite(exact).all():
        raise TableError(f"the values of the {name} family must be one column of finite numbers")
    matrix = design_of(design, len(exact))
    problems = [f"predictor {i} is constant" for i, width in enumerate(np.ptp(matrix[:, 1:], axis=0)) if width == 0]
    if name == "logistic" and not np.isin(exact, (0, 1)).all():
        problems.append("the values must be 0 or 1")
    if name == "negative-binomial" and ((exact < 0) | (exact != np.floor(exact))).any():
        problems.append("the values must be whole numbers from 0 on")
    if name == "student-t" and np.ptp(exact) == 0:
        problems.append("all values are the same")
    if problems:
        raise TableError(
            f"the {name} family does not fit these records", problems, "mend the values or leave out columns"
        )
    return exact, matrix
