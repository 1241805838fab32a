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

from sfumato.arrays import Counts
from sfumato.errors import PlanError
from sfumato.privacy.exact import Number, positive, round_up
from sfumato.privacy.noise import opendp
from sfumato.privacy.noise.opendp import privacy_map
from sfumato.privacy.noise.tape import listener
from sfumato.privacy.noise.whole_counts import LARGEST_INVERTED_SCALE, as_counts
from sfumato.privacy.randomness import Randomness

__all__ = [
    "Counts",
    "Sampler",
    "add_gaussian",
    "add_laplace",
    "add_laplace_scale",
    "as_counts",
    "gaussian_chunks",
    "laplace_chunks",
    "laplace_scale",
    "privacy_map",
    "require_drawable",
    "sampler_in_use",
]

OPENDP = "OpenDP"
Add = Callable[[ArrayLike, Fraction, Randomness | None], Counts]


@dataclass(frozen=True)
class Sampler:
    """One way of drawing both laws, and why it was taken."""

    name: str
    why: str
    laplace: Add
    gaussian: Add


def laplace_scale(epsilon: Number, sensitivity: int = 1) -> float:
    """Return the scale of the discrete Laplace noise, rounded up so that the cost never exceeds epsilon."""
    return round_up(positive(sensitivity, "sensitivity") / positive(epsilon))


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
    return _add(counts, positive(sensitivity, "sensitivity") / positive(epsilon), "laplace", randomness)


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
    as_written = positive(scale, what)
    return Fraction(scale) if isinstance(scale, float) else as_written


def _add(counts: ArrayLike, scale: Fraction, law: str, randomness: Randomness | None) -> Counts:
    sampler = sampler_in_use() if scale <= LARGEST_INVERTED_SCALE else opendp_sampler("the scale is above 2^50")
    draw = partial(sampler.laplace if law == "laplace" else sampler.gaussian, counts, scale)
    heard = listener()
    return draw(randomness) if heard is None else heard.noise(counts, scale, law, draw)


def require_drawable(scales: Iterable[float], seeded: bool = False) -> None:
    """Refuse, before anything is spent, noise that only OpenDP can draw, where it is absent or a seed is given."""
    why = "a scale is above 2^50" if max(scales, default=0.0) > LARGEST_INVERTED_SCALE else None
    if why is None and sampler_in_use().name == OPENDP:
        why = sampler_in_use().why
    if why is None:
        return
    if seeded:  # OpenDP takes no seed
        raise PlanError(
            f"a seeded run needs table inversion: {why}", next_step="run sfumato doctor, or leave the seed out"
        )
    opendp.require_installed(why)


@cache
def sampler_in_use() -> Sampler:
    """Return table inversion where its self-test passes, OpenDP's with the reason where not."""
    try:
        from sfumato.privacy.noise.inversion.draw import inverted_gaussian, inverted_laplace
        from sfumato.privacy.noise.inversion.self_test import sampler_problems
    except ImportError as missing:
        return opendp_sampler(f"table inversion needs a package that is not installed: {missing}")
    problems = sampler_problems()
    if problems:
        return opendp_sampler(f"table inversion failed its self-test: {'; '.join(problems)}")
    return Sampler("table inversion", "it passed its self-test on this machine", inverted_laplace, inverted_gaussian)


def opendp_sampler(why: str) -> Sampler:
    """Return OpenDP's sampler with the reason for which it is used."""
    return Sampler(OPENDP, why, opendp.opendp_laplace, opendp.opendp_gaussian)
