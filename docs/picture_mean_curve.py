"""Make the pictures of mean-curves.md: ``.venv/bin/python docs/picture_mean_curve.py``. All data are made here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import vl_convert

import sfumato
from sfumato.methods.mean_curve import MeanCurve, best_rho
from sfumato.papers.charts import Axes, Line, lines
from sfumato.report.charts import PAPER, Spec, config, static_spec
from sfumato.schema.column import Column

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH, PANEL = 620, 178
RHOS = (0.001, 0.1, 1.0)
STEPS, PEOPLE = 80, 50


def main() -> int:
    """Write both pictures."""
    paths = squared_brownian()
    IMAGES.joinpath("mean-curve-rho.svg").write_text(vl_convert.vegalite_to_svg(three_rhos(paths)), encoding="utf-8")
    error = static_spec(error_curve(paths), WIDTH)
    IMAGES.joinpath("mean-curve-error.svg").write_text(vl_convert.vegalite_to_svg(error), encoding="utf-8")
    print("wrote mean-curve-rho.svg, mean-curve-error.svg")
    return 0


def squared_brownian() -> np.ndarray:
    """Return 50 squared Brownian paths on 80 points."""
    return np.random.default_rng(42).normal(0, (1 / STEPS) ** 0.5, (PEOPLE, STEPS)).cumsum(axis=1) ** 2


def three_rhos(paths: np.ndarray) -> Spec:
    """Return private means at three penalties beside the plain mean, with the band of the noise."""
    frame = pd.DataFrame(paths, columns=[f"t{i}" for i in range(1, STEPS + 1)])
    columns = tuple(Column(name, "number", bounds=(0.0, 25.0)) for name in frame.columns)
    schema = sfumato.Schema(name="paths", columns=columns, adjacency="replace", rows=PEOPLE)
    table, plain = sfumato.read(frame, schema), paths.mean(axis=0)
    rows: list[dict[str, Any]] = []
    for rho in RHOS:
        made = sfumato.release(table, MeanCurve(epsilon=1, delta=1e-5, rho=rho, clip=1), seed=7, ledger=False)
        for place, mean, sd in made.data.itertuples(index=False):
            rows.append(
                {
                    "r": f"rho = {rho:g}",
                    "x": place,
                    "private": mean,
                    "lo": mean - 2 * sd,
                    "hi": mean + 2 * sd,
                    "mean": float(plain[round(place * STEPS) - 1]),
                }
            )
    return _panels(rows)


def _panels(rows: list[dict[str, Any]]) -> Spec:
    names = ["mean of the paths", "private mean"]
    base = alt.Chart(alt.InlineData(values=rows)).transform_calculate(a=f"'{names[0]}'", b=f"'{names[1]}'")
    x = alt.X("x:Q", title="position", axis=alt.Axis(grid=False, values=[0, 0.5, 1]))
    colour = alt.Scale(domain=names, range=[PAPER.truth, PAPER.accent])
    key = alt.Legend(title=None, orient="top", symbolType="stroke")
    scale = alt.Scale(domain=[-2, 3], clamp=True)
    band = base.mark_area(color=PAPER.accent, opacity=0.18, clip=True).encode(
        x=x, y=alt.Y("lo:Q", title="value", scale=scale), y2="hi:Q"
    )
    private = base.mark_line(strokeWidth=1.8, clip=True).encode(
        x=x, y=alt.Y("private:Q", scale=scale), color=alt.Color("b:N", scale=colour, legend=key)
    )
    true = base.mark_line(strokeWidth=1.6, strokeDash=[5, 3]).encode(
        x=x, y=alt.Y("mean:Q", scale=scale), color=alt.Color("a:N", scale=colour, legend=key)
    )
    drawn = alt.layer(band, private, true).properties(width=PANEL, height=200)
    header = alt.Header(title=None, labelFontSize=12, labelColor=PAPER.ink)
    chart = drawn.facet(column=alt.Column("r:N", sort=[f"rho = {rho:g}" for rho in RHOS], header=header))
    return {**chart.to_dict(), "config": config(PAPER), "background": "white"}


def error_curve(paths: np.ndarray) -> Spec:
    """Return noise, bias and both together against rho, for these paths as the pilot."""
    kept = [split for split in best_rho(PEOPLE, 1, 1, 1e-5, pilot=paths).curve if 1e-3 <= split.rho <= 10]
    rho = [split.rho for split in kept]
    drawn = [
        Line("total", rho, [split.total for split in kept]),
        Line("noise", rho, [split.noise for split in kept]),
        Line("bias", rho, [split.bias for split in kept]),
    ]
    return lines(drawn, Axes("rho", "root mean square error", top=1.7), PAPER, first_is_muted=False)


if __name__ == "__main__":
    sys.exit(main())
