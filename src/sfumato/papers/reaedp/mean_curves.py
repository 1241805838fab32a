"""Figure 2: private mean curves for three penalties."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.mean_curve import (
    ErrorSplit,
    MeanCurve,
    error_split,
    even_positions,
)
from sfumato.papers.charts import Chart, Series, line_chart
from sfumato.papers.reaedp.histograms import SEED, Numbers, Sources, part
from sfumato.papers.reaedp.ridge_mean import ridge_mean_sensitivity
from sfumato.papers.result import Part
from sfumato.privacy.accounting.gaussian_calibration import gaussian_epsilon, gaussian_sigma
from sfumato.privacy.randomness import Randomness
from sfumato.schema import Column, Schema

PATHS, STEPS = 50, 80
EPSILON, DELTA = 1.0, 1e-5
CLIP = 1.0
RHOS = (1e-6, 1e-3, 0.1)
GRID = (1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)


def squared_paths(positions: Numbers, seed: int = SEED) -> Numbers:
    """Return the paper's 50 'chi-square-like' paths: squares of Brownian motion."""
    steps = np.sqrt(np.diff(positions, prepend=0.0))
    return np.cumsum(np.random.default_rng(seed).standard_normal((PATHS, len(positions))) * steps, axis=1) ** 2


def our_paths() -> Numbers:
    """Return the paths on our grid i/80, i = 1 .. 80; at 0 every path is 0 and needs no noise."""
    return squared_paths(np.array(even_positions(STEPS)))


def sound_error(rho: float, paths: Numbers) -> ErrorSplit:
    """Return noise and bias of the sound mechanism on these paths: clip 1, epsilon 1, delta 1e-5, n public."""
    return error_split(paths, len(paths), rho, CLIP, EPSILON, DELTA)


def private_mean(rho: float, paths: Numbers, seed: int = SEED) -> Numbers:
    """Return one seeded draw of ``sfumato.MeanCurve``: clipped, smoothed, integer noise on its lattice."""
    names = [f"t{i}" for i in range(1, STEPS + 1)]
    columns = tuple(Column(name, "number", bounds=(0, 1000), bins=1) for name in names)
    schema = Schema("paths", columns, adjacency="replace", rows=len(paths))
    method = MeanCurve(columns=names, epsilon=EPSILON, delta=DELTA, rho=rho, clip=CLIP)
    total, people = method.lattice(STEPS).total([paths])
    made = method.measure(total, people, len(paths), method.plan(schema, randomness="seeded"), Randomness.of(seed))
    return made.tables[("mean_curve",)]["mean"].to_numpy()


def _root_mean_square(values: Numbers) -> float:
    return float(np.sqrt(np.mean(values**2)))


@dataclass(frozen=True)
class PrintedMeanCurves:
    """What the paper's code draws: independent noise at 80 points, one draw for each rho, none of which uses rho."""

    positions: Numbers
    mean: Numbers
    sigma: float
    curves: tuple[Numbers, ...]

    @property
    def errors(self) -> tuple[float, ...]:
        """Root mean square error of each draw."""
        return tuple(_root_mean_square(curve - self.mean) for curve in self.curves)


def published_means(seed: int = SEED) -> PrintedMeanCurves:
    """Repeat the paper's experiment: sensitivity 2 max|X| / n from the data, the classic rule, iid Gaussian noise."""
    positions = np.linspace(0, 1, STEPS)
    rng = np.random.default_rng(seed)
    increments = rng.standard_normal((PATHS, STEPS)) * np.sqrt(np.diff(positions, prepend=0.0))
    paths = np.cumsum(increments, axis=1) ** 2
    sigma = 2 * float(paths.max()) / PATHS * math.sqrt(2 * math.log(1.25 / DELTA)) / EPSILON
    mean = paths.mean(axis=0)
    return PrintedMeanCurves(positions, mean, sigma, tuple(mean + rng.normal(0, sigma, STEPS) for _ in RHOS))


def published_epsilon() -> float:
    """Return the epsilon that this noise really gives at delta 1e-5, were max|X| public: 80 points, each with it.

    >>> round(published_epsilon(), 2)
    9.06
    """
    return gaussian_epsilon(math.sqrt(STEPS) / math.sqrt(2 * math.log(1.25 / DELTA)), DELTA)


def figure_2(_: Sources) -> Part:
    """Return figure 2: private means for three rho, theirs and ours, and the error against rho."""
    paths, theirs = our_paths(), published_means()
    splits = {rho: sound_error(rho, paths) for rho in GRID}
    best = min(splits.values(), key=lambda each: each.total)
    numbers = {
        "grid": [_grid_row(split, theirs) for split in splits.values()],
        "paths": PATHS,
        "steps": STEPS,
        "seed": SEED,
        "errors": theirs.errors,
        "sound": [splits[rho].total for rho in RHOS],
        "best": best,
        "epsilon": published_epsilon(),
    }
    return part(
        "figure 2",
        numbers,
        charts=(*(_draws(rho, i, paths, theirs) for i, rho in enumerate(RHOS)), _error_chart(splits)),
        charts_a_row=3,
    )


def _grid_row(split: ErrorSplit, theirs: PrintedMeanCurves) -> dict[str, object]:
    reach = ridge_mean_sensitivity(PATHS, split.rho, CLIP, STEPS)
    error = [theirs.errors[RHOS.index(split.rho)]] if split.rho in RHOS else []
    return {"split": split, "reach": reach, "sigma": gaussian_sigma(EPSILON, DELTA, reach), "theirs": error}


def _draws(rho: float, index: int, paths: Numbers, theirs: PrintedMeanCurves) -> Chart:
    ours = {"true mean": paths.mean(axis=0), "sound, one draw": private_mean(rho, paths)}
    chart = line_chart(
        f"rho = {rho:g}",
        ("t", "mean"),
        even_positions(STEPS),
        {name: curve.tolist() for name, curve in ours.items()},
        f"True and private mean curves at rho {rho:g}.",
        logarithmic=False,
        muted_first=True,
    )
    printed = Series(name="authors' code", x=tuple(theirs.positions), y=tuple(theirs.curves[index]))
    return chart.model_copy(update={"series": (*chart.series, printed)})


def _error_chart(splits: dict[float, ErrorSplit]) -> Chart:
    shown = [s for s in splits.values() if s.rho >= 1e-3]
    return line_chart(
        "error against rho, sound mechanism",
        ("rho", "root mean square error"),
        [split.rho for split in shown],
        {name: [getattr(split, name) for split in shown] for name in ("total", "noise", "bias")},
        "Bias, noise and total error against rho.",
    )
