"""Passes over the rows: integer sums by several workers, and rows kept in small lattice steps where they fit.

Sums of integers do not depend on the order, so that workers and batches cannot change a result. Whether the rows are
kept or read again for each pass depends on their number; it changes the time, not the sums.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.cluster_geometry.draw import Space
from sfumato.rows.box import Rows

Steps = NDArray[np.int16]
Sums = tuple[NDArray[np.int64], ...]
MOST_KEPT = 1 << 29
"""Bytes of quantised rows that are kept between passes; two bytes a value."""
WORKERS = min(4, os.cpu_count() or 1)
WAITING = 2 * WORKERS


@dataclass(eq=False)
class QuantisedRows:
    """The private rows in lattice steps of the box, batch by batch."""

    rows: Rows
    box: Space
    most_kept: int = MOST_KEPT
    _kept: list[Steps] | None = field(default=None, init=False, repr=False)

    def batches(self) -> Iterator[Steps]:
        """Yield all batches: from memory after the first pass where they fit, else from the source again."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Steps] | None = []
        size = 0
        for batch in self.rows():
            steps = self.box.quantised(batch)
            size += steps.nbytes
            if size > self.most_kept:
                kept = None
            if kept is not None:
                kept.append(steps)
            yield steps
        self._kept = kept

    def sums(self, kernel: Callable[..., None], facts: tuple[Any, ...], *shapes: tuple[int, ...]) -> Sums:
        """Run a compiled loop over all batches and return the integer arrays that it adds to."""
        free = [tuple(np.zeros(shape, np.int64) for shape in shapes) for _ in range(WAITING)]
        arrays = list(free)
        running: list[tuple[Future[None], Sums]] = []
        with ThreadPoolExecutor(WORKERS) as pool:
            for batch in self.batches():
                if not free:
                    done, returned = running.pop(0)
                    done.result()
                    free.append(returned)
                own = free.pop()
                running.append((pool.submit(kernel, batch, *facts, *own), own))
            for done, _ in running:
                done.result()
        return tuple(np.add.reduce(each) for each in zip(*arrays, strict=True))
