"""Check the parameters of a method against their declared types, all problems at once.

What is wrong with a value whatever the schema is found here, all of it at once, so that nothing of the kind can be met
after the budget was spent: a number where a list of names belongs, a budget that no noise can be drawn for.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Literal, Union, cast, get_args, get_origin, get_type_hints

from sfumato.errors import PlanError
from sfumato.privacy.exact import Number, shorten_for_message, to_fraction

SMALLEST_EPSILON = Fraction(1, 10_000)
"""Below it each count carries noise of more than 10,000 records, and synthetic tables would be as long as the noise."""
LARGEST_EPSILON = 10**6
"""Above it the odds that epsilon bounds have no number any more."""
SMALLEST_DELTA, LARGEST_DELTA = "1e-100", "0.999999"
LARGEST_WHOLE = 2**63
MOST_ROWS = 10**15
"""Rows that a private table is believed to have, at most."""
DEFAULT_DELTA = "1e-9"
"""The delta of Gaussian noise on counts where none is given: below one in the number of people of most countries."""
BUDGETS = ("epsilon",)
PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
"""Kinds of parameters in words."""


def check_parameters(method: Any, more: Iterable[str] = ()) -> None:
    """Refuse parameters that are not of the kind which the method's fields state; lists become tuples.

    ``more`` is what else is wrong, told in the same breath: sentences that begin with a parameter's name are left out
    where that parameter is already of the wrong kind.
    """
    hints = _hints(type(method))
    wrong = {name: list(_problems(name, hint, getattr(method, name))) for name, hint in hints.items()}
    problems = [problem for each in wrong.values() for problem in each]
    problems += [problem for problem in more if not wrong.get(problem.split(" ", 1)[0])]
    if problems:
        raise PlanError(f"cannot make the method {method.name!r}", problems, f"see 'sfumato methods {method.name}'")
    for name, hint in hints.items():
        object.__setattr__(method, name, _settled(getattr(method, name), hint))


def number_problems(value: Any, what: str, least: Number, most: Number, whole: bool = False) -> list[str]:
    """Return what is wrong with a number that must lie from ``least`` to ``most``.

    >>> number_problems(True, "k", 1, 9, whole=True), number_problems("1/3", "share", 0, 1)
    (['k must be a whole number from 1 to 9, found True'], [])
    """
    try:
        read = to_fraction(value, what)
        if to_fraction(least) <= read <= to_fraction(most) and not (whole and read.denominator != 1):
            return []
    except PlanError:
        pass
    wanted = f"be a whole number from {_plain(least)} to" if whole else f"lie between {_plain(least)} and"
    return [f"{what} must {wanted} {_plain(most)}, found {shorten_for_message(value)}"]


def check_about_rows(rows: Any) -> int:
    """Return a public or guessed number of rows of a private table, or refuse what is none."""
    if problems := number_problems(rows, "about_rows", 0, MOST_ROWS, whole=True):
        raise PlanError("about_rows cannot be read", problems, "give about how many rows the table has, or nothing")
    return int(to_fraction(rows))


def epsilon_problems(value: Any, what: str = "epsilon") -> list[str]:
    """Return what is wrong with a budget."""
    return number_problems(value, what, SMALLEST_EPSILON, LARGEST_EPSILON)


def shared_epsilon_problems(value: Any) -> list[str]:
    """Return what is wrong with a part of a budget, which may be smaller than a whole one."""
    return number_problems(value, "epsilon", SMALLEST_EPSILON / 1000, LARGEST_EPSILON)


def delta_problems(value: Any) -> list[str]:
    """Return what is wrong with a delta that must be above 0."""
    return number_problems(value, "delta", SMALLEST_DELTA, LARGEST_DELTA)


def delta_or_default(delta: Number | None, default: Number) -> Number:
    """Return the delta that was given, or the method's own where none was; 0 is pure privacy and no absence.

    >>> delta_or_default(None, "1e-9"), delta_or_default(0, "1e-9")
    ('1e-9', 0)
    """
    return default if delta is None else delta


def pure_delta_problems(delta: Any) -> list[str]:
    """Return what is wrong with the delta of a method whose noise is pure: only 0, or none at all, makes sense."""
    if delta is None or not number_problems(delta, "delta", 0, 0):
        return []
    return [f"delta is 0 here, since the noise is pure: leave it out, found {shorten_for_message(delta)}"]


def name_problems(names: Any, what: str) -> list[str]:
    """Return what is wrong with the name of a column, or with a list of such names."""
    return (
        []
        if _fits_list(names, str)
        else [f"{what} must be a name or a list of names, found {shorten_for_message(names)}"]
    )


def share_problems(value: Any, what: str) -> list[str]:
    """Return what is wrong with a share or a probability, which must lie between 0 and 1 and be neither."""
    try:
        if 0 < to_fraction(value, what) < 1:
            return []
    except PlanError:
        pass
    return [f"{what} must lie between 0 and 1, found {shorten_for_message(value)}"]


def word_problems(value: Any, what: str, known: Iterable[str]) -> list[str]:
    """Return what is wrong with a word that must be one of those that are known."""
    if isinstance(value, str) and value in known:
        return []
    return [f"{what} {shorten_for_message(value)} is unknown; use one of {', '.join(known)}"]


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Return the types of a method's parameters, in the order of its fields."""
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls) if get_origin(hints[f.name]) is not ClassVar}


