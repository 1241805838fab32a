"""How strong a promise is, in words that follow its numbers: bands, odds, warnings, and what is refused.

What an (epsilon, delta) promise leaves to an attacker who gives even odds to two neighbouring tables: whatever he sees
and computes, he names the right one with a probability of at most (e^epsilon + delta) / (e^epsilon + 1). Proof. A guess
is a set S of outputs, and succeeds with probability (1 + P(S) - P'(S)) / 2. Under P(S) <= e^epsilon P'(S) + delta and
1 - P'(S) <= e^epsilon (1 - P(S)) + delta the difference is largest where both are equalities, and then it is
(e^epsilon - 1 + 2 delta) / (e^epsilon + 1). QED (Kairouz, Oh and Viswanath 2015). At delta 0 the number also bounds
what he may believe after any single output.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from sfumato.errors import WeakGuaranteeError
from sfumato.privacy.exact import show

Band = Literal["strong", "moderate", "weak", "none in effect"]
STRONG_EPSILON = Fraction(1)
WARN_EPSILON = Fraction(5)
NO_EFFECT_EPSILON = Fraction(10)
MOST_EPSILON = Fraction(20)
WARN_DELTA = Fraction(1, 10_000)
MOST_DELTA = Fraction(1, 10)
ALMOST_CERTAIN = 0.001
"""Chance to be wrong below which a guess is called almost certain."""
SMALLEST_SHOWN = 1e-12
"""Chance to be wrong below which digits of the certainty are not worth printing."""
LARGEST_POWER = 700.0
ROUND_FACTOR = 10_000
REMEDY = (
    "give a smaller epsilon or delta; if it must be, allow it by name with allow_weak=True (--allow-weak), which the "
    "guarantee then says"
)


def band(epsilon: Fraction, delta: Fraction, rows: int | None = None) -> Band:
    """Return the strength of a promise in a word; ``rows`` is the number of rows where that is public.

    >>> [band(Fraction(e), Fraction(0)) for e in (1, 3, 5, 10)]
    ['strong', 'moderate', 'weak', 'none in effect']
    >>> band(Fraction(1), Fraction(1, 100))
    'weak'
    """
    if epsilon >= NO_EFFECT_EPSILON or delta > MOST_DELTA:
        return "none in effect"
    if epsilon >= WARN_EPSILON or delta > most_common_delta(rows):
        return "weak"
    return "strong" if epsilon <= STRONG_EPSILON else "moderate"


def most_common_delta(rows: int | None) -> Fraction:
    """Return the delta above which a warning is due: a method may publish each row with that probability."""
    return WARN_DELTA if not rows else min(WARN_DELTA, Fraction(1, rows))


def wrong(epsilon: Fraction, delta: Fraction) -> float:
    """Return the least chance to be wrong about two neighbouring tables that had even odds."""
    return float(1 - delta) / (1 + math.exp(min(float(epsilon), LARGEST_POWER)))


def is_almost_certain(epsilon: Fraction, delta: Fraction) -> bool:
    """Whether a guess may be right in more than 999 of 1000 cases."""
    return wrong(epsilon, delta) < ALMOST_CERTAIN


def certainty(epsilon: Fraction, delta: Fraction) -> str:
    """Return how often a guess at even odds may be right, with so many digits that it reads 100 % only if it is.

    >>> [certainty(Fraction(e), Fraction(0)) for e in (1, 5, 10, 1000)]
    ['73.1 %', '99.3 %', '99.9955 %', 'more than 99.999999999 %']
    """
    left = wrong(epsilon, delta)
    if delta >= 1:
        return "100 %"
    if left < SMALLEST_SHOWN:
        return "more than 99.999999999 %"
    if left >= ALMOST_CERTAIN:
        return f"{100 * (1 - left):.3g} %"
    return f"{100 - 100 * left:.{math.ceil(-math.log10(100 * left)) + 1}f} %"


def factor(epsilon: Fraction) -> str:
    """Return e to the power epsilon; a number that says nothing to anybody stays a power.

    >>> [factor(Fraction(e)) for e in (1, 10, 1000)]
    ['2.718', '22,026', 'e to the power of 1000']
    """
    if epsilon > MOST_EPSILON:
        return f"e to the power of {show(epsilon)}"
    value = math.exp(float(epsilon))
    return f"{value:.4g}" if value < ROUND_FACTOR else f"{value:,.0f}"


def warnings(epsilon: Fraction, delta: Fraction, rows: int | None = None) -> tuple[str, ...]:
    """Return what a custodian must be told about these numbers; empty for promises that need no warning."""
    found: list[str] = []
    if epsilon >= WARN_EPSILON:
        found.append(
            f"epsilon {show(epsilon)} is large: someone who gave even odds can become {certainty(epsilon, delta)} "
            f"sure; below {show(WARN_EPSILON)} there is no warning"
        )
    if delta > most_common_delta(rows):
        found.append(
            f"delta {float(delta):.3g} is large: it allows a method that publishes each row as it is with a "
            f"probability of {percent(delta)}; keep it well below {float(most_common_delta(rows)):.3g}"
        )
    return tuple(found)


def is_beyond(epsilon: Fraction, delta: Fraction) -> bool:
    """Whether a promise is so weak that it must be allowed by name."""
    return epsilon > MOST_EPSILON or delta > MOST_DELTA


def refuse_weak(epsilon: Fraction, delta: Fraction, allow_weak: bool) -> bool:
    """Refuse what is beyond the limits unless it is allowed; return whether that allowance was needed."""
    if not is_beyond(epsilon, delta):
        return False
    if not allow_weak:
        problems = [f"epsilon {show(epsilon)} is above {show(MOST_EPSILON)}"] if epsilon > MOST_EPSILON else []
        problems += [f"delta {float(delta):.3g} is above {show(MOST_DELTA)}"] if delta > MOST_DELTA else []
        raise WeakGuaranteeError("this release would protect nobody", problems, REMEDY)
    return True


def percent(share: Fraction) -> str:
    """Return a probability in per cent."""
    return f"{100 * float(share):.3g} %"
