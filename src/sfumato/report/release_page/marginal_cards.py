"""Cards of released one-way marginals, and larger marginals summed to one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.arrays import Counts, FloatArray
from sfumato.bundle.description import noise_by_stage
from sfumato.bundle.document import ReleaseDocument
from sfumato.core.plan import StageNoise
from sfumato.formatting import format_number
from sfumato.report.cards import MISSING, Bar, ColumnCard, TableBlock, largest_indices, level_bar, noise_span
from sfumato.report.charts.histogram import MOST_EQUAL, HistogramBins, histogram
from sfumato.report.release_page.column_cards import SHORT, kind_text
from sfumato.report.release_page.points import edges_of, level_words
from sfumato.sampling.fine_cells import cell_widths
from sfumato.sampling.smooth_density import fit_density
from sfumato.schema import Schema
from sfumato.schema.column import Column

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_CELLS, MOST_CELLS = 8, 110
"""Fewer cells are read one by one, and a curve would say nothing more; a curve costs the third power of its cells."""
DIGITS = 3
"""Significant digits of a drawn curve: the page is compared byte by byte on other machines, which round otherwise."""


def smoothed_density(counts: FloatArray, widths: FloatArray, variance: float) -> FloatArray | None:
    """Return the smooth curve at the cells of a column with an order; none without a known noise or with few cells."""
    if variance <= 0 or not LEAST_CELLS <= len(counts) <= MOST_CELLS:
        return None
    density = fit_density(counts.astype(float), variance * np.eye(len(counts)), widths)
    return np.array([float(f"{count:.{DIGITS}g}") for count in density.counts])


ColumnSet = tuple[str, ...]

MOST_VALUES = 150
"""Lines of the table of values under a figure."""


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
    header = (column.unit or column.name, "released", *(() if table.truth is None else ("true",)))
    lines = tuple(
        (label, format_number(count), *(() if table.truth is None else (format_number(table.truth.item(i)),)))
        for i, (label, count) in enumerate(zip(labels, table.counts.tolist(), strict=True))
    )
    card = ColumnCard(
        place=f"column-{number}",
        name=column.name,
        kind=kind_text(column),
        label=column.description or "",
        sentence=table.note,
        missing=_missing(table) if column.missing else None,
        numbers=_numbers(table),
        values=TableBlock.of_numbers(header, lines[:MOST_VALUES], max(len(lines) - MOST_VALUES, 0)),
        short=SHORT.get(column.kind, column.kind),
    )
    return replace(card, **(_of_numbers(table) if column.is_ordered else _of_levels(table, labels)))


def _numbers(table: ReleasedMarginal) -> TableBlock:
    """Return the sum of all counts and the noise of one."""
    true = table.truth is not None
    header = ("", "released", *(("true",) if true else ()))
    rows = [
        (
            "all counts together",
            format_number(int(table.counts.sum())),
            *((format_number(int(table.truth.sum())),) if table.truth is not None else ()),
        )
    ]
    if table.half_width:
        rows.append(
            (
                "95 % of the noise of a count",
                f"± {format_number(float(f'{table.half_width:.3g}'))}",
                *(("",) if true else ()),
            )
        )
    if table.truth is not None:
        apart = float(np.abs(table.counts - table.truth).max(initial=0))
        rows.append(("furthest from the true count", format_number(apart), ""))
    return TableBlock.of_numbers(header, tuple(rows))


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
