"""Heatmaps of released two- and three-way marginals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from sfumato.arrays import Counts, FloatArray
from sfumato.formatting import format_number
from sfumato.report.cards import TableBlock, largest_indices
from sfumato.report.charts.heatmap import HeatmapAxis, fits_across, heatmap
from sfumato.report.charts.histogram import MOST_BARS, rebin
from sfumato.report.release_page.marginal_cards import MOST_VALUES, ReleasedMarginal, cell_labels
from sfumato.report.release_page.points import edges_of
from sfumato.schema.column import Column

MOST_CELLS, MOST_PANELS = 5000, 12
"""Cells and maps of one figure; larger tables are shown column by column."""
MOST_LEVELS = 40


@dataclass(frozen=True)
class HeatmapPanel:
    """One map; ``true`` is whether it shows true counts."""

    title: str
    picture: Markup
    true: bool = False


@dataclass(frozen=True)
class HeatmapCard:
    """A released table of two columns or three."""

    place: str
    name: str
    notes: tuple[str, ...]
    panels: tuple[HeatmapPanel, ...]
    values: TableBlock
    numbers: TableBlock | None = None


def is_small_enough(table: ReleasedMarginal) -> bool:
    """Whether a table of several columns is small enough for maps."""
    few = len(table.columns) == 2 or (len(table.columns) == 3 and min(table.counts.shape) <= MOST_PANELS)
    return few and table.counts.size <= MOST_CELLS


def map_card(number: int, table: ReleasedMarginal) -> HeatmapCard:
    """Return the maps of a table: one, or one for each level of the column with the fewest."""
    top = float(max(table.counts.max(initial=1), 1 if table.truth is None else table.truth.max(initial=1)))
    panels = _panels(table, "", top) if len(table.columns) == 2 else _several(table, top)
    return HeatmapCard(
        f"table-{number}", table.name, tuple(_notes(table, top)), tuple(panels), _values(table), _worst(table)
    )


def _notes(table: ReleasedMarginal, top: float) -> Iterator[str]:
    below = "; counts below 0 are drawn like 0" if table.counts.min(initial=0) < 0 else ""
    yield f"Full colour is a count of {format_number(top)}{below}."
    if table.half_width:
        yield f"95 % of the noise of a count lies within ± {format_number(float(f'{table.half_width:.3g}'))}."


def _several(table: ReleasedMarginal, top: float) -> Iterator[HeatmapPanel]:
    split = int(np.argmin(table.counts.shape))
    rest = tuple(column for i, column in enumerate(table.columns) if i != split)
    for level, label in enumerate(cell_labels(table.columns[split])):
        counts = np.take(table.counts, level, axis=split)
        truth = None if table.truth is None else np.take(table.truth, level, axis=split)
        part = ReleasedMarginal(rest, counts, table.spread, truth=truth)
        yield from _panels(part, f"{table.columns[split].name}: {label}", top)


def _panels(table: ReleasedMarginal, title: str, top: float) -> Iterator[HeatmapPanel]:
    """Return the released map and, in the custodian's copy, the true one in the same cells and shades."""
    down, across = table.columns
    if not fits_across(across.is_ordered, cell_labels(across)) and fits_across(down.is_ordered, cell_labels(down)):
        flipped = None if table.truth is None else table.truth.T
        table = ReleasedMarginal((across, down), table.counts.T, table.spread, truth=flipped)
    heading = title or "released"
    yield HeatmapPanel(
        heading if title or table.truth is not None else "", _map(table, table.counts, top, "Released counts")
    )
    if table.truth is not None:
        yield HeatmapPanel(
            f"{heading}, true (confidential)" if title else "true (confidential)",
            _map(table, table.truth, top, "True counts"),
            True,
        )


