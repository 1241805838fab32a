"""Privacy-loss distributions of mechanisms other than Gaussian and exponential.

Randomised responses of the same strength have a loss of times - 2j strengths with binomial probabilities, so that few
strengths give few atoms: these are exact. Everything else is put on the grid of dp-accounting with every loss rounded
up (pessimistic): the rounded pair dominates the true one, and convolving dominating pairs dominates the whole. What
its Fourier transforms round off is not bounded formally; ``GRID_ROOM`` in delta is put on top of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.accounting import event_kinds
from sfumato.privacy.accounting.event import Event, event_kind

MAX_ATOMS = 50_000
"""Atoms up to which randomised responses are enumerated; beyond them they go onto the grid."""
GRID_DELTA_MARGIN = 1e-13
"""Absolute room in delta for the rounding of Fourier transforms."""
Pairs = tuple[tuple[float, float, int], ...]
Others = tuple[tuple[Event, int], ...]


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
    parts = [event_kinds.repeated(_own(event), times) for event, times in others]
    parts += [event_kinds.repeated(event_kinds.pure_or_approximate(e, d), times) for e, d, times in pairs]
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
    found = loss(event)
    if vars(found)["_symmetric"]:
        return found
    # A kind that was registered elsewhere may favour one direction: what it states holds for both.
    return event_kinds.stated_loss(event)


def _gaussian(mu: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.from_gaussian_mechanism(
        1 / mu, value_discretization_interval=event_kinds.DISCRETISATION
    )
