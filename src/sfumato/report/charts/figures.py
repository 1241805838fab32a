"""Which charts a release gets: figures with captions, the values behind them, and a word on what is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.report.charts.look import Spec, axis_of, bars, heat
from sfumato.report.charts.shape import SHAPE_NOTE, smooth_shape
from sfumato.report.charts.views import (
    MOST_LEVELS,
    ColumnSet,
    Counts,
    Spread,
    View,
    fewer_bars,
    say,
    spreads,
    top_of,
    wide,
)
from sfumato.report.document import ReleaseDocument
from sfumato.rows.smooth.fine import widths_of
from sfumato.rows.smooth.layers import BLOCK, LAYER_WORDS
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CELLS = 5000
"""Cells that one figure draws; larger tables are shown column by column."""
MOST_PANELS = 12
MOST_FIGURES = 24
MOST_COLUMNS = 12
"""Columns of a synthetic table that get a histogram."""
MOST_PAIRS = 3
MOST_VALUES = 150
"""Lines of the table of values under a figure."""


@dataclass(frozen=True)
class Panel:
    """One chart, with a title where a figure has several and words for those who cannot see it."""

    title: str
    label: str
    spec: Spec


@dataclass(frozen=True)
class Figure:
    """Charts of one released table and the values behind them."""

    title: str
    notes: tuple[str, ...]
    panels: tuple[Panel, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0
    narrow: bool = False
    """Whether two such figures may stand side by side."""
    whole: bool = False
    """Whether its chart keeps its shape, in the middle of the page."""


def count_figures(
    document: ReleaseDocument,
    schema: Schema,
    tables: Mapping[ColumnSet, pa.Table],
    truth: Mapping[ColumnSet, Counts] | None = None,
) -> list[Figure]:
    """Return the figures of released count tables; with smooth shapes unless their rows were drawn once more."""
    noise, shapes = spreads(document), not document.method.parameters.get("synthetic")
    figures: list[Figure] = []
    for names, table in list(tables.items())[:MOST_FIGURES]:
        counts = table.column(table.num_columns - 1).to_numpy().reshape(schema.shape(names))
        true = None if truth is None else truth[names]
        figures += _table_figures(schema, names, counts, noise.get(" x ".join(names)), true, shapes)
    return figures


def row_figures(
    document: ReleaseDocument,
    schema: Schema,
    counts: Mapping[ColumnSet, Counts],
    truth: Mapping[ColumnSet, Counts] | None = None,
) -> list[Figure]:
    """Return the figures of synthetic rows, from the marginals of those rows."""
    noise, total = spreads(document), document.statistics.get("noisy_total")
    figures: list[Figure] = []
    for names, table in counts.items():
        axes = tuple(axis_of(schema[name]) for name in names)
        spread, finer = noise.get(" x ".join(names)), _finer(document, names, table.size)
        band = _scaled(spread, finer, int(table.sum()), total) if len(names) == 1 else 0.0
        true = None if truth is None else truth[names]
        notes = (_row_note(band),) if band else _layer_notes(document, names, table, noise, total)
        view = View(names, axes, table, band, true, notes)
        figure = one_way(view) if len(names) == 1 else two_way(view)
        figures.append(replace(figure, narrow=len(names) == 1 and table.size <= MOST_LEVELS))
    return figures


def _finer(document: ReleaseDocument, names: ColumnSet, cells: int) -> int:
    """Return how many measured cells make up one drawn cell: a method may count on a finer grid than the schema's."""
    measured = [stage.cells for stage in document.stages if stage.name == " x ".join(names)]
    return max(1, math.ceil(measured[0] / cells)) if measured else 1


def _layer_notes(
    document: ReleaseDocument, names: ColumnSet, table: Counts, noise: Mapping[str, Spread], total: Any
) -> tuple[str, ...]:
    """Say how well a column in layers is known: no line on a bar could, for a curve goes through all of them."""
    stages = {stage.name: stage.cells for stage in document.stages}
    blocks, cells = (f"{' x '.join(names)}: {words}" for words in LAYER_WORDS[:2])
    if len(names) > 1 or blocks not in stages or cells not in stages:
        return ()
    band = _scaled(noise.get(blocks), 1, int(table.sum()), total)
    bars = max(1, round(BLOCK * table.size / stages[cells]))
    return (
        f"This column was measured in layers of cells, and a smooth curve was drawn through them. About {say(bars)} "
        f"neighbouring bars together are known to within ± {say(band)} (95 % of the noise of one block); single bars "
        "lean on their neighbours. Drawing rows adds chance of its own.",
    )


