"""Released curves and single values with the band of their noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from sfumato.formatting import format_number
from sfumato.report.cards import TableBlock
from sfumato.report.charts.marks import Axis, LineMark, lines

if TYPE_CHECKING:
    import pyarrow as pa

ColumnSet = tuple[str, ...]
SPREAD = "noise_sd"
"""Column of a released table that holds the public standard deviation of the noise on the column before it."""
BAND = 1.96
MOST_VALUES = 150
MOVES = "The band holds 95 % of the noise at each point; the noise of neighbouring points moves together."


@dataclass(frozen=True)
class CurveFigure:
    """A curve or a number with its noise, and the values behind it."""

    place: str
    name: str
    notes: tuple[str, ...]
    number: str
    """A single number in large type; empty for a curve."""
    picture: Markup | None
    values: TableBlock


def value_figures(
    tables: Mapping[ColumnSet, pa.Table], truth: Mapping[ColumnSet, pa.Table] | None = None
) -> list[CurveFigure]:
    """Return a figure for every released table of numbers."""
    return [
        (_curve if _is_curve(table) else _number)(f"value-{i}", table, None if truth is None else truth[names])
        for i, (names, table) in enumerate(tables.items(), 1)
    ]


def _is_curve(table: pa.Table) -> bool:
    """Whether a table is a curve: place, value, spread of the noise, and more than one line."""
    return table.num_rows > 1 and table.num_columns == 3 and table.column_names[2] == SPREAD


def _curve(place: str, table: pa.Table, truth: pa.Table | None) -> CurveFigure:
    along, value, _ = table.column_names
    x, y, sd = (column.to_pylist() for column in table.columns)
    true = None if truth is None else truth.column(1).to_pylist()
    low, high = ([b + way * BAND * s for b, s in zip(y, sd, strict=True)] for way in (-1, 1))
    items = [LineMark("released", x, y, low, high, note="with 95 % of its noise")]
    if true is not None:
        items.append(LineMark("true (confidential)", x, true, dashed=True))
    title = f"{value} by {along}".replace("_", " ")
    words = (
        f"Curve of the released {value} against {along}: {format_number(len(x))} points from {y[0]:.4g} to "
        f"{y[-1]:.4g}, lowest "
        f"{min(y):.4g}, highest {max(y):.4g}; 95 % of the noise within ± {BAND * max(sd):.3g}."
    )
    return CurveFigure(place, title, (MOVES,), "", lines(items, Axis(along), Axis(value), words), _lines(table, true))


def _lines(table: pa.Table, true: list[float] | None) -> TableBlock:
    along, value, _ = table.column_names
    rows = [
        (format_number(x), f"{y:.6g}", f"± {BAND * sd:.3g}", *(() if true is None else (f"{true[i]:.6g}",)))
        for i, (x, y, sd) in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True))
    ]
    header = (along, f"released {value}", "95 % of the noise", *(() if true is None else (f"true {value}",)))
    return TableBlock.of_numbers(header, tuple(rows[:MOST_VALUES]), max(len(rows) - MOST_VALUES, 0))


def _number(place: str, table: pa.Table, truth: pa.Table | None) -> CurveFigure:
    """Return a single number in large type with its noise, or several as a table."""
    names = table.column_names
    at = names.index(SPREAD) - 1 if SPREAD in names else len(names) - 1
    true = None if truth is None else truth.column(at).to_pylist()
    rows = [
        (*map(_plain, line.values()), *(() if true is None else (_plain(true[i]),)))
        for i, line in enumerate(table.to_pylist())
    ]
    header = (*(name.replace("_", " ") for name in names), *(() if true is None else ("true (confidential)",)))
    notes: list[str] = []
    if len(rows) == 1 and SPREAD in names:
        notes.append(f"The noise has a standard deviation of {table.column(SPREAD)[0].as_py():.3g}.")
    if len(rows) == 1 and true is not None:
        notes.append(f"Without noise it is {_plain(true[0])}: confidential.")
    number = rows[0][at] if len(rows) == 1 else ""
    return CurveFigure(
        place, names[at].replace("_", " "), tuple(notes), number, None, TableBlock.of_numbers(header, tuple(rows))
    )


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
