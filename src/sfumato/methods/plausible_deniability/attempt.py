"""One attempt for each row, in bulk: seed, candidate, privacy test, fallback.

The noise of the test is drawn inside the measurement: noisy counts of plausible seeds are compared with k. Its scale is
rounded up, never down; delta is claimed as exp(-epsilon0 (k - t)), a factor of 1 + exp(-epsilon0) above the tail of the
noise, which more than covers that rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.plausible_deniability.law import PrivacyTest, prior_share
from sfumato.methods.plausible_deniability.proposals import Proposal, Seeds
from sfumato.privacy.noise import add_laplace
from sfumato.privacy.randomness import Randomness

Codes = NDArray[np.int64]


def attempt(table: Seeds, proposal: Proposal, fallback: Codes, test: PrivacyTest, randomness: Randomness) -> Codes:
    """Make one attempt for each row of ``fallback``, and return the candidates that pass and the fallback elsewhere.

    All steps are taken for all rows, whatever passes.
    """
    uniform, count = randomness.uniform, len(fallback)
    chosen = table.draw(max(table.total, test.k), count, uniform)
    seeds = table.codes[chosen]
    candidates = proposal.propose(seeds, uniform)
    plausible = proposal.plausible(table, seeds, candidates, test.gamma)
    passes = add_laplace(plausible, repr(test.epsilon0), 1, randomness) >= test.k
    tried = uniform.random(count) >= prior_share(test.k, test.gamma, test.epsilon0)
    return np.where((passes & tried & (chosen >= 0))[:, None], candidates, fallback)
