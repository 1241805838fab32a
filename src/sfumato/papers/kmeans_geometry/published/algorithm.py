"""Algorithm 1 of the k-means geometry paper as printed, and its two baselines.

Rows are standardised and clustered by k-means. Every centroid coordinate and every row's distance to its centroid gets
Laplace noise of scale 2 Delta / epsilon, in double precision as published, where Delta is the largest distance between
two centroids. Row i becomes a uniform point of the ball with its noisy radius around the noisy centroid of its own
cluster.

No epsilon holds: Delta is no sensitivity (one record can turn k-means round, and 400 radii with it), it and the
standardisation are used without noise, and the labels are copied. Epsilon here is the size of the noise and nothing
else. The form with a guarantee is :class:`sfumato.ClusterGeometry`.

Step 7, the reflection of noisy centroids into their bounds, can be read in two ways; neither always ends inside:

* ``single``: below the lower bound reflect there, or else above the upper bound reflect there (section 3.4);
* ``successive``: the two ifs of algorithm 1 one after the other, so that what the first throws beyond the upper bound
  the second reflects again;
* ``fold`` is ours: reflect until the value is inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import PlanError, TableError
from sfumato.metrics.clusters import STARTS, check_rows, kmeans

LABEL = "heuristic: no differential privacy"
REFLECTIONS = ("single", "successive", "fold")
ROUNDINGS = ("published", "unbiased")

Numbers = NDArray[np.float64]

Reflection = Literal["single", "successive", "fold"]

Rounding = Literal["published", "unbiased"]


@dataclass(frozen=True, eq=False)
class Standardiser:
    """Mean and standard deviation of the rows, and the bounds in that unit; infinite where there is none."""

    mean: Numbers
    sd: Numbers
    low: Numbers
    high: Numbers

    @classmethod
    def of(cls, rows: Numbers, low: Numbers, high: Numbers) -> Standardiser:
        """Measure the rows, without noise, as published."""
        mean, sd = rows.mean(axis=0), rows.std(axis=0)
        return cls(mean, sd, (low - mean) / sd, (high - mean) / sd)

    def forward(self, rows: Numbers) -> Numbers:
        """Return standardised rows."""
        return (rows - self.mean) / self.sd

    def back(self, points: Numbers) -> Numbers:
        """Return standardised points in the unit of the table."""
        return self.sd * points + self.mean


@dataclass(frozen=True, eq=False)
class PublishedGeometry:
    """Synthetic rows of algorithm 1, row i from row i, with everything it computed on the way.

    All but ``rows`` is standardised. Only ``rows`` would leave the custodian, and without a guarantee.
    """

    rows: Numbers
    labels: NDArray[np.int64]
    """Cluster of each original row, and of the synthetic row made from it."""
    standard: Standardiser
    true_centroids: Numbers
    noisy_centroids: Numbers
    """Before the reflection."""
    centroids: Numbers
    """After it."""
    true_radii: Numbers
    radii: Numbers
    """With noise, and 0 where the noise made them negative."""
    points: Numbers
    """Synthetic rows after clipping, before the rounding."""
    delta: float
    """Largest distance between two centroids: the paper's stand-in for a sensitivity."""
    noise_scale: float
    """Scale of the Laplace noise, 2 delta / epsilon."""
    label: str = LABEL

    @property
    def clamped_share(self) -> float:
        """Share of radii that are 0: those rows sit on their noisy centroid."""
        return float((self.radii == 0).mean())

    @property
    def infeasible_share(self) -> float:
        """Share of bounded centroid coordinates that the reflection left outside."""
        bounded = np.isfinite(self.standard.low) | np.isfinite(self.standard.high)
        outside = (self.centroids < self.standard.low) | (self.centroids > self.standard.high)
        return float(outside[:, bounded].mean()) if bounded.any() else 0.0


