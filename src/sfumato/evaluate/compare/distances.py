"""How far two sides are apart: cross tables of one to three columns, numbers, correlations, missing values, rules.

Over columns, pairs and triples every measure is a mean. 0 is perfect, and no two samples reach it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.evaluate.compare.cells import joint_codes, paired_counts, tvd
from sfumato.evaluate.compare.sides import ComparisonLayout, RowsView

QUANTILES = np.linspace(0.005, 0.995, 199)
TINY = 1e-12
SMALLEST_RATIO = 1e-3
"""A made column that is constant counts as one with so small a part of the true standard deviation."""


@dataclass(frozen=True, eq=False)
class DistanceSummary:
    """What was measured between two sides."""

    values: dict[str, float]
    """The measures by name; one that does not exist for these columns is not there."""
    columns: FloatArray
    """tvd of each column."""
    pairs: FloatArray
    """tvd of each pair of the layout."""


def distances(layout: ComparisonLayout, true: RowsView, made: RowsView) -> DistanceSummary:
    """Measure everything that needs no model."""
    columns = marginal_tvds(layout, true, made, tuple((place,) for place in range(len(layout.cells))))[0]
    pairs, cramer = marginal_tvds(layout, true, made, layout.pairs)
    triples = marginal_tvds(layout, true, made, layout.triples)[0]
    found = {"tvd_1": columns, "tvd_2": pairs, "tvd_3": triples}
    values = {name: float(each.mean()) for name, each in found.items() if len(each)}
    values |= moment_errors(layout, true, made) | correlation_errors(true, made, layout)
    if len(cramer):
        values["cramer_error"] = float(cramer.mean())
    values |= {"missing_error": _missing_error(layout, true, made), "rule_violations": float(made.broken.mean())}
    return DistanceSummary(values, columns, pairs)


def marginal_tvds(
    layout: ComparisonLayout, true: RowsView, made: RowsView, sets: tuple[tuple[int, ...], ...]
) -> tuple[FloatArray, FloatArray]:
    """Return the tvd of each cross table, and the errors of Cramér's V of pairs of levels."""
    found, cramer = np.empty(len(sets)), list[float]()
    for number, places in enumerate(sets):
        sizes = [layout.sizes[place] for place in places]
        (one, cells), (other, _) = (
            joint_codes([side.codes[place] for place in places], sizes) for side in (true, made)
        )
        tables = paired_counts(one, other, cells)
        found[number] = tvd(*tables)
        if (
            len(places) == 2
            and not any(layout.columns[place].is_ordered for place in places)
            and len(tables[0]) == cells
        ):
            cramer.append(abs(cramers_v(tables[0].reshape(sizes)) - cramers_v(tables[1].reshape(sizes))))
    return found, np.array(cramer)


def cramers_v(table: FloatArray) -> float:
    """Return Cramér's V of a cross table, with the correction for its bias (Bergsma 2013); missing is a level.

    >>> cramers_v(np.array([[50.0, 0.0], [0.0, 50.0]]))
    1.0
    >>> cramers_v(np.array([[25.0, 25.0], [25.0, 25.0]]))
    0.0
    """
    rows, columns = table.sum(1), table.sum(0)
    table = table[rows > 0][:, columns > 0]
    total, (height, width) = table.sum(), table.shape
    if min(height, width) < 2 or total < 2:
        return 0.0
    expected = np.outer(table.sum(1), table.sum(0)) / total
    bias = (height - 1) * (width - 1) / (total - 1)
    phi = max(0.0, float(((table - expected) ** 2 / expected).sum() / total) - bias)
    smaller = min(height - (height - 1) ** 2 / (total - 1), width - (width - 1) ** 2 / (total - 1)) - 1
    return float(min(1.0, np.sqrt(phi / max(smaller, TINY))))


def moment_errors(layout: ComparisonLayout, true: RowsView, made: RowsView) -> dict[str, float]:
    """Return the mean errors of means, standard deviations and quantiles over numbers and dates."""
    if not layout.numbers:
        return {}
    errors = [_errors_of_number(true.points[:, place], made.points[:, place]) for place in layout.numbers]
    known = [each for each in errors if each is not None] or [(0.0, 0.0, 0.0)]
    return dict(zip(("mean_error", "sd_error", "quantile_error"), np.mean(known, axis=0).tolist(), strict=True))


def _errors_of_number(true: FloatArray, made: FloatArray) -> tuple[float, float, float] | None:
    """Compare two columns of numbers; None where all true values are one, for then there is no unit.

    A column without any value is read as a constant at the true mean.
    """
    true, made = true[~np.isnan(true)], made[~np.isnan(made)]
    if not len(true) or true.min() == true.max():
        return None
    made = made if len(made) else np.full(2, true.mean())
    spread = float(true.std())
    middle = float(np.subtract(*np.quantile(true, (0.9, 0.1)))) or spread
    distance = float(np.abs(np.quantile(true, QUANTILES) - np.quantile(made, QUANTILES)).mean())
    ratio = max(float(made.std()) / spread, SMALLEST_RATIO)
    return abs(float(made.mean() - true.mean())) / spread, abs(float(np.log(ratio))), distance / middle


def correlation_errors(true: RowsView, made: RowsView, layout: ComparisonLayout) -> dict[str, float]:
    """Return the mean absolute errors of the correlations of all pairs of numbers."""
    if len(layout.numbers) < 2:
        return {}
    pairs = np.triu_indices(len(layout.numbers), 1)
    both = {
        "pearson_error": [correlations(side.points[:, list(layout.numbers)]) for side in (true, made)],
        "spearman_error": [correlations(side.ranks) for side in (true, made)],
    }
    return {name: float(np.abs(one - other)[pairs].mean()) for name, (one, other) in both.items()}


def correlations(values: FloatArray) -> FloatArray:
    """Return the correlations of columns, each over the rows that have both values; 0 where none exists.

    >>> correlations(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, np.nan], [4.0, 8.0]])).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    known = ~np.isnan(values)
    weight = known.astype(float)
    centred = np.where(known, values - np.nanmean(np.where(known.any(0), values, 0), axis=0), 0)
    scale = np.sqrt((centred**2).mean(0))
    centred = centred / np.where(scale > 0, scale, 1)
    rows = np.maximum(weight.T @ weight, 1)
    sums, squares = centred.T @ weight / rows, (centred**2).T @ weight / rows
    covariance = centred.T @ centred / rows - sums * sums.T
    variance = squares - sums**2
    product = np.sqrt(np.maximum(variance * variance.T, 0))
    found = np.where(product > TINY, covariance / np.where(product > TINY, product, 1), 0)
    return np.clip(found, -1, 1)


def _missing_error(layout: ComparisonLayout, true: RowsView, made: RowsView) -> float:
    """Return the mean error of the shares of missing values, over columns that may have some; 0 where none may."""
    places = [place for place, column in enumerate(layout.columns) if layout.schema[column.name].missing]
    if not places:
        return 0.0
    shares = [np.isnan(side.points[:, places]).mean(0) for side in (true, made)]
    return float(np.abs(shares[0] - shares[1]).mean())
