"""Record or replay every noise draw and exponential-mechanism choice during an audit.

Nobody listens in a release. An audit puts a :class:`Listener` there (:func:`listening`), which sees what is asked for
and answers in its place: by drawing, and writing the answer down; or by giving an earlier answer again, to find out how
likely another table makes it. What is drawn, and how, does not change by being listened to.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import Counts
from sfumato.privacy.randomness import Randomness, UniformSource

Draw = Callable[[Randomness | None], Counts]
DrawIndex = Callable[[UniformSource], int]
Deficits = Sequence[int] | NDArray[np.int64]
"""How far each item of a choice is below the best one, as whole numbers."""


class NoiseRecorder(Protocol):
    """The interface of a recorder: it answers noise and selections during an audit."""

    def noise(self, counts: ArrayLike, scale: Fraction, law: str, draw: Draw) -> Counts:
        """Return the noisy counts; ``draw`` draws them."""
        ...

    def choice(self, deficits: Deficits, rate: Fraction, choose: DrawIndex) -> int:
        """Return the place that is chosen with weights exp(-rate * deficit); ``choose`` draws it."""
        ...


_LISTENER: ContextVar[NoiseRecorder | None] = ContextVar("listener", default=None)


def active_recorder() -> NoiseRecorder | None:
    """Return the recorder of this context; a release has none."""
    return _LISTENER.get()


@contextmanager
def recording(who: NoiseRecorder) -> Generator[None]:
    """Record all noise and selections that are drawn within."""
    token = _LISTENER.set(who)
    try:
        yield
    finally:
        _LISTENER.reset(token)
