"""Make the picture of attacks.md: ``.venv/bin/python docs/picture_attacks.py``.

The pair of the REAEDP paper on 30 bins of the example households' ages: what four attackers achieve against epsilon.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from sfumato.example import households
from sfumato.report.charts import PAPER, Spec, finished, static_spec
from sfumato.risk.linkage import FreshReference
from sfumato.risk.membership import Learnt, LikelihoodRatio, dp_ceiling, optimal_accuracy, published_pair

PICTURE = Path(__file__).resolve().parent / "images" / "attacks-epsilon.svg"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
GRID = np.geomspace(EPSILONS[0], EPSILONS[-1], 61)
TRIALS = 10_000
CEILING = "ceiling for one record"
BEST = "best possible attack, exact"
MEASURED = (
    ("likelihood ratio", LikelihoodRatio()),
    ("linkage, one fresh reference", FreshReference()),
    ("logistic regression on entropy and total", Learnt("entropy-total")),
)
NAMES = [CEILING, BEST, *(name for name, _ in MEASURED)]


def main() -> int:
    """Write the picture."""
    PICTURE.write_text(vl_convert.vegalite_to_svg(static_spec(chart(), 620)), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
    return 0


def counts() -> np.ndarray:
    """Return ages of the example households in 30 public bins."""
    ages = households().column("age").to_numpy()
    return np.histogram(ages, np.linspace(16, 100, 31))[0].astype(np.int64)


def chart() -> Spec:
    """Return exact curves as lines, measured attacks as points with their 95 % intervals."""
    law = exact_rows()
    measured = measured_rows()
    curves = (
        alt.Chart(alt.InlineData(values=law))
        .mark_line(strokeWidth=2)
        .encode(
            x=_x(),
            y=_y("y:Q"),
            color=_colour(),
            strokeDash=alt.condition(alt.datum.s == CEILING, alt.value([5, 4]), alt.value([1, 0])),
        )
    )
    base = alt.Chart(alt.InlineData(values=measured))
    bars = base.mark_rule(strokeWidth=2).encode(x=_x(), y=_y("a:Q"), y2="b:Q", color=_colour())
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x=_x(), y=_y("y:Q"), color=_colour())
    # The measured likelihood ratio lies on its exact curve, so a line of its own would only hide that.
    others = base.transform_filter(alt.datum.s != MEASURED[0][0])
    joined = others.mark_line(strokeWidth=1, opacity=0.6).encode(x=_x(), y=_y("y:Q"), color=_colour())
    return finished(alt.layer(curves, joined, bars, points), 300)


def exact_rows() -> list[dict[str, Any]]:
    """Return the two exact curves."""
    from sfumato.privacy.noise.laws import Laplace

    best = [{"s": BEST, "x": float(e), "y": optimal_accuracy(Laplace(float(e)), (1, 1))} for e in GRID]
    return [{"s": CEILING, "x": float(e), "y": dp_ceiling(float(e))} for e in GRID] + best


def measured_rows() -> list[dict[str, Any]]:
    """Return what each attack achieved, with its interval."""
    base = counts()
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS:
        pair = published_pair(base, epsilon, int(base.argmax()), int(base.argmin()))
        for name, attack in MEASURED:
            found = attack.run(pair, trials=TRIALS, seed=round(100 * epsilon))
            rows.append({"s": name, "x": epsilon, "y": found.rate, "a": found.interval.low, "b": found.interval.high})
    return rows


def _x() -> Any:
    axis = alt.Axis(grid=False, format="~g", values=list(EPSILONS))
    return alt.X("x:Q", title="epsilon", scale=alt.Scale(type="log", nice=False), axis=axis)


def _y(field: str) -> Any:
    return alt.Y(field, title="share of right guesses", scale=alt.Scale(domain=[0.45, 1.0]))


def _colour() -> Any:
    colours = [PAPER.muted, PAPER.series[0], PAPER.ink, PAPER.series[2], PAPER.series[1]]
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=300, symbolType="circle")
    return alt.Color("s:N", sort=NAMES, scale=alt.Scale(domain=NAMES, range=colours), legend=legend)


if __name__ == "__main__":
    sys.exit(main())
