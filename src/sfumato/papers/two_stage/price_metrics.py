"""Price elasticity, optimal mark-up and profit ratio of a release against the table.

Demand is q = A p^beta for each brand: beta is the slope of log sales on log prices, by least squares with an intercept.
The mark-up that is best for an estimate and the profit that it leaves (OMU, OPR) exist for beta below -1 only; MAPD is
the mean deviation of the estimates. The elasticities of the true rows are the yardstick: measured on confidential rows,
for the custodian.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.arrays import FloatArray
from sfumato.errors import RiskError
from sfumato.metrics.evaluation_input import open_evaluation_input
from sfumato.metrics.rows_view import read_rows_view
from sfumato.schema import Schema

FEWEST_ROWS = 5


@dataclass(frozen=True)
class BrandElasticity:
    """One brand; mark-ups and profit are None where no best price exists."""

    brand: str
    elasticity: float
    released: float
    markup: float | None
    released_markup: float | None
    profit_ratio: float | None
    """Profit at the price that the released elasticity sets, over the best."""


@dataclass(frozen=True)
class ElasticityComparison:
    """All brands, and the mean deviation of their elasticities."""

    brands: tuple[BrandElasticity, ...]
    mapd: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


def compare_elasticities(
    original: Any, released: Any, schema: Schema, sales: str, price: str, brand: str | None = None
) -> ElasticityComparison:
    """Compare the price elasticity of each brand (of all rows unless named) in the release with that of the table."""
    _require(schema, sales, price, brand)
    rows = open_evaluation_input(released).require_rows().rows_for(schema)
    slopes = [_slopes(source, schema, sales, price, brand) for source in (original, rows)]
    common = [name for name in slopes[0] if name in slopes[1]]
    if not common:
        raise RiskError(
            f"no brand has {FEWEST_ROWS} rows with two prices and positive sales in both tables",
            next_step="leave --brand out, or take a larger release",
        )
    pairs = [(name, slopes[0][name], slopes[1][name]) for name in common]
    deviation = mapd([true for _, true, _ in pairs], [made for _, _, made in pairs])
    return ElasticityComparison(tuple(_brand(*pair) for pair in pairs), deviation)


def _require(schema: Schema, sales: str, price: str, brand: str | None) -> None:
    problems = [f"no column {name!r}" for name in (sales, price, brand) if name is not None and name not in schema]
    if not problems:
        problems += [f"{name} is no number" for name in (sales, price) if not schema[name].is_ordered]
        problems += [f"{brand} is no column of levels"] if brand is not None and schema[brand].is_ordered else []
    if problems:
        raise RiskError(
            "elasticities cannot be estimated", problems, "name sales and prices that are numbers, brands as levels"
        )


def _slopes(source: Any, schema: Schema, sales: str, price: str, brand: str | None) -> dict[str, float]:
    names = (sales, price, *(() if brand is None else (brand,)))
    view = read_rows_view(source, schema, names)
    whole = (view.points[:, :2] > 0).all(axis=1)
    labels = ("all",) if brand is None else schema[brand].labels
    found: dict[str, float] = {}
    for code, label in enumerate(labels):
        own = whole & (True if brand is None else view.codes[:, 2] == code)
        logs = np.log(view.points[own, :2])
        if len(logs) >= FEWEST_ROWS and np.ptp(logs[:, 1]) > 0:
            found[str(label)] = elasticity(logs[:, 1], logs[:, 0])
    return found


def elasticity(log_prices: FloatArray, log_sales: FloatArray) -> float:
    """Return the slope of log sales on log prices.

    >>> prices = np.log([1.0, 2.0, 4.0])
    >>> round(elasticity(prices, 3.0 - 1.5 * prices), 6)
    -1.5
    """
    centred = log_prices - log_prices.mean()
    return float(centred @ log_sales / (centred @ centred))


def _brand(name: str, true: float, made: float) -> BrandElasticity:
    priced, both = true < -1, true < -1 and made < -1
    return BrandElasticity(
        name,
        true,
        made,
        float(optimal_markup(true)[0]) if priced else None,
        float(optimal_markup(made)[0]) if made < -1 else None,
        float(optimal_profit_ratio(true, made)[0]) if both else None,
    )


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
