"""Measurements behind the errata: each one small, seeded, and usable alone."""

from __future__ import annotations

import numpy as np

from sfumato.methods.two_stage import LAMBDAS, PUBLISHED_BANDWIDTHS, fit_marginal, fit_response, make_inputs, match
from sfumato.papers.two_stage.data import Array, simulated, target_function
from sfumato.risk.location import blend_for, blended, corrected_inverse, interval_disclosure
from sfumato.utility.prediction import mean_squared_error

SEED = 1
ETA = 0.001


def calibration(rows: Array, paired: Array, target: float) -> tuple[float, float, float]:
    """Return LID where the corrected formula asks for ``target``, the floor, and the exact alpha (nan if none)."""
    alpha = corrected_inverse(target, rows.shape[1], ETA)
    got = interval_disclosure(rows, blended(rows, paired, max(alpha, 0.0)), ETA).share
    floor = interval_disclosure(rows, paired, ETA).share
    exact = blend_for(target, rows, paired, ETA).alpha if floor <= target else float("nan")
    return got, floor, exact


def marginal_damage(step: str, unit: float, rows: int = 1000) -> tuple[Array, float]:
    """Return the ratio of standard deviations, made over real, and the largest Kolmogorov-Smirnov distance."""
    from scipy.stats import ks_2samp

    inputs = unit * simulated(rows, np.random.default_rng(SEED))[0]
    made = make_inputs("lhs", inputs, rows, np.random.default_rng(SEED), step=step)
    distances = [float(ks_2samp(a, b).statistic) for a, b in zip(inputs.T, made.T, strict=True)]  # pyright: ignore
    return made.std(axis=0) / inputs.std(axis=0), max(distances)


def convolution(alpha: float = 0.5, rows: int = 200_000) -> tuple[float, float]:
    """Return TV to U(0, 1) and the share of its variance, for independent uniform rows blended."""
    first, second = np.random.default_rng(SEED).random((2, rows))
    both = blended(first, second, alpha)
    counts = np.histogram(both, 1000, (0, 1))[0] / rows
    return float(0.5 * np.abs(counts - 1e-3).sum()), float(both.var() / first.var())


def published_bandwidth(spread: float, constant: bool = True, rows: int = 500) -> float:
    """Return what leave-one-out takes from 0.05 to 2 for a normal column, with or without the constant 1/h of (11)."""
    from scipy.special import logsumexp

    column = np.random.default_rng(SEED).normal(0.0, spread, rows)
    square = (column[:, None] - column) ** 2
    np.fill_diagonal(square, np.inf)
    scores: list[float] = []
    for h in PUBLISHED_BANDWIDTHS:
        found = np.asarray(logsumexp(-square / (2 * h * h), axis=1), dtype=float)
        scores.append(float(found.mean()) - constant * np.log(h))
    return float(PUBLISHED_BANDWIDTHS[int(np.argmax(scores))])


def inflated(spread: float, published: bool, rows: int = 1000) -> tuple[float, float]:
    """Return the bandwidth and the ratio of standard deviations of the density over the data, for a normal column."""
    column = np.random.default_rng(SEED).normal(0.0, spread, rows)
    made = fit_marginal(column, PUBLISHED_BANDWIDTHS if published else None)
    drawn = made.quantile((np.arange(rows) + 0.5) / rows)
    return made.bandwidth, float(drawn.std() / column.std())


def membership(penalty: float | None, alpha: float, rows: int = 400) -> float:
    """Return the AUC of telling members from others by the residual of a model learnt from D*.

    ``penalty`` is the custodian's lambda; None has it chosen. The attacker interpolates the release.
    """
    from scipy.stats import rankdata

    generator = np.random.default_rng([SEED, 11])
    members, others = (simulated(rows, generator) for _ in range(2))
    grid = LAMBDAS if penalty is None else (penalty,)
    response = fit_response("krr", *members, generator, reach=2.0, lambdas=grid)
    made = make_inputs("lhs", members[0], rows, generator)
    paired = made[match(members[0], made, "rounds", generator)]
    released = blended(members[0], paired, alpha)
    attacker = fit_response("krr", released, response.predict(released), generator, reach=2.0, lambdas=(1e-9,))
    residuals = [np.abs(attacker.predict(x)[:, 0] - y) for x, y in (members, others)]
    ranks = rankdata(np.concatenate(residuals))
    return float(1 - (ranks[:rows].sum() - rows * (rows + 1) / 2) / rows**2)


def error_at(spread: float, noise: float, rows: int = 1000) -> float:
    """Return the error of KRR on the simulated data with so much noise in x3 and y."""
    generator = np.random.default_rng([SEED, 13])
    train, test = simulated(rows, generator, spread, noise), simulated(500, generator, spread)
    response = fit_response("krr", *train, generator)
    return mean_squared_error(response.predict(test[0])[:, 0], target_function(test[0]))


def file_order(columns: int, rows: int = 1000) -> tuple[float, float]:
    """Return the mean distance of pairs in the first and in the last tenth of the file, greedy in file order."""
    left, right = np.random.default_rng([SEED, columns]).random((2, rows, columns))
    distances, free = np.empty(rows), np.ones(rows, bool)
    for place, row in enumerate(left):
        lengths = np.where(free, np.linalg.norm(right - row, axis=1), np.inf)
        taken = int(np.argmin(lengths))
        distances[place], free[taken] = lengths[taken], False
    tenth = rows // 10
    return float(distances[:tenth].mean()), float(distances[-tenth:].mean())
