"""What a curve means, in frequencies: of so many attempts at most so many succeed. The one place for these words.

Everything is rounded up, so that each sentence is true as it stands. Frequencies are averages over attempts: the tail,
what one unlucky outcome can show, is bounded by epsilon alone, and every text that tells the one tells the other.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sfumato.privacy.accounting.curve import Curve
from sfumato.privacy.exact import exact

CHANCE = 10
"""Of 100 attempts, how many would succeed by chance in the sentences here."""


@lru_cache(maxsize=512)
def _successes(curve: Curve) -> int:
    return math.ceil(100 * exact(curve.success(CHANCE / 100)))


@lru_cache(maxsize=512)
def _advantage(curve: Curve) -> float:
    return math.ceil(1000 * exact(curve.advantage)) / 1000


def successes(curve: Curve) -> str:
    """Return the most attempts that succeed.

    >>> successes(Curve.of_gaussian(0.3)), successes(Curve.of_pair(15))
    ('of 100 attempts that would succeed by chance in 10, at most 17 succeed', 'of 100 attempts that would succeed by \
chance in 10, all may succeed')
    """
    most = _successes(curve)
    bound = f"at most {most} succeed" if most < 100 else "all may succeed"
    return f"of 100 attempts that would succeed by chance in {CHANCE}, {bound}"


def advantage(curve: Curve) -> str:
    """Return the attacker's advantage in words, rounded up.

    >>> advantage(Curve.of_pair(1))
    "an attacker's advantage (hits minus false alarms) is at most 0.463"
    """
    most = _advantage(curve)
    bound = f"at most {most:g}" if most < 1 else "not bounded below 1"
    return f"an attacker's advantage (hits minus false alarms) is {bound}"
