"""Make the pictures of mean-curves.md: ``.venv/bin/python docs/picture_mean_curve.py``. All data are made here."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from drawn import Panel, alone, write

import sfumato
from sfumato.mechanisms.mean_curve import MeanCurve, best_rho
from sfumato.papers.charts import ChartAxes, curves
from sfumato.report.charts.marks import Axis, LineMark, Lines
from sfumato.schema.column import Column

THREE, ERROR = "mean-curve-rho.svg", "mean-curve-error.svg"
RHOS = (0.001, 0.1, 1.0)
STEPS, PEOPLE = 80, 50
LOW, HIGH = -2.0, 3.0
"""The values that are shown; lines break where they leave them."""


def main() -> int:
    """Write both pictures."""
    paths = squared_brownian()
    write(THREE, "Private mean of 50 curves for three rho, with the mean itself", three_rhos(paths))
    alone(ERROR, "Noise, bias and total error against rho", error_curve(paths))
    print(f"wrote {THREE}, {ERROR}")
    return 0


def squared_brownian() -> np.ndarray:
    """Return 50 squared Brownian paths on 80 points."""
    return np.random.default_rng(42).normal(0, (1 / STEPS) ** 0.5, (PEOPLE, STEPS)).cumsum(axis=1) ** 2


def three_rhos(paths: np.ndarray) -> list[Panel]:
    """Return private means at three penalties beside the plain mean, with the band of the noise."""
    frame = pd.DataFrame(paths, columns=[f"t{i}" for i in range(1, STEPS + 1)])
    columns = tuple(Column(name, "number", bounds=(0.0, 25.0)) for name in frame.columns)
    schema = sfumato.Schema(name="paths", columns=columns, adjacency="replace", rows=PEOPLE)
    table, plain = sfumato.read(frame, schema), paths.mean(axis=0)
    panels: list[Panel] = []
    for rho in RHOS:
        made = sfumato.release(table, MeanCurve(epsilon=1, delta=1e-5, rho=rho, clip=1), seed=7, ledger=False)
        places, means, spread = (np.array(values) for values in zip(*made.data.itertuples(index=False), strict=True))
        true = plain[np.rint(places * STEPS).astype(int) - 1]
        panels.append(Panel(_both(places, true, means, spread), f"rho = {rho:g}", 260))
    return panels


def _both(places: np.ndarray, true: np.ndarray, means: np.ndarray, spread: np.ndarray) -> Lines:
    """Return the mean of the paths beside the private one with two standard deviations of its noise."""
    ends = ((means + sign * 2 * spread).tolist() for sign in (-1, 1))
    inside = np.where((means >= LOW) & (means <= HIGH), means, np.nan)
    private = LineMark(
        "private mean, with two standard deviations of the noise", places.tolist(), inside.tolist(), *ends
    )
    mean = LineMark("mean of the paths", places.tolist(), true.tolist(), yardstick=True)
    return Lines([private, mean], Axis("position", 0.0, 1.0, places=(0, 0.5, 1)), Axis("value", LOW, HIGH))


def error_curve(paths: np.ndarray) -> Lines:
    """Return noise, bias and both together against rho, for these paths as the pilot."""
    kept = [split for split in best_rho(PEOPLE, 1, 1, 1e-5, pilot=paths).curve if 1e-3 <= split.rho <= 10]
    rho = [split.rho for split in kept]
    drawn = [
        LineMark("total", rho, [split.total for split in kept]),
        LineMark("noise", rho, [split.noise for split in kept]),
        LineMark("bias", rho, [split.bias for split in kept]),
    ]
    return curves(drawn, ChartAxes("rho", "root mean square error", top=1.7), printed_first=False)


if __name__ == "__main__":
    sys.exit(main())
