"""Quality of a synthetic table: distances of marginals to the train rows, and prediction on the real holdout.

* tvd1, tvd2, tvd3: mean total variation distance over all 1-way, all 2-way and 100 random 3-way tables (all of them
  where there are fewer; triples drawn once from a fixed seed, columns in the order of the schema).
* hgb: gradient boosting trained on the synthetic rows, AUC on the real holdout, or R2 where the target is a number.
* lr: logistic regression on the cells one-hot, AUC on the real holdout.
* cut: tvd2 of as many rows as the holdout has, to read beside the holdout's own.

Call ``quality(prepare("adult"), frame)``; as a script: ``graphical_measures.py TABLE FILE`` prints JSON, where FILE is
Parquet (values), .npy (a peer's cells) or the word ``yardsticks``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from graphical_data import Prepared, prepare
from numpy.typing import NDArray

TRIPLE_SEED = 0
TRIPLES = 100
MODEL_SEED = 0


def quality(prepared: Prepared, frame: pd.DataFrame, predict: bool = True) -> dict[str, float]:
    """Return every measure of a table of values under the names above."""
    return quality_of_codes(prepared, prepared.codes(frame), frame if predict else None)


def quality_of_codes(prepared: Prepared, codes: NDArray[Any], values: pd.DataFrame | None) -> dict[str, float]:
    """Return the measures of a table given as cells; the prediction ones where its values are given too."""
    train = prepared.codes(prepared.train)
    cut = np.random.default_rng(MODEL_SEED).permutation(len(codes))[: len(prepared.holdout)]
    found = distances(prepared.sizes, train, codes)
    found["cut"] = distances(prepared.sizes, train, codes[cut], ways=(2,))["tvd2"]
    found["rows"] = len(codes)
    return found | (prediction(prepared, values) if values is not None else {})


def distances(
    sizes: Sequence[int], train: NDArray[Any], codes: NDArray[Any], ways: Sequence[int] = (1, 2, 3)
) -> dict[str, float]:
    """Return the mean total variation distance of two tables over the marginals of each way."""
    return {
        f"tvd{way}": float(np.mean([_distance(sizes, train, codes, clique) for clique in cliques(len(sizes), way)]))
        for way in ways
    }


def cliques(columns: int, way: int) -> list[tuple[int, ...]]:
    """Return all column sets of one or two, or the fixed hundred of three."""
    every = list(combinations(range(columns), way))
    if way < 3 or len(every) <= TRIPLES:
        return every
    return [every[i] for i in sorted(np.random.default_rng(TRIPLE_SEED).choice(len(every), TRIPLES, replace=False))]


def _distance(sizes: Sequence[int], train: NDArray[Any], codes: NDArray[Any], clique: tuple[int, ...]) -> float:
    shape = tuple(sizes[i] for i in clique)
    first, second = (
        np.bincount(np.ravel_multi_index(tuple(table[:, i] for i in clique), shape), minlength=prod(shape)) / len(table)
        for table in (train, codes)
    )
    return float(np.abs(first - second).sum() / 2)


def prediction(prepared: Prepared, frame: pd.DataFrame) -> dict[str, float]:
    """Train on the given rows and score on the real holdout."""
    if prepared.positive is None:
        return {"hgb": _boosted_r2(prepared, frame)}
    truth = (prepared.holdout[prepared.target] == prepared.positive).to_numpy(bool)
    label = (frame[prepared.target] == prepared.positive).to_numpy(bool, na_value=False)
    if label.all() or not label.any():
        return {"hgb": 0.5, "lr": 0.5}
    return {"hgb": _boosted_auc(prepared, frame, label, truth), "lr": _logistic_auc(prepared, frame, label, truth)}


def _features(prepared: Prepared, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return the inputs of boosting: numbers as they are with NaN for missing, levels as codes."""
    columns = [column for column in prepared.schema if column.name != prepared.target]
    codes = prepared.codes(frame)
    places = {column.name: i for i, column in enumerate(prepared.schema)}
    return np.column_stack(
        [
            frame[column.name].astype(float).to_numpy(float, na_value=np.nan)
            if column.is_ordered
            else codes[:, places[column.name]].astype(float)
            for column in columns
        ]
    )


def _boosted_auc(prepared: Prepared, frame: pd.DataFrame, label: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    model = HistGradientBoostingClassifier(random_state=MODEL_SEED).fit(_features(prepared, frame), label)
    return float(roc_auc_score(truth, model.predict_proba(_features(prepared, prepared.holdout))[:, 1]))


def _boosted_r2(prepared: Prepared, frame: pd.DataFrame) -> float:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.metrics import r2_score

    target = frame[prepared.target].astype(float).to_numpy()
    model = HistGradientBoostingRegressor(random_state=MODEL_SEED).fit(_features(prepared, frame), target)
    truth = prepared.holdout[prepared.target].astype(float).to_numpy()
    return float(r2_score(truth, model.predict(_features(prepared, prepared.holdout))))


def _logistic_auc(prepared: Prepared, frame: pd.DataFrame, label: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.preprocessing import OneHotEncoder

    kept = [i for i, column in enumerate(prepared.schema) if column.name != prepared.target]
    encoder = OneHotEncoder(categories=[range(prepared.sizes[i]) for i in kept])
    inputs, fresh = (encoder.fit_transform(prepared.codes(rows)[:, kept]) for rows in (frame, prepared.holdout))
    model = LogisticRegression(max_iter=1000).fit(inputs, label)
    return float(roc_auc_score(truth, model.decision_function(fresh)))


def yardsticks(prepared: Prepared, seed: int = 0) -> dict[str, dict[str, float]]:
    """Return what real rows reach: the train rows themselves, a bootstrap of them, and the holdout."""
    drawn = np.random.default_rng(seed).integers(0, len(prepared.train), len(prepared.train))
    bootstrap = prepared.train.iloc[drawn].reset_index(drop=True)
    return {
        "real train": quality(prepared, prepared.train),
        "real bootstrap": quality(prepared, bootstrap),
        "real holdout": quality(prepared, prepared.holdout, predict=False),
    }


def main() -> None:
    name, path = sys.argv[1:]
    prepared = prepare(name)
    print(json.dumps(yardsticks(prepared) if path == "yardsticks" else _quality_of_file(prepared, path)))


def _quality_of_file(prepared: Prepared, path: str) -> dict[str, float]:
    if not path.endswith(".npy"):
        return quality(prepared, pd.read_parquet(path))
    codes = np.load(path)
    return quality_of_codes(prepared, codes, prepared.decode(codes))


if __name__ == "__main__":
    main()
