"""Distances between private and synthetic data: total variation, ECDF, moments, quantiles, entropy, rules.

**Records in a wrong cell.** For one marginal with private counts c (sum n) and released counts r (negative ones as 0,
sum R; all ones where nothing is left) let q = r / R be the released shares. Both distances here are exact fractions:

    total variation   u = (1/2) sum over cells |n q - c|         u / n is the total variation distance
    distribution      u = max over cells |n Q - C|, Q and C cumulated   u / n is the largest difference of the ECDFs

Sensitivity in records, for a fixed release q in cells that follow from the release and the schema. One more record in
cell i turns c into c + e_i and n into n + 1, so that n q - c moves by q - e_i: half of its L1 length is 1 - q_i <= 1,
and no cumulated sum of it exceeds 1. So u moves by at most 1; replacing a record moves c by e_i - e_j and leaves n, and
again u moves by at most 1. A person with k rows moves u by at most k. A mean or a maximum of such numbers over
marginals moves by no more. The distance u / n has no such bound under add-remove, where n is private: this is why
records are counted.

Over columns, pairs and triples every metric is a mean. 0 is perfect, and no two samples reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.arrays import FloatArray, IntArray
from sfumato.errors import TableError
from sfumato.metrics.association import AssociationRows, correlations
from sfumato.metrics.binning import ColumnSet, Marginal
from sfumato.metrics.comparison_layout import BinnedRows, ComparisonLayout, Places

QUANTILES = np.linspace(0.005, 0.995, 199)
SMALLEST_RATIO = 1e-3
"""A synthetic column that is constant counts as one with so small a part of the private standard deviation."""
SAFE = 2**62
"""Products of counts up to here fit into 64 bits."""


class MarginalPair(NamedTuple):
    """One marginal: released counts and private ones, in the same cells."""

    names: ColumnSet
    released: IntArray
    private: IntArray


Misplaced = Callable[[MarginalPair], Fraction]


def misplaced_records(pair: MarginalPair) -> Fraction:
    """Return how many records lie in a wrong cell: n times the total variation distance.

    >>> misplaced_records(MarginalPair(("a",), np.array([3, 1]), np.array([2, 2])))
    Fraction(1, 1)
    """
    difference, total = _scaled_difference(pair)
    return Fraction(int(np.abs(difference).sum()), 2 * total)


def misplaced_records_ecdf(pair: MarginalPair) -> Fraction:
    """Return n times the largest difference of the two distribution functions over the codes of one column.

    >>> misplaced_records_ecdf(MarginalPair(("a",), np.array([2, 0, 2]), np.array([0, 4, 0])))
    Fraction(2, 1)
    """
    difference, total = _scaled_difference(pair)
    return Fraction(int(np.abs(np.cumsum(difference)).max()), total)


def mean_misplaced_records(pairs: Iterable[MarginalPair]) -> Fraction:
    """Return the mean number of records in a wrong cell over some marginals: n times tvd_k."""
    misplaced = [misplaced_records(pair) for pair in pairs]
    return sum(misplaced, Fraction(0)) / len(misplaced)


def _scaled_difference(pair: MarginalPair) -> tuple[NDArray[Any], int]:
    """Return R (n q - c) in whole numbers, and R."""
    released = np.maximum(pair.released, 0)
    released = released if released.sum() > 0 else np.ones_like(released)
    total, records = int(released.sum()), int(pair.private.sum())
    kind: Any = np.int64 if total * max(records, 1) < SAFE else object
    return (records * released.astype(kind) - total * pair.private.astype(kind)).ravel(), total


def total_variation(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the total variation distance of two vectors of counts, each as shares of its own sum.

    >>> total_variation(np.array([1.0, 1.0]), np.array([4.0, 0.0]))
    0.5
    """
    return float(np.abs(one / max(one.sum(), 1) - other / max(other.sum(), 1)).sum() / 2)


def entropy_error(pair: MarginalPair) -> float:
    """Return the absolute difference of the Shannon entropies of released and private counts, in bits."""
    from sfumato.entropy.values import shannon

    return abs(shannon(np.maximum(pair.released, 0).ravel()) - shannon(pair.private.ravel()))


@dataclass(frozen=True, eq=False)
class DistanceSummary:
    """What was measured between two sides without a model."""

    values: dict[str, float]
    """The metrics by name; one that does not exist for these columns is not there."""
    columns: FloatArray
    """Total variation of each column, in q16."""
    pairs: FloatArray
    """Total variation of each pair of the layout, in q16."""


def distances(layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows) -> DistanceSummary:
    """Measure everything that needs no model."""
    singles, pairs, triples = (
        marginal_tvds(layout, true, synthetic, sets) for sets in (layout.singles, layout.pairs, layout.triples)
    )
    tvds = {"tvd_1_q16": singles, "tvd_2_q16": pairs, "tvd_3_q16": triples}
    values = {name: float(each.mean()) for name, each in tvds.items() if len(each)}
    values |= moment_errors(layout, true, synthetic) | association_errors(layout, true, synthetic)
    values |= {
        "missing_error": _missing_error(layout, true, synthetic),
        "rule_violations": float(synthetic.broken.mean()),
    }
    return DistanceSummary(values, singles, pairs)


