"""Turn wrong arguments of public functions into helpful error messages."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from sfumato.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)
Kind = inspect.Parameter
NAMED = (Kind.POSITIONAL_OR_KEYWORD, Kind.KEYWORD_ONLY)
BELONGS = {"epsilon": "AIM(epsilon=1)", "delta": "AIM(epsilon=1, delta=1e-9)"}
"""What a function is given that takes a method, and where it belongs."""
MOST_SHOWN = 6
"""Arguments that the next step lists."""
LIKENESS = 0.5
"""How like a name must be to one that exists to be taken for it; short forms such as eps count as well."""


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that answers arguments which it does not take, or lacks, by their names.

    >>> @checked_arguments
    ... def weigh(stone, times=1):
    ...     return times * stone
    >>> weigh(1, time=2)
    Traceback (most recent call last):
    sfumato.errors.ArgumentError: weigh has no argument 'time'; did you mean times?
    Next step: call it as weigh(stone, times=1)
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        require_valid_call(function.__qualname__, "argument", signature, args, kwargs)
        return function(*args, **kwargs)

    return answered


def checked_parameters(cls: C) -> C:
    """Return a class whose constructor names unknown and missing parameters in its error.

    It stands above ``@dataclass`` of every method, so that AIM(eps=1) says what is meant.
    """
    checked: Any = cls
    make: Callable[..., None] = checked.__init__
    own = inspect.signature(make)
    signature = own.replace(parameters=list(own.parameters.values())[1:])

    @functools.wraps(make)
    def answered(self: Any, *args: Any, **kwargs: Any) -> None:
        require_valid_call(cls.__name__, "parameter", signature, args, kwargs)
        make(self, *args, **kwargs)

    checked.__init__ = answered
    return cls


def require_valid_call(
    name: str, noun: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Refuse arguments that do not fit a signature, all of them at once."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        problems = list(_problems(name, noun, signature, args, kwargs))
        next_step = f"call it as {name}({_in_short(signature)})"
        if len(problems) == 1:
            raise ArgumentError(problems[0], next_step=next_step) from None
        raise ArgumentError(f"{name} cannot be called so", problems, next_step) from None


def _problems(
    name: str, noun: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[str]:
    known = signature.parameters
    placed = [key for key, each in known.items() if each.kind is Kind.POSITIONAL_OR_KEYWORD]
    meant = {key: _nearest(key, known) for key in kwargs if key not in known}
    if len(args) > len(placed):
        most = f"at most {len(placed)}" if placed else "no"
        yield f"{name} takes {most} {noun}s without a name, {len(args)} were given; write name=value"
    yield from (
        f"{name} was given {key} twice, without and with its name" for key in placed[: len(args)] if key in kwargs
    )
    for key, near in meant.items():
        yield f"{name} has no {noun} {key!r}; {f'did you mean {near}?' if near else _elsewhere(key, known)}"
    named = {*placed[: len(args)], *kwargs, *meant.values()}
    missing = [key for key, each in known.items() if each.default is Kind.empty and each.kind in NAMED]
    yield from (f"{name} needs {key}" for key in missing if key not in named)


def _elsewhere(key: str, known: Mapping[str, Any]) -> str:
    if "method" in known and key in BELONGS:
        return f"it belongs to the method: {BELONGS[key]}"
    return f"it has {', '.join(known)}"


def _nearest(key: str, known: Mapping[str, Any]) -> str | None:
    """Return the name that was meant.

    >>> _nearest("eps", ("delta", "epsilon")), _nearest("colums", ("columns",)), _nearest("wings", ("epsilon",))
    ('epsilon', 'columns', None)
    """
    begun = [name for name in known if name.startswith(key.lower()) or key.lower().startswith(name)]
    like = difflib.get_close_matches(key.lower(), list(known), 1, LIKENESS)
    return next(iter([*begun, *like]), None)


def _in_short(signature: inspect.Signature) -> str:
    """Return how to call something: what it needs, and the first of what it takes."""
    taken = [each for each in signature.parameters.values() if each.kind in NAMED and each.name not in ("self", "cls")]
    shown = [each.name if each.default is Kind.empty else f"{each.name}={each.default!r}" for each in taken]
    return ", ".join(shown[:MOST_SHOWN] + ["..."] * (len(shown) > MOST_SHOWN))