def _scaled(spread: Spread | None, finer: int, rows: int, total: Any) -> float:
    """Return the band of a measured count, carried over to the number of rows that were drawn."""
    if spread is None:
        return 0.0
    return spread.half_width(finer) * (rows / total if isinstance(total, int | float) and total > 0 else 1.0)


def _row_note(band: float) -> str:
    return (
        f"The lines show 95 % of the noise on the measured counts behind this column (± {say(band)}); drawing rows "
        "adds chance of its own."
    )


def chart_sets(document: ReleaseDocument, schema: Schema, columns: Sequence[str]) -> list[ColumnSet]:
    """Return the marginals of synthetic rows that are worth a chart: single columns, then pairs that the model ties."""
    singles: list[ColumnSet] = [(name,) for name in columns[:MOST_COLUMNS]]
    tied = (document.statistics.get(key, []) for key in ("tree", "measured_tables"))
    edges = [pair for tables in tied for names in tables for pair in combinations(names, 2)]
    pairs = [pair for pair in (*edges, *combinations(columns, 2)) if set(pair) <= set(columns)]
    small = [pair for pair in dict.fromkeys(pairs) if math.prod(schema.shape(pair)) <= MOST_CELLS]
    return [*singles, *small[:MOST_PAIRS]]


def _table_figures(
    schema: Schema,
    names: ColumnSet,
    counts: Counts,
    spread: Spread | None,
    truth: Counts | None,
    shapes: bool = True,
) -> list[Figure]:
    axes = tuple(axis_of(schema[name]) for name in names)
    width = spread.half_width() if spread else 0.0
    view = View(names, axes, counts, width, truth)
    if len(names) == 1:
        noted = replace(view, notes=(_noise_note(width),) if width else ())
        return [one_way(_with_shape(noted, schema[names[0]], spread) if shapes else noted)]
    if counts.size <= MOST_CELLS and len(names) == 2:
        return [two_way(view)]
    if counts.size <= MOST_CELLS and len(names) == 3 and min(counts.shape) <= MOST_PANELS:
        return [three_way(view)]
    return [_summed(view, axis, spread, schema[name]) for axis, name in enumerate(names)]


def _with_shape(view: View, column: Column, spread: Spread | None, cells: int = 1) -> View:
    """Return a one-way view that knows what a smooth shape needs, where its column has one."""
    if spread is None or not column.is_ordered:
        return view
    return replace(view, widths=widths_of(column), variance=cells * spread.deviation**2)


def _noise_note(width: float) -> str:
    return f"The lines show where 95 % of the noise lies: ± {say(width)} around each count."


def _summed(view: View, axis: int, spread: Spread | None, column: Column) -> Figure:
    """Return the one-way view of a table that is too large to draw cell by cell."""
    others = tuple(i for i in range(view.counts.ndim) if i != axis)
    cells = view.counts.size // view.counts.shape[axis]
    width = spread.half_width(cells) if spread else 0.0
    table = " x ".join(view.names)
    note = (
        f"The table {table} has {view.counts.size:,} cells, too many to draw: these are its counts summed over the "
        f"other columns, so the noise of {cells:,} cells adds up (95 % within ± {say(width)}). The data files hold "
        "every cell."
    )
    truth = None if view.truth is None else view.truth.sum(axis=others)
    summed = View((view.names[axis],), (view.axes[axis],), view.counts.sum(axis=others), width, truth, (note,))
    return replace(one_way(_with_shape(summed, column, spread, cells)), title=f"{view.names[axis]}, from {table}")