def marginal_tvds(
    layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows, sets: tuple[Places, ...]
) -> FloatArray:
    """Return the total variation distance of the marginal of each set of places."""
    tvds = np.empty(len(sets))
    for number, places in enumerate(sets):
        marginal = Marginal.of([synthetic.cells[i] for i in places], [layout.sizes[i] for i in places])
        tvds[number] = total_variation(marginal.counts, marginal.count([true.cells[i] for i in places]))
    return tvds


def moment_errors(layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows) -> dict[str, float]:
    """Return the mean errors of means, standard deviations and quantiles over numbers and dates."""
    if not layout.numbers:
        return {}
    errors = [_errors_of_number(true.points[:, i], synthetic.points[:, i]) for i in layout.numbers]
    known = [each for each in errors if each is not None] or [(0.0, 0.0, 0.0)]
    names = ("mean_error_sd", "sd_log_ratio", "quantile_error")
    return dict(zip(names, np.mean(known, axis=0).tolist(), strict=True))


def _errors_of_number(true: FloatArray, synthetic: FloatArray) -> tuple[float, float, float] | None:
    """Compare two columns of numbers; None where all private values are one, for then there is no unit.

    A column without any value is read as a constant at the private mean.
    """
    true, synthetic = true[~np.isnan(true)], synthetic[~np.isnan(synthetic)]
    if not len(true) or true.min() == true.max():
        return None
    synthetic = synthetic if len(synthetic) else np.full(2, true.mean())
    spread = float(true.std())
    middle = float(np.subtract(*np.quantile(true, (0.9, 0.1)))) or spread
    distance = float(np.abs(np.quantile(true, QUANTILES) - np.quantile(synthetic, QUANTILES)).mean())
    ratio = max(float(synthetic.std()) / spread, SMALLEST_RATIO)
    return abs(float(synthetic.mean() - true.mean())) / spread, abs(float(np.log(ratio))), distance / middle


def association_errors(layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows) -> dict[str, float]:
    """Return the mean absolute error of the associations of all pairs, and of linear correlations of numbers."""
    if not layout.pairs:
        return {}
    measured = [
        np.array(
            [each.value for each in AssociationRows(layout.columns, side.ranks, list(side.cells)).measure(layout.pairs)]
        )
        for side in (true, synthetic)
    ]
    errors = {"association_error": float(np.abs(measured[0] - measured[1]).mean())}
    if len(layout.numbers) > 1:
        linear = [correlations(side.points[:, list(layout.numbers)]) for side in (true, synthetic)]
        pairs = np.triu_indices(len(layout.numbers), 1)
        errors["pearson_error"] = float(np.abs(linear[0] - linear[1])[pairs].mean())
    return errors


def _missing_error(layout: ComparisonLayout, true: BinnedRows, synthetic: BinnedRows) -> float:
    """Return the mean error of the shares of missing values, over columns that may have some; 0 where none may."""
    places = [place for place, column in enumerate(layout.columns) if layout.schema[column.name].missing]
    if not places:
        return 0.0
    shares = [np.isnan(side.points[:, places]).mean(0) for side in (true, synthetic)]
    return float(np.abs(shares[0] - shares[1]).mean())


def ecdf_max(confidential: ArrayLike, synthetic: ArrayLike) -> float:
    """Return the largest absolute difference between the two empirical distribution functions, at pooled values.

    >>> ecdf_max([1, 2, 3, 4], [3, 4, 5, 6])
    0.5
    """
    return float(np.abs(ecdf_differences(*_both(confidential, synthetic))).max())


def ecdf_msq(confidential: ArrayLike, synthetic: ArrayLike) -> float:
    """Return the squared difference between the two empirical distribution functions, averaged over pooled values.

    A value that occurs k times in the pool counts k times (Woo and others 2009).

    >>> ecdf_msq([1, 2], [2, 3])
    0.1875
    """
    return float(np.mean(ecdf_differences(*_both(confidential, synthetic)) ** 2))


def ecdf_differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the differences of two empirical distribution functions at the pooled values."""
    pooled = np.sort(np.concatenate([first, second]))  # in order, each look-up starts near the last one
    below = [np.searchsorted(np.sort(each), pooled, side="right") / len(each) for each in (first, second)]
    return below[0] - below[1]


def _both(confidential: ArrayLike, synthetic: ArrayLike) -> tuple[FloatArray, FloatArray]:
    real, drawn = finite_columns({"confidential values": confidential, "copy 1": synthetic})
    return real, drawn


def finite_columns(named: dict[str, ArrayLike]) -> list[FloatArray]:
    """Return plain columns of values as numbers, or refuse them with everything that is wrong."""
    columns, problems = dict[str, FloatArray](), list[str]()
    for name, values in named.items():
        try:
            columns[name] = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            problems.append(f"{name}: not numbers")
    problems += [f"{name}: {wrong}" for name, values in columns.items() if (wrong := _wrong(values))]
    if len(named) < 2:
        problems.append("no synthetic copy")
    if problems:
        raise TableError("these values cannot be compared", problems, "give plain columns of finite numbers")
    return list(columns.values())


def _wrong(values: FloatArray) -> str:
    if values.ndim != 1:
        return f"{values.ndim} dimensions instead of one"
    if not len(values):
        return "empty"
    bad = int((~np.isfinite(values)).sum())
    return f"{bad} missing or infinite values" if bad else ""
