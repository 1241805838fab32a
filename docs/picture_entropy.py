"""Make the pictures of entropy.md: ``.venv/bin/python docs/picture_entropy.py``. Computed from public parameters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from sfumato.entropy import advise, published_bound, published_renyi_bound, sensitivity
from sfumato.report.charts import PAPER, Spec, config, finished, static_spec

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH, PANEL = 620, 172
SIZES = sorted({int(n) for n in np.geomspace(20, 2000, 25)})
TICKS = [20, 100, 500, 2000]
BINS = 30
ORDERS = (0.5, 1.0, 2.0)
PRINTED, EXACT = "as printed", "exact"
ROWS, EPSILON = 10_000, 1.0
CELLS = sorted({int(m) for m in np.geomspace(2, 200, 26)})
DIRECT = "direct, every table"


def main() -> int:
    """Write both pictures."""
    pictures = {"entropy-sensitivity.svg": sensitivities(), "entropy-ways.svg": static_spec(ways(), WIDTH)}
    for name, spec in pictures.items():
        IMAGES.joinpath(name).write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    print(f"wrote {', '.join(pictures)}")
    return 0


def sensitivities() -> Spec:
    """Return printed and exact sensitivities against n for three orders, and below them their ratio."""
    panels = [_both(order) & _ratio(order) for order in ORDERS]
    chart = alt.hconcat(*panels, spacing=14)
    return {**chart.to_dict(), "config": config(PAPER), "background": "white"}


def _printed(n: int, order: float) -> float:
    return published_bound(n) if order == 1 else published_renyi_bound(n, order)


def _both(order: float) -> Any:
    rows = [
        {"n": n, "s": name, "y": value}
        for n in SIZES
        for name, value in ((PRINTED, _printed(n, order)), (EXACT, float(sensitivity(n, BINS, order))))
    ]
    names = [PRINTED, EXACT]
    key = alt.Legend(title=None, orient="top", symbolType="stroke")
    colour = alt.Scale(domain=names, range=[PAPER.muted, PAPER.series[0]])
    dash = alt.Scale(domain=names, range=[[5, 4], [1, 0]])
    across = alt.X("n:Q", title=None, scale=_sizes(), axis=alt.Axis(grid=False, values=TICKS, labels=False))
    upright = alt.Axis(values=[0.001, 0.01, 0.1], format="~g")
    title = "bits" if order == ORDERS[0] else None
    head = f"order {order:g}{' (Shannon)' if order == 1 else ''}"
    return (
        alt.Chart(alt.InlineData(values=rows), title=head)
        .mark_line(strokeWidth=2)
        .encode(
            x=across,
            y=alt.Y("y:Q", title=title, scale=alt.Scale(type="log", domain=[0.001, 1], nice=False), axis=upright),
            color=alt.Color("s:N", sort=names, scale=colour, legend=key),
            strokeDash=alt.StrokeDash("s:N", sort=names, scale=dash, legend=key),
        )
        .properties(width=PANEL, height=190)
    )


def _ratio(order: float) -> Any:
    rows = [{"n": n, "r": _printed(n, order) / sensitivity(n, BINS, order)} for n in SIZES]
    title = "printed / exact" if order == ORDERS[0] else None
    line = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2, color=PAPER.ink)
        .encode(
            x=alt.X("n:Q", title="records", scale=_sizes(), axis=alt.Axis(grid=False, values=TICKS, format="~g")),
            y=alt.Y("r:Q", title=title, scale=alt.Scale(domain=[0, 2.4]), axis=alt.Axis(values=[0, 1, 2])),
        )
    )
    one = alt.Chart(alt.InlineData(values=[{"one": 1, "w": "below: no bound"}]))
    rule = one.mark_rule(color=PAPER.truth, strokeDash=[2, 3]).encode(y="one:Q")
    look: dict[str, Any] = {"align": "right", "dx": -4, "fontSize": 10}
    word = one.mark_text(color=PAPER.truth, baseline="top", dy=3, **look).encode(
        y="one:Q", x=alt.value(PANEL), text="w:N"
    )
    return alt.layer(line, rule, *([word] if order == 1 else [])).properties(width=PANEL, height=80)


def _sizes() -> Any:
    return alt.Scale(type="log", domain=[SIZES[0], SIZES[-1]], nice=False)


def ways() -> Spec:
    """Return the predicted error of both ways to an entropy against the number of cells, by shape of the counts."""
    rows: list[dict[str, Any]] = []
    for cells in CELLS:
        advice = advise(ROWS, cells, EPSILON)
        rows.append({"m": cells, "s": DIRECT, "y": advice.direct})
        rows += [{"m": cells, "s": f"noisy counts, {name}", "y": error} for name, error in advice.counts.items()]
    names = list(dict.fromkeys(row["s"] for row in rows))
    key = alt.Legend(title=None, orient="top", symbolType="stroke", columns=4, labelLimit=230)
    colour = alt.Scale(domain=names, range=[PAPER.ink, *PAPER.series[: len(names) - 1]])
    drawn = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "m:Q",
                title="cells",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(grid=False, values=[2, 5, 10, 20, 50, 100, 200]),
            ),
            y=alt.Y(
                "y:Q",
                title="mean absolute error, bits",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1], format="~g"),
            ),
            color=alt.Color("s:N", sort=names, scale=colour, legend=key),
        )
    )
    return finished(drawn, 260)


if __name__ == "__main__":
    sys.exit(main())
