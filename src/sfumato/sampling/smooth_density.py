"""Smooth density through noisy counts: penalised log-density with atoms.

The counts x of cells have a known precision P (the inverse of their covariance). The curve is mu = width exp(theta),
where theta minimises

    (x - mu)' P (x - mu) / 2 + smoothing / 2 * the squared second differences of theta.

A straight line costs nothing, so a tail falls off exponentially and nothing is negative. The smoothing is the one with
the least Cp = (x - mu)' P (x - mu) + 2 edf among a grid, from the smoothest down. An atom is a cell far above the
curve (a top code, a zero, a round number): it keeps its own count, and the curve is fitted without it. Beside an atom
at an end, where nothing else stands above its noise, the curve is an exponential that falls away from the atom: a line
could rise, and would put all of the mass at the far bound. All of it is a function of noisy counts and of public cells:
post-processing, free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray, IntArray
from sfumato.sampling.fine_cells import cell_widths
from sfumato.schema.column import Column

SMOOTHINGS = tuple(float(10**power) for power in np.arange(5.0, -0.01, -0.5))
"""Weights of the penalty that are tried. The last one is a floor: below it a curve would follow the noise."""
ATOM_SIGMAS, NEIGHBOUR_SIGMAS = 4.5, 6.0
"""A cell this many standard deviations above the curve, or above what its neighbours say, is an atom. A table has a
thousand cells: at 4 a release in thirty would set noise apart somewhere in an empty tail, and double a spread."""
ATOM_ROUNDS = 3
LEAST_CELLS = 3
"""Cells that a curve needs; where nearly all stand out, none is an atom."""
WINDOWS, SEEN_SIGMAS, STIFF, BODY_SHARE = (3, 6, 12, 24), 3.5, 1000.0, 0.5
"""A cell whose neighbourhood (so many cells on either side; the first that finds this share of the rows) is below this
many standard deviations has nothing to follow: there the penalty is this many times heavier."""
HALF_LIVES = tuple(float(2.0**-power) for power in range(9))
"""Half-lives, as shares of the range, of the exponentials that are tried beside an atom at an end."""
LEAST_MASS = 0.5
"""Mass beside such an atom where the noise shows none, in standard deviations: a constant would have no spread."""
NEWTON_STEPS = 30
SETTLED = 1e-4
"""Newton's steps end when no logarithm moves by more than this."""
LONGEST_STEP = 2.0
"""A step moves no logarithm further than this."""
LOWEST = -600.0
"""Logarithms of densities below this are not told apart from it. Far below anything that counts: where a body ends
abruptly its tails go down to -100, and steps that a floor cuts off lead nowhere."""


@dataclass(frozen=True)
class SmoothDensity:
    """Expected counts of cells, at least 0; which cells are atoms; the smoothing that was chosen, and its Cp."""

    counts: FloatArray
    atoms: NDArray[np.bool_]
    smoothing: float
    criterion: float

    @property
    def explains(self) -> bool:
        """Whether the curve is a better guess than the noisy counts themselves, whose Cp is twice their number."""
        return self.criterion + 2 * int(self.atoms.sum()) < 2 * len(self.counts)