def _map(table: ReleasedMarginal, counts: Counts, top: float, what: str) -> Markup:
    amounts, written, finer = counts.astype(float), counts, 1.0
    sides: list[HeatmapAxis] = []
    for axis, column in enumerate(table.columns):
        kept = _kept(table, axis, column)
        amounts, written = np.take(amounts, kept, axis), np.take(written, kept, axis)
        side, amounts = _side(column, kept, amounts, axis)
        finer *= side.size / len(kept)
        sides.append(side)
    down, across = (column.name for column in table.columns)
    words = f"{what} by {down} (at the side) and {across} (across); the table of values holds them."
    cell_words = (
        [[format_number(each) for each in row] for row in written.tolist()]
        if not any(side.rises for side in sides)
        else None
    )
    return heatmap(amounts, sides[0], sides[1], words, top=top / finer, written=cell_words)


def _kept(table: ReleasedMarginal, axis: int, column: Column) -> list[int]:
    """Return the cells of an axis that are drawn: the range of numbers that stands out, or the largest levels."""
    sums = table.counts.sum(1 - axis) if table.truth is None else np.maximum(table.counts, table.truth).sum(1 - axis)
    if not column.is_ordered:
        return largest_indices(sums.tolist(), MOST_LEVELS)
    sums = sums[: column.present_size]
    noise = 0.0 if table.spread is None else table.spread.half_width(table.counts.shape[1 - axis])
    full = np.flatnonzero(sums > noise)
    return list(range(int(full[0]), int(full[-1]) + 1)) if len(full) else list(range(len(sums)))


def _side(column: Column, kept: Sequence[int], amounts: FloatArray, axis: int) -> tuple[HeatmapAxis, FloatArray]:
    """Return the axis of a column and the amounts along it, in equal cells where it has numbers."""
    title = f"{column.name} ({column.unit})" if column.unit else column.name
    if not column.is_ordered:
        words = cell_labels(column)
        return HeatmapAxis(title, tuple(words[place] for place in kept)), amounts
    edges = edges_of(column)[kept[0] : kept[-1] + 2]
    widths = np.diff(edges)
    if len(widths) > MOST_BARS or widths.min() <= 0.999 * widths.max():
        grid = np.linspace(edges[0], edges[-1], min(MOST_BARS, 3 * len(widths)) + 1)
        amounts = np.apply_along_axis(lambda line: rebin(edges, line, grid), axis, amounts)
        edges = grid
    return HeatmapAxis(title, edges=tuple(edges.tolist()), kind=column.kind), amounts


def _values(table: ReleasedMarginal) -> TableBlock:
    """Return the cells in the order of the data file."""
    words = [cell_labels(column) for column in table.columns]
    true = () if table.truth is None else ("true",)
    rows: list[tuple[str, ...]] = []
    for place in np.ndindex(*table.counts.shape):
        if len(rows) == MOST_VALUES:
            break
        rows.append(_line(table, words, place))
    header = (*(column.name for column in table.columns), "released", *true)
    return TableBlock.of_numbers(header, tuple(rows), table.counts.size - len(rows), len(table.columns))


def _line(table: ReleasedMarginal, words: Sequence[Sequence[str]], place: tuple[int, ...]) -> tuple[str, ...]:
    labels = (each[i] for each, i in zip(words, place, strict=True))
    true = () if table.truth is None else (format_number(table.truth.item(place)),)
    return (*labels, format_number(table.counts.item(place)), *true)


def _worst(table: ReleasedMarginal, most: int = 5) -> TableBlock | None:
    """Return the counts that lie furthest from the true ones, in the custodian's copy."""
    if table.truth is None:
        return None
    words = [cell_labels(column) for column in table.columns]
    apart = np.abs(table.counts - table.truth)
    order = np.argsort(-apart, axis=None, kind="stable")[:most]
    rows = []
    for place in (tuple(map(int, np.unravel_index(at, apart.shape))) for at in order.tolist()):
        *labels, released, true = _line(table, words, place)
        rows.append((", ".join(labels), released, true))
    return TableBlock.of_numbers(("furthest from the truth", "released", "true"), tuple(rows))
