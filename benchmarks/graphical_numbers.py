"""Can the numbers be used? Measures of a synthetic table on its values, against the rows that it was made from.

Over the numeric columns, means of

* mean: distance of the means, in standard deviations of the column;
* sd: absolute logarithm of the ratio of the standard deviations;
* w1: mean distance of the quantiles .005 to .995, as a share of the range from the .1 to the .9 quantile.

Over all pairs of numeric columns: pearson and spearman, the mean absolute error of the correlation, and worst, the
largest error of a Pearson correlation. Over all pairs of columns: tvd2, the mean total variation distance, and tvd2n
the same over pairs of numbers only, where numbers are counted in 16 cells of equal true mass, each level and missing in
a cell of its own.

Some tables are asked one question more: the correlation of MORTDUE and VALUE in hmeq; how far the mean SalePrice of
house_prices is off; the accuracy on fresh real rows of gradient boosting that was trained on the synthetic rows of a
parity table; and how many rows of compas contradict a column that determines another.

As a script: ``graphical_numbers.py TABLE FILE`` prints JSON, where FILE is Parquet or CSV, or the word ``resampled``
(as many real rows, drawn with replacement: what no synthesizer should be asked to beat).
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from graphical_drafts import DETERMINES, LABEL, PARITIES, TEST_SEED, Drafted, drafted, parity
from numpy.typing import NDArray

CELLS = 16
QUANTILES = np.linspace(0.005, 0.995, 199)
MODEL_SEED = 0
TINY = 1e-12
Numbers = NDArray[np.float64]


def usability(table: Drafted, made: pd.DataFrame) -> dict[str, float]:
    """Return every measure of synthetic rows under the names above."""
    real = table.frame
    names = numeric_columns(table)
    found = column_errors(real[names], made[names]) | correlation_errors(real[names], made[names])
    codes = {name: _coded(real[name], made[name], name in names) for name in table.schema.names if name in made}
    found["tvd2"] = _mean_distance(codes)
    found["tvd2n"] = _mean_distance({name: codes[name] for name in names})
    return found | _questions(table, made)


def numeric_columns(table: Drafted) -> list[str]:
    """Return the columns that the schema orders and the table holds as numbers, and those of two whole numbers.

    A draft calls 0 and 1 a category; a share is a mean all the same, and goals and earlier numbers count it as one.
    """
    two = [column.name for column in table.schema if column.has_integer_levels and column.present_size == 2]
    ordered = [column.name for column in table.schema if column.is_ordered or column.name in two]
    return [name for name in ordered if pd.api.types.is_numeric_dtype(table.frame[name])]


def column_errors(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """Return the mean errors of means, standard deviations and quantiles over the columns."""
    errors = [_errors_of_column(_present(real[name]), _present(made[name])) for name in real]
    return dict(zip(("mean", "sd", "w1"), np.mean(errors, axis=0).tolist(), strict=True))


def _present(series: pd.Series) -> Numbers:
    return series.dropna().to_numpy(float)


def _errors_of_column(real: Numbers, made: Numbers) -> tuple[float, float, float]:
    """Compare two columns of numbers; one without any value is read as a constant at the true mean."""
    made = made if len(made) else np.full(2, real.mean())
    spread = real.std() or 1.0
    middle = float(np.subtract(*np.quantile(real, (0.9, 0.1)))) or spread
    distance = np.abs(np.quantile(real, QUANTILES) - np.quantile(made, QUANTILES)).mean()
    of_spread = abs(np.log(max(made.std(), TINY) / spread))
    return abs(made.mean() - real.mean()) / spread, of_spread, distance / middle


def correlation_errors(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """Return the errors of all correlations; one that does not exist (a constant column) is read as none."""
    pairs = np.triu_indices(real.shape[1], 1)
    linear, ranks = (
        np.abs(_correlations(real, kind) - _correlations(made, kind))[pairs] for kind in ("pearson", "spearman")
    )
    return {"pearson": float(linear.mean()), "worst": float(linear.max()), "spearman": float(ranks.mean())}


def _correlations(frame: pd.DataFrame, kind: Any) -> Numbers:
    return np.nan_to_num(frame.astype(float).corr(kind).to_numpy())


def _coded(real: pd.Series, made: pd.Series, is_number: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the cells of two columns and the number of cells."""
    if is_number:
        edges = np.unique(np.quantile(_present(real), np.linspace(0, 1, CELLS + 1)[1:-1]))
        return _cells(real, edges), _cells(made, edges), len(edges) + 2
    both = pd.concat([series.astype(object).where(series.notna(), None) for series in (real, made)])
    codes, levels = pd.factorize(both, use_na_sentinel=False)
    return codes[: len(real)], codes[len(real) :], len(levels)


