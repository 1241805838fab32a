"""The bar of a long piece of work: what it is, its stage in words, how long it has run, and about how long it will.

It listens to :mod:`sfumato.progress`. Shares and times are shown, never numbers of private rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.progress import listening

if TYPE_CHECKING:
    from rich.console import Console

LEAST_SECONDS, LEAST_SHARE = 1.0, 0.02
"""A stage that has just begun says nothing about how long it will take."""
BETWEEN = 0.1
"""Seconds between two changes of the bar within a stage: work that tells often is not slowed by being listened to."""
MINUTES_FROM = 90
UNFINISHED = 0.999
"""The end of a stage is not the end of the work: a full bar would stop its clock."""


@dataclass
class Remaining:
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
        return "" if not self.seconds else f"{in_time(self.seconds)} left"


def in_time(seconds: float) -> str:
    """Return about how long, no finer than anybody can know.

    >>> in_time(3.2), in_time(42), in_time(400)
    ('about 3 s', 'about 40 s', 'about 7 min')
    """
    if seconds >= MINUTES_FROM:
        return f"about {round(seconds / 60)} min"
    return f"about {max(round(seconds), 1) if seconds < 10 else 5 * round(seconds / 5)} s"


@contextmanager
def bar(console: Console, what: str, expected: float | None, clean: Callable[[object], str]) -> Generator[None]:
    """Show a bar on a terminal while the work inside goes on; elsewhere nobody listens."""
    if not console.is_terminal:
        yield
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    left = Remaining(expected)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20, pulse_style="cyan"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(clean(what), total=None, left=left)
        task, shown = progress.tasks[0], [0.0]

        def heard(stage: str, done: float | None) -> None:
            fresh, now = stage != left.stage, time.monotonic()
            left.tell(stage, done)
            if fresh or now - shown[0] >= BETWEEN:
                shown[0] = now
                task.total = None if done is None else 1.0
                progress.update(task.id, description=clean(f"{what}: {stage}"), completed=min(done or 0, UNFINISHED))

        with listening(heard):
            yield
