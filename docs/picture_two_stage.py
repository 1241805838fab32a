"""Make the pictures of two-stage.md: ``.venv/bin/python docs/picture_two_stage.py``. All rows are made here."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from drawn import Panel, alone, write

from sfumato.papers.charts import ChartAxes, curves
from sfumato.papers.two_stage import match, synthesise_inputs
from sfumato.papers.two_stage.published.disclosure_bounds import blended, published_bound
from sfumato.report.charts.marks import Axis, Clouds, LineMark, Lines, PointMark, common_axis
from sfumato.risk.interval_disclosure import FloatArray, interval_disclosure, row_linkage

TABLES, LID, EPSILON = "two-stage-rows.svg", "two-stage-lid.svg", "two-stage-epsilon.svg"
PANEL = 210
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
    words = "The original rows, a blend of matched rows, a blend of random pairs, and the published covariance step"
    write(TABLES, words, *_two_by_two(four_tables()))
    alone(LID, "Measured LID and linked rows against the printed bound, by alpha", disclosure())
    write(EPSILON, "Relative error against epsilon on four tables", *_two_by_two(errors()))
    print(f"wrote {TABLES}, {LID}, {EPSILON}")
    return 0


def simulated(rows: int, generator: np.random.Generator) -> FloatArray:
    """Return the inputs of the paper's simulation: two uniform ones, and their squared length with a little noise."""
    two = generator.random((rows, 2))
    return np.column_stack([two, (two**2).sum(axis=1) + generator.normal(0.0, 0.1, rows)])


def four_tables() -> list[Panel]:
    """Return original rows, matched and random blends, and what the published covariance step makes."""
    generator = np.random.default_rng(3)
    x = simulated(SHOWN, generator)
    s = synthesise_inputs("lhs", x, SHOWN, generator)
    near, loose = (blended(x, s[match(x, s, how, generator)], 0.5) for how in ("rounds", "random"))
    printed = synthesise_inputs("lhs", x, SHOWN, generator, step="covariance")
    tables = {"original": x, "blend of matched rows": near, "blend of random pairs": loose, "covariance step": printed}
    every = np.concatenate(list(tables.values()))
    x1, x3 = (common_axis(name, every[:, at].tolist()) for name, at in (("x1", 0), ("x3", 2)))
    return [
        Panel(Clouds([PointMark("rows", rows[:, 0].tolist(), rows[:, 2].tolist())], x1, x3), title, PANEL)
        for title, rows in tables.items()
    ]


def disclosure() -> Lines:
    """Return measured LID beside the published bound, and linkage, by alpha; uniform rows, matched in rounds."""
    drawn = [LineMark("printed bound, 3 columns", ALPHAS, [published_bound(a, 3, TOLERANCE) for a in ALPHAS])]
    one, three = (_measured(columns) for columns in (1, 3))
    drawn += [
        LineMark("measured LID, 3 columns", ALPHAS, three[0]),
        LineMark("measured LID, 1 column", ALPHAS, one[0]),
        LineMark("rows linked, 3 columns", ALPHAS, three[1]),
    ]
    return curves(drawn, ChartAxes("alpha, the weight of the true row", "share of rows", logarithmic=False))


def _measured(columns: int) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng([0, columns])
    x = generator.random((ROWS, columns))
    s = synthesise_inputs("lhs", x, ROWS, generator)
    matched = s[match(x, s, "rounds", generator)]
    made = [blended(x, matched, alpha) for alpha in ALPHAS]
    return [interval_disclosure(x, rows, TOLERANCE).share for rows in made], [row_linkage(x, r)[1] for r in made]


def errors() -> list[Panel]:
    """Return relative errors by epsilon, one panel for each table."""
    x, y = Axis("epsilon", logarithmic=True, places=EPSILONS), Axis("relative error", 0.0, 1.25)
    return [Panel(Lines(_ways(found), x, y), title, PANEL) for title, found in ERRORS.items()]


def _ways(found: Mapping[str, Sequence[float]]) -> list[LineMark]:
    """Return a line for each way; one that knows no epsilon is a yardstick."""
    drawn: list[LineMark] = []
    for look, way in enumerate(("private", "AdaSSP", "KRR")):
        values, level = found[way], len(found[way]) == 1
        heights = [*values] * len(EPSILONS) if level else values
        drawn.append(LineMark(WAYS[way], EPSILONS, heights, yardstick=level, look=look))
    return drawn


def _two_by_two(panels: Sequence[Panel]) -> tuple[Sequence[Panel], Sequence[Panel]]:
    return panels[:2], panels[2:]


if __name__ == "__main__":
    sys.exit(main())
