"""Report the progress of long computations and estimate the time left.

Library code calls :func:`tell`; nobody need listen. The command line and the workbench listen and show the time that
is left. Neither a stage nor a share may tell how many private rows there are.
"""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

ProgressListener = Callable[[str, float | None], None]
"""Takes the words of a stage and the share of it that is done, from 0 to 1; None where nobody can know."""
LEAST_SECONDS, LEAST_SHARE = 1.0, 0.02
"""A stage that has just begun says nothing about how long it will take."""
MINUTES_FROM = 90
_listener: ContextVar[ProgressListener | None] = ContextVar("listener", default=None)
_held: ContextVar[list[Stopped] | None] = ContextVar("held", default=None)


class Stopped(BaseException):
    """Somebody asked the work to stop, by a signal or by a button; no code that handles errors may take it for one."""

    received: int | None = None
    """The last signal that came to this process, whatever became of the exception."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def deliver(stop: Stopped) -> None:
    """Raise a stop here; inside :func:`undisturbed` it is held until that ends."""
    held = _held.get()
    if held is None:
        raise stop
    held.append(stop)


@contextmanager
def undisturbed() -> Generator[Callable[[], None]]:
    """Hold back a stop while something that was paid for is saved; call what this yields afterwards to raise it.

    >>> with undisturbed() as raise_held:
    ...     deliver(Stopped())
    >>> raise_held()
    Traceback (most recent call last):
    sfumato.progress.Stopped: SIGINT
    """
    held: list[Stopped] = []
    token = _held.set(held)

    def raise_held() -> None:
        if held:
            raise held[0]

    try:
        yield raise_held
    finally:
        _held.reset(token)


def report_progress(stage: str, done: float | None = None) -> None:
    """Say what is being done now, to whoever listens."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done)


@contextmanager
def progress_listener(listener: ProgressListener) -> Generator[None]:
    """Hand everything that is told inside to a listener.

    >>> with progress_listener(lambda stage, done: print(stage, done)):
    ...     report_progress("fitting", 0.5)
    fitting 0.5
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def silenced() -> Generator[None]:
    """Let nobody hear what is told inside: a run among many would talk over the work that it is a part of."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def steps(stage: str, count: float) -> Generator[Callable[[], None]]:
    """Tell one stage of about ``count`` like steps; call what this yields after each. What the steps tell is not heard.

    >>> with progress_listener(lambda stage, done: print(stage, done)), steps("running it again", 2) as done:
    ...     report_progress("fitting")
    ...     done()
    running it again 0.0
    running it again 0.5
    """
    outer, taken = _listener.get(), itertools.count(1)
    report_progress(stage, 0.0)

    def done() -> None:
        if outer is not None:
            outer(stage, min(next(taken) / max(count, 1), 1.0))

    with silenced():
        yield done


@dataclass
class RemainingTime:
    """How much time is left, from the share that is done and from what the plan allowed; written anew at each look."""

    expected: float | None = None
    """Seconds that the plan allows for all of it."""
    clock: Callable[[], float] = time.monotonic
    stage: str = ""
    done: float | None = None
    _begun: float = field(init=False)
    _since: float = field(init=False)
    _first: float = 0.0

    def __post_init__(self) -> None:
        self._begun = self._since = self.clock()

    def tell(self, stage: str, done: float | None) -> None:
        """Take in what the work says of itself."""
        if stage != self.stage:
            self.stage, self._since, self._first = stage, self.clock(), done or 0.0
        self.done = None if done is None else min(max(done, 0.0), 1.0)

    @property
    def seconds(self) -> float | None:
        """Seconds left, None where nobody can know. The nearer a stage is to its end, the more its own pace counts."""
        now = self.clock()
        allowed = None if self.expected is None else max(self.expected - (now - self._begun), 0.0)
        passed, gained = now - self._since, (self.done or 0.0) - self._first
        if self.done is None or passed < LEAST_SECONDS or gained < LEAST_SHARE:
            return allowed
        paced = passed * (1 - self.done) / gained
        return paced if allowed is None else self.done * paced + (1 - self.done) * max(allowed, paced)

    def __str__(self) -> str:
        return "" if not self.seconds else f"{format_duration(self.seconds)} left"


def format_duration(seconds: float) -> str:
    """Return about how long, no finer than anybody can know.

    >>> format_duration(3.2), format_duration(42), format_duration(400)
    ('about 3 s', 'about 40 s', 'about 7 min')
    """
    if seconds >= MINUTES_FROM:
        return f"about {round(seconds / 60)} min"
    return f"about {max(round(seconds), 1) if seconds < 10 else 5 * round(seconds / 5)} s"
