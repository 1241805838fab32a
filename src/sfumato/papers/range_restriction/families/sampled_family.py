"""Families without a closed form, sampled by NUTS behind the same interface.

Weights are exponents of the likelihood, as everywhere in this package. ``posterior`` runs the chains and refuses them
when R-hat, the effective draws or the divergences are bad; ``draw`` takes from the draws that were kept.

What differs from a closed form, and is said in the report:

- Everything here is draw-based. ``outside`` averages over draws and is moved slightly towards one half,
  ``(S lambda + 1) / (S + 2)``: a simulated lambda of exactly 1 would give a record full weight at no cost.
- Two posteriors share their seed, not their random paths: scaling to a target claim is noisier.
- ``log_density`` needs the normaliser, which is estimated by importance sampling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import multivariate_t

from sfumato.errors import PlanError, TableError, place_of
from sfumato.papers.range_restriction.families.interface import (
    ALL,
    SAMPLED,
    FloatArray,
    Kind,
    RecordPosterior,
    Rows,
    StandardRandomNumbers,
    checked_weights,
    draws_in_blocks,
)
from sfumato.papers.range_restriction.families.nuts import (
    Convergence,
    NotConvergedError,
    NutsSampler,
    Sampling,
    convergence_of,
    require_numpyro,
)
from sfumato.papers.range_restriction.families.regression import RecordsWithDesign, design_of
from sfumato.papers.range_restriction.families.sampled_models import (
    SampledModel,
    logistic,
    negative_binomial,
    student_t,
)

PREDICTIVE_DRAWS = 1000
"""Parameter draws over which a predictive probability is averaged."""
PROPOSALS = 4000
PROPOSAL_FREEDOM = 5
"""Importance sampling for the normaliser: a Student t with the mean and the covariance of the kept draws."""
LEAST_PROPOSALS = 400.0
OWN_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, NameError, AssertionError)
"""What the functions of a model may raise that its author did not mean."""


@dataclass(frozen=True, eq=False)
class SampledFamily(RecordsWithDesign):
    """Values with a design whose first column is the intercept, under a model that must be sampled."""

    values: FloatArray
    design: FloatArray
    engine: NutsSampler

    by_record: ClassVar = ("values", "design")

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.engine.model.name

    @property
    def kind(self) -> Kind:
        """Whether values are continuous, counts or codes."""
        return self.engine.model.kind

    def numbers(self, draws: int, generator: np.random.Generator) -> StandardRandomNumbers:
        """Draw one uniform per draw, which decides about the order of the kept draws."""
        kept = self.engine.sampling.kept
        if draws > kept:
            step = f"ask for at most {kept} draws, or raise draws in Sampling"
            raise PlanError(f"{draws} draws of the parameters asked for, {kept} are sampled", next_step=step)
        return StandardRandomNumbers.drawn(draws, 0, 1, generator)

    def posterior(self, weights: ArrayLike) -> SampledPosterior:
        """Run the chains for these weights, and refuse them if they did not converge."""
        exact = checked_weights(np.asarray(weights, float), len(self.values))
        # The unweighted posterior is asked for again and again, by risks and losses; the seed makes it the same.
        return self._unweighted if (exact == 1).all() else self._sampled(exact)

    def _sampled(self, exact: FloatArray) -> SampledPosterior:
        chains, divergent = self.engine.sample(self.values, self.design, exact)
        convergence = convergence_of(chains, divergent).checked(self.name)
        # Chains take turns, so that every stretch of the pool holds all of them.
        pool = chains.transpose(1, 0, 2).reshape(-1, chains.shape[2])
        return SampledPosterior(self, exact, pool, convergence)

    def with_record(self, value: float, predictors: ArrayLike | None = None) -> SampledFamily:
        """Return the same family and one more record, last; its predictors default to their means."""
        return self.joined_by(value, self.design_row(predictors))

    def outlier(self, residual: float, predictors: ArrayLike | None = None) -> float:
        """Return the predictive mean plus so many predictive standard deviations; for codes, the rarest code."""
        row, fit = self.design_row(predictors), self._unweighted
        simulated = np.concatenate(list(fit.simulated(row[None, :])))
        if self.kind == "codes":
            codes = np.unique(self.values)
            return float(codes[np.argmin([(simulated == code).sum() for code in codes])])
        value = float(simulated.mean() + residual * simulated.std())
        return float(np.ceil(max(value, 0.0))) if self.kind == "counts" else value

    @cached_property
    def _unweighted(self) -> SampledPosterior:
        return self._sampled(np.ones(len(self.values)))


@dataclass(frozen=True, eq=False)
class SampledPosterior(RecordPosterior):
    """Kept draws of a weighted posterior, in unconstrained coordinates, and what the chains looked like."""

    family: SampledFamily
    weights: FloatArray
    pool: FloatArray
    convergence: Convergence

    def draw(self, numbers: StandardRandomNumbers) -> FloatArray:
        """Return draws evenly spread over the chains, in the order of the uniforms."""
        size = len(numbers)
        if size > len(self.pool):
            raise PlanError(f"{size} draws asked for, {len(self.pool)} were kept", next_step="raise draws in Sampling")
        places = np.arange(size) * len(self.pool) // size
        return self.pool[places[np.argsort(numbers.uniform[:, 0], kind="stable")]]

    def parameters(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Return the draws as named parameters, one row per draw."""
        return self.family.engine.parameters(draws)

    def log_likelihood(self, draws: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log density of each value itself: draws by records."""
        family = self.family
        return family.engine.log_likelihood(draws, family.values[rows], family.design[rows])

    def log_range(self, draws: FloatArray, low: FloatArray, high: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the log probability of each record's range: draws by records."""
        ranges = self.family.engine.model.log_range
        if ranges is None:
            step = "give the model a log_range, or use a standard without truncation"
            raise PlanError(f"the {self.family.name} family has no log_range", next_step=step)
        ends = np.asarray(low, float), np.asarray(high, float)
        return np.stack([ranges(theta, *ends, self.family.design[rows]) for theta in self._thetas(draws)])

    def outside(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return a draw-based predictive probability outside each range, never exactly 0 or 1.

        With the model's log_range it is averaged over parameter draws; without, one value is simulated per draw.
        """
        draws, total = self._predictive, np.zeros(len(self.family.values))
        if self.family.engine.model.log_range is None:
            for values in self.simulated(self.family.design):
                total += (values < low) | (values > high)
        else:
            for block in draws_in_blocks(draws, len(total)):
                total -= np.expm1(self.log_range(block, low, high)).sum(axis=0)
        return (total + 1) / (len(draws) + 2)

    def simulated(self, design: FloatArray) -> Iterator[FloatArray]:
        """Yield one simulated column for each of the draws that stand for the predictive law."""
        generator = np.random.default_rng(self.family.engine.sampling.seed)
        for theta in self._thetas(self._predictive):
            yield self.family.engine.model.simulate(theta, design, generator)

    def log_density(self, draws: FloatArray) -> FloatArray:
        """Return the log density in unconstrained coordinates; its normaliser is estimated."""
        return self._log_targets(draws) - self._log_normaliser

    def surprise(self) -> FloatArray:
        """Return minus the mean log density of each record."""
        total = np.zeros(len(self.family.values))
        for block in draws_in_blocks(self._predictive, len(total)):
            total -= self.log_likelihood(block).sum(axis=0)
        return total / len(self._predictive)

    def synthesise(self, draws: FloatArray, index: int, design: Any, generator: np.random.Generator) -> FloatArray:
        """Return one synthetic column at the given predictors, or at the family's own if ``design`` is None."""
        theta = next(self._thetas(draws[index][None, :]))
        return self.family.engine.model.simulate(theta, self.family.matrix(design), generator)

    @property
    def _predictive(self) -> FloatArray:
        size = min(PREDICTIVE_DRAWS, len(self.pool))
        return self.pool[np.arange(size) * len(self.pool) // size]

    def _thetas(self, draws: FloatArray) -> Iterator[dict[str, FloatArray]]:
        """Yield the named parameters of one draw after the other."""
        named = self.parameters(draws)
        return ({name: found[i] for name, found in named.items()} for i in range(len(draws)))

    def _log_targets(self, draws: FloatArray) -> FloatArray:
        family = self.family
        parts = [
            family.engine.log_targets(block, family.values, family.design, self.weights)
            for block in draws_in_blocks(draws, len(family.values))
        ]
        return np.concatenate(parts)

    @cached_property
    def _log_normaliser(self) -> float:
        """Estimate the log of the integral of prior times weighted likelihood."""
        spread = np.atleast_2d(np.cov(self.pool.T)) * (PROPOSAL_FREEDOM - 2) / PROPOSAL_FREEDOM
        seed = self.family.engine.sampling.seed
        law: Any = multivariate_t(self.pool.mean(axis=0), cast(Any, spread), df=PROPOSAL_FREEDOM, seed=seed)
        points = np.asarray(law.rvs(PROPOSALS)).reshape(PROPOSALS, -1)
        logs = self._log_targets(points) - law.logpdf(points)
        shares = np.exp(logs - float(np.max(logs)))
        effective = float(shares.sum() ** 2 / (shares**2).sum())
        if not effective >= LEAST_PROPOSALS:
            problem = f"{effective:.0f} of {PROPOSALS} proposals count; {LEAST_PROPOSALS:g} are needed"
            raise NotConvergedError(
                f"the normaliser of the {self.family.name} family cannot be estimated",
                [problem],
                "use fewer predictors; weights, epsilon and synthesis do not need it",
            )
        return float(np.max(logs) + np.log(shares.mean()))


def make_sampled_family(
    name: str, values: ArrayLike, design: Any = None, *, sampling: Sampling, freedom: float | None = None
) -> SampledFamily:
    """Return a family that is sampled; ``design`` holds numeric predictors WITHOUT an intercept, which is added.

    - ``logistic``: values 0 and 1; the log odds are linear in the predictors.
    - ``negative-binomial``: counts; the log of the mean is linear, the dispersion is unknown.
    - ``student-t``: numbers with Student t errors of unknown scale; ``freedom`` fixes the degrees of freedom.

    The priors are proper and weak, in standard deviations of the predictors (see ``sampled.models``).
    """
    if name not in SAMPLED:
        known = ", ".join(SAMPLED)
        raise PlanError(f"unknown sampled family '{name}'", [f"known: {known}"], "choose one of these, or use custom()")
    if freedom is not None and (name != "student-t" or not freedom > 0):
        raise PlanError("freedom, a number above 0, belongs to the student-t family", next_step="leave it out")
    require_numpyro(name)
    exact, matrix = _checked_records(name, values, design)
    if name == "student-t":
        model = student_t(exact, matrix, freedom)
    else:
        model = logistic(exact, matrix) if name == "logistic" else negative_binomial(exact, matrix)
    return SampledFamily(exact, matrix, NutsSampler(model, sampling))


def custom_family(values: ArrayLike, design: Any, model: SampledModel, *, sampling: Sampling) -> SampledFamily:
    """Return a family with the user's own model, whose prior must be proper (see ``Model``).

    ``design`` reaches the functions of the model with the intercept as its first column.
    """
    require_numpyro(model.name)
    exact, matrix = _checked_records(model.name, values, design)
    family = SampledFamily(exact, matrix, NutsSampler(model, sampling))
    _check_model(family)
    return family


def _check_model(family: SampledFamily) -> None:
    """Refuse a log-likelihood or a simulation of the wrong shape, before anything is sampled."""
    rows = len(family.values)
    try:
        tried = _tried(family)
    except OWN_ERRORS as error:
        headline = f"the {family.name} family failed when it was tried"
        raise PlanError(headline, [place_of(error)], "correct the model, and try it on values by itself") from None
    problems = [
        f"{what} returns the shape {np.shape(found)}; ({rows},) is needed"
        for what, found in tried.items()
        if np.shape(found) != (rows,)
    ]
    if not problems and np.isnan(np.asarray(tried["log_likelihood"], float)).any():
        problems.append("log_likelihood is not a number at the middle of the prior")
    if problems:
        raise PlanError(f"the {family.name} family does not fit", problems, "return one number per record")


def _tried(family: SampledFamily) -> dict[str, Any]:
    """Return what the functions of a model give at the middle of its prior."""
    engine = family.engine
    theta = {name: found[0] for name, found in engine.parameters(np.zeros((1, engine.size))).items()}
    return {
        "log_likelihood": engine.model.log_likelihood(theta, family.values, family.design),
        "simulate": engine.model.simulate(theta, family.design, np.random.default_rng(0)),
    }


def _checked_records(name: str, values: ArrayLike, design: Any) -> tuple[FloatArray, FloatArray]:
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
            f"the {name} family does not fit these records", problems, "correct the values or leave out columns"
        )
    return exact, matrix
