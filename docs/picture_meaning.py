"""Make the pictures of what-epsilon-means.md: ``.venv/bin/python docs/picture_meaning.py``. No data are needed."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
from drawn import Panel, alone, write
from markupsafe import Markup

from sfumato import AIM, MST
from sfumato.example import codebook
from sfumato.privacy.accounting.privacy_curve import PrivacyCurve
from sfumato.report.calibration_page import deployments_figure
from sfumato.report.charts.marks import Axis, LineMark, Lines, RuleMark
from sfumato.report.charts.svg import svg

EPSILONS = (0.3, 1.0, 3.0, 10.0)
GRID = np.geomspace(0.1, 10, 31).tolist()
ALARMS = np.linspace(0, 1, 51).tolist()
CHANCE, TARGET, CHOSEN, DELTA = 0.1, 0.2, 2.9, 1e-9
SIDE, STEP, RADIUS = 10, 14, 5
KINDS = {
    "succeeds by chance": "yardstick spot",
    "more, at most, with the release": "mark",
    "fails": "line",
}
PEOPLE, HITS, ADVANTAGE, OTHERS = (f"meaning-{name}.svg" for name in ("people", "hits", "advantage", "others"))
PAIR = "stated pair alone"


def main() -> int:
    """Write the pictures."""
    keys = [(f'<circle class="{kind}" cx="17" cy="7" r="{RADIUS}"/>', name) for name, kind in KINDS.items()]
    most = {epsilon: math.ceil(100 * proved(epsilon).success(CHANCE)) for epsilon in EPSILONS}
    squares = [Panel(people(most[epsilon]), f"epsilon {epsilon:g}: {most[epsilon]}") for epsilon in EPSILONS]
    write(PEOPLE, "Of 100 attempts, how many succeed by chance and how many more at most", squares, legend=keys)
    alone(HITS, "Hits against false alarms at epsilon 1", hits(), 340)
    alone(ADVANTAGE, "The largest advantage against epsilon", advantages(), 340)
    alone(OTHERS, "How many products took at most an epsilon", deployments_figure(CHOSEN, DELTA))
    print(f"wrote {PEOPLE}, {HITS}, {ADVANTAGE}, {OTHERS}")
    return 0


def proved(epsilon: float, method: type[AIM] | type[MST] = AIM) -> PrivacyCurve:
    """Return the curve of a method; it is the same for every schema."""
    return method(epsilon=epsilon).plan(codebook()).curve


def people(most: int) -> Markup:
    """Return a square of 100 dots: attempts that chance wins, that the release may add, and that fail."""
    fates = [list(KINDS.values())[0 if n < 100 * CHANCE else 1 if n < most else 2] for n in range(SIDE * SIDE)]
    dots = [
        f'<circle class="{fate}" cx="{STEP * (n % SIDE) + STEP / 2:g}" cy="{STEP * (n // SIDE) + STEP / 2:g}" '
        f'r="{RADIUS}"/>'
        for n, fate in enumerate(fates)
    ]
    return svg(STEP * SIDE, STEP * SIDE, dots, "")


def hits() -> Lines:
    """Return hits against false alarms at epsilon 1: what the pair allows, what the curve proves, and chance."""
    curve, pair = proved(1.0), PrivacyCurve.of_pair(1.0, DELTA)
    drawn = [
        LineMark(PAIR, ALARMS, [pair.hits(a) for a in ALARMS], yardstick=True),
        LineMark("chance", ALARMS, ALARMS, yardstick=True),
        LineMark("proved, AIM", ALARMS, [curve.hits(a) for a in ALARMS]),
    ]
    x = Axis("people who are not in the table and are named (false alarms)", 0.0, 1.0, percent=True)
    return Lines(drawn, x, Axis("people in the table who are named (hits)", 0.0, 1.0, percent=True))


def advantages() -> Lines:
    """Return the advantage against epsilon, with one target and the choice that it allows."""
    kinds: dict[str, Callable[[float], PrivacyCurve]] = {
        "proved, AIM": proved,
        "proved, MST": lambda epsilon: proved(epsilon, MST),
        PAIR: lambda epsilon: PrivacyCurve.of_pair(epsilon, DELTA),
    }
    places = sorted({*GRID, CHOSEN})
    drawn = [
        LineMark(name, places, [of(epsilon).advantage for epsilon in places], yardstick=name == PAIR)
        for name, of in kinds.items()
    ]
    x = Axis("epsilon (log scale)", logarithmic=True)
    rules = (RuleMark(f"target: advantage <= {TARGET:g}", TARGET, goal=True),)
    chosen = RuleMark(f"allowed: epsilon = {CHOSEN:g}", CHOSEN)
    return Lines(drawn, x, Axis("advantage, at most", 0.0, 1.0), rules, marked=chosen)


if __name__ == "__main__":
    sys.exit(main())