def fit_density(counts: FloatArray, covariance: FloatArray, widths: FloatArray) -> SmoothDensity:
    """Return the curve through noisy counts of neighbouring cells whose covariance is known."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # the matrices are small: a second thread costs more than it brings
        return _with_atoms(counts, covariance, widths)


def _with_atoms(counts: FloatArray, covariance: FloatArray, widths: FloatArray) -> SmoothDensity:
    """Fit the curve, set cells far above it apart, and fit it anew without them."""
    sigmas = np.sqrt(np.diag(covariance))
    atoms = _above_neighbours(counts, sigmas, widths)
    curve = _without(atoms, counts, covariance, widths)
    for _ in range(ATOM_ROUNDS - 1):
        spikes = curve.atoms | (counts - curve.counts > ATOM_SIGMAS * sigmas)
        if (spikes == curve.atoms).all():
            break
        curve = _without(spikes, counts, covariance, widths)
    return curve


def _without(atoms: NDArray[np.bool_], counts: FloatArray, covariance: FloatArray, widths: FloatArray) -> SmoothDensity:
    """Fit the curve to all cells but the atoms, which keep their own counts; where hardly a cell is left, to all."""
    rest = ~atoms if (~atoms).sum() >= LEAST_CELLS else np.ones(len(counts), dtype=bool)
    fitted = np.maximum(counts, 0.0)
    noise = covariance[np.ix_(rest, rest)]
    visible = _visible(counts[rest], noise)
    away = _unseen_side(rest, counts, covariance, widths) if visible is None else 0
    if away:
        curve, criterion = _exponential(counts[rest][::away], noise[::away, ::away], widths[rest][::away])
        fitted[rest] = curve[::away]
        return SmoothDensity(fitted, ~rest, SMOOTHINGS[0], criterion)
    seen = np.ones(int(rest.sum()), dtype=bool) if visible is None else visible
    curve, smoothing, criterion = _smooth(counts[rest], inverse(noise), widths[rest], np.where(seen, 1.0, STIFF))
    fitted[rest] = _falling_tails(curve, widths[rest], seen)
    return SmoothDensity(fitted, ~rest, smoothing, criterion)


def _unseen_side(rest: NDArray[np.bool_], counts: FloatArray, covariance: FloatArray, widths: FloatArray) -> int:
    """Return 1 (or -1) if only the low (or high) end is an atom and the far half holds no more than noise; else 0."""
    low, high = not rest[0], not rest[-1]
    if low == high:
        return 0
    passed = np.cumsum(widths) if low else np.cumsum(widths[::-1])[::-1]
    far = (rest & (passed > widths.sum() / 2)).astype(float)
    return 0 if far @ counts > SEEN_SIGMAS * np.sqrt(far @ covariance @ far) else 1 if low else -1


def _exponential(counts: FloatArray, covariance: FloatArray, widths: FloatArray) -> tuple[FloatArray, float]:
    """Return the exponential that falls from the first cell on, by least squares over half-lives, and its Cp."""
    precision, ends = inverse(covariance), np.append(0.0, np.cumsum(widths)) / widths.sum()
    shapes = [-np.diff(np.exp2(-ends / half)) / (1 - np.exp2(-1 / half)) for half in HALF_LIVES]
    pulls = [float(shape @ precision @ counts) for shape in shapes]
    weights = [float(shape @ precision @ shape) for shape in shapes]
    best = int(np.argmax([max(pull, 0.0) ** 2 / weight for pull, weight in zip(pulls, weights, strict=True)]))
    mass = max(pulls[best] / weights[best], LEAST_MASS / np.sqrt(weights[best]))
    error = counts - mass * shapes[best]
    return mass * shapes[best], float(error @ precision @ error) + 4


def _falling_tails(curve: FloatArray, widths: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """Return the curve with a density that never rises again beyond the outermost cells that stand above the noise."""
    present = np.flatnonzero(seen)
    if not len(present):
        return curve
    density = curve / widths
    right, left = density[present[-1] :], density[present[0] :: -1]
    density[present[-1] :] = np.minimum.accumulate(right)
    density[present[0] :: -1] = np.minimum.accumulate(left)
    return density * widths


def _visible(counts: FloatArray, covariance: FloatArray) -> NDArray[np.bool_] | None:
    """Return the cells in a window that stands above its noise; None where no width of window finds half of the rows.

    Elsewhere the curve has nothing to follow: there it is much stiffer and goes on as straight as it came, and an empty
    tail stays empty. Where rows are few, a narrow window may hold no more than noise even in the body: then wider ones
    are asked, and where none finds half of the rows, the curve may bend anywhere.
    """
    for window in WINDOWS:
        visible = _seen(counts, covariance, window)
        if counts[visible].sum() >= BODY_SHARE * counts.sum():
            return visible
    return None


def _seen(counts: FloatArray, covariance: FloatArray, reach: int) -> NDArray[np.bool_]:
    """Return the cells whose neighbourhood, so many cells on either side, stands above its noise."""
    places = np.arange(len(counts))
    window = (np.abs(places[:, None] - places) <= reach).astype(float)
    sigmas = np.sqrt(np.einsum("ij,ij->i", window @ covariance, window))
    return window @ counts > SEEN_SIGMAS * sigmas


def _above_neighbours(counts: FloatArray, sigmas: FloatArray, widths: FloatArray) -> NDArray[np.bool_]:
    """Return the cells that stand far above both sides: a curve that may bend would follow them instead.

    Two cells on either side tell what to expect; at an end there is one side alone.
    """
    expected, variance = np.zeros(len(counts)), np.zeros(len(counts))
    for side in (-1, 1):
        sums = [np.zeros(len(counts)) for _ in range(3)]
        for step in (1, 2):
            for whole, part in zip(sums, (counts, widths, sigmas**2), strict=True):
                whole += _shifted(part, side * step)
        scale = widths / np.where(sums[1] > 0, sums[1], np.inf)
        higher = scale * sums[0] > expected
        expected = np.where(higher, scale * sums[0], expected)
        variance = np.where(higher, scale**2 * sums[2], variance)
    return counts - expected > NEIGHBOUR_SIGMAS * np.sqrt(sigmas**2 + variance)


def inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a matrix, in the precision of the matrix."""
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _shifted(values: FloatArray, steps: int) -> FloatArray:
    """Return the values of neighbours some steps away; 0 beyond the ends."""
    moved = np.zeros(len(values))
    if abs(steps) < len(values):
        moved[max(0, -steps) : len(values) - max(0, steps)] = values[max(0, steps) : len(values) - max(0, -steps)]
    return moved


