"""The area under the ROC curve (AUC) of scores, for two classes and one against the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import FloatArray


def roc_auc(positives: FloatArray, negatives: FloatArray) -> float:
    """Return the probability that a positive case scores above a negative one; ties count half.

    >>> round(roc_auc(np.array([1.0, 2.0]), np.array([0.0, 1.0])), 12)
    0.875
    """
    from sklearn.metrics import roc_auc_score

    labels = np.repeat([1, 0], [len(positives), len(negatives)])
    return float(roc_auc_score(labels, np.concatenate([positives, negatives])))


def roc_auc_one_vs_rest(predicted: FloatArray, levels: NDArray[Any], truth: FloatArray) -> float:
    """Return the AUC of each level against all others, averaged over the levels of the test rows.

    Column j of ``predicted`` scores ``levels[j]``. A level that the model does not know has .5, as guessing has.

    >>> roc_auc_one_vs_rest(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1]), np.array([0.0, 1.0, 1.0]))
    1.0
    """
    areas: list[float] = []
    for level in np.unique(truth):
        own, known = truth == level, np.flatnonzero(levels == level)
        if own.all():
            continue
        areas.append(roc_auc(predicted[own, known[0]], predicted[~own, known[0]]) if len(known) else 0.5)
    return float(np.mean(areas)) if areas else 0.5