def published_geometry(
    rows: ArrayLike,
    clusters: int,
    epsilon: float,
    bounds: ColumnBounds | None,
    generator: np.random.Generator,
    *,
    reflection: Reflection = "single",
    whole_numbers: Rounding = "published",
    starts: int = STARTS,
) -> PublishedGeometry:
    """Run algorithm 1 on rows of numbers: a heuristic without differential privacy.

    ``bounds`` say what holds for each column and which columns are rounded; None where nothing does. ``epsilon`` sets
    the noise and guarantees nothing; infinite means none. ``whole_numbers`` are rounded as ``published`` (up or down
    with one half each) or ``unbiased``.

    >>> rows = np.array([[0.0, 1.0], [0.1, 1.0], [0.9, 5.0], [1.0, 5.0]])
    >>> made = published_geometry(
    ...     rows, 2, 1.0, ColumnBounds.of([0, 0], [1, 6], [False, True]), np.random.default_rng(1)
    ... )
    >>> made.rows.shape, made.label
    ((4, 2), 'heuristic: no differential privacy')
    """
    values, held = checked_table(rows, clusters, bounds)
    require_choices(epsilon, reflection, whole_numbers)
    standard = Standardiser.of(values, held.low, held.high)
    scaled = standard.forward(values)
    found = kmeans(scaled, clusters, int(generator.integers(2**31)), starts)
    delta = largest_distance(found.centroids)
    scale = 2 * delta / epsilon
    noisy = found.centroids + generator.laplace(0.0, scale, found.centroids.shape)
    centroids = reflect(noisy, standard.low, standard.high, reflection)
    true_radii = found.radii(scaled)
    radii = np.maximum(0.0, true_radii + generator.laplace(0.0, scale, true_radii.shape))
    points = np.clip(in_balls(centroids[found.labels], radii, generator), standard.low, standard.high)
    return PublishedGeometry(
        rows=round_and_clip(standard.back(points), held, whole_numbers, generator),
        labels=found.labels,
        standard=standard,
        true_centroids=found.centroids,
        noisy_centroids=noisy,
        centroids=centroids,
        true_radii=true_radii,
        radii=radii,
        points=points,
        delta=delta,
        noise_scale=scale,
    )


def largest_distance(centroids: Numbers) -> float:
    """Return Delta, the largest distance between two centroids.

    >>> largest_distance(np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]]))
    5.0
    """
    return float(np.linalg.norm(centroids[:, None] - centroids[None], axis=2).max())


def reflect(values: Numbers, low: Numbers, high: Numbers, reflection: Reflection) -> Numbers:
    """Return values reflected at their bounds, by one of the readings of step 7 or folded.

    >>> far = np.array([-1.5])
    >>> [float(reflect(far, np.array([0.0]), np.array([1.0]), way)[0]) for way in REFLECTIONS]
    [1.5, 0.5, 0.5]
    """
    if reflection == "fold":
        return fold(values, low, high)
    below, above = values < low, values > high
    once = np.where(below, 2 * low - values, np.where(above, 2 * high - values, values))
    if reflection == "single":
        return once
    return np.where(below & (once > high), 2 * high - once, once)


