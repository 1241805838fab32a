"""What a long piece of work says of itself while it runs: its stage in words, and how much of it is done.

Library code calls :func:`tell`; nobody need listen. The command line listens and shows a bar with the time that is
left. Neither a stage nor a share may tell how many private rows there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, float | None], None]
"""Takes the words of a stage and the share of it that is done, from 0 to 1; None where nobody can know."""
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def tell(stage: str, done: float | None = None) -> None:
    """Say what is being done now, to whoever listens."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done)


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Hand everything that is told inside to a listener.

    >>> with listening(lambda stage, done: print(stage, done)):
    ...     tell("fitting", 0.5)
    fitting 0.5
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def unheard() -> Generator[None]:
    """Let nobody hear what is told inside: a run among many would talk over the work that it is a part of."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def steps(stage: str, count: float) -> Generator[Callable[[], None]]:
    """Tell one stage of about ``count`` like steps; call what this yields after each. What the steps tell is not heard.

    >>> with listening(lambda stage, done: print(stage, done)), steps("running it again", 2) as done:
    ...     tell("fitting")
    ...     done()
    running it again 0.0
    running it again 0.5
    """
    outer, taken = _listener.get(), itertools.count(1)
    tell(stage, 0.0)

    def done() -> None:
        if outer is not None:
            outer(stage, min(next(taken) / max(count, 1), 1.0))

    with unheard():
        yield done