def _problems(name: str, hint: Any, value: Any) -> Iterator[str]:
    if _is_number(hint) and not (value is None and type(None) in get_args(hint)):
        yield from _number_problems(name, value)
    elif not _fits(value, hint):
        yield f"{name} must be {_words(hint)}, found {shorten_for_message(value)}"


def _is_number(hint: Any) -> bool:
    return Fraction in get_args(hint)


def _number_problems(name: str, value: Any) -> Iterator[str]:
    try:
        number = to_fraction(value, name)
    except PlanError as error:
        yield error.headline
        return
    if name in BUDGETS and (0 < number < SMALLEST_EPSILON or number > LARGEST_EPSILON):
        text = f"{float(number):g}" if number < 10**300 else "more"
        yield f"{name} must lie between {float(SMALLEST_EPSILON):g} and {LARGEST_EPSILON:,}, found {text}"


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:  # which of the words are known, the method says itself
        return isinstance(value, str)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if origin is not None and issubclass(origin, Sequence):
        return _fits_list(value, inner[0])
    return _fits_plain(value, hint)


def _fits_list(value: Any, inner: Any) -> bool:
    if isinstance(value, str):  # one name stands for a list of one
        return inner is str
    if isinstance(value, bytes) or not (isinstance(value, Sequence) or hasattr(value, "tolist")):
        return False
    if _is_number(inner):
        return all(not list(_number_problems("", each)) for each in cast("Any", value))
    return all(_fits(each, inner) for each in cast("Any", value))


def _fits_plain(value: Any, hint: Any) -> bool:
    if hint is bool or isinstance(value, bool):
        return isinstance(value, bool) and hint is bool
    if hint is int:
        whole = isinstance(value, numbers.Integral) or (isinstance(value, float) and value.is_integer())
        return whole and abs(int(value)) < LARGEST_WHOLE
    if hint is float:
        return _fits_plain(value, int) or (isinstance(value, float) and not math.isnan(value))
    return isinstance(value, hint)


def _settled(value: Any, hint: Any) -> Any:
    """Return a value as the method keeps it: tuples for lists and for a lone name, whole numbers as such."""
    alternatives = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if isinstance(value, str) and {*alternatives} - {type(None)} == {Sequence[str]}:
        return (value,)
    if isinstance(value, float) and float not in get_args(hint) and (hint is int or int in get_args(hint)):
        return value if _is_number(hint) else int(value)
    return _frozen(value)


def _frozen(value: Any) -> Any:
    """Return lists as tuples all the way down: a method is a value that can be compared, hashed and kept."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        return value
    return tuple(_frozen(each) for each in cast("Sequence[Any]", value))


def _words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(each) for each in inner if each is not type(None))
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin is not None and issubclass(origin, Sequence):
        each = {str: "names"}.get(inner[0], "finite numbers" if _is_number(inner[0]) else "lists of names")
        return f"a list of {each}"
    if isinstance(hint, type) and hint not in PLAIN:
        return f"a {hint.__name__}"
    return PLAIN.get(hint, "a mapping")


def _plain(number: Number) -> str:
    if isinstance(number, int):
        return f"{number:,}"
    return number if isinstance(number, str) else f"{float(number):g}"
