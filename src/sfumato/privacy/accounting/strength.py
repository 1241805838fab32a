"""Strength of a guarantee in words: bands, odds, attack frequencies, warnings, refusals.

Everything is rounded up, so that each sentence is true as it stands. Frequencies are averages over guesses: the tail,
what one unlucky outcome can show, is bounded by epsilon alone, and every text that tells the one tells the other.

What an (epsilon, delta) promise leaves to an attacker who gives even odds to two neighbouring tables: whatever he sees
and computes, he names the right one with a probability of at most (e^epsilon + delta) / (e^epsilon + 1). Proof. A guess
is a set S of outputs, and succeeds with probability (1 + P(S) - P'(S)) / 2. Under P(S) <= e^epsilon P'(S) + delta and
1 - P'(S) <= e^epsilon (1 - P(S)) + delta the difference is largest where both are equalities, and then it is
(e^epsilon - 1 + 2 delta) / (e^epsilon + 1). QED (Kairouz, Oh and Viswanath 2015). At delta 0 the number also bounds
what he may believe after any single output.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from sfumato.errors import WeakGuaranteeError
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.privacy.exact import at_least, at_most, format_fraction, percent_at_most, to_fraction

BASELINE_IN_100 = 10
"""Of 100 guesses, how many are right in the sentences here without the data that they are about."""


@lru_cache(maxsize=512)
def _successes(curve: PrivacyCurve) -> int:
    return math.ceil(100 * to_fraction(curve.success(BASELINE_IN_100 / 100)))


@lru_cache(maxsize=512)
def _advantage(curve: PrivacyCurve) -> float:
    return math.ceil(1000 * to_fraction(curve.advantage)) / 1000


def attack_frequency_text(curve: PrivacyCurve) -> str:
    """Return how often a guess is right at most that would be right now and then without the data it is about.

    >>> attack_frequency_text(PrivacyCurve.of_gaussian(0.3))
    "a guess that is right 10 times in 100 without somebody's data is right at most 17 times with them"
    >>> attack_frequency_text(PrivacyCurve.of_pair(15))
    "a guess that is right 10 times in 100 without somebody's data may be right every time with them"
    """
    most = _successes(curve)
    bound = f"is right at most {most} times" if most < 100 else "may be right every time"
    return f"a guess that is right {BASELINE_IN_100} times in 100 without somebody's data {bound} with them"


def advantage_text(curve: PrivacyCurve) -> str:
    """Return the attacker's advantage in words, rounded up.

    >>> advantage_text(PrivacyCurve.of_pair(1))
    "an attacker's advantage (hits minus false alarms) is at most 0.463"
    """
    most = _advantage(curve)
    bound = f"at most {most:g}" if most < 1 else "not bounded below 1"
    return f"an attacker's advantage (hits minus false alarms) is {bound}"


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
MOST_PLACES = 12
DIGITS = 50
REMEDY = (
    "give a smaller epsilon or delta; if it must be, allow it by name with allow_weak=True (--allow-weak), which the "
    "guarantee then says"
)


def strength_band(epsilon: Fraction, delta: Fraction, rows: int | None = None) -> Band:
    """Return the strength of a promise in a word; ``rows`` is the number of rows where that is public.

    >>> [strength_band(Fraction(e), Fraction(0)) for e in (1, 3, 5, 10)]
    ['strong', 'moderate', 'weak', 'none in effect']
    >>> strength_band(Fraction(1), Fraction(1, 100))
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


def least_error_probability(epsilon: Fraction, delta: Fraction) -> float:
    """Return the least chance to be wrong about two neighbouring tables that had even odds."""
    return float(1 - delta) / (1 + math.exp(min(float(epsilon), LARGEST_POWER)))


def is_almost_certain(epsilon: Fraction, delta: Fraction) -> bool:
    """Whether a guess may be right in more than 999 of 1000 cases."""
    return least_error_probability(epsilon, delta) < ALMOST_CERTAIN


