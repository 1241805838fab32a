"""Reading parameters of methods: what is wrong with each, as sentences, so that a constructor can list all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import PlanError
from sfumato.privacy.exact import exact

LEAST_EPSILON = "1e-9"
MOST_EPSILON = "1e9"
"""Budgets beyond these are slips of the pen, and machine numbers end not far from them."""

LEAST_GAUSSIAN = "1e-3"
"""The same for Gaussian noise, whose certificate is computed on as many points as its scale needs."""


def number_problems(value: Any, what: str, least: str, most: str, whole: bool = False) -> list[str]:
    """Return what is wrong with a number that must lie from ``least`` to ``most``.

    >>> number_problems(True, "k", "1", "9", whole=True), number_problems("1/3", "share", "0", "1")
    (['k must be a whole number from 1 to 9, found True'], [])
    """
    kind = "a whole number" if whole else "a number"
    wanted = f"{what} must be {kind} from {least} to {most}, found {_shown(value)}"
    if isinstance(value, bool):
        return [wanted]
    try:
        read = exact(value, what)
    except PlanError:
        return [wanted]
    fits = exact(least) <= read <= exact(most) and not (whole and read.denominator != 1)
    return [] if fits else [wanted]


def epsilon_problems(value: Any, what: str = "epsilon") -> list[str]:
    """Return what is wrong with a budget."""
    return number_problems(value, what, LEAST_EPSILON, MOST_EPSILON)


def between_problems(value: Any, what: str) -> list[str]:
    """Return what is wrong with a share or a probability, which must lie between 0 and 1 and be neither."""
    wanted = f"{what} must lie between 0 and 1, found {_shown(value)}"
    try:
        return [] if not isinstance(value, bool) and 0 < exact(value, what) < 1 else [wanted]
    except PlanError:
        return [wanted]


def name_problems(names: Any, what: str) -> list[str]:
    """Return what is wrong with a name of a column, or with a list of such names."""
    listed = [names] if isinstance(names, str) else names
    if isinstance(listed, Mapping) or not isinstance(listed, Sequence):
        return [f"{what} must be a column or a list of columns, found {_shown(names)}"]
    return [f"{what} must list columns by their names, found {_shown(name)}"
            for name in listed if not isinstance(name, str)]  # fmt: skip


def _shown(value: Any) -> str:
    try:
        shown = repr(value)
    except ValueError:  # Python writes no whole number with thousands of digits
        return "a number with thousands of digits"
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