def one_way(view: View) -> Figure:
    """Return bars of one column, with the values behind them."""
    shown = fewer_bars(view)
    title = view.names[0]
    shape = smooth_shape(shown)
    spec = bars(shown.axes[0], shown.counts, shown.half_width, shown.truth, shape=shape)
    label = f"Bar chart of released counts by {title}, {len(shown.counts)} bars; the table below holds the values."
    axis, truth = view.axes[0], view.truth
    lines = [
        (name, say(count), *(() if truth is None else (say(truth[i]),)))
        for i, (name, count) in enumerate(zip(axis.labels, view.counts.tolist(), strict=True))
    ]
    header = (axis.title, "released count", *(() if truth is None else ("true count",)))
    notes = (*shown.notes, *(() if shape is None else (SHAPE_NOTE,)), *_truth_note(truth, "Diamonds"))
    return Figure(title, notes, (Panel("", label, spec),), header, tuple(lines[:MOST_VALUES]), _over(lines))


def two_way(view: View) -> Figure:
    """Return a heat map of two columns; beside it the true one in the custodian's copy."""
    flat = wide(view)
    top = top_of(flat)
    panels = [_heat_panel(flat, flat.counts, top, "" if flat.truth is None else "released")]
    if flat.truth is not None:
        panels.append(_heat_panel(flat, flat.truth, top, "true (confidential)"))
    return _cells_figure(view, tuple(panels), _heat_notes(view, top))


def three_way(view: View) -> Figure:
    """Return one heat map per level of the column with the fewest levels."""
    split, panels = int(np.argmin(view.counts.shape)), list[Panel]()
    top = top_of(view)
    for level, label in enumerate(view.axes[split].labels):
        flat, title = wide(_slice(view, split, level)), f"{view.axes[split].title}: {label}"
        panels.append(_heat_panel(flat, flat.counts, top, title, legend=False))
        if flat.truth is not None:
            panels.append(_heat_panel(flat, flat.truth, top, f"{title}, true (confidential)", legend=False))
    return _cells_figure(view, tuple(panels), _heat_notes(view, top))


def _slice(view: View, axis: int, level: int) -> View:
    rest = [i for i in range(view.counts.ndim) if i != axis]
    truth = None if view.truth is None else np.moveaxis(view.truth, axis, 0)[level]
    counts = np.moveaxis(view.counts, axis, 0)[level]
    return View(tuple(view.names[i] for i in rest), tuple(view.axes[i] for i in rest), counts, truth=truth)


def _heat_panel(view: View, counts: Counts, top: float, title: str, legend: bool = True) -> Panel:
    label = f"Heat map of counts by {view.names[0]} and {view.names[1]}{f' ({title})' if title else ''}."
    return Panel(title, label, heat(view.axes[1], view.axes[0], counts, top, legend=legend))


def _heat_notes(view: View, top: float) -> tuple[str, ...]:
    below = "; counts below 0 are drawn like 0" if view.counts.min(initial=0) < 0 else ""
    notes = [f"Full colour is a count of {say(top)}{below}."]
    if view.half_width:
        notes.append(f"95 % of the noise lies within ± {say(view.half_width)} of each count.")
    return tuple(notes)


def _truth_note(truth: Counts | None, mark: str) -> tuple[str, ...]:
    return () if truth is None else (f"{mark} are true counts: confidential.",)


def _cells_figure(view: View, panels: tuple[Panel, ...], notes: tuple[str, ...]) -> Figure:
    """Return a figure whose table of values lists the cells in the order of the data file."""
    lines: list[tuple[str, ...]] = []
    for place in np.ndindex(*view.counts.shape):
        if len(lines) == MOST_VALUES:
            break
        labels = (axis.labels[i] for axis, i in zip(view.axes, place, strict=True))
        true = () if view.truth is None else (say(view.truth.item(place)),)
        lines.append((*labels, say(view.counts.item(place)), *true))
    header = (*(axis.title for axis in view.axes), "released count", *(() if view.truth is None else ("true count",)))
    left = view.counts.size - len(lines)
    return Figure(" x ".join(view.names), (*view.notes, *notes), panels, header, tuple(lines), left)


def _over(lines: Sequence[Any]) -> int:
    return max(len(lines) - MOST_VALUES, 0)
