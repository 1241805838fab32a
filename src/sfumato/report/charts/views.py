"""Counts as they are drawn: with the public law of their noise, shortened where an axis is too long to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.arrays import Array, Counts
from sfumato.report.charts.look import Axis
from sfumato.report.document import ReleaseDocument

ColumnSet = tuple[str, ...]
MOST_BARS = 160
MOST_LEVELS = 40


@dataclass(frozen=True)
class Spread:
    """The public law of the noise on one table."""

    kind: str
    scale: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on one cell."""
        return self.scale * (math.sqrt(2) if self.kind.endswith("laplace") else 1.0)

    def half_width(self, cells: int = 1) -> float:
        """Return how far 95 % of the noise on a sum of cells lies from 0.

        >>> round(Spread("discrete-laplace", 2.0).half_width(), 2), Spread("discrete-gaussian", 2.0).half_width()
        (5.99, 3.92)
        """
        if self.kind.endswith("laplace") and cells == 1:
            return self.scale * math.log(20)
        return 1.96 * self.deviation * math.sqrt(cells)


@dataclass(frozen=True)
class View:
    """Counts of a column set as they are drawn; ``half_width`` 0 means that no band is known."""

    names: ColumnSet
    axes: tuple[Axis, ...]
    counts: Counts
    half_width: float = 0.0
    truth: Counts | None = None
    notes: tuple[str, ...] = ()
    widths: Array | None = None
    """Widths of the present cells of one column of numbers or dates."""
    variance: float = 0.0
    """Variance of the noise on each count; 0 means that it is not known."""


def spreads(document: ReleaseDocument) -> dict[str, Spread]:
    """Return the noise of each measured table by the name of its stage."""
    return {part.stage: Spread(event.kind, part.scale) for event in document.events for part in event.parts}


def fewer_bars(view: View) -> View:
    """Return a one-way view that can be read: neighbouring cells merged, or only the largest levels."""
    size = len(view.counts)
    if size <= (MOST_BARS if view.axes[0].ordered else MOST_LEVELS):
        return view
    return _merged(view) if view.axes[0].ordered else _largest(view)


def _largest(view: View) -> View:
    kept = np.sort(np.argsort(-view.counts, kind="stable")[:MOST_LEVELS])
    axis = replace(view.axes[0], labels=tuple(view.axes[0].labels[i] for i in kept))
    note = f"Drawn are the {len(kept)} largest of {len(view.counts):,} released counts."
    truth = None if view.truth is None else view.truth[kept]
    return replace(view, axes=(axis,), counts=view.counts[kept], truth=truth, notes=(*view.notes, note))


def _merged(view: View) -> View:
    axis, size = view.axes[0], len(view.counts)
    present = size - int(axis.missing)
    step = -(-present // (MOST_BARS // 2))
    starts = [*range(0, present, step), *([present] if axis.missing else [])]
    names = tuple(_span(axis.labels[start:end]) for start, end in zip(starts, [*starts[1:], size], strict=True))
    note = f"Drawn are sums of {step} neighbouring cells; the data files hold every cell."
    truth = None if view.truth is None else np.add.reduceat(view.truth, starts)
    widths = None if view.widths is None else np.add.reduceat(view.widths, range(0, present, step))
    return replace(
        view,
        axes=(replace(axis, labels=names),),
        counts=np.add.reduceat(view.counts, starts),
        half_width=view.half_width * math.sqrt(step),
        truth=truth,
        notes=(*view.notes, note),
        widths=widths,
        variance=view.variance * step,
    )


def _span(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"


def wide(view: View) -> View:
    """Turn a two-way view so that the longer axis runs across."""
    if view.counts.shape[1] >= view.counts.shape[0]:
        return view
    truth = None if view.truth is None else view.truth.T
    return replace(view, names=view.names[::-1], axes=view.axes[::-1], counts=view.counts.T, truth=truth)


def top_of(view: View) -> float:
    """Return the largest count, released or true: the end of the colour scale."""
    return float(max(view.counts.max(initial=1), 1 if view.truth is None else view.truth.max(initial=1)))


def say(number: float) -> str:
    """Return a number for people: whole ones with thousands separators, others with three digits."""
    return f"{number:,.0f}" if float(number).is_integer() or abs(number) >= 1000 else f"{number:.3g}"
