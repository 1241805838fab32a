"""Read, round and print epsilon and delta as exact fractions."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from sfumato.errors import PlanError

Number = int | float | str | Fraction
LARGEST_EXPONENT = 300
TOO_LARGE = 10 ** (LARGEST_EXPONENT + 1)
LONGEST_TEXT = 1000
LONGEST_SHOWN = 60


def to_fraction(value: Number, what: str = "epsilon") -> Fraction:
    """Read a number as its shortest decimal says, so that ``0.1`` is one tenth.

    >>> sum([to_fraction(0.1)] * 50) == 5
    True
    >>> to_fraction("1/3") * 3
    Fraction(1, 1)
    """
    try:
        if isinstance(value, bool):
            raise TypeError(value)
        shown = repr(float(value)) if isinstance(value, float) else value
        _refuse_endless(shown)
        return _within_reach(Fraction(shown))
    except (ValueError, TypeError, ArithmeticError) as error:
        raise PlanError(
            f"{what} must be a finite number, found {shorten_for_message(value)}", next_step=f"give {what} as 0.5"
        ) from error


def shorten_for_message(value: object) -> str:
    """Write a value for a message; numbers with hundreds of digits are described by their size."""
    if isinstance(value, int | Fraction) and abs(value) >= TOO_LARGE:
        return f"one of 10^{LARGEST_EXPONENT} or more"
    try:
        shown = repr(value)
    except ValueError:  # Python writes no whole number with thousands of digits, also inside a list
        return "a number with thousands of digits"
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}..."


def _refuse_endless(value: Number) -> None:
    """Refuse texts such as 1e999999999 before they become an integer with a billion digits, and such integers."""
    if not isinstance(value, str):
        if abs(value) >= TOO_LARGE:
            raise ValueError("too large")
        return
    if len(value) > LONGEST_TEXT:
        raise ValueError(value[:LONGEST_TEXT])
    if "/" not in value and abs(Decimal(value).adjusted()) > LARGEST_EXPONENT:
        raise ValueError(value)


def _within_reach(number: Fraction) -> Fraction:
    """Refuse whole numbers with hundreds of digits: no float holds them."""
    if abs(number) >= TOO_LARGE:
        raise ValueError(LARGEST_EXPONENT)
    return number


def to_positive_fraction(value: Number, what: str = "epsilon") -> Fraction:
    """Read a number that must be above 0."""
    number = to_fraction(value, what)
    if number <= 0:
        raise PlanError(f"{what} must be above 0, found {value}", next_step=f"give {what} a value such as 1.0")
    return number


def round_up(value: Fraction) -> float:
    """Return the smallest float that is not below the fraction: noise scales may only grow by rounding."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def round_down(value: Fraction) -> float:
    """Return the largest float that is not above the fraction: budgets may only shrink by rounding."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def fraction_to_text(value: Fraction) -> str:
    """Write a fraction so that :func:`exact` reads it back unchanged, as a decimal where that is exact.

    >>> fraction_to_text(Fraction(1, 10)), fraction_to_text(Fraction(1, 3))
    ('0.1', '1/3')
    """
    decimal = repr(float(value)) if abs(value) < 10**LARGEST_EXPONENT else ""
    if not decimal or Fraction(decimal) != value:
        return f"{value.numerator}/{value.denominator}"
    return decimal.removesuffix(".0")


def at_most(value: Number, digits: int = 6) -> str:
    """Write an upper bound with so many significant digits, rounded up.

    >>> at_most(Fraction(1, 3)), at_most(0.07321, 3), at_most("1e-9", 3)
    ('0.333334', '0.0733', '1e-09')
    """
    return _rounded(value, digits, ROUND_CEILING)


def at_least(value: Number, digits: int = 6) -> str:
    """Write a lower bound, or what is left of a budget, with so many significant digits, rounded down.

    >>> at_least(Fraction(2, 3)), at_least(0.32319, 4)
    ('0.666666', '0.3231')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def percent_at_most(share: Number, digits: int = 3) -> str:
    """Write an upper bound on a share in per cent, rounded up.

    >>> percent_at_most(0.12341), percent_at_most(Fraction(1, 3), 2)
    ('12.4 %', '34 %')
    """
    return f"{at_most(100 * to_fraction(share), digits)} %"


def _rounded(value: Number, digits: int, direction: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value:g}"
    number = to_fraction(value, "a bound")
    # the quotient of two whole numbers is rounded once, and a float of so few digits prints them back
    rounded = Context(prec=digits, rounding=direction).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{float(rounded):.{digits}g}"


def format_fraction(value: Fraction) -> str:
    """Write a cost for people: at most six significant digits, never less than it is."""
    return at_most(value)
