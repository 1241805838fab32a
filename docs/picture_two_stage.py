"""Make the pictures of two-stage.md: ``.venv/bin/python docs/picture_two_stage.py``. All rows are made here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from sfumato.methods.two_stage import make_inputs, match
from sfumato.papers.charts import Axes, Line, lines
from sfumato.report.charts import PAPER, Spec, config, static_spec
from sfumato.risk.location import Array, blended, interval_disclosure, published_bound, row_linkage

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH, PANEL = 620, 135
SHOWN, ROWS, TOLERANCE = 400, 1000, 0.001
ALPHAS = tuple(round(0.05 * step, 2) for step in range(20))
EPSILONS = (0.5, 1.0, 3.0, 10.0)
ERRORS: dict[str, dict[str, tuple[float, ...]]] = {
    "insurance": {"private": (0.39, 0.29, 0.20, 0.16), "AdaSSP": (1.22, 0.96, 0.63, 0.41), "KRR": (0.157,)},
    "simulated, 1,000 rows": {
        "private": (0.71, 0.36, 0.12, 0.034),
        "AdaSSP": (1.08, 0.86, 0.53, 0.29),
        "KRR": (0.013,),
    },
    "simulated, 10,000 rows": {
        "private": (0.043, 0.031, 0.021, 0.009),
        "AdaSSP": (0.35, 0.23, 0.13, 0.061),
        "KRR": (0.004,),
    },
    "california": {"private": (0.34, 0.32, 0.29, 0.28), "AdaSSP": (0.44, 0.39, 0.35, 0.32), "KRR": (0.236,)},
}
"""The table of the page: mean squared error of the test rows over that of predicting the mean."""
WAYS = {"AdaSSP": "AdaSSP, the better of two", "private": "private two-stage", "KRR": "KRR, not private"}


def main() -> int:
    """Write the three pictures."""
    pictures = {
        "two-stage-rows.svg": four_tables(),
        "two-stage-lid.svg": static_spec(disclosure(), WIDTH),
        "two-stage-epsilon.svg": errors(),
    }
    for name, drawn in pictures.items():
        IMAGES.joinpath(name).write_text(vl_convert.vegalite_to_svg(drawn), encoding="utf-8")
    print(f"wrote {', '.join(pictures)}")
    return 0


def simulated(rows: int, generator: np.random.Generator) -> Array:
    """Return the inputs of the paper's simulation: two uniform ones, and their squared length with a little noise."""
    two = generator.random((rows, 2))
    return np.column_stack([two, (two**2).sum(axis=1) + generator.normal(0.0, 0.1, rows)])


def four_tables() -> Spec:
    """Return original rows, matched and random blends, and what the published covariance step makes."""
    generator = np.random.default_rng(3)
    x = simulated(SHOWN, generator)
    s = make_inputs("lhs", x, SHOWN, generator)
    near, loose = (blended(x, s[match(x, s, how, generator)], 0.5) for how in ("rounds", "random"))
    printed = make_inputs("lhs", x, SHOWN, generator, step="covariance")
    tables = {"original": x, "blend of matched rows": near, "blend of random pairs": loose, "covariance step": printed}
    rows = [
        {"t": title, "x": round(float(row[0]), 3), "y": round(float(row[2]), 3)}
        for title, table in tables.items()
        for row in table
    ]
    cloud = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_circle(size=9, opacity=0.5, color=PAPER.accent)
        .encode(
            x=alt.X("x:Q", title="x1", axis=alt.Axis(grid=False, tickCount=3)),
            y=alt.Y("y:Q", title="x3", axis=alt.Axis(grid=False, tickCount=4)),
        )
    )
    return _side_by_side(cloud, list(tables))


def disclosure() -> Spec:
    """Return measured LID beside the published bound, and linkage, by alpha; uniform rows, matched in rounds."""
    drawn = [Line("printed bound, 3 columns", ALPHAS, [published_bound(a, 3, TOLERANCE) for a in ALPHAS])]
    one, three = (_measured(columns) for columns in (1, 3))
    drawn += [
        Line("measured LID, 3 columns", ALPHAS, three[0]),
        Line("measured LID, 1 column", ALPHAS, one[0]),
        Line("rows linked, 3 columns", ALPHAS, three[1]),
    ]
    return lines(drawn, Axes("alpha, the weight of the true row", "share of rows", logarithmic=False), PAPER)


def _measured(columns: int) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng([0, columns])
    x = generator.random((ROWS, columns))
    s = make_inputs("lhs", x, ROWS, generator)
    matched = s[match(x, s, "rounds", generator)]
    made = [blended(x, matched, alpha) for alpha in ALPHAS]
    return [interval_disclosure(x, rows, TOLERANCE).share for rows in made], [row_linkage(x, r)[1] for r in made]


def errors() -> Spec:
    """Return relative errors by epsilon, one panel for each table."""
    rows: list[dict[str, Any]] = []
    for title, ways in ERRORS.items():
        for way, values in ways.items():
            drawn = values if len(values) > 1 else values * len(EPSILONS)
            rows += [{"t": title, "s": WAYS[way], "x": x, "y": y} for x, y in zip(EPSILONS, drawn, strict=True)]
    names = list(WAYS.values())
    key = alt.Legend(title=None, orient="top", symbolType="stroke", labelLimit=230)
    colour = alt.Scale(domain=names, range=[PAPER.series[1], PAPER.series[0], PAPER.muted])
    dashes = alt.Scale(domain=names, range=[[1, 0], [1, 0], [5, 4]])
    curves = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "x:Q",
                title="epsilon",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(grid=False, format="~g", values=list(EPSILONS)),
            ),
            y=alt.Y("y:Q", title="relative error", scale=alt.Scale(domain=[0, 1.25])),
            color=alt.Color("s:N", sort=names, scale=colour, legend=key),
            strokeDash=alt.StrokeDash("s:N", sort=names, scale=dashes, legend=key),
        )
    )
    return _side_by_side(curves, list(ERRORS))


def _side_by_side(chart: Any, titles: list[str]) -> Spec:
    header = alt.Header(title=None, labelFontSize=11, labelColor=PAPER.ink)
    sized = chart.properties(width=PANEL, height=PANEL + 15)
    facets = sized.facet(column=alt.Column("t:N", sort=titles, header=header))
    return {**facets.to_dict(), "config": config(PAPER), "background": "white"}


if __name__ == "__main__":
    sys.exit(main())
