"""Cards of released one-way marginals, and heatmaps of two- and three-way ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sfumato.arrays import Counts, FloatArray
from sfumato.bundle.description import noise_by_stage
from sfumato.bundle.document import ReleaseDocument
from sfumato.core.plan import StageNoise
from sfumato.formatting import format_number
from sfumato.report.cards import (
    MISSING,
    Bar,
    ColumnCard,
    TableBlock,
    edges_of,
    largest_indices,
    level_bar,
    level_words,
    noise_span,
)
from sfumato.report.charts.heatmap import HeatmapAxis, fits_across, heatmap
from sfumato.report.charts.histogram import MOST_BARS, MOST_EQUAL, HistogramBins, histogram, rebin
from sfumato.report.release_page.column_cards import SHORT, kind_text
from sfumato.sampling.fine_cells import cell_widths
from sfumato.sampling.smooth_density import fit_density
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_SMOOTHED, MOST_SMOOTHED = 8, 110
"""Fewer cells are read one by one, and a curve would say nothing more; a curve costs the third power of its cells."""
DIGITS = 3
"""Significant digits of a drawn curve: the page is compared byte by byte on other machines, which round otherwise."""
ColumnSet = tuple[str, ...]
MOST_VALUES = 150
"""Lines of the table of values under a figure."""
MOST_CELLS, MOST_PANELS = 5000, 12
"""Cells and maps of one figure; larger tables are shown column by column."""
MOST_LEVELS = 40


def smoothed_density(counts: FloatArray, widths: FloatArray, variance: float) -> FloatArray | None:
    """Return the smooth curve at the cells of a column with an order; none without a known noise or with few cells."""
    if variance <= 0 or not LEAST_SMOOTHED <= len(counts) <= MOST_SMOOTHED:
        return None
    density = fit_density(counts.astype(float), variance * np.eye(len(counts)), widths)
    return np.array([float(f"{count:.{DIGITS}g}") for count in density.counts])


@dataclass(frozen=True)
class ReleasedMarginal:
    """Counts of some columns as they were released, with their noise, and true ones in the custodian's copy."""

    columns: tuple[Column, ...]
    counts: Counts
    spread: StageNoise | None
    cells: int = 1
    """Cells of the released table that one count sums up."""
    truth: Counts | None = None
    shapes: bool = True
    """Whether a smooth shape may be drawn."""
    note: str = ""

    @property
    def name(self) -> str:
        """The names of its columns."""
        return " x ".join(column.name for column in self.columns)

    @property
    def half_width(self) -> float:
        """How far 95 % of the noise on one count reaches; 0 where it is not known."""
        return 0.0 if self.spread is None else self.spread.half_width(self.cells)

    @property
    def half_width_text(self) -> str:
        """How far 95 % of the noise on one count reaches, in words."""
        return f"± {format_number(float(f'{self.half_width:.3g}'))}"

    @property
    def sides(self) -> dict[str, Counts]:
        """The released counts, and beside them the true ones in the custodian's copy."""
        return {"released": self.counts} | ({} if self.truth is None else {"true": self.truth})

    def written(self, place: int | tuple[int, ...]) -> tuple[str, ...]:
        """Return the counts of one cell, of each side."""
        return tuple(format_number(side.item(place)) for side in self.sides.values())

    def summed(self, axis: int) -> ReleasedMarginal:
        """Return the counts of one column, summed over all others: for a table that is too large to draw."""
        others = tuple(i for i in range(self.counts.ndim) if i != axis)
        cells = self.counts.size // self.counts.shape[axis]
        note = (
            f"From {self.name}: its {self.counts.size:,} cells are too many to draw. These are sums over the other "
            f"columns, so the noise of {cells:,} cells adds up. The data files hold every cell."
        )
        truth = None if self.truth is None else self.truth.sum(axis=others)
        return ReleasedMarginal(
            (self.columns[axis],), self.counts.sum(axis=others), self.spread, cells, truth, self.shapes, note
        )


def released_marginals(
    document: ReleaseDocument,
    schema: Schema,
    tables: Mapping[ColumnSet, pa.Table],
    truth: Mapping[ColumnSet, Counts] | None,
) -> list[ReleasedMarginal]:
    """Return the released tables; smooth shapes fit all but counts whose rows were drawn once more."""
    noise, shapes = noise_by_stage(document), not document.method.parameters.get("synthetic")
    return [
        ReleasedMarginal(
            tuple(schema[name] for name in names),
            table.column(table.num_columns - 1).to_numpy().reshape(schema.shape(names)),
            noise.get(" x ".join(names)),
            truth=None if truth is None else truth[names],
            shapes=shapes,
        )
        for names, table in tables.items()
    ]


