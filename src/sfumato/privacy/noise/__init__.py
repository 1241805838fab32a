"""Integer noise on integer counts, drawn inside the measurement.

Discrete Laplace (Ghosh, Roughgarden and Sundararajan 2009). Adjacency: any two count vectors whose L1 distance is
at most ``sensitivity``. Theorem: adding noise with P(k) proportional to exp(-|k| epsilon / sensitivity) to every
count is epsilon-DP. Public: the number of counts, epsilon, sensitivity.

Discrete Gaussian (Canonne, Kamath and Steinke 2020). Adjacency: L2 distance at most D. Theorem: noise with P(k)
proportional to exp(-k^2 / 2 sigma^2) is (D^2 / 2 sigma^2)-zCDP.

Why inside: counts and noise are added as whole numbers and clamped to the integer range. Drawing noise at zero and
adding it in machine arithmetic is another mechanism: near the ends of the range it wraps, and on floats it gives counts
away.

Two samplers stand behind these functions. Table inversion (:mod:`sfumato.privacy.noise.inversion.draw`) draws exactly
these laws at memory speed. OpenDP (:mod:`sfumato.privacy.noise.opendp`, the extra ``[opendp]``) draws where it cannot:
without numba, where its self-test fails, or for scales above 2^50.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from numpy.typing import ArrayLike

from sfumato.arrays import LARGEST_INVERTED_SCALE, Counts, as_counts
from sfumato.errors import PlanError
from sfumato.privacy.exact import Number, round_up, to_positive_fraction
from sfumato.privacy.noise import opendp
from sfumato.privacy.noise.noise_recorder import active_recorder
from sfumato.privacy.noise.opendp import privacy_map
from sfumato.privacy.randomness import Randomness

__all__ = [
    "Counts",
    "NoiseSampler",
    "add_gaussian",
    "add_laplace",
    "add_laplace_scale",
    "as_counts",
    "current_sampler",
    "gaussian_chunks",
    "laplace_chunks",
    "laplace_scale",
    "privacy_map",
    "require_samplable",
]
OPENDP = "OpenDP"
AddNoise = Callable[[ArrayLike, Fraction, Randomness | None], Counts]


@dataclass(frozen=True)
class NoiseSampler:
    """One way of drawing both laws, and why it was taken."""

    name: str
    why: str
    laplace: AddNoise
    gaussian: AddNoise


def laplace_scale(epsilon: Number, sensitivity: int = 1) -> float:
    """Return the scale of the discrete Laplace noise, rounded up so that the cost never exceeds epsilon."""
    return round_up(to_positive_fraction(sensitivity, "sensitivity") / to_positive_fraction(epsilon))


def add_laplace(
    counts: ArrayLike,
    epsilon: Number,
    sensitivity: int = 1,
    randomness: Randomness | None = None,
) -> Counts:
    """Return the counts with discrete Laplace noise of scale sensitivity / epsilon, kept as a fraction: epsilon-DP.

    >>> int(add_laplace([100], epsilon=1000.0)[0])
    100
    """
    return _add(
        counts, to_positive_fraction(sensitivity, "sensitivity") / to_positive_fraction(epsilon), "laplace", randomness
    )


def add_laplace_scale(counts: ArrayLike, scale: Number, randomness: Randomness | None = None) -> Counts:
    """Return the counts with discrete Laplace noise of a scale that was computed, and recorded, beforehand."""
    return _add(counts, _recorded(scale, "scale"), "laplace", randomness)


def add_gaussian(counts: ArrayLike, sigma: Number, randomness: Randomness | None = None) -> Counts:
    """Return the counts with discrete Gaussian noise of parameter sigma."""
    return _add(counts, _recorded(sigma, "sigma"), "gaussian", randomness)


def laplace_chunks(
    chunks: Iterable[ArrayLike],
    scale: Number,
    randomness: Randomness | None = None,
) -> Iterator[Counts]:
    """Yield every chunk of a vector that does not fit in memory with its noise; each is drawn under a key of its own.

    >>> [part.shape for part in laplace_chunks(([0, 0], [0]), 1.0)]
    [(2,), (1,)]
    """
    return map(partial(add_laplace_scale, scale=_recorded(scale, "scale"), randomness=randomness), chunks)


def gaussian_chunks(
    chunks: Iterable[ArrayLike],
    sigma: Number,
    randomness: Randomness | None = None,
) -> Iterator[Counts]:
    """Yield every chunk of a vector that does not fit in memory with its Gaussian noise."""
    return map(partial(add_gaussian, sigma=_recorded(sigma, "sigma"), randomness=randomness), chunks)


def _recorded(scale: Number, what: str) -> Fraction:
    """Return the exact value of a scale; a float means its binary value, for that is what the ledger has accounted."""
    as_written = to_positive_fraction(scale, what)
    return Fraction(scale) if isinstance(scale, float) else as_written


def _add(counts: ArrayLike, scale: Fraction, law: str, randomness: Randomness | None) -> Counts:
    sampler = current_sampler() if scale <= LARGEST_INVERTED_SCALE else opendp_sampler("the scale is above 2^50")
    draw = partial(sampler.laplace if law == "laplace" else sampler.gaussian, counts, scale)
    heard = active_recorder()
    return draw(randomness) if heard is None else heard.noise(counts, scale, law, draw)


def require_samplable(scales: Iterable[float], seeded: bool = False) -> None:
    """Refuse, before anything is spent, noise that only OpenDP can draw, where it is absent or a seed is given."""
    why = "a scale is above 2^50" if max(scales, default=0.0) > LARGEST_INVERTED_SCALE else None
    if why is None and current_sampler().name == OPENDP:
        why = current_sampler().why
    if why is None:
        return
    if seeded:  # OpenDP takes no seed
        raise PlanError(
            f"a seeded run needs table inversion: {why}", next_step="run sfumato doctor, or leave the seed out"
        )
    opendp.require_extra(why)


@cache
def current_sampler() -> NoiseSampler:
    """Return table inversion where its self-test passes, OpenDP's with the reason where not."""
    try:
        from sfumato.privacy.noise.inversion.draw import add_gaussian_by_inversion, add_laplace_by_inversion
        from sfumato.privacy.noise.inversion.self_test import self_test_problems
    except ImportError as missing:
        return opendp_sampler(f"table inversion needs a package that is not installed: {missing}")
    problems = self_test_problems()
    if problems:
        return opendp_sampler(f"table inversion failed its self-test: {'; '.join(problems)}")
    return NoiseSampler(
        "table inversion",
        "it passed its self-test on this machine",
        add_laplace_by_inversion,
        add_gaussian_by_inversion,
    )


def opendp_sampler(why: str) -> NoiseSampler:
    """Return OpenDP's sampler with the reason for which it is used."""
    return NoiseSampler(OPENDP, why, opendp.opendp_laplace, opendp.opendp_gaussian)
