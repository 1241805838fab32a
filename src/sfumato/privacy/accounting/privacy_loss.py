"""Privacy-loss distributions of mechanisms other than Gaussian and exponential.

Randomised responses of the same strength have a loss of times - 2j strengths with binomial probabilities, so that few
strengths give few atoms: these are exact. Everything else is put on the grid of dp-accounting with every loss rounded
up (pessimistic): the rounded pair dominates the true one, and convolving dominating pairs dominates the whole. What
its Fourier transforms round off is not bounded formally; ``GRID_DELTA_MARGIN`` in delta is put on top of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.accounting.event import Event, EventPart, event_kind
from sfumato.privacy.exact import round_up

MAX_ATOMS = 50_000
"""Atoms up to which randomised responses are enumerated; beyond them they go onto the grid."""
DISCRETISATION = 1e-4
"""Grid of the privacy loss in dp-accounting, rounded against us (pessimistic)."""
GRID_DELTA_MARGIN = 1e-13
"""Absolute room in delta for the rounding of Fourier transforms."""
Pairs = tuple[tuple[float, float, int], ...]
Others = tuple[tuple[Event, int], ...]


@lru_cache(maxsize=256)
def pure_or_approximate(epsilon: float, delta: float) -> Any:
    """Return the loss of the worst mechanism with this (epsilon, delta)."""
    from dp_accounting.pld import common, privacy_loss_distribution

    parameters = common.DifferentialPrivacyParameters(epsilon, delta)
    return privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=DISCRETISATION)


@lru_cache(maxsize=256)
def discrete_gaussian(sigma: float, sensitivity: int, times: int, interval: float = DISCRETISATION) -> Any:
    """Return the loss of ``times`` discrete Gaussian draws, each shifted by ``sensitivity``."""
    from dp_accounting.pld import privacy_loss_distribution

    one = privacy_loss_distribution.from_discrete_gaussian_mechanism(
        sigma, sensitivity=sensitivity, value_discretization_interval=interval
    )
    return repeated(one, times)


def discrete_gaussian_parts(parts: Sequence[EventPart], interval: float = DISCRETISATION) -> Any:
    """Return the joint loss of several tables with discrete Gaussian noise."""
    groups: dict[tuple[float, int], int] = {}
    for part in parts:
        key = (part.scale, part.sensitivity)
        groups[key] = groups.get(key, 0) + part.changed_cells
    losses = [discrete_gaussian(sigma, shift, times, interval) for (sigma, shift), times in groups.items()]
    return reduce(lambda a, b: a.compose(b), losses)


def stated_loss(event: Event) -> Any:
    """Return the loss of the worst mechanism with the cost that the event states."""
    epsilon, delta = event.cost
    return pure_or_approximate(round_up(epsilon), round_up(delta))


def repeated(loss: Any, times: int) -> Any:
    """Return the loss of independent repetitions."""
    return loss.self_compose(times) if times > 1 else loss


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """Losses with their probabilities, and the probability that the loss is unbounded."""

    losses: NDArray[np.float64]
    masses: NDArray[np.float64]
    unbounded: float = 0.0


@lru_cache(maxsize=64)
def loss_distribution(pairs: Pairs, others: Others, mu: float = 0.0) -> LossDistribution:
    """Return the law of the loss of these parts together; ``mu`` puts Gaussian noise onto the grid as well."""
    if not others and not mu and np.prod([float(times + 1) for *_, times in pairs]) <= MAX_ATOMS:
        return _atoms(pairs)
    return _on_grid(pairs, others, mu)


def _atoms(pairs: Pairs) -> LossDistribution:
    losses, masses, kept = np.zeros(1), np.ones(1), 1.0
    for epsilon, delta, times in pairs:
        kept *= (1 - delta) ** times
        if epsilon:
            more, weights = _binomial(epsilon, times)
            losses, masses = np.add.outer(losses, more).ravel(), np.multiply.outer(masses, weights).ravel()
    return LossDistribution(losses, masses * kept, _ever(pairs))


def _ever(pairs: Pairs) -> float:
    """Return the probability that any of the losses is unbounded, without losing small ones."""
    deltas = np.array([delta for _, delta, _ in pairs])
    times = np.array([times for *_, times in pairs])
    with np.errstate(divide="ignore"):
        return float(-np.expm1(np.sum(times * np.log1p(-np.minimum(deltas, 1.0))))) if len(pairs) else 0.0


def _binomial(epsilon: float, times: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.special import expit
    from scipy.stats import binom

    lower = np.arange(times + 1)
    if times == 1:
        return epsilon * np.array([1.0, -1.0]), np.array([expit(epsilon), expit(-epsilon)])
    losses = np.asarray(epsilon * (times - 2.0 * lower), np.float64)
    return losses, np.asarray(binom.pmf(lower, times, expit(-epsilon)), np.float64)


def _on_grid(pairs: Pairs, others: Others, mu: float) -> LossDistribution:
    parts = [repeated(_own(event), times) for event, times in others]
    parts += [repeated(pure_or_approximate(e, d), times) for e, d, times in pairs]
    joint = reduce(lambda a, b: a.compose(b), [*parts, *([_gaussian(mu)] if mu else [])])
    # Every part is symmetric, so that one direction is the other as well.
    dense: Any = vars(joint)["_pmf_remove"].to_dense_pmf()
    facts = vars(dense)
    masses = np.maximum(np.asarray(facts["_probs"], float), 0.0)
    losses = (np.arange(masses.size) + facts["_lower_loss"]) * facts["_discretization"]
    kept = masses > 0
    return LossDistribution(losses[kept], masses[kept], float(facts["_infinity_mass"]) + GRID_DELTA_MARGIN)


def _own(event: Event) -> Any:
    loss = event_kind(event.kind).loss
    assert loss is not None  # runs hold only events with a law
    distribution = loss(event)
    if vars(distribution)["_symmetric"]:
        return distribution
    # A kind that was registered elsewhere may favour one direction: what it states holds for both.
    return stated_loss(event)


def _gaussian(mu: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=DISCRETISATION)