def cell_labels(column: Column) -> tuple[str, ...]:
    """Return what the cells of a column are called, missing last where it may occur.

    >>> cell_labels(Column("sex", "category", values=("f", "m"), missing=True))
    ('f', 'm', 'missing')
    """
    known = tuple(map(str, column.labels[: column.present_size])) if column.is_ordered else level_words(column)
    return (*known, *((MISSING if MISSING not in known else "(missing)",) if column.missing else ()))


def marginal_card(number: int, table: ReleasedMarginal) -> ColumnCard:
    """Return the card of one column of counts."""
    column = table.columns[0]
    labels = cell_labels(column)
    lines = tuple((label, *table.written(place)) for place, label in enumerate(labels[:MOST_VALUES]))
    header = (column.unit or column.name, *table.sides)
    card = ColumnCard(
        place=f"column-{number}",
        name=column.name,
        kind=kind_text(column),
        label=column.description or "",
        sentence=table.note,
        missing=_missing(table) if column.missing else None,
        numbers=_numbers(table),
        values=TableBlock.of_numbers(header, lines, len(table.counts) - len(lines)),
        short=SHORT.get(column.kind, column.kind),
    )
    return replace(card, **(_of_numbers(table) if column.is_ordered else _of_levels(table, labels)))


def _numbers(table: ReleasedMarginal) -> TableBlock:
    """Return the sum of all counts and the noise of one."""
    rows = [("all counts together", *(format_number(int(side.sum())) for side in table.sides.values()))]
    beside = ("",) * (table.truth is not None)
    if table.half_width:
        rows.append(("95 % of the noise of a count", table.half_width_text, *beside))
    if table.truth is not None:
        apart = float(np.abs(table.counts - table.truth).max(initial=0))
        rows.append(("furthest from the true count", format_number(apart), *beside))
    return TableBlock.of_numbers(("", *table.sides), tuple(rows))


def _bar(table: ReleasedMarginal, place: int, label: str, top: float) -> Bar:
    count = float(table.counts[place])
    true = None if table.truth is None else (format_number(float(table.truth[place])), float(table.truth[place]))
    return level_bar(label, format_number(count), count, top, noise_span(count, table.half_width), true)


def _missing(table: ReleasedMarginal) -> Bar:
    """Return the missing values as a bar of their own: its full length is all counts together."""
    sums = [table.counts.clip(0).sum(), 1 if table.truth is None else table.truth.sum()]
    return _bar(table, len(table.counts) - 1, MISSING, float(max(sums)) or 1.0)


def _of_levels(table: ReleasedMarginal, labels: Sequence[str]) -> dict[str, Any]:
    present = table.columns[0].present_size
    sizes = table.counts[:present] if table.truth is None else np.maximum(table.counts, table.truth)[:present]
    kept = largest_indices(sizes.tolist())
    top = float(max(sizes.max(initial=0) + table.half_width, 1))
    return {
        "bars": tuple(_bar(table, place, labels[place], top) for place in kept),
        "more": present - len(kept),
    }


def _of_numbers(table: ReleasedMarginal) -> dict[str, Any]:
    column, merged = table.columns[0], merged_cells(table)
    shown = merged.occupied()
    words = (
        f"Released counts of {column.name} in {len(merged.released)} cells, most in one cell: "
        f"{format_number(float(merged.released.max(initial=0)))}. The table of values holds the counts."
    )
    figure: dict[str, Any] = {"picture": histogram(merged, column.kind, words)}
    if len(shown.released) < len(merged.released) and not table.note:
        figure["sentence"] = "Not drawn are the ends of its range, where no count stands out."
    return figure


def merged_cells(table: ReleasedMarginal) -> HistogramBins:
    """Return the present cells of a column, neighbours joined where they are too many to draw."""
    column = table.columns[0]
    present = column.present_size
    step = -(-present // MOST_EQUAL)
    starts = np.arange(0, present, step)
    edges = edges_of(column)
    released = np.add.reduceat(table.counts[:present].astype(float), starts)
    widths = np.add.reduceat(cell_widths(column), starts)
    variance = 0.0 if table.spread is None else table.cells * step * table.spread.deviation**2
    return HistogramBins(
        np.append(edges[starts], edges[-1]),
        released,
        None if table.truth is None else np.add.reduceat(table.truth[:present].astype(float), starts),
        None if table.spread is None else np.full(len(released), table.spread.half_width(table.cells * step)),
        smoothed_density(released, widths, variance) if table.shapes else None,
        counts=True,
    )


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
        yield f"95 % of the noise of a count lies within {table.half_width_text}."


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
    rows = tuple(_line(table, words, place) for place in islice(np.ndindex(*table.counts.shape), MOST_VALUES))
    header = (*(column.name for column in table.columns), *table.sides)
    return TableBlock.of_numbers(header, rows, table.counts.size - len(rows), len(table.columns))


def _line(table: ReleasedMarginal, words: Sequence[Sequence[str]], place: tuple[int, ...]) -> tuple[str, ...]:
    return (*(each[i] for each, i in zip(words, place, strict=True)), *table.written(place))


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
