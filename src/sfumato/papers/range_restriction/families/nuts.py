"""NUTS sampling of a weighted posterior and convergence checks (NumPyro, extra [bayes]).

Parameters live in one flat vector of real numbers, the unconstrained coordinates of the prior's sample sites. Records
are padded with records of weight 0, so that a posterior with one record more or less needs no new compilation.

Draws are replaced by normal scores of their ranks before R-hat and the effective number are worked out, and R-hat is
taken of the folded draws too: heavy tails and chains that differ only in spread are noticed (Vehtari and others, 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from sfumato.errors import MissingExtra, PlanError
from sfumato.papers.range_restriction.families.interface import FloatArray
from sfumato.papers.range_restriction.families.sampled_models import SampledModel, Theta

START_RADIUS = 1.0
"""Chains start at random in this box of unconstrained coordinates, in which priors are about standard."""


@dataclass(frozen=True)
class Sampling:
    """How to sample: the same seed, records and weights give the same draws."""

    seed: int
    chains: int = 2
    warmup: int = 1000
    draws: int = 2000
    accept: float = 0.8

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be at least {least}"
            for name, least in (("chains", 2), ("warmup", 1), ("draws", 4))
            if getattr(self, name) < least
        ]
        if not 0 < self.accept < 1:
            problems.append("accept, the target acceptance rate, must lie between 0 and 1")
        if not 0 <= self.seed < 2**32:
            problems.append("seed must lie between 0 and 2^32 - 1")
        if problems:
            raise PlanError(
                "the sampler cannot be run so", problems, "correct Sampling(seed=..., chains=2, draws=2000)"
            )

    @property
    def kept(self) -> int:
        """Draws of all chains together."""
        return self.chains * self.draws


def require_numpyro(name: str) -> None:
    """Refuse a family that needs sampling where NumPyro is not installed."""
    try:
        import jax  # noqa: F401 # pyright: ignore[reportUnusedImport]
        import numpyro  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        hint = "pip install 'sfumato[bayes]', or choose a family in closed form"
        raise MissingExtra(
            f"the {name} family is sampled with NumPyro, which is not installed", next_step=hint
        ) from error


@dataclass(frozen=True, eq=False)
class NutsSampler:
    """Compiled functions of one model; records and weights are their arguments."""

    model: SampledModel
    sampling: Sampling

    def sample(self, values: FloatArray, design: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
        """Return draws of the shape (chains, draws, parameters), and the share of them that diverged."""
        import jax

        how = self.sampling
        with jax.enable_x64(True):
            keys = jax.random.split(jax.random.PRNGKey(how.seed), how.chains)
            chains, diverged = self._chains(keys, *pad_records(values, design, weights))
        return np.asarray(chains, float), float(np.mean(np.asarray(diverged)))

    def log_likelihood(self, flats: FloatArray, values: FloatArray, design: FloatArray) -> FloatArray:
        """Return the log density of each record: draws by records."""
        import jax

        with jax.enable_x64(True):
            found = self._log_likelihoods(flats, *pad_records(values, design, np.ones(len(values)))[:2])
        return np.asarray(found, float)[:, : len(values)]

    def log_targets(self, flats: FloatArray, values: FloatArray, design: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the log of prior times weighted likelihood, not normalised, at each flat vector."""
        import jax

        with jax.enable_x64(True):
            return np.asarray(self._log_targets(flats, *pad_records(values, design, weights)), float)

    def parameters(self, flats: FloatArray) -> dict[str, FloatArray]:
        """Return the named parameters of each flat vector, as the prior returns them."""
        import jax

        with jax.enable_x64(True):
            return {name: np.asarray(found, float) for name, found in self._thetas(flats).items()}

    @property
    def size(self) -> int:
        """The number of flat coordinates."""
        return self._coordinates[0]

    @cached_property
    def _coordinates(self) -> tuple[int, Any]:
        """How many real numbers the prior's sites have, and the function that hands them back to the sites."""
        import jax
        from jax.flatten_util import ravel_pytree
        from numpyro.infer.util import initialize_model

        with jax.enable_x64(True):
            sites = initialize_model(jax.random.PRNGKey(0), self.model.prior).param_info.z
            flat, unravel = ravel_pytree(sites)
        return len(flat), unravel

    def _theta(self, flat: Any) -> Theta:
        """Return the prior's parameters at one flat vector; traced by JAX."""
        from numpyro import handlers
        from numpyro.infer.util import constrain_fn

        # Without the block the prior's sites would show up in the model that is being sampled.
        with handlers.block():
            sites = constrain_fn(self.model.prior, (), {}, self._coordinates[1](flat))
            theta = handlers.substitute(self.model.prior, data=sites)()
        if not isinstance(theta, Mapping):
            raise PlanError(
                f"the prior of the {self.model.name} family must return its parameters by name",
                next_step="let it end with: return {'name': value, ...}",
            )
        return theta

    def _log_target(self, flat: Any, values: Any, design: Any, weights: Any) -> Any:
        """Return log prior plus the weighted log-likelihood at one flat vector; traced by JAX."""
        from jax import numpy as jnp
        from numpyro import handlers
        from numpyro.infer.util import potential_energy

        with handlers.block():
            prior = -potential_energy(self.model.prior, (), {}, self._coordinates[1](flat))
        each = self.model.log_likelihood(self._theta(flat), values, design)
        return prior + jnp.where(weights > 0, weights * each, 0.0).sum()

    @cached_property
    def _thetas(self) -> Any:
        import jax

        # Constants of the prior are broadcast, so that every parameter has one row per draw.
        return jax.jit(jax.vmap(self._theta))

    @cached_property
    def _log_likelihoods(self) -> Any:
        import jax

        def one(flat: Any, values: Any, design: Any) -> Any:
            return self.model.log_likelihood(self._theta(flat), values, design)

        return jax.jit(jax.vmap(one, in_axes=(0, None, None)))

    @cached_property
    def _log_targets(self) -> Any:
        import jax

        return jax.jit(jax.vmap(self._log_target, in_axes=(0, None, None, None)))

    @cached_property
    def _chains(self) -> Any:
        """Compile all chains as one function of keys and records; NumPyro's own loop compiles anew in every run."""
        import jax

        size = self.size  # found out before tracing begins

        def chain(key: Any, *records: Any) -> Any:
            start, run = jax.random.split(key)
            first = jax.random.uniform(start, (size,), minval=-START_RADIUS, maxval=START_RADIUS)
            return self._one_chain(first, run, records)

        return jax.jit(jax.vmap(chain, in_axes=(0, None, None, None)))

    def _one_chain(self, first: Any, key: Any, records: tuple[Any, Any, Any]) -> Any:
        """Warm up and sample one chain; traced by JAX."""
        from jax.lax import fori_loop, scan
        from numpyro.infer.hmc import hmc

        def potential(*records: Any) -> Any:
            return lambda flat: -self._log_target(flat, *records)

        how = self.sampling
        begin, advance = hmc(potential_fn_gen=potential, algo="NUTS")
        state = begin(
            first, how.warmup, dense_mass=True, target_accept_prob=how.accept, model_args=records, rng_key=key
        )
        state = fori_loop(0, how.warmup, lambda _, now: advance(now, records), state)

        def step(now: Any, _: None) -> Any:
            after = advance(now, records)
            return after, (after.z, after.diverging)

        return scan(step, state, None, length=how.draws)[1]


