"""Figures of released numbers: a curve with its band of noise. A single number needs a place on the card, no chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import altair as alt

from sfumato.report.charts.figures import MOST_VALUES, Figure, Panel
from sfumato.report.charts.look import PAGE, PLOT_HEIGHT, Palette, Spec, finished
from sfumato.report.charts.views import ColumnSet, say

if TYPE_CHECKING:
    import pyarrow as pa

SPREAD = "noise_sd"
"""Column of a released table that holds the public standard deviation of the noise on the column before it."""
BAND = 1.96


def value_figures(
    tables: Mapping[ColumnSet, pa.Table],
    truth: Mapping[ColumnSet, pa.Table] | None = None,
) -> list[Figure]:
    """Return a figure for every released curve: a table with a place, a value and the spread of its noise."""
    curves = {names: table for names, table in tables.items() if is_curve(table)}
    true = [None] * len(curves) if truth is None else [truth[names] for names in curves]
    return [_figure(table, beside) for table, beside in zip(curves.values(), true, strict=True)]


def is_curve(table: pa.Table) -> bool:
    """Whether a table is a curve: place, value, spread of the noise, and more than one line."""
    return table.num_rows > 1 and table.num_columns == 3 and table.column_names[2] == SPREAD


def _figure(table: pa.Table, truth: pa.Table | None) -> Figure:
    place, value, _ = table.column_names
    columns = [column.to_pylist() for column in table.columns]
    true = None if truth is None else truth.column(1).to_pylist()
    lines = [
        (say(x), f"{y:.6g}", f"{BAND * sd:.3g}", *(() if true is None else (f"{true[i]:.6g}",)))
        for i, (x, y, sd) in enumerate(zip(*columns, strict=True))
    ]
    header = (place, f"released {value}", "95 % of the noise (±)", *(() if true is None else (f"true {value}",)))
    notes = [
        "The band shows where 95 % of the noise lies at each point; the noise of neighbouring points moves together."
    ]
    if true is not None:
        notes.append("The dashed line is the true curve before noise: confidential.")
    spec = curve(columns[0], columns[1], columns[2], true, place, value)
    label = f"Line of the released {value} against {place}, {len(lines)} points; the table below holds the values."
    over = max(len(lines) - MOST_VALUES, 0)
    return Figure(
        f"{value} by {place}".replace("_", " "),
        tuple(notes),
        (Panel("", label, spec),),
        header,
        tuple(lines[:MOST_VALUES]),
        over,
    )


def curve(
    x: list[float],
    y: list[float],
    sd: list[float],
    true: list[float] | None,
    place: str,
    value: str,
    palette: Palette = PAGE,
) -> Spec:
    """Return a released curve, the band of its noise and, in the custodian's copy, the true curve."""
    rows = [
        {
            "x": a,
            "y": round(b, 6),
            "lo": round(b - BAND * s, 6),
            "hi": round(b + BAND * s, 6),
            **({} if true is None else {"t": round(true[i], 6)}),
        }
        for i, (a, b, s) in enumerate(zip(x, y, sd, strict=True))
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=alt.X("x:Q", title=place, axis=alt.Axis(grid=False)))
    hints = [alt.Tooltip("x:Q", title=place), alt.Tooltip("y:Q", title=value)]
    up = alt.Y("lo:Q", title=value, scale=alt.Scale(zero=False))
    layers = [
        base.mark_area(color=palette.accent, opacity=0.18).encode(y=up, y2="hi:Q"),
        base.mark_line(color=palette.accent, strokeWidth=2).encode(y="y:Q", tooltip=hints),
    ]
    if true is not None:
        layers.append(base.mark_line(color=palette.truth, strokeWidth=1.6, strokeDash=[5, 4]).encode(y="t:Q"))
    return finished(alt.layer(*layers), PLOT_HEIGHT)