def _cells(series: pd.Series, edges: Numbers) -> NDArray[np.int64]:
    values = series.to_numpy(float, na_value=np.nan)
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))


def _mean_distance(codes: dict[str, tuple[NDArray[np.int64], NDArray[np.int64], int]]) -> float:
    return float(np.mean([_distance(codes[one], codes[other]) for one, other in combinations(codes, 2)]))


def _distance(one: tuple[Any, ...], other: tuple[Any, ...]) -> float:
    shares = [
        np.bincount(one[side] * other[2] + other[side], minlength=one[2] * other[2]) / len(one[side]) for side in (0, 1)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _questions(table: Drafted, made: pd.DataFrame) -> dict[str, float]:
    """Return what only this table is asked."""
    if table.name == "hmeq":
        return {"r(MORTDUE, VALUE)": float(made["MORTDUE"].astype(float).corr(made["VALUE"].astype(float)))}
    if table.name == "house_prices":
        return {"SalePrice off": abs(float(made["SalePrice"].mean() / table.frame["SalePrice"].mean()) - 1)}
    if table.name in PARITIES:
        return {"accuracy": parity_accuracy(PARITIES[table.name], made)}
    if table.name in DETERMINES:
        return {"contradictions": contradictions(table, made)}
    return {}


def parity_accuracy(order: int, made: pd.DataFrame) -> float:
    """Train on synthetic rows and return the share of fresh real rows whose label is found."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    test, rows = parity(order, TEST_SEED), made.dropna(subset=[LABEL])
    inputs = [name for name in test if name != LABEL]
    if rows[LABEL].nunique() < 2:
        return 0.5
    model = HistGradientBoostingClassifier(random_state=MODEL_SEED)
    model.fit(rows[inputs].astype(float).to_numpy(), rows[LABEL].astype(bool))
    return float((model.predict(test[inputs].to_numpy()) == test[LABEL]).mean())


def contradictions(table: Drafted, made: pd.DataFrame) -> float:
    """Count the rows in which a determined column is not what the real rows say, or not what most others say.

    A value that no real row has cannot be judged by them: there the synthetic rows must agree among themselves.
    """
    wrong = 0
    for cause, effect in DETERMINES[table.name].items():
        known = table.frame.groupby(cause)[effect].first()
        usual = made.groupby(cause)[effect].agg(lambda values: values.mode().iloc[0])
        right = made[cause].map(known).fillna(made[cause].map(usual))
        wrong += int((right.astype(object) != made[effect].astype(object)).sum())
    return float(wrong)


def resampled(table: Drafted, seed: int = 0) -> pd.DataFrame:
    """Return as many real rows, drawn with replacement."""
    return table.frame.sample(len(table.frame), replace=True, random_state=seed).reset_index(drop=True)


def main() -> None:
    name, path = sys.argv[1:]
    table = drafted(name)
    made = resampled(table) if path == "resampled" else _read(table, path)
    print(json.dumps(usability(table, made)))


def _read(table: Drafted, path: str) -> pd.DataFrame:
    if path.endswith(".parquet"):
        return pd.read_parquet(path)
    kinds = {name: table.frame[name].dtype for name in table.frame if table.frame[name].dtype == object}
    return pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=kinds)


if __name__ == "__main__":
    main()
