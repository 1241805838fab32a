"""Format numbers, percentages, counts and lists of names for sentences and tables.

Bounds are rounded in one direction by :func:`sfumato.privacy.exact.at_most` and ``at_least``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MOST_NAMED = 14
"""Names in one sentence; a page lists the others elsewhere."""
VOWELS = "aeiou"
LARGEST_PLAIN = 1e15


def format_number(number: float) -> str:
    """Return a number for people: whole ones with thousands separators, others with three digits.

    >>> format_number(5_000_000), format_number(0.12345)
    ('5,000,000', '0.123')
    """
    return f"{number:,.0f}" if float(number).is_integer() or abs(number) >= 1000 else f"{number:.3g}"


def format_significant(value: float, digits: int) -> str:
    """Return a number with so many digits that matter, and never as a power of ten that people must undo.

    >>> format_significant(0.0123456, 3), format_significant(107153.2, 5), format_significant(15812.0, 3)
    ('0.0123', '107,153', '15,812')
    """
    return f"{value:,.0f}" if 10 ** min(digits, 4) <= abs(value) < LARGEST_PLAIN else f"{value:.{digits}g}"


def short_number(number: float, digits: int = 2) -> str:
    """Return a number with a few digits that matter, and never as a power of ten.

    >>> short_number(0.01234), short_number(123.4), short_number(0.00000123), short_number(0.0), short_number(99.6)
    ('0.012', '120', '0.0000012', '0', '100')
    """
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.9f}".rstrip("0").rstrip(".")


def percent(share: float, digits: int = 2) -> str:
    """Return a share in per cent with a few digits that matter.

    >>> percent(0.0123), percent(1.0), percent(0.0000002), percent(0.30738, 3)
    ('1.2 %', '100 %', '0.00002 %', '30.7 %')
    """
    return f"{short_number(100 * share, digits)} %"


def percent_fixed(share: float, decimals: int = 1) -> str:
    """Return a share in per cent with so many decimals, as the lines of a table have them.

    >>> percent_fixed(0.5), percent_fixed(0.0349, 0)
    ('50.0 %', '3 %')
    """
    return f"{100 * share:.{decimals}f} %"


def counted(number: int, word: str) -> str:
    """Return so many of something.

    >>> counted(1, "row"), counted(5_000_000, "row"), counted(2, "copy"), counted(0, "day")
    ('1 row', '5,000,000 rows', '2 copies', '0 days')
    """
    several = f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in VOWELS else f"{word}s"
    return f"{format_number(number)} {word if number == 1 else several}"


def capitalize_first(words: str) -> str:
    """Return words with a capital letter in front; all others stay as they are.

    >>> capitalize_first("of AIM")
    'Of AIM'
    """
    return f"{words[:1].upper()}{words[1:]}"


def join_names(names: Iterable[str], last: str = "and") -> str:
    """Return names as a sentence has them.

    >>> join_names(["bounds", "values", "missing"]), join_names(["age", "sex"], "or")
    ('bounds, values and missing', 'age or sex')
    """
    listed = list(names)
    return f" {last} ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def list_names(names: Sequence[str], most: int = MOST_NAMED, what: str = "") -> str:
    """Return names as a sentence has them, and of many the first ones and the number of the others.

    >>> list_names(["a"]), list_names(["a", "b", "c"], most=2), list_names(["a", "b", "c", "d"], 2, "columns")
    ('a', 'a, b and c', 'a, b and 2 more columns')
    """
    if len(names) <= most + 1:
        return join_names(names)
    return f"{', '.join(names[:most])} and {format_number(len(names) - most)} more {what}".rstrip()
