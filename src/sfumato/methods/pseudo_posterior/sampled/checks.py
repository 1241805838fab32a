"""Whether chains can be trusted: rank-normalised R-hat, bulk and tail effective draws, and divergences.

Draws are replaced by normal scores of their ranks before R-hat and the effective number are worked out, and R-hat is
taken of the folded draws too: heavy tails and chains that differ only in spread are noticed (Vehtari and others, 2021).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from sfumato.errors import PlanError
from sfumato.methods.pseudo_posterior.families.interface import Array

MOST_R_HAT = 1.01
LEAST_EFFECTIVE = 400.0
MOST_DIVERGENT = 0.01


class NotConverged(PlanError):  # noqa: N818
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
            raise NotConverged(headline, self.problems, step)
        return self

    def to_dict(self) -> dict[str, float]:
        """Return what a report prints."""
        return asdict(self)


def convergence_of(chains: Array, divergent: float) -> Convergence:
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


def _split(chains: Array) -> Array:
    """Cut each chain in two halves, which count as chains of their own."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _scores(chains: Array) -> Array:
    """Return normal scores of the ranks among all chains, parameter by parameter."""
    flat = chains.reshape(-1, chains.shape[2])
    ranks = np.asarray(rankdata(flat, axis=0), float)
    return np.asarray(ndtri((ranks - 0.375) / (len(flat) + 0.25))).reshape(chains.shape)
