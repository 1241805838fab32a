"""Make the pictures of plausible-deniability.md: ``.venv/bin/python docs/picture_deniability.py`` (about a minute).

k against the number of rows is computed from public parameters; the pass rate on ages of the example households.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from sfumato.example import households
from sfumato.methods.plausible_deniability import pass_rate
from sfumato.methods.plausible_deniability.budget import smallest_test
from sfumato.papers.charts import Axes, Line, lines
from sfumato.papers.reaedp.mechanism import EPSILON0, kernel_proposals
from sfumato.report.charts import PAPER, Spec, finished, static_spec

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH = 620
TOTALS = (1.0, 3.0, 8.0)
COUNTS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
DELTA, GAMMA = 1e-5, 2.0
PEOPLE, BINS = 1000, 30
KS = tuple(range(5, 701, 5))
GAMMAS = (2.0, 4.0, 8.0)


def main() -> int:
    """Write both pictures."""
    pictures = {"deniability-cost.svg": cost(), "deniability-pass-rate.svg": passing()}
    for name, spec in pictures.items():
        IMAGES.joinpath(name).write_text(vl_convert.vegalite_to_svg(static_spec(spec, WIDTH)), encoding="utf-8")
    print(f"wrote {', '.join(pictures)}")
    return 0


def cost() -> Spec:
    """Return the smallest k against the number of rows, one line for each total epsilon."""
    rows = [
        {"n": count, "s": f"total epsilon {total:g}", "k": smallest_test(total, DELTA, count, GAMMA).k}
        for total in TOTALS
        for count in COUNTS
    ]
    names = list(dict.fromkeys(str(row["s"]) for row in rows))
    colour = alt.Scale(domain=names, range=list(PAPER.series[: len(names)]))
    key: Any = alt.Legend(title=None, orient="top", symbolType="stroke")
    decades = alt.Axis(grid=False, values=[1, 10, 100, 1000, 10_000], format="~s")
    drawn = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2, point=True)
        .encode(
            x=alt.X("n:Q", title="rows to make", scale=alt.Scale(type="log", nice=False), axis=decades),
            y=alt.Y(
                "k:Q",
                title="smallest k",
                scale=alt.Scale(type="log", domain=[1, 20_000], nice=False),
                axis=alt.Axis(values=[1, 10, 100, 1000, 10_000], format="~s"),
            ),
            color=alt.Color("s:N", sort=names, scale=colour, legend=key),
        )
    )
    return finished(drawn, 260)


def ages() -> np.ndarray:
    """Return ages of the first example households as numbers of public bins."""
    values = households().column("age").to_numpy()[:PEOPLE]
    return np.clip(np.digitize(values, np.linspace(16, 100, BINS + 1)) - 1, 0, BINS - 1)


def passing() -> Spec:
    """Return the exact pass rate of one attempt against k."""
    seeds = ages()
    rule = {"epsilon0": EPSILON0}
    rates = {g: [pass_rate(seeds, kernel_proposals(), k=k, gamma=g, **rule) for k in KS] for g in GAMMAS}
    drawn = [Line(f"gamma = {g:g}", KS, rate) for g, rate in rates.items()]
    return lines(drawn, Axes("k", "pass rate", logarithmic=False), PAPER, first_is_muted=False)


if __name__ == "__main__":
    sys.exit(main())
