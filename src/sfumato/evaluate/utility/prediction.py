"""Does a release serve those who predict from it? Errors of public models on a holdout, and the metrics of pricing.

The custodian holds D and releases D*. The public holds D' (often few rows, sometimes none) and trains its own model on
D', or on D' and D* together. The same models trained on D itself are the yardstick. Smaller is better everywhere but
in ``delta_mse`` and the profit ratio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError

Sample = tuple[ArrayLike, ArrayLike]
PUBLIC_MODELS = ("krr", "nadaraya-watson", "adaboost", "forest")
BINS = 20


@dataclass(frozen=True)
class PublicError:
    """Mean squared errors of one public model on the holdout; None where the public holds no rows."""

    model: str
    original: float
    released: float
    public: float | None
    combined: float | None

    @property
    def delta(self) -> float | None:
        """The part of its error that the public loses by the release."""
        if self.public is None or self.combined is None:
            return None
        return delta_mse(self.public, self.combined)

    @property
    def loss(self) -> float:
        """Error on the release over the error on the confidential rows: 1 is no loss."""
        return self.released / self.original if self.original > 0 else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """Return the errors with what follows from them."""
        return {**asdict(self), "delta": self.delta, "loss": self.loss}


def mean_squared_error(predicted: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean of squared differences over all rows and targets."""
    left, right = _column(predicted), _column(truth)
    if left.shape != right.shape:
        raise RiskError(f"predictions of shape {left.shape} do not go with targets of shape {right.shape}")
    return float(np.mean((left - right) ** 2))


def holdout_error(model: str, train: Sample, holdout: Sample, generator: np.random.Generator, **options: Any) -> float:
    """Train a public model and return its mean squared error on the holdout."""
    from sfumato.metrics.learners.regressors import fit_regressor

    response = fit_regressor(model, train[0], train[1], generator, **options)
    return mean_squared_error(response.predict(holdout[0]), holdout[1])


def public_errors(
    original: Sample,
    released: Sample,
    holdout: Sample,
    generator: np.random.Generator,
    public: Sample | None = None,
    models: Sequence[str] = PUBLIC_MODELS,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[PublicError, ...]:
    """Train every public model on D, on D*, on D' and on D' with D*, and measure all on the same holdout."""
    trains = {"original": original, "released": released}
    if public is not None:
        trains |= {"public": public, "combined": stacked(public, released)}
    found: list[PublicError] = []
    for model in models:
        chosen = dict((options or {}).get(model, {}))
        errors = {name: holdout_error(model, train, holdout, generator, **chosen) for name, train in trains.items()}
        found.append(
            PublicError(model, errors["original"], errors["released"], errors.get("public"), errors.get("combined"))
        )
    return tuple(found)


def stacked(first: Sample, second: Sample) -> tuple[FloatArray, FloatArray]:
    """Return the rows of both samples as one."""
    inputs, targets = ([_column(sample[part]) for sample in (first, second)] for part in (0, 1))
    return np.vstack(inputs), np.vstack(targets)


def delta_mse(public: float, combined: float) -> float:
    """Return (MSE on D' - MSE on D' and D*) / MSE on D': positive where the release helps the public.

    >>> delta_mse(0.5, 0.25)
    0.5
    """
    if not public > 0:
        raise RiskError(f"the error on the public rows must be positive, not {public}")
    return (public - combined) / public


def total_variation(original: ArrayLike, released: ArrayLike, bins: int = BINS) -> FloatArray:
    """Return half the absolute difference of the histograms, per column, on equal bins over both ranges.

    Two samples of one law differ too. Compare with the value between two halves of the original, or a true holdout.
    """
    left, right = _column(original), _column(released)
    if left.shape[1] != right.shape[1] or bins < 1 or not (np.all(np.isfinite(left)) and np.all(np.isfinite(right))):
        raise RiskError("total variation needs finite values, the same columns on both sides, and at least one bin")
    return np.asarray([_one_column(a, b, bins) for a, b in zip(left.T, right.T, strict=True)])


def _one_column(left: FloatArray, right: FloatArray, bins: int) -> float:
    """Compare two columns on common bins."""
    ends = (min(left.min(), right.min()), max(left.max(), right.max()))
    shares = [np.histogram(values, bins, ends)[0] / len(values) for values in (left, right)]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def optimal_markup(beta: ArrayLike) -> FloatArray:
    """Return the best mark-up over cost, 1 / (|beta| - 1), for demand q = A p^beta with beta < -1.

    >>> [float(round(m, 4)) for m in optimal_markup([-1.5, -1.7])]
    [2.0, 1.4286]
    """
    return 1.0 / (-_elasticities(beta, "beta") - 1.0)


def optimal_profit_ratio(beta: ArrayLike, beta_hat: ArrayLike) -> FloatArray:
    """Return the profit at the price set by an estimate, over the profit at the best price; 1 is no loss.

    With demand q = A p^b the price for an estimate e is c e / (e + 1), which gives
    (b + 1) / (e + 1) * (e (b + 1) / (b (e + 1)))^b. The formula as printed in the paper has lost its hats.

    >>> float(round(optimal_profit_ratio(-1.5, -1.540335)[0], 4))
    0.999
    """
    true, estimate = _elasticities(beta, "beta"), _elasticities(beta_hat, "beta_hat")
    markup = (true + 1) / (estimate + 1)
    return markup * (estimate * markup / true) ** true


def mapd(beta: ArrayLike, beta_hat: ArrayLike) -> float:
    """Return the mean absolute percentage deviation of estimates, as a share.

    >>> mapd([-2.0, -4.0], [-2.2, -4.0])
    0.05
    """
    true, estimate = np.atleast_1d(np.asarray(beta, float)), np.atleast_1d(np.asarray(beta_hat, float))
    if true.shape != estimate.shape or np.any(true == 0) or not np.all(np.isfinite(true + estimate)):
        raise RiskError("the deviation needs one finite estimate for every value, and no value may be 0")
    return float(round(np.mean(np.abs((estimate - true) / true)), 15))


def _elasticities(values: ArrayLike, name: str) -> FloatArray:
    """Return elasticities, or refuse those for which no best price exists."""
    found = np.atleast_1d(np.asarray(values, dtype=float))
    bad = found[~(np.isfinite(found) & (found < -1))]
    if bad.size:
        listed = [f"{name} = {value}" for value in bad[:5]]
        raise RiskError("a best price exists only for elasticities below -1", listed, "leave such brands out")
    return found


def _column(values: ArrayLike) -> FloatArray:
    """Return numbers as a table of rows and columns."""
    found = np.asarray(values, dtype=float)
    return found[:, None] if found.ndim == 1 else found