def _smooth(
    counts: FloatArray, precision: FloatArray, widths: FloatArray, stiff: FloatArray
) -> tuple[FloatArray, float, float]:
    """Return the curve of the smoothing with the least Cp, that smoothing, and its Cp."""
    penalty = roughness(len(counts), stiff)
    theta = np.full(len(counts), np.log(max(counts.sum(), 1.0) / widths.sum()))
    best = (np.inf, np.zeros(0), SMOOTHINGS[0])
    for smoothing in SMOOTHINGS:
        theta = _newton(theta, counts, precision, widths, smoothing * penalty)
        fitted = widths * np.exp(theta)
        bent = fitted[:, None] * precision * fitted
        freedom = float(np.trace(np.linalg.solve(_firm(bent, smoothing * penalty), bent)))
        error = counts - fitted
        criterion = float(error @ precision @ error) + 2 * freedom
        if criterion < best[0]:
            best = (criterion, fitted, smoothing)
    return best[1], best[2], best[0]


def _newton(
    theta: FloatArray, counts: FloatArray, precision: FloatArray, widths: FloatArray, penalty: FloatArray
) -> FloatArray:
    """Minimise by Gauss-Newton steps, each cut short until the value falls."""

    def value(at: FloatArray) -> float:
        error = counts - widths * np.exp(at)
        return float(error @ precision @ error + at @ penalty @ at) / 2

    now = value(theta)
    for _ in range(NEWTON_STEPS):
        fitted = widths * np.exp(theta)
        bent = fitted[:, None] * precision * fitted
        downhill = fitted * (precision @ (counts - fitted)) - penalty @ theta
        step: FloatArray = np.asarray(np.linalg.solve(_firm(bent, penalty), downhill), np.float64)
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        theta, now, moved = _shortened(theta, step, now, value)
        if moved < SETTLED:
            break
    return theta


def _shortened(
    theta: FloatArray, step: FloatArray, now: float, value: Callable[[FloatArray], float]
) -> tuple[FloatArray, float, float]:
    """Halve a step until the value falls; return where it led, the value there, and the longest move."""
    for _ in range(8):
        there = np.maximum(theta + step, LOWEST)
        lower = value(there)
        if lower < now:
            return there, lower, float(np.abs(step).max())
        step = step / 2
    return theta, now, 0.0


def _firm(bent: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return the sum of both with a small ridge: counts that say nothing leave the straight lines open."""
    ridge = 1e-8 * max(float(np.trace(bent)), 1e-12) + 1e-12 * float(np.trace(penalty))
    return bent + penalty + ridge / len(bent) * np.eye(len(bent))


def roughness(count: int, stiff: FloatArray | None = None) -> FloatArray:
    """Return the matrix of the squared second differences along neighbouring cells.

    Cells are narrow where the mass is, so distances are counted in cells: in the unit of the values the same penalty
    would flatten the mass and let the tail follow the noise.
    """
    second = np.diff(np.eye(count), 2, axis=0)
    weights = np.ones(max(count - 2, 0)) if stiff is None else stiff[1:-1]
    return (second.T * weights) @ second


def density_of_column(column: Column, counts: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the curve of a column's present cells: what a noisy count is worth once its neighbours are heard."""
    return fit_density(counts, covariance, cell_widths(column)).counts


def shares_within(masses: FloatArray, column: Column, groups: NDArray[np.int32] | IntArray) -> FloatArray:
    """Return each cell's share of its group; by width where the curve has no mass in it."""
    total = np.bincount(groups, masses)[groups]
    widths = cell_widths(column)
    by_width = widths / np.bincount(groups, widths)[groups]
    return np.where(total > 0, masses / np.where(total > 0, total, 1.0), by_width)