def fold(values: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Return values folded into their bounds: always inside, and a single reflection wherever that is enough.

    >>> fold(np.array([-0.25, 2.25, 7.5]), np.array([0.0, 0.0, 0.0]), np.array([1.0, 1.0, np.inf])).tolist()
    [0.25, 0.25, 7.5]
    """
    both = np.isfinite(low) & np.isfinite(high)
    start, width = np.where(both, low, 0.0), np.where(both, high - np.where(both, low, 0.0), 1.0)
    place = np.mod(values - start, 2 * width)
    inside = start + np.where(place <= width, place, 2 * width - place)
    # With one bound, or none, one reflection is enough. Clipping mends the last bit.
    return np.clip(np.where(both, inside, reflect(values, low, high, "single")), low, high)


def in_balls(centres: Numbers, radii: Numbers, generator: np.random.Generator) -> Numbers:
    """Return a uniform point of the ball around each centre."""
    direction = generator.standard_normal(centres.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    share = generator.random(len(centres)) ** (1 / centres.shape[1])
    return centres + (share * radii)[:, None] * direction


def round_randomly(values: Numbers, rounding: Rounding, generator: np.random.Generator) -> Numbers:
    """Round up or down: with one half each as published, or without bias; whole numbers stay.

    The published rule moves a value by 1/2 less its fraction on average. Unbiased is up with the fraction's chance.

    >>> round_randomly(np.array([2.0, -1.0]), "published", np.random.default_rng(1)).tolist()
    [2.0, -1.0]
    """
    floor = np.floor(values)
    fraction = values - floor
    chance = np.where(fraction > 0, 0.5, 0.0) if rounding == "published" else fraction
    return floor + (generator.random(values.shape) < chance)


def reflection_failure(
    centre: ArrayLike, low: float, high: float, scale: float, reflection: Reflection = "single"
) -> Numbers:
    """Return the chance that a centroid coordinate with Laplace noise is outside its bounds after step 7.

    For centres inside the bounds, which all centroids are. 0 for ``fold``.

    >>> reflection_failure([0.0], -1.0, 1.0, 1.0).round(4).tolist()
    [0.0498]
    """
    middle, width = np.asarray(centre, np.float64), high - low
    if reflection == "fold":
        return np.zeros_like(middle)
    beyond = 2 * width if reflection == "successive" else width
    return np.exp(-(high + width - middle) / scale) / 2 + np.exp(-(middle - low + beyond) / scale) / 2


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Bounds of every column, infinite where there is none, and which columns are whole numbers."""

    low: Numbers
    high: Numbers
    discrete: NDArray[np.bool_]

    @classmethod
    def of(cls, low: ArrayLike, high: ArrayLike, discrete: ArrayLike | None = None) -> ColumnBounds:
        """Return bounds from lists; no column is whole unless stated."""
        lows = np.asarray(low, np.float64)
        whole = np.zeros(lows.shape, bool) if discrete is None else np.asarray(discrete, bool)
        return cls(lows, np.asarray(high, np.float64), whole)


def round_and_clip(
    values: Numbers, bounds: ColumnBounds, rounding: Rounding, generator: np.random.Generator
) -> Numbers:
    """Return rows in the unit of the table: whole columns rounded and inside their whole bounds, others clipped."""
    rounded = np.where(bounds.discrete, round_randomly(values, rounding, generator), values)
    low = np.where(bounds.discrete, np.ceil(bounds.low), bounds.low)
    return np.clip(rounded, low, np.where(bounds.discrete, np.floor(bounds.high), bounds.high))


def checked_table(rows: ArrayLike, clusters: int, bounds: ColumnBounds | None) -> tuple[Numbers, ColumnBounds]:
    """Return the rows and their bounds, or refuse with everything that is wrong."""
    if clusters < 2:
        raise PlanError(f"{clusters} clusters asked for", next_step="ask for at least 2: the noise follows from them")
    values = check_rows(rows, "rows", clusters)
    wide = values.shape[1]
    held = bounds or ColumnBounds.of(np.full(wide, -np.inf), np.full(wide, np.inf))
    problems = _bound_problems(held, wide) or _row_problems(values, held, clusters)
    if problems:
        raise TableError(
            "cluster geometry cannot be run on these rows",
            problems,
            "leave constant columns out, and give bounds that hold for every row",
        )
    return values, held


def _bound_problems(bounds: ColumnBounds, wide: int) -> list[str]:
    named = {"low": bounds.low, "high": bounds.high, "discrete": bounds.discrete}
    problems = [
        f"{name}: shape {each.shape} for {wide} columns" for name, each in named.items() if each.shape != (wide,)
    ]
    if problems:
        return problems
    low, high = (np.where(bounds.discrete, f(b), b) for f, b in ((np.ceil, bounds.low), (np.floor, bounds.high)))
    crossed = ~((bounds.low < bounds.high) & (low <= high))
    return [f"column {j}: no room between {bounds.low[j]:g} and {bounds.high[j]:g}" for j in np.flatnonzero(crossed)]


def _row_problems(values: Numbers, bounds: ColumnBounds, clusters: int) -> list[str]:
    constant = np.flatnonzero(values.min(axis=0) == values.max(axis=0))
    problems = [f"column {j}: the same value in every row" for j in constant]
    outside = ((values < bounds.low) | (values > bounds.high)).sum(axis=0)
    problems += [f"column {j}: {outside[j]} values outside the bounds" for j in np.flatnonzero(outside)]
    distinct = len(np.unique(values, axis=0))
    return problems + ([f"{distinct} distinct rows for {clusters} clusters"] if distinct < clusters else [])


def require_choices(epsilon: float, reflection: str, whole_numbers: str) -> None:
    """Refuse settings that do not exist."""
    problems = [] if epsilon > 0 else [f"epsilon {epsilon}: not above 0"]
    if reflection not in REFLECTIONS:
        problems.append(f"reflection {reflection!r}: not one of {', '.join(REFLECTIONS)}")
    if whole_numbers not in ROUNDINGS:
        problems.append(f"whole_numbers {whole_numbers!r}: not one of {', '.join(ROUNDINGS)}")
    if problems:
        raise PlanError("cluster geometry as published cannot be run so", problems, "correct these settings")


def nonprivate_geometry(
    rows: ArrayLike,
    clusters: int,
    bounds: ColumnBounds | None,
    generator: np.random.Generator,
    *,
    whole_numbers: Rounding = "published",
    starts: int = STARTS,
) -> PublishedGeometry:
    """Return the paper's first baseline: the same reconstruction without any noise."""
    return published_geometry(rows, clusters, math.inf, bounds, generator, whole_numbers=whole_numbers, starts=starts)


def coordinate_noise(
    rows: ArrayLike,
    clusters: int,
    epsilon: float,
    bounds: ColumnBounds | None,
    generator: np.random.Generator,
    *,
    whole_numbers: Rounding = "published",
    starts: int = STARTS,
) -> Numbers:
    """Return the paper's second baseline: Laplace noise of scale Delta / epsilon on every value. Also no guarantee."""
    values, held = checked_table(rows, clusters, bounds)
    require_choices(epsilon, "single", whole_numbers)
    standard = Standardiser.of(values, held.low, held.high)
    scaled = standard.forward(values)
    delta = largest_distance(kmeans(scaled, clusters, int(generator.integers(2**31)), starts).centroids)
    noisy = scaled + generator.laplace(0.0, delta / epsilon, scaled.shape)
    return round_and_clip(standard.back(np.clip(noisy, standard.low, standard.high)), held, whole_numbers, generator)