def most_certainty_text(epsilon: Fraction, delta: Fraction) -> str:
    """Return how often a guess at even odds may be right at most, rounded up; it reads 100 % only if it is.

    >>> [most_certainty_text(Fraction(e), Fraction(0)) for e in ("0.0001", 1, 5, 10, 1000)]
    ['50.0025 %', '73.2 %', '99.34 %', '99.9955 %', 'more than 99.999999999 %']
    """
    if delta >= 1:
        return "100 %"
    if least_error_probability(epsilon, delta) < SMALLEST_SHOWN:
        return "more than 99.999999999 %"
    left = 100 * (1 - delta) / (1 + _power(epsilon))
    return f"{_rounded_up(100 - left, max(1, _places(left, 2), _places(50 - left, 2)))} %"


def odds_factor_text(epsilon: Fraction) -> str:
    """Return e to the power epsilon, rounded up; a number too large to mean anything stays a power.

    >>> [odds_factor_text(Fraction(e)) for e in ("0.0001", 1, 10, 1000)]
    ['1.000101', '2.719', '22,027', 'e to the power of 1000']
    """
    if epsilon > MOST_EPSILON:
        return f"e to the power of {format_fraction(epsilon)}"
    value = _power(epsilon)
    return _rounded_up(value, max(0, _places(value, 4), _places(value - 1, 3)))


def _power(epsilon: Fraction) -> Fraction:
    """Return a number that is not below e to the power epsilon, and above it by less than one in 10^48.

    The exponential of the standard library is rounded correctly: the next number with as many digits lies above it.
    """
    context = Context(prec=DIGITS, rounding=ROUND_CEILING)
    above = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return Fraction(context.next_plus(context.exp(above))) if epsilon else Fraction(1)


def _places(value: Fraction, digits: int) -> int:
    """Return the decimal places at which a number shows so many significant digits; none are needed for 0."""
    return min(digits - 1 - math.floor(math.log10(value)), MOST_PLACES) if value else 0


def _rounded_up(value: Fraction, places: int) -> str:
    whole, dot, rest = f"{Decimal(math.ceil(value * 10**places)).scaleb(-places):,f}".partition(".")
    return (whole + dot + rest.rstrip("0")).rstrip(".")


def warnings(epsilon: Fraction, delta: Fraction, rows: int | None = None) -> tuple[str, ...]:
    """Return the warnings about these numbers for the custodian; empty where none is due."""
    texts: list[str] = []
    if epsilon >= WARN_EPSILON:
        texts.append(
            f"epsilon {format_fraction(epsilon)} is large: someone who gave even odds can become "
            f"{most_certainty_text(epsilon, delta)} "
            f"sure; below {format_fraction(WARN_EPSILON)} there is no warning"
        )
    if delta > most_common_delta(rows):
        texts.append(
            f"delta {at_most(delta, 3)} is large: it allows a method that publishes each row as it is with a "
            f"probability of {percent_at_most(delta)}; keep it well below {at_least(most_common_delta(rows), 3)}"
        )
    return tuple(texts)


def is_refused(epsilon: Fraction, delta: Fraction) -> bool:
    """Whether a guarantee is so weak that it must be allowed by name."""
    return epsilon > MOST_EPSILON or delta > MOST_DELTA


def require_strong_enough(epsilon: Fraction, delta: Fraction, allow_weak: bool) -> bool:
    """Refuse what is beyond the limits unless it is allowed; return whether that allowance was needed."""
    if not is_refused(epsilon, delta):
        return False
    if not allow_weak:
        problems = (
            [f"epsilon {format_fraction(epsilon)} is above {format_fraction(MOST_EPSILON)}"]
            if epsilon > MOST_EPSILON
            else []
        )
        problems += [f"delta {at_most(delta, 3)} is above {format_fraction(MOST_DELTA)}"] if delta > MOST_DELTA else []
        raise WeakGuaranteeError("this release would protect nobody", problems, REMEDY)
    return True