def pad_records(
    values: FloatArray, design: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return records, filled up with copies of the first one at weight 0 to one of a few lengths."""
    rows = len(values)
    step = max(16, 1 << max(rows.bit_length() - 4, 0))
    extra = -rows % step
    return (
        np.concatenate([values, np.repeat(values[:1], extra)]),
        np.concatenate([design, np.repeat(design[:1], extra, axis=0)]),
        np.concatenate([weights, np.zeros(extra)]),
    )


MOST_R_HAT = 1.01
LEAST_EFFECTIVE = 400.0
MOST_DIVERGENT = 0.01


class NotConvergedError(PlanError):
    """The chains of a sampled posterior do not agree, or say too little: nothing is made from them."""


@dataclass(frozen=True)
class Convergence:
    """The worst value over all parameters; ``divergent`` is a share of the kept draws."""

    r_hat: float
    bulk: float
    tail: float
    divergent: float
    chains: int
    draws: int

    @property
    def problems(self) -> list[str]:
        """What is wrong with the chains, in words."""
        found: list[str] = []
        if not self.r_hat <= MOST_R_HAT:
            found.append(f"R-hat is {self.r_hat:.3f}; at most {MOST_R_HAT} is accepted")
        for name, effective in (("bulk", self.bulk), ("tail", self.tail)):
            if not effective >= LEAST_EFFECTIVE:
                found.append(f"{effective:.0f} effective draws in the {name}; {LEAST_EFFECTIVE:g} are needed")
        if not self.divergent <= MOST_DIVERGENT:
            found.append(f"{self.divergent:.1%} of the draws diverged; at most {MOST_DIVERGENT:.0%} is accepted")
        return found

    def checked(self, name: str) -> Convergence:
        """Return itself, or refuse."""
        if self.problems:
            headline = f"the {self.chains} chains of the {name} family did not converge in {self.draws} draws each"
            step = (
                "raise warmup, draws or accept (sampling={'accept': 0.95, 'warmup': 2000}); if that does not help, use "
                "fewer predictors"
            )
            raise NotConvergedError(headline, self.problems, step)
        return self


def convergence_of(chains: FloatArray, divergent: float) -> Convergence:
    """Judge draws of the shape (chains, draws, parameters)."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    count, draws = chains.shape[:2]
    halves = _split(chains)
    if not np.isfinite(chains).all() or (chains.std(axis=1) == 0).any():
        return Convergence(float("inf"), 0.0, 0.0, divergent, count, draws)
    folded = np.abs(chains - np.median(chains, axis=(0, 1)))
    r_hat = max(float(np.max(split_gelman_rubin(_scores(part)))) for part in (chains, folded))
    bulk = float(np.min(effective_sample_size(_scores(halves))))
    ends = np.quantile(chains, [0.05, 0.95], axis=(0, 1))
    tail = min(float(np.min(effective_sample_size((halves <= end).astype(float)))) for end in ends)
    return Convergence(r_hat, bulk, tail, divergent, count, draws)


def _split(chains: FloatArray) -> FloatArray:
    """Cut each chain in two halves, which count as chains of their own."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _scores(chains: FloatArray) -> FloatArray:
    """Return normal scores of the ranks among all chains, parameter by parameter."""
    flat = chains.reshape(-1, chains.shape[2])
    ranks = np.asarray(rankdata(flat, axis=0), float)
    return np.asarray(ndtri((ranks - 0.375) / (len(flat) + 0.25))).reshape(chains.shape)
