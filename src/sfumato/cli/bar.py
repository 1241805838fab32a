"""The bar of a long piece of work: what it is, its stage in words, how long it has run, and about how long it will.

It listens to :mod:`sfumato.progress`. Shares and times are shown, never numbers of private rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sfumato.progress import Remaining, in_time, listening

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Remaining", "bar", "in_time"]

BETWEEN = 0.1
"""Seconds between two changes of the bar within a stage: work that tells often is not slowed by being listened to."""
UNFINISHED = 0.999
"""The end of a stage is not the end of the work: a full bar would stop its clock."""


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
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20, pulse_style="cyan"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
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
