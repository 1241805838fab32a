"""Make the picture of noise.md: ``.venv/bin/python docs/picture_noise.py``. Computed from the tables themselves."""

from __future__ import annotations

import sys
from bisect import bisect_left
from fractions import Fraction
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from sfumato.privacy.noise.inversion.tables import LaplaceSize, exp_minus, thresholds
from sfumato.report.charts import PAPER, Spec, config

IMAGES = Path(__file__).resolve().parent / "images"
NAME = "noise-inversion.svg"
WIDTH, HEIGHT, BITS = 620, 46, 4
SCALE = Fraction(1)
READ_ON = "read on"


def main() -> int:
    """Write the picture."""
    IMAGES.joinpath(NAME).write_text(vl_convert.vegalite_to_svg(inversion()), encoding="utf-8")
    print(f"wrote {NAME}")
    return 0


def inversion() -> Spec:
    """Return the words of four bits with the draw that each decides, and F(k) as rules between them."""
    names = [f"|X| = {k}" for k in range(3)] + [READ_ON]
    colour = alt.Scale(domain=names, range=[*PAPER.series[:3], PAPER.grid])
    key = alt.Legend(title=None, orient="top", symbolType="square")
    across = alt.Scale(domain=[0, 1 << BITS], nice=False)
    base = alt.Chart(alt.InlineData(values=_words()))
    boxes = base.mark_rect(stroke="white", strokeWidth=2).encode(
        x=alt.X("left:Q", title="first four bits of u, as a number", scale=across, axis=_axis()),
        x2="right:Q",
        color=alt.Color("s:N", sort=names, scale=colour, legend=key),
    )
    numbers = base.mark_text(color=PAPER.ink, fontSize=11).encode(x="middle:Q", text="word:N", color=_ink())
    rules = alt.Chart(alt.InlineData(values=_edges()))
    lines = rules.mark_rule(color=PAPER.truth, strokeWidth=2).encode(x="x:Q")
    words = rules.mark_text(color=PAPER.truth, fontSize=11, dy=HEIGHT / 2 + 9).encode(x="x:Q", text="name:N")
    chart = alt.layer(boxes, numbers, lines, words).properties(width=WIDTH, height=HEIGHT)
    return {**chart.to_dict(), "config": config(PAPER), "background": "white"}


def _axis() -> Any:
    return alt.Axis(grid=False, labels=False, ticks=False, domain=False, titlePadding=18)


def _ink() -> Any:
    return alt.condition(f"datum.s == '{READ_ON}'", alt.value(PAPER.ink), alt.value("white"))


def _words() -> list[dict[str, Any]]:
    table = thresholds(LaplaceSize(SCALE), BITS)
    found = [bisect_left(table, word) for word in range(1 << BITS)]
    return [
        {
            "word": word,
            "left": word,
            "right": word + 1,
            "middle": word + 0.5,
            "s": READ_ON if table[outcome] == word else f"|X| = {outcome}",
        }
        for word, outcome in enumerate(found)
    ]


def _edges() -> list[dict[str, Any]]:
    """Return 16 F(k) for k = 0, 1, 2; later ones crowd at the end."""
    r = exp_minus(1 / SCALE, 64)[0] / 2**64
    return [{"name": f"F({k})", "x": (1 << BITS) * (1 - 2 * r ** (k + 1) / (1 + r))} for k in range(3)]


if __name__ == "__main__":
    sys.exit(main())
